"""rocpd: the SQLite database of rocprofv3, read from its base tables, not from its views, which join slowly.

The tables carry a UUID behind their names (``rocpd_kernel_dispatch_0000_…``); a merged file holds several sets of them, a thinned
one has plain names. What rocpd calls 'busy' is a sum of durations; the table made here allows a true union.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from labkit.errors import LabkitError
from labkit.profile import intervals
from labkit.profile.readers.sqlite import Database, quoted
from labkit.profile.readers.times import usable
from labkit.profile.table import EXTRA, Device, Profile, empty, events

DISPATCH = "rocpd_kernel_dispatch"
_TABLE = re.compile(rf"{DISPATCH}(_[0-9a-fA-F_]+)?")
_NODE = 1000  # added to the devices of a second machine in one file, of a third twice
_DISPATCH = {
    "kernel": "kernel_id",
    "agent": "agent_id",
    "queue": "queue_id",
    "stream": "stream_id",
    "event": "event_id",
    "dispatch": "dispatch_id",
    "start_ns": "start",
    "end_ns": "end",
    "process_id": "pid",
    "scratch_bytes": "private_segment_size",
    "lds_bytes": "group_segment_size",
    "workgroup_x": "workgroup_size_x",
    "workgroup_y": "workgroup_size_y",
    "workgroup_z": "workgroup_size_z",
    "grid_x": "grid_size_x",
    "grid_y": "grid_size_y",
    "grid_z": "grid_size_z",
}
_COPY = {
    "label": "name_id",
    "agent": "dst_agent_id",
    "source": "src_agent_id",
    "bytes": "size",
    "queue": "queue_id",
    "stream": "stream_id",
    "event": "event_id",
    "process_id": "pid",
    "start_ns": "start",
    "end_ns": "end",
}
_REGION = {
    "label": "name_id",
    "event": "event_id",
    "process_id": "pid",
    "thread_id": "tid",
    "start_ns": "start",
    "end_ns": "end",
}
_ALLOCATION = {
    "agent": "agent_id",
    "type": "type",
    "level": "level",
    "bytes": "size",
    "event": "event_id",
    "process_id": "pid",
    "thread_id": "tid",
    "start_ns": "start",
    "end_ns": "end",
}
_SYMBOL = ("id", "display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count", "sgpr_count")
_VIEW = {
    "name": "name",
    "device": "agent_log_index",
    "absolute": "agent_abs_index",
    "queue": "queue_id",
    "stream": "stream_id",
    "dispatch": "dispatch_id",
    "start_ns": "start",
    "end_ns": "end",
    "process": "pid",
    "correlation": "stack_id",
    "grid_x": "grid_x",
    "grid_y": "grid_y",
    "grid_z": "grid_z",
    "workgroup_x": "workgroup_x",
    "workgroup_y": "workgroup_y",
    "workgroup_z": "workgroup_z",
    "lds_bytes": "lds_size",
    "scratch_bytes": "scratch_size",
    "vgpr": "vgpr_count",
    "accum_vgpr": "accum_vgpr_count",
    "sgpr": "sgpr_count",
}


def is_there(database: Database) -> bool:
    """Whether this is such a database: its dispatch table, with or without UUID, or at least its view ``kernels``."""
    if _suffixes(database):
        return True
    return "kernels" in database.tables and {"name", "start", "end"} <= {
        name.lower() for name in database.columns("kernels")
    }


def read(database: Database, name: str = "") -> Profile:
    """The profile in this database."""
    suffixes = _suffixes(database)
    sets = [_Set(database, suffix) for suffix in suffixes]
    machines: dict[Any, int] = {}
    for one in sets:
        for node in one.nodes.values():
            machines.setdefault(node, len(machines))
    frames = [empty()]
    devices: dict[int, Device] = {}
    metadata: dict[Any, str] = {}
    odd = list(database.odd)
    for one in sets:
        one.number(machines)
        frames += one.frames()
        devices.update(one.devices)
        metadata.update(one.metadata)
    if not sets:
        frames.append(_from_view(database))
    if len(machines) > 1:
        odd.append(f"{len(machines)} machines in one file: the devices of the later ones are counted from {_NODE} on.")
    frame, wrong = usable(pl.concat(frames, how="diagonal"))
    if not sets:
        used = frame["device"].drop_nulls().unique().to_list()
        devices = {index: Device(index) for index in used}
    counters = [found for one in sets if (found := one.counters()) is not None]
    return Profile(
        kind="rocpd",
        events=frame,
        tool="rocprofv3",
        version=f"rocpd schema {metadata['schema_version']}" if metadata.get("schema_version") else None,
        devices=tuple(devices[index] for index in sorted(devices)),
        odd=(*odd, *wrong),
        counters=pl.concat(counters) if counters else None,
        simulated=metadata.get("simulated", "0") not in ("0", ""),
        sources=(name,) if name else (),
    )


def _suffixes(database: Database) -> list[str]:
    """What stands behind the names of the tables, one for each set; [''] for plain ones."""
    found = [
        match[1] or ""
        for table, kind in database.tables.items()
        if kind == "table"
        and (match := _TABLE.fullmatch(table))
        and {"start", "end"} <= {name.lower() for name in database.columns(table)}
    ]
    return sorted(found)


def _from_view(database: Database) -> pl.DataFrame:
    """Kernels from a table or view ``kernels``, where the tables behind it are missing."""
    found = database.take("kernels", _VIEW)
    if "device" not in found.columns and "absolute" in found.columns:
        found = found.with_columns(pl.col("absolute").alias("device"))
    if not {"name", "start_ns", "end_ns"} <= set(found.columns):
        raise LabkitError(
            "The view 'kernels' of this database has no names or times.", "Take the database as rocprofv3 wrote it."
        )
    return events(found.drop("absolute", strict=False).to_dict(), kind="dispatch")


class _Set:
    """The tables of one UUID."""

    def __init__(self, database: Database, suffix: str) -> None:
        self.database, self.suffix = database, suffix
        self.strings = database.named(self.table("rocpd_string"), "id", "string")
        self.metadata = database.named(self.table("rocpd_metadata"), "tag", "value")
        self.processes = self._pairs("rocpd_info_process", "pid")
        self.threads = self._pairs("rocpd_info_thread", "tid")
        self.agents = {row["id"]: row for row in self.records("rocpd_info_agent")}
        self.nodes = {row["id"]: row.get("machine_id") or row.get("hash") for row in self.records("rocpd_info_node")}
        self.index: dict[Any, int] = {}
        self.devices: dict[int, Device] = {}

    def table(self, base: str) -> str:
        """The table of this set. A file whose dispatches alone are plain may have its other tables so, too."""
        return f"{base}{self.suffix}" if f"{base}{self.suffix}" in self.database.tables else base

    def records(self, base: str) -> list[dict[str, Any]]:
        table = self.table(base)
        if table not in self.database.tables:
            return []
        names = self.database.columns(table)
        if "id" not in names:
            return []
        return [dict(zip(names, row, strict=True)) for row in self.database.rows(f"SELECT * FROM {quoted(table)}")]

    def _pairs(self, base: str, key: str) -> dict[Any, int]:
        return {row["id"]: row[key] for row in self.records(base) if isinstance(row.get(key), int)}

    def number(self, machines: Mapping[Any, int]) -> None:
        """Gives each agent its number: the one that rocprofv3 prints, on later machines of the file moved up."""
        for key, agent in self.agents.items():
            index = next(
                (agent[k] for k in ("logical_index", "absolute_index", "id") if isinstance(agent.get(k), int)), None
            )
            if index is None:
                continue
            index += _NODE * machines.get(self.nodes.get(agent.get("nid")), 0)
            self.index[key] = index
            if str(agent.get("type") or "GPU").upper() == "GPU":
                label = str(agent.get("name") or "")
                product = next((str(agent[k]) for k in ("product_name", "model_name") if agent.get(k)), None)
                units, wave = _properties(agent.get("extdata"))
                self.devices[index] = Device(index, label if label.startswith("gfx") else None, product, units, wave)

    def frames(self) -> list[pl.DataFrame]:
        """Everything that took time."""
        found = [self._dispatches(), self._copies(), self._regions(), self._allocations()]
        return [frame for frame in found if frame is not None]

    def _take(self, base: str, wanted: dict[str, str]) -> pl.DataFrame | None:
        table = self.table(base)
        if table not in self.database.tables:
            return None
        found = self.database.take(table, wanted)
        if not found.height or not {"start_ns", "end_ns"} <= set(found.columns):
            return None
        if "process_id" in found.columns:
            found = found.with_columns(looked_up(found["process_id"], self.processes).alias("process")).drop(
                "process_id"
            )
        if "thread_id" in found.columns:
            found = found.with_columns(looked_up(found["thread_id"], self.threads).alias("thread")).drop("thread_id")
        return found

    def _finished(self, found: pl.DataFrame, kind: str | None = None) -> pl.DataFrame:
        if "event" in found.columns:
            found = self._correlated(found)
        kept = [c for c in found.columns if c not in EXTRA or found[c].null_count() < found.height]
        return events(found.select(kept).to_dict(), kind=kind)

    def _correlated(self, found: pl.DataFrame) -> pl.DataFrame:
        """Joins calls and what they launched: by the stack id, which counts calls; by the correlation id where there is none."""
        table = self.table("rocpd_event")
        if table not in self.database.tables:
            return found.drop("event")
        if not hasattr(self, "_events"):
            wanted = {"id": "id", "stack": "stack_id", "outer": "correlation_id", "category": "category_id"}
            self._events = self.database.take(table, wanted)
        e = self._events
        if "id" not in e.columns:
            return found.drop("event")
        key = next((k for k in ("stack", "outer") if k in e.columns and (e[k] > 0).any()), None)
        chosen = [pl.col("id").alias("event")]
        if key is not None:
            chosen.append(pl.col(key).alias("correlation"))
        if "category" in e.columns:
            chosen.append(pl.col("category"))
        found = _joined(found, e.select(chosen))
        return found.drop(
            "event", *(["category"] if "label" not in found.columns and "category" in found.columns else [])
        )

    def _dispatches(self) -> pl.DataFrame | None:
        found = self._take(DISPATCH, _DISPATCH)
        if found is None:
            return None
        symbols = {row["id"]: row for row in self.records("rocpd_info_kernel_symbol")}
        names = {key: _kernel_name(row) for key, row in symbols.items()}
        extra = [looked_up(found["kernel"], names, pl.String).alias("name")] if "kernel" in found.columns else []
        if "kernel" in found.columns:
            for ours, theirs in (
                ("vgpr", "arch_vgpr_count"),
                ("accum_vgpr", "accum_vgpr_count"),
                ("sgpr", "sgpr_count"),
            ):
                values = {key: row[theirs] for key, row in symbols.items() if isinstance(row.get(theirs), int)}
                extra.append(looked_up(found["kernel"], values).alias(ours))
        if "agent" in found.columns:
            extra.append(looked_up(found["agent"], self.index).alias("device"))
        return self._finished(found.with_columns(extra).drop("kernel", "agent", strict=False), "dispatch")

    def _copies(self) -> pl.DataFrame | None:
        found = self._take("rocpd_memory_copy", _COPY)
        if found is None:
            return None
        gpus = {key: index for key, index in self.index.items() if index in self.devices}
        ends = [looked_up(found[c], gpus) for c in ("agent", "source") if c in found.columns]
        extra = [pl.coalesce(ends).alias("device")] if ends else []
        extra.append(pl.lit(self._named(found)))
        found = found.with_columns(extra).drop("label", "agent", "source", strict=False)
        return self._finished(found, "copy").with_columns(pl.lit(None, dtype=pl.Int64).alias("thread"))

    def _named(self, found: pl.DataFrame) -> pl.Series:
        if "label" not in found.columns:
            return pl.Series("name", [None], dtype=pl.String).new_from_index(0, found.height)
        return looked_up(found["label"], self.strings, pl.String).alias("name")

    def _regions(self) -> pl.DataFrame | None:
        found = self._take("rocpd_region", _REGION)
        if found is None:
            return None
        found = found.with_columns(self._named(found))
        if "event" in found.columns:
            found = self._correlated(found)
        marks = [number for number, text in self.strings.items() if "MARKER" in text.upper() or "ROCTX" in text.upper()]
        category = pl.col("category") if "category" in found.columns else pl.lit(None, dtype=pl.Int64)
        kind = pl.when(category.is_in(marks)).then(pl.lit("marker")).otherwise(pl.lit("api")).alias("kind")
        found = found.with_columns(kind).drop("label", "category", strict=False)
        return self._finished(found)

    def _allocations(self) -> pl.DataFrame | None:
        found = self._take("rocpd_memory_allocate", _ALLOCATION)
        if found is None:
            return None
        gpus = {key: index for key, index in self.index.items() if index in self.devices}
        parts = [pl.col(c).cast(pl.String) for c in ("type", "level") if c in found.columns]
        extra = [pl.concat_str(parts, separator=" ", ignore_nulls=True).alias("name")] if parts else []
        if "agent" in found.columns:
            extra.append(pl.lit(looked_up(found["agent"], gpus)).alias("device"))
        return self._finished(found.with_columns(extra).drop("type", "level", "agent", strict=False), "allocation")

    def counters(self) -> pl.DataFrame | None:
        """One row for each dispatch and counter; None where nothing was counted."""
        tables = [self.table(b) for b in ("rocpd_pmc_event", "rocpd_info_pmc", DISPATCH)]
        if not set(tables) <= set(self.database.tables):
            return None
        values, info, dispatch = map(quoted, tables)
        rows = self.database.rows(
            f"SELECT d.dispatch_id, d.kernel_id, p.name, SUM(v.value) FROM {values} v JOIN {info} p ON p.id = v.pmc_id "
            f"JOIN {dispatch} d ON d.event_id = v.event_id GROUP BY d.dispatch_id, d.kernel_id, p.name"
        )
        if not rows:
            return None
        names = {row["id"]: _kernel_name(row) for row in self.records("rocpd_info_kernel_symbol")}
        return pl.DataFrame(
            {
                "dispatch": pl.Series([row[0] for row in rows], dtype=pl.Int64, strict=False),
                "name": pl.Series([names.get(row[1], "") for row in rows], dtype=pl.String),
                "counter": pl.Series([str(row[2]) for row in rows], dtype=pl.String),
                "value": pl.Series([row[3] for row in rows], dtype=pl.Float64, strict=False),
            }
        )


def _joined(found: pl.DataFrame, events_of: pl.DataFrame) -> pl.DataFrame:
    """``found`` with what stands for its ``event``. Ids that count up by one, as they usually do, are places."""
    ids = events_of["event"]
    if ids.null_count() or not len(ids) or ids[-1] - ids[0] != len(ids) - 1 or not (ids.diff().drop_nulls() == 1).all():
        return found.join(events_of.unique("event", keep="first"), on="event", how="left")
    place = found["event"] - ids[0]
    place = pl.select(pl.when(place.is_between(0, len(ids) - 1)).then(place)).to_series().cast(pl.UInt32)
    return found.with_columns(events_of[c].gather(place).alias(c) for c in events_of.columns if c != "event")


def _kernel_name(symbol: Mapping[str, Any]) -> str | None:
    return next((str(symbol[key]) for key in ("display_name", "kernel_name") if symbol.get(key)), None)


def _properties(text: Any) -> tuple[int | None, int | None]:
    """Compute units and wavefront size from an agent's ``extdata``, where the release writes them there."""
    import json

    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None, None
    if not isinstance(found, dict):
        return None, None
    units, wave = found.get("cu_count"), found.get("wave_front_size")
    return units if isinstance(units, int) and units else None, wave if isinstance(wave, int) and wave else None


