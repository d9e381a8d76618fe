"""Chrome traces of torch.profiler, from CPU, CUDA and ROCm: ``{"traceEvents": [...]}`` or the bare list of events, of any size.

The file is parsed in pieces (json_array), and each piece becomes columns at once. Time stamps are microseconds with three
decimals; they are turned into whole nanoseconds without losing one: a double still tells nanoseconds below 2**43 µs (101 days),
later ones (an epoch's time) are read as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from labkit.profile.flops import COUNTED, flops
from labkit.profile.readers.chrome_odd import exact_ns, plain_event, whole
from labkit.profile.readers.json_array import BLANK, Array, Content
from labkit.profile.table import Device, Profile, empty, events

EXACT = float(1 << 43)  # µs up to which a double tells nanoseconds

# categories of Kineto, old and new, in lower case -> kind of the table
KIND_OF = {
    "kernel": "dispatch",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "memcpy": "copy",
    "memset": "copy",
    "runtime": "api",
    "driver": "api",
    "cpu_op": "operator",
    "operator": "operator",
    "user_annotation": "marker",
    "userannotation": "marker",
    "gpu_user_annotation": "annotation",
    "gpuuserannotation": "annotation",
    "python_function": "python",
    "pythonfunction": "python",
}
ON_GPU = ("dispatch", "copy", "annotation")
# HIP functions whose grid is given in work items; all others count groups
IN_ITEMS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")
SIZES = ("grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z")


class Args(msgspec.Struct, gc=False):
    """What is used of an event's ``args``; the rest is skipped."""

    device: int | None = None
    stream: int | None = None
    correlation: int | None = None
    grid: msgspec.Raw = msgspec.Raw()
    block: msgspec.Raw = msgspec.Raw()
    bytes: int | None = None
    registers: int | None = msgspec.field(name="registers per thread", default=None)
    shared: int | None = msgspec.field(name="shared memory", default=None)
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=msgspec.Raw())
    values: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=msgspec.Raw())
    begin: msgspec.Raw = msgspec.field(name="BeginNs", default=msgspec.Raw())


class Event(msgspec.Struct, gc=False):
    """An event as Kineto writes it. ``ts`` and ``dur`` in microseconds."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = -1
    tid: int | str = -1
    ts: float = float("nan")
    dur: float = float("nan")
    args: Args | None = None


class LateEvent(msgspec.Struct, gc=False):
    """The same with ``ts`` as it stands there, for times that a double cannot hold."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = -1
    tid: int | str = -1
    ts: msgspec.Raw = msgspec.Raw()
    dur: float = float("nan")
    args: Args | None = None


class OtherProfiler(Exception):
    """These Chrome events are rocprof v1's: the times that count are in ``args``."""


