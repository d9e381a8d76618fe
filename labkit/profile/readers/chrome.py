"""Chrome traces of torch.profiler, from CPU, CUDA and ROCm: ``{"traceEvents": [...]}`` or the bare list of events, of any size.

The file is parsed in pieces, and each piece becomes columns at once: by columns where it has the layout that Kineto writes
(chrome_lines), as JSON otherwise (json_array). Time stamps are microseconds with three decimals; they become whole nanoseconds
without losing one: a double still tells nanoseconds below 2**43 µs (101 days), later ones (an epoch's time) are read as text.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import polars as pl

from labkit.profile.readers.chrome_bytes import BEHIND, Bytes
from labkit.profile.readers.chrome_columns import SIZES, Args, Columns, Event, LateEvent
from labkit.profile.readers.chrome_lines import BOUNDARY, LAYOUT, Lines, parse, together
from labkit.profile.readers.chrome_odd import plain_event
from labkit.profile.readers.json_array import BLANK, Array, Content, released
from labkit.profile.table import Device, Profile

EXACT = 1 << 43  # µs up to which a double tells nanoseconds
LARGE = 4 << 20  # bytes from which on a trace is parsed by columns
PIECE = 2 << 20
TOGETHER = 4  # pieces whose args are read at once
_BLANK = re.compile(rb"\s*")
_TS = re.compile(rb'"ts"\s*:\s*"?(\d{1,18})')
_SIGNS = {"schemaVersion", "deviceProperties", "baseTimeNanoseconds", "roctracer_version", "record_shapes", "trace_id"}
_PROPERTIES: tuple[tuple[str, type], ...] = (("name", str), ("numSms", int), ("warpSize", int))
# HIP functions whose grid is given in work items; all others count groups
IN_ITEMS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")


class OtherProfiler(Exception):
    """These Chrome events are rocprof v1's: the times that count are in ``args``."""


def read_events(content: Content, start: int) -> tuple[Columns, int, bool]:
    """The complete events of the array behind ``start``: columns, the place behind it, whether it holds Chrome events at all.

    Raises LabkitError where it does not parse, OtherProfiler for rocprof v1's events.
    """
    late = any(int(ts) >= EXACT for ts in _TS.findall(content[start : start + (1 << 16)]))
    columns = Columns()
    kind: Any = LateEvent if late else Event
    if not late:
        start = _by_lines(content, start, columns)
    array = Array(content, start, msgspec.json.Decoder(list[kind]), msgspec.json.Decoder(list[Any]))
    any_event = bool(columns.parts)
    for found, plain in array.pieces():
        elements = found if plain else [plain_event(e, LateEvent, Args) for e in found if isinstance(e, dict)]
        if not any_event:
            if any(e.args is not None and len(e.args.begin) for e in elements):
                raise OtherProfiler
            any_event = any(e.ph for e in elements)
        columns.add(elements)
    return columns, array.end, any_event


def _by_lines(content: Content, start: int, columns: Columns) -> int:
    """Takes what can be parsed by columns of a large trace; the place where the rest begins, which is parsed as JSON."""
    begin = _BLANK.match(content, start)
    at = begin.end() if begin else start
    if len(content) - at < LARGE or content[at : at + len(LAYOUT)] != LAYOUT:
        return start
    text = Bytes(content)
    while True:
        parts: list[Lines] = []
        behind = at
        while len(parts) < TOGETHER and len(content) - behind > PIECE + BEHIND:
            cut = content.rfind(BOUNDARY, behind, behind + PIECE)
            lines = parse(text, behind, cut + 4) if cut >= 0 else None
            if lines is None:
                break
            parts.append(lines)
            behind = cut + len(BOUNDARY) - 2
        if not parts:
            break
        try:
            columns.add_lines(together(parts))
        except (msgspec.DecodeError, RecursionError, ValueError):
            break
        released(content, start, behind - BEHIND)
        start = at = behind
    return start