def looked_up(numbers: pl.Series, table: Mapping[Any, Any], dtype: Any = pl.Int64) -> pl.Series:
    """What each number stands for; null where the table does not have it."""
    table = {key: value for key, value in table.items() if isinstance(key, int) and not isinstance(key, bool)}
    if not table or numbers.dtype != pl.Int64:
        return pl.Series(numbers.name, [None], dtype=dtype).new_from_index(0, len(numbers))
    values = pl.Series(list(table.values()), dtype=dtype, strict=False)
    if dtype == pl.String:
        values = values.cast(pl.Categorical)
    low, high = min(table), max(table)
    if high - low < 1 << 20:  # numbers from 1 on, as they usually are: a list to look into
        place = pl.Series([None], dtype=pl.UInt32).new_from_index(0, high - low + 1)
        keys = pl.Series([key - low for key in table], dtype=pl.UInt32)
        place = place.scatter(keys, pl.Series(range(len(table)), dtype=pl.UInt32))
        inside = pl.select(pl.when(numbers.is_between(low, high)).then(numbers - low)).to_series().cast(pl.UInt32)
        return values.gather(place.gather(inside)).alias(numbers.name)
    keys = pl.Series(list(table), dtype=pl.Int64)
    places = numbers.replace_strict(
        keys, pl.Series(range(len(table)), dtype=pl.UInt32), default=None, return_dtype=pl.UInt32
    )
    return values.gather(places).alias(numbers.name)


