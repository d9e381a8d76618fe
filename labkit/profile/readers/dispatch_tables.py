"""Tables with one row per dispatch, or one row per dispatch and counter: rocprofv3, rocprofv2, rocprof v1, rocprof-compute."""

from __future__ import annotations

import polars as pl

from labkit.profile.readers import numbers
from labkit.profile.readers.columns import KNOWN
from labkit.profile.table import Device, Profile, events

LAUNCH = (
    "grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z", "lds_bytes", "scratch_bytes", "vgpr", "accum_vgpr", "sgpr",
)  # fmt: skip
_IDS = ("queue", "stream", "thread", "process", "dispatch", "correlation")
_LARGEST_LONG = 30_000_000  # values of counters; a table with more keeps them in the file

KINDS = {
    "kernel-trace": ("rocprofv3-kernel-trace", "rocprofv3"),
    "counters": ("rocprofv3-counters", "rocprofv3"),
    "rocprofv2": ("rocprofv2", "rocprofv2"),
    "rocprof-v1": ("rocprof-v1", "rocprof"),
    "compute-wide": ("rocprof-compute", "rocprof-compute"),
    "compute-long": ("rocprof-compute", "rocprof-compute"),
}


def read(table: str, frame: pl.DataFrame, printed: dict[str, str]) -> Profile:
    """A profile of a table of dispatches. frame: columns by their plain names; printed: plain name -> as in the header."""
    kind, tool = KINDS[table]
    odd: list[str] = []
    counters = _counters(table, frame, printed)
    if "countername" in frame.columns or table == "compute-wide":
        frame, repeated = _once(frame)
        if repeated:
            odd.append(f"{repeated} dispatches have several time stamps (they were replayed): no times are used.")
    else:
        repeated = 0
    start, end, wrong = numbers.times(frame)
    odd += wrong
    if repeated:
        start = end = numbers.nothing(frame.height, pl.Int64)
    found = numbers.find(frame, "device")
    named = numbers.find(frame, "name")
    columns: dict[str, object] = {
        "name": numbers.name(frame[named] if named else numbers.nothing(frame.height, pl.String)),
        "start_ns": start,
        "end_ns": end,
        **numbers.integers(frame, (*_IDS, *LAUNCH)),
    }
    if found is not None:
        columns["device"] = numbers.device(frame[found])
    found_events = numbers.narrow(events(columns, kind="dispatch"))
    devices = tuple(Device(int(index)) for index in found_events["device"].unique().drop_nulls().sort())
    return Profile(kind, found_events, tool=tool, devices=devices, counters=counters, odd=tuple(odd))


def _key(frame: pl.DataFrame) -> list[str]:
    """The columns that tell one dispatch from another."""
    found = [name for name in ("guid", numbers.find(frame, "process")) if name is not None and name in frame.columns]
    for role in ("dispatch", "correlation"):
        column = numbers.find(frame, role)
        if column is not None:
            return [*found, column]
    return [name for name in frame.columns if name not in ("countername", "countervalue")]


def _once(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """One row per dispatch, in their order, and how many dispatches had several times."""
    key = _key(frame)
    stamps = [name for role in ("start_ns", "end_ns") if (name := numbers.find(frame, role)) is not None]
    repeated = 0
    if stamps:
        distinct = frame.select(
            list(dict.fromkeys((*key, *stamps)))
        ).unique()  # without ids the stamps are part of the key
        repeated = int((distinct.group_by(key).len()["len"] > 1).sum()) if distinct.height else 0
    return frame.unique(key, keep="first", maintain_order=True), repeated


def _counters(table: str, frame: pl.DataFrame, printed: dict[str, str]) -> pl.DataFrame | None:
    """One row per dispatch and counter: from a table that is long already, or from the columns that are no other thing."""
    found = numbers.find(frame, "dispatch") or numbers.find(frame, "correlation")
    name = numbers.find(frame, "name")
    if frame.height == 0 or name is None or table == "kernel-trace":
        return None
    dispatch = (
        numbers.whole(frame[found])[0] if found is not None else pl.Series(range(frame.height), dtype=pl.Int64)
    ).alias("dispatch")
    kernel = numbers.tidy(frame[name].cast(pl.String)).alias("name")
    if "countername" in frame.columns:
        value = frame["countervalue"] if "countervalue" in frame.columns else numbers.nothing(frame.height, pl.Float64)
        return pl.DataFrame(
            [
                dispatch,
                kernel,
                frame["countername"].cast(pl.String).alias("counter"),
                value.cast(pl.Float64, strict=False).alias("value"),
            ]
        )
    wide = [c for c in frame.columns if c not in KNOWN and "~" not in c and not c.startswith("column")]
    if not wide or len(wide) * frame.height > _LARGEST_LONG:
        return None
    values = frame.select(
        dispatch, kernel, *(pl.col(c).cast(pl.Float64, strict=False).alias(printed.get(c, c)) for c in wide)
    )
    long = values.unpivot(index=["dispatch", "name"], variable_name="counter", value_name="value").drop_nulls("value")
    return long.select("dispatch", "name", "counter", "value") if long.height else None