def read_object(content: Content, match: re.Match[bytes], name: str = "") -> Profile | None:
    """The trace whose ``"traceEvents": [`` is ``match``; None where that stands deeper inside something else."""
    before = content[: match.end()]
    columns, end, any_event = read_events(content, match.end())
    try:
        around = msgspec.json.decode(before + b"]" + content[end:])
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(around, dict) or around.get("traceEvents") != []:
        return None
    if not any_event and not _SIGNS & around.keys():
        return None
    return _profile(columns, around, name)


def read_list(content: Content, start: int, name: str = "") -> Profile | None:
    """The trace that is the list of events itself, behind its '['; None where its elements are no events."""
    columns, end, any_event = read_events(content, start)
    if content[end:].strip(BLANK) or not any_event:
        return None
    return _profile(columns, {}, name)


def _profile(columns: Columns, around: dict[str, Any], name: str) -> Profile:
    frame = columns.frame()
    rocm = any(key.startswith(("roctracer", "hip_", "rocprof")) for key in around)
    frame = _in_items(frame, any(name in columns.names for name in IN_ITEMS))
    versions = {k: around[k] for k in sorted(around) if k.endswith("_version") or k == "schemaVersion"}
    version = next((f"{k.removesuffix('_version')} {v}" for k, v in versions.items() if k != "schemaVersion"), None)
    extras: dict[str, Any] = {}
    for key in ("baseTimeNanoseconds", "distributedInfo", "deviceProperties", "traceName"):
        if around.get(key):
            extras[key] = around[key]
    if versions:
        extras["versions"] = versions
    return Profile(
        kind="torch-trace",
        events=frame,
        tool="torch.profiler",
        version=version,
        devices=_devices(frame, around.get("deviceProperties"), rocm),
        odd=tuple(sorted(columns.odd)),
        simulated=bool(around.get("simulated")),
        extras=extras,
        sources=(name,) if name else (),
    )


def _devices(frame: pl.DataFrame, properties: Any, rocm: bool) -> tuple[Device, ...]:
    """The GPUs: by number where the numbers agree; on ROCm the events count by the node's agents, so only what all have in common."""
    known: dict[int, Device] = {}
    for p in properties if isinstance(properties, list) else ():
        if isinstance(p, dict) and isinstance(p.get("id"), int) and abs(p["id"]) < 1 << 31:
            known[p["id"]] = Device(p["id"], None, *(_typed(p, key, kind) for key, kind in _PROPERTIES))
    used = frame.filter(frame["kind"].is_in(["dispatch", "copy"]))["device"].drop_nulls().unique().to_list()
    alike = {(d.name, d.compute_units, d.wavefront_size) for d in known.values()}
    same = alike.pop() if len(alike) == 1 else (None, None, None)
    for index in used:
        if index not in known or (rocm and same == (None, None, None)):
            known[index] = Device(index, None, *same)
    return tuple(known[index] for index in sorted(known))


def _typed(properties: dict[str, Any], key: str, kind: type) -> Any:
    value = properties.get(key)
    return value if isinstance(value, kind) and value else None


def _in_items(frame: pl.DataFrame, asked: bool) -> pl.DataFrame:
    """The grid in work items: a trace counts groups, except for kernels launched by HIP's functions that take items."""
    if "grid_x" not in frame.columns:
        return frame
    if not asked:  # none of these functions was called
        pairs = zip(SIZES[:3], SIZES[3:], strict=True)
        return frame.with_columns((pl.col(g) * pl.col(w).cast(pl.Int64)).alias(g) for g, w in pairs)
    calls = frame.filter((frame["kind"] == "api") & frame["name"].is_in(list(IN_ITEMS)))["correlation"].drop_nulls()
    items = pl.col("correlation").is_in(calls.unique().implode()).fill_null(False)
    return frame.with_columns(
        pl.when(items).then(pl.col(g)).otherwise(pl.col(g) * pl.col(w).cast(pl.Int64)).alias(g)
        for g, w in zip(SIZES[:3], SIZES[3:], strict=True)
    )