def summary(path: Path | str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What rocpd's views ``top_kernels`` and ``busy`` answer, without reading the rest: kernels, and busy time of each device.

    First table: ``name``, ``calls``, ``total_ns``, the longest first. Second: ``device``, ``busy_ns`` (a union: what overlaps counts
    once), ``span_ns`` (of all devices). Raises LabkitError for what is no rocpd database.
    """
    from labkit.profile.readers.sqlite import opened

    wanted = {key: _DISPATCH[key] for key in ("kernel", "agent", "start_ns", "end_ns")}
    parts = []
    with opened(Path(path)) as database:
        suffixes = _suffixes(database)
        if not suffixes:
            raise LabkitError(f"{Path(path).name} is no rocpd database.", "Name the database that rocprofv3 wrote.")
        sets = [_Set(database, suffix) for suffix in suffixes]
        machines: dict[Any, int] = {}
        for one in sets:
            for node in one.nodes.values():
                machines.setdefault(node, len(machines))
        for one in sets:
            one.number(machines)
            found = database.take(one.table(DISPATCH), wanted)
            names = {row["id"]: _kernel_name(row) for row in one.records("rocpd_info_kernel_symbol")}
            good = (found["start_ns"] > 0) & (found["end_ns"] >= found["start_ns"])
            parts.append(
                found.with_columns(
                    looked_up(found["kernel"], names, pl.String).alias("name"),
                    looked_up(found["agent"], one.index).alias("device"),
                ).filter(good)
            )
    every = pl.concat(parts)
    kernels = every.group_by("name").agg(
        pl.len().cast(pl.Int64).alias("calls"), (pl.col("end_ns") - pl.col("start_ns")).sum().alias("total_ns")
    )
    rows = []
    first, last = every["start_ns"].to_numpy(), every["end_ns"].to_numpy()
    span = int(last.max() - first.min()) if every.height else 0
    for device in every["device"].unique().drop_nulls().sort():
        mine = every.filter(pl.col("device") == device)
        busy = intervals.union_length(mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy())
        rows.append((device, busy, span))
    schema = {"device": pl.Int32, "busy_ns": pl.Int64, "span_ns": pl.Int64}
    return kernels.sort("total_ns", "name", descending=[True, False]), pl.DataFrame(rows, schema=schema, orient="row")