class _Table(dict[str, int]):
    """Text -> its number, numbered as it comes."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


class _Kinds(dict[str, str]):
    """Category as written -> kind."""

    def __missing__(self, key: str) -> str:
        word = key.strip().lower().replace(" ", "_")
        kind = KIND_OF.get(word, "api" if word.endswith(("_runtime", "_driver")) else "other")
        self[key] = kind
        return kind


class _Columns:
    """The columns of all pieces so far."""

    def __init__(self) -> None:
        self.names = _Table()
        self.kinds = _Kinds()
        self.parts: dict[str, list[dict[str, Any]]] = {}
        self.sizes: dict[bytes, tuple[int, ...]] = {}
        self.counted: dict[tuple[str, bytes, bytes], float | None] = {}
        self.odd: set[str] = set()

    def add(self, found: Sequence[Any]) -> None:
        """Takes the complete events (``ph`` X) of a piece."""
        groups: dict[str, list[Any]] = {}
        for cat in {e.cat for e in found if e.ph == "X"}:
            groups.setdefault(self.kinds[cat], []).append(cat)
        for kind, cats in groups.items():
            if len(cats) == 1:
                (cat,) = cats
                chosen = [e for e in found if e.cat == cat and e.ph == "X"]
            else:
                chosen = [e for e in found if e.ph == "X" and e.cat in cats]
            self.parts.setdefault(kind, []).append(self._columns(kind, chosen))

    def _columns(self, kind: str, chosen: list[Any]) -> dict[str, Any]:
        table = self.names
        start, end = self._times(chosen)
        got: dict[str, Any] = {
            "name": np.array([table[e.name] for e in chosen], dtype=np.uint32),
            "start_ns": start,
            "end_ns": end,
        }
        if kind in ON_GPU:
            self._device(kind, chosen, got)
        else:
            got["thread"] = _numbers([e.tid for e in chosen])
            got["process"] = _numbers([e.pid for e in chosen])
        if kind == "api":
            got["correlation"] = [None if e.args is None else e.args.correlation for e in chosen]
        elif kind == "operator" and any(e.args is not None and len(e.args.dims) for e in chosen):
            counted = COUNTED
            got["flops"] = [self._flops(e) if e.name in counted else None for e in chosen]
        return got

    def _times(self, chosen: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Start and end in ns; the smallest Int64 stands for unknown."""
        dur = np.array([e.dur for e in chosen], dtype=np.float64)
        raw = [e.ts for e in chosen]
        unknown = np.iinfo(np.int64).min
        if isinstance(chosen[0], LateEvent):
            start = np.array([exact_ns(ts) for ts in raw], dtype=np.int64)
        else:
            ts = np.array(raw, dtype=np.float64)
            with np.errstate(invalid="ignore"):
                micro = np.floor(ts)
                good = np.isfinite(ts) & (np.abs(ts) < 9e15)
                micro = np.where(good, micro, 0)
                start = micro.astype(np.int64) * 1000 + np.rint((np.where(good, ts, 0) - micro) * 1000).astype(np.int64)
            start[~good] = unknown
        with np.errstate(invalid="ignore"):
            good = np.isfinite(dur) & (dur >= 0) & (dur < 1e12) & (start != unknown)
            if (dur < 0).any():
                self.odd.add("Some events last less than no time; their times are not used.")
        end = start + np.rint(np.where(good, dur, 0) * 1000).astype(np.int64)
        end[~good] = unknown
        return start, end

    def _device(self, kind: str, chosen: list[Any], got: dict[str, Any]) -> None:
        args = [e.args or _NOTHING for e in chosen]
        device = [a.device for a in args]
        stream = [a.stream for a in args]
        if None in device:
            device = [whole(e.pid) if d is None else d for d, e in zip(device, chosen, strict=True)]
        if None in stream:
            stream = [whole(e.tid) if s is None else s for s, e in zip(stream, chosen, strict=True)]
        got["device"], got["stream"] = device, stream
        if kind == "annotation":
            return
        got["correlation"] = [a.correlation for a in args]
        if kind == "copy":
            got["bytes"] = [a.bytes for a in args]
            return
        sizes = self.sizes
        for field, names in (("grid", SIZES[:3]), ("block", SIZES[3:])):
            texts = [bytes(getattr(a, field)) for a in args]
            for text in set(texts) - sizes.keys():
                sizes[text] = _three(text)
            three = np.array([sizes[text] for text in texts], dtype=np.int64).reshape(-1, 3)
            for i, name in enumerate(names):
                got[name] = three[:, i]
        got["vgpr"] = [a.registers for a in args]
        got["lds_bytes"] = [a.shared for a in args]

    def _flops(self, e: Any) -> float | None:
        if e.args is None or not len(e.args.dims):
            return None
        key = (e.name, bytes(e.args.dims), bytes(e.args.values) or b"[]")
        if key not in self.counted:
            try:
                dims, values = msgspec.json.decode(key[1]), msgspec.json.decode(key[2])
            except (msgspec.DecodeError, RecursionError):
                dims, values = None, None
            self.counted[key] = flops(e.name, dims, values if isinstance(values, list) else ())
        return self.counted[key]

    def frame(self) -> pl.DataFrame:
        """One table of everything."""
        if not self.parts:
            return empty()
        unknown = np.iinfo(np.int64).min
        names = pl.Series("name", list(self.names), dtype=pl.String).cast(pl.Categorical)
        frames = []
        for kind in list(self.parts):
            parts = self.parts.pop(kind)
            columns: dict[str, Any] = {}
            for column in dict.fromkeys(name for part in parts for name in part):
                if column == "name":
                    columns[column] = names.gather(pl.Series(np.concatenate([part["name"] for part in parts])))
                    continue
                dtype = pl.Float64 if column == "flops" else pl.Int64
                height = [len(part["name"]) for part in parts]
                series = pl.concat(
                    [
                        pl.Series(column, part[column], dtype=dtype, strict=False)
                        if column in part
                        else pl.Series(column, [None], dtype=dtype).new_from_index(0, rows)
                        for part, rows in zip(parts, height, strict=True)
                    ]
                )
                if column in ("start_ns", "end_ns") or column in SIZES:
                    series = series.replace(unknown, None)
                if column in ("flops", "vgpr", "lds_bytes", "bytes", *SIZES) and series.null_count() == len(series):
                    continue
                columns[column] = series
            frames.append(events(columns, kind=kind))
        return pl.concat(frames, how="diagonal")


