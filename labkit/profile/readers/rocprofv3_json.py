"""rocprofv3's results.json (``rocprofiler-sdk-tool``): one entry for each process, records by kind, names in tables beside them.

Kernel names are looked up by kernel_id, API names by kind and operation, agents by handle. What a record does not have is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from labkit.errors import LabkitError
from labkit.profile.readers.json_array import Content, broken
from labkit.profile.table import EXTRA, Device, Profile, empty, events

_API = ("hip_api", "hsa_api", "rccl_api", "rocdecode_api", "rocjpeg_api", "ompt")
_SIZES = (("grid", "grid_size"), ("workgroup", "workgroup_size"))


class _Root(msgspec.Struct):
    tool: Any = msgspec.field(name="rocprofiler-sdk-tool", default=None)


def read(content: Content, name: str = "") -> Profile:
    """The profile in this JSON. Raises LabkitError where it does not parse or has another form."""
    try:
        root = msgspec.json.decode(content, type=_Root)
    except (msgspec.DecodeError, RecursionError) as error:
        raise broken(str(error)) from None
    tools = root.tool if isinstance(root.tool, list) else [root.tool]
    tools = [tool for tool in tools if isinstance(tool, dict)]
    if not tools:
        raise LabkitError(
            "This JSON names rocprofiler-sdk-tool and holds no record of it.",
            "Take the whole results.json of rocprofv3.",
        )
    frames, odd, counters = [], [], []
    devices: dict[int, Device] = {}
    for tool in tools:
        one = _Process(tool)
        frames.append(one.frame())
        odd += one.odd
        counters += one.counters()
        devices.update({d.index: d for d in one.devices})
    frame = pl.concat(frames, how="diagonal") if frames else empty()
    return Profile(
        kind="rocprofv3-json",
        events=frame,
        tool="rocprofv3",
        devices=tuple(devices[i] for i in sorted(devices)),
        odd=tuple(dict.fromkeys(odd)),
        counters=pl.concat(counters) if counters else None,
        simulated=any(_command(tool)[:1] == ["simulated"] for tool in tools),
        extras={"command": " ".join(_command(tools[0]))},
        sources=(name,) if name else (),
    )


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _command(tool: Mapping[str, Any]) -> list[str]:
    return [str(part) for part in _list(_dict(tool.get("metadata")).get("command"))]


def _number(value: Any) -> int | None:
    """A number, also inside ``{"handle": 3}``."""
    if isinstance(value, dict):
        value = value.get("handle")
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else None


class _Process:
    """One entry of the file: its tables of names, and its records."""

    def __init__(self, tool: Mapping[str, Any]) -> None:
        self.tool = tool
        self.odd: list[str] = []
        self.process = _number(_dict(tool.get("metadata")).get("pid"))
        self.kernels = {_number(k.get("kernel_id")): k for k in map(_dict, _list(tool.get("kernel_symbols")))}
        agents = list(map(_dict, _list(tool.get("agents"))))
        self.agents: dict[int | None, int | None] = {}
        devices = []
        for agent in agents:
            index = _number(agent.get("logical_node_id", agent.get("node_id")))
            self.agents[_number(agent.get("id"))] = index
            if agent.get("type") in (2, "GPU") and index is not None:
                label = str(agent.get("name") or "")
                devices.append(
                    Device(
                        index,
                        label if label.startswith("gfx") else None,
                        str(agent.get("product_name") or "") or None,
                        _number(agent.get("cu_count")) or None,
                        _number(agent.get("wave_front_size")) or None,
                    )
                )
        self.devices = tuple(devices)
        self.gpus = {d.index for d in devices}
        strings = _dict(tool.get("strings"))
        self.operations: dict[int, list[Any]] = {}
        for i, kind in enumerate(map(_dict, _list(strings.get("buffer_records")))):
            self.operations[i] = _list(kind.get("operations"))
        self.kind_names = [str(_dict(k).get("kind", "")) for k in _list(strings.get("buffer_records"))]
        self.markers = {_number(m.get("key")): m.get("value") for m in map(_dict, _list(strings.get("marker_api")))}

    def records(self, key: str) -> list[Mapping[str, Any]]:
        """The records of this kind, from whichever of the two groups holds them."""
        found = _list(_dict(self.tool.get("buffer_records")).get(key))
        return [r for r in found if isinstance(r, dict)]

    def frame(self) -> pl.DataFrame:
        """All events of this process."""
        parts = [self._dispatches(), self._copies(), self._allocations(), self._scratch()]
        parts += [self._calls(key, "api") for key in _API] + [self._calls("marker_api", "marker")]
        frame = pl.concat([empty(), *(p for p in parts if p is not None)], how="diagonal")
        good = (pl.col("start_ns") > 0) & (pl.col("end_ns") >= pl.col("start_ns"))
        wrong = frame.height - frame.filter(good).height
        if wrong:
            self.odd.append(f"{wrong} of {frame.height} records have times that cannot be right; these are not used.")
            frame = frame.with_columns(
                pl.when(good).then(pl.col(c)).otherwise(None).alias(c) for c in ("start_ns", "end_ns")
            )
        return frame

    def _kernel(self, number: int | None) -> tuple[str, Mapping[str, Any]]:
        symbol = _dict(self.kernels.get(number))
        for key in ("formatted_kernel_name", "demangled_kernel_name", "kernel_name"):
            if symbol.get(key):
                return str(symbol[key]), symbol
        return f"kernel {number}" if number is not None else "", symbol

    def _shared(self, records: list[Mapping[str, Any]], kind: str) -> dict[str, list[Any]]:
        return {
            "start_ns": [_number(r.get("start_timestamp")) for r in records],
            "end_ns": [_number(r.get("end_timestamp")) for r in records],
            "correlation": [_correlation(r) for r in records],
            "stream": [_number(r.get("stream_id")) for r in records],
            "process": [self.process] * len(records),
            "kind": [kind] * len(records),
        }

    def _dispatches(self) -> pl.DataFrame | None:
        records = self.records("kernel_dispatch")
        if not records:
            return None
        infos = [_dict(r.get("dispatch_info")) for r in records]
        cache = {n: self._kernel(n) for n in {_number(i.get("kernel_id")) for i in infos}}
        symbols = [cache[_number(i.get("kernel_id"))] for i in infos]
        columns = self._shared(records, "dispatch")
        columns["name"] = [label for label, _ in symbols]
        columns["device"] = [self.agents.get(_number(i.get("agent_id"))) for i in infos]
        columns["queue"] = [_number(i.get("queue_id")) for i in infos]
        columns["dispatch"] = [_number(i.get("dispatch_id")) for i in infos]
        columns["lds_bytes"] = [_number(i.get("group_segment_size")) for i in infos]
        columns["scratch_bytes"] = [_number(i.get("private_segment_size")) for i in infos]
        for column, key in (("vgpr", "arch_vgpr_count"), ("accum_vgpr", "accum_vgpr_count"), ("sgpr", "sgpr_count")):
            columns[column] = [_number(s.get(key)) for _, s in symbols]
        for column, key in _SIZES:
            sizes = [_dict(i.get(key)) for i in infos]
            for axis in "xyz":
                columns[f"{column}_{axis}"] = [_number(s.get(axis)) for s in sizes]
        return _frame(columns)

    def _copies(self) -> pl.DataFrame | None:
        records = self.records("memory_copy")
        if not records:
            return None
        columns = self._shared(records, "copy")
        columns["name"] = [self._operation(r) for r in records]
        columns["bytes"] = [_number(r.get("bytes")) for r in records]
        columns["device"] = [self._copy_device(r) for r in records]
        columns["thread"] = [None] * len(records)
        return _frame(columns)

    def _copy_device(self, r: Mapping[str, Any]) -> int | None:
        ends = [self.agents.get(_number(r.get(key))) for key in ("dst_agent_id", "src_agent_id")]
        return next((end for end in ends if end in self.gpus), None)

    def _calls(self, key: str, kind: str) -> pl.DataFrame | None:
        records = self.records(key)
        if not records:
            return None
        columns = self._shared(records, kind)
        names = [self._operation(r) for r in records]
        if kind == "marker":
            names = [str(self.markers.get(_correlation(r)) or n) for r, n in zip(records, names, strict=True)]
        columns["name"] = names
        columns["thread"] = [_number(r.get("thread_id")) for r in records]
        return _frame(columns)

    def _allocations(self) -> pl.DataFrame | None:
        records = self.records("memory_allocation")
        if not records:
            return None
        columns = self._shared(records, "allocation")
        columns["name"] = [self._operation(r) for r in records]
        columns["bytes"] = [_number(r.get("allocation_size")) for r in records]
        columns["device"] = [self._gpu(r) for r in records]
        columns["thread"] = [_number(r.get("thread_id")) for r in records]
        return _frame(columns)

    def _scratch(self) -> pl.DataFrame | None:
        records = self.records("scratch_memory")
        if not records:
            return None
        columns = self._shared(records, "other")
        columns["name"] = [self._operation(r) for r in records]
        columns["device"] = [self._gpu(r) for r in records]
        columns["queue"] = [_number(r.get("queue_id")) for r in records]
        return _frame(columns)

    def _gpu(self, r: Mapping[str, Any]) -> int | None:
        index = self.agents.get(_number(r.get("agent_id")))
        return index if index in self.gpus else None

    def _operation(self, r: Mapping[str, Any]) -> str:
        kind, operation = r.get("kind"), r.get("operation")
        if isinstance(kind, str) and kind in self.kind_names:
            kind = self.kind_names.index(kind)
        if isinstance(operation, str):
            return operation
        names = self.operations.get(kind, []) if isinstance(kind, int) else []
        if isinstance(operation, int) and 0 <= operation < len(names):
            return str(names[operation])
        return f"operation {operation}"

    def counters(self) -> list[pl.DataFrame]:
        """One row for each dispatch and counter."""
        names = {_number(c.get("id")): str(c.get("name", "")) for c in map(_dict, _list(self.tool.get("counters")))}
        rows: dict[tuple[int, str, str], float] = {}
        for r in map(_dict, _list(_dict(self.tool.get("callback_records")).get("counter_collection"))):
            data = _dict(r.get("dispatch_data"))
            info = _dict(data.get("dispatch_info"))
            dispatch = _number(info.get("dispatch_id"))
            for value in map(_dict, _list(r.get("records"))):
                counter, number = names.get(_number(value.get("counter_id"))), value.get("value")
                if dispatch is not None and counter and isinstance(number, (int, float)):
                    key = (dispatch, self._kernel(_number(info.get("kernel_id")))[0], counter)
                    rows[key] = rows.get(key, 0.0) + number
        if not rows:
            return []
        data_frame = {
            "dispatch": pl.Series([k[0] for k in rows], dtype=pl.Int64),
            "name": pl.Series([k[1] for k in rows], dtype=pl.String),
            "counter": pl.Series([k[2] for k in rows], dtype=pl.String),
            "value": pl.Series(list(rows.values()), dtype=pl.Float64),
        }
        return [pl.DataFrame(data_frame)]


def _correlation(r: Mapping[str, Any]) -> int | None:
    found = r.get("correlation_id")
    return _number(found.get("internal")) if isinstance(found, dict) else _number(found)


def _frame(columns: dict[str, list[Any]]) -> pl.DataFrame:
    """A table of events; columns of EXTRA that hold nothing are left out."""
    kept = {k: v for k, v in columns.items() if k not in EXTRA or any(x is not None for x in v)}
    text = {"name": pl.Series(kept.pop("name"), dtype=pl.String), "kind": pl.Series(kept.pop("kind"), dtype=pl.String)}
    return events({**text, **{k: pl.Series(v, dtype=pl.Int64, strict=False) for k, v in kept.items()}})