_NOTHING = Args()


def _three(text: bytes) -> tuple[int, int, int]:
    """The three numbers of ``[256, 1, 1]``; unknown where they are not that."""
    unknown = int(np.iinfo(np.int64).min)
    found = re.fullmatch(rb'\s*"?\[\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\]"?\s*', text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (unknown, unknown, unknown)


def _numbers(values: list[Any]) -> Any:
    """Process and thread numbers; null for those that are words ('Spans')."""
    try:
        return np.array(values, dtype=np.int64) if values else values
    except (ValueError, OverflowError):
        return [whole(value) for value in values]


def read_events(content: Content, start: int) -> tuple[_Columns, int, bool]:
    """The complete events of the array behind ``start``: columns, the place behind it, whether it holds Chrome events at all.

    Raises LabkitError where it does not parse, OtherProfiler for rocprof v1's events.
    """
    late = any(int(ts) >= EXACT for ts in _TS.findall(content[start : start + (1 << 16)]))
    columns = _Columns()
    kind: Any = LateEvent if late else Event
    array = Array(content, start, msgspec.json.Decoder(list[kind]), msgspec.json.Decoder(list[Any]))
    any_event = False
    for found, plain in array.pieces():
        elements = found if plain else [plain_event(e, LateEvent, Args) for e in found if isinstance(e, dict)]
        if not any_event:
            if any(e.args is not None and len(e.args.begin) for e in elements):
                raise OtherProfiler
            any_event = any(e.ph for e in elements)
        columns.add(elements)
    return columns, array.end, any_event


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


_TS = re.compile(rb'"ts"\s*:\s*"?(\d{1,18})')
_SIGNS = {"schemaVersion", "deviceProperties", "baseTimeNanoseconds", "roctracer_version", "record_shapes", "trace_id"}


def _profile(columns: _Columns, around: dict[str, Any], name: str) -> Profile:
    frame = columns.frame()
    rocm = any(key.startswith(("roctracer", "hip_", "rocprof")) for key in around)
    frame = _in_items(frame)
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


_PROPERTIES: tuple[tuple[str, type], ...] = (("name", str), ("numSms", int), ("warpSize", int))


def _typed(properties: dict[str, Any], key: str, kind: type) -> Any:
    value = properties.get(key)
    return value if isinstance(value, kind) and value else None


def _in_items(frame: pl.DataFrame) -> pl.DataFrame:
    """The grid in work items: a trace counts groups, except for kernels launched by HIP's functions that take items."""
    if "grid_x" not in frame.columns:
        return frame
    calls = frame.filter((frame["kind"] == "api") & frame["name"].is_in(list(IN_ITEMS)))["correlation"].drop_nulls()
    items = pl.col("correlation").is_in(calls.unique().implode()).fill_null(False)
    return frame.with_columns(
        pl.when(items).then(pl.col(g)).otherwise(pl.col(g) * pl.col(w).cast(pl.Int64)).alias(g)
        for g, w in zip(SIZES[:3], SIZES[3:], strict=True)
    )
