"""The columns of a Chrome trace, as its pieces come: what each kind of event has, and in which place of its ``args``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from labkit.profile.flops import COUNTED, flops
from labkit.profile.readers.chrome_args import UNKNOWN, Coded, Reader
from labkit.profile.readers.chrome_lines import Lines
from labkit.profile.readers.chrome_odd import exact_ns, whole
from labkit.profile.table import empty, events

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


class Call(msgspec.Struct, gc=False):
    """What is used of the ``args`` of a call on the host."""

    correlation: int | None = None


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


class Columns:
    """The columns of all pieces so far."""

    def __init__(self) -> None:
        self.names = _Table()
        self.marks = np.empty(0, dtype=np.uint64)  # of names as they stand in the file, sorted
        self.marked = np.empty(0, dtype=np.uint32)  # their numbers
        self.readers: dict[str, Reader] = {}
        self.kinds = _Kinds()
        self.parts: dict[str, list[dict[str, Any]]] = {}
        self.counted: dict[tuple[str, bytes, bytes], float] = {}
        self.odd: set[str] = set()

    def add(self, found: Sequence[Any]) -> None:
        """Takes the complete events (``ph`` X) of a piece."""
        groups: dict[str, list[str]] = {}
        for cat in {e.cat for e in found if e.ph == "X"}:
            groups.setdefault(self.kinds[cat], []).append(cat)
        for kind, cats in groups.items():
            if len(cats) == 1:
                (cat,) = cats
                chosen = [e for e in found if e.cat == cat and e.ph == "X"]
            else:
                chosen = [e for e in found if e.ph == "X" and e.cat in cats]
            table = self.names
            codes = np.array([table[e.name] for e in chosen], dtype=np.uint32)
            start, end = self._times(chosen)
            pid, tid = [e.pid for e in chosen], [e.tid for e in chosen]

            def args(rows: np.ndarray | None, chosen: list[Any] = chosen) -> Coded:
                if rows is not None:
                    chosen = [chosen[row] for row in rows.tolist()]
                return Coded.listed([e.args or _NOTHING for e in chosen])

            self.parts.setdefault(kind, []).append(
                self._columns(kind, codes, start, end, _numbers(pid), _numbers(tid), args)
            )

    def add_lines(self, lines: Lines) -> None:
        """Takes a piece that was parsed by columns. Raises msgspec.DecodeError, and takes nothing, where it is no JSON."""
        others = _EVENTS.decode(b"[" + b",".join(lines.others) + b"]")
        codes = self._coded(lines)
        taken = []
        for cat, rows in lines.cats.items():
            kind = self.kinds[cat.decode("utf-8", "replace")]

            def args(chosen: np.ndarray | None, rows: np.ndarray = rows, kind: str = kind) -> Coded:
                rows = rows if chosen is None else rows[chosen]
                if kind not in self.readers:
                    self.readers[kind] = Reader(Call if kind == "api" else Args)
                return self.readers[kind].take(lines.text, lines.content_at[rows], lines.content_end[rows])

            columns = self._columns(
                kind, codes[rows], lines.start[rows], lines.end[rows], lines.pid[rows], lines.tid[rows], args
            )
            taken.append((kind, columns))
        for kind, columns in taken:
            self.parts.setdefault(kind, []).append(columns)
        self.add(others)

    def _coded(self, lines: Lines) -> np.ndarray:
        """The number of each event's name. Only names that are new are looked into."""
        text = lines.text
        marks = text.marks(lines.name_at, lines.name_end)
        place = np.searchsorted(self.marks, marks)
        fresh = np.append(self.marks, np.uint64(0))[place] != marks
        fresh |= place == len(self.marks)
        if fresh.any():
            new, first = np.unique(marks[fresh], return_index=True)
            rows = np.flatnonzero(fresh)[first]
            places = zip(lines.name_at[rows].tolist(), lines.name_end[rows].tolist(), strict=True)
            codes = [self.names[msgspec.json.decode(b'"' + text.content[a:b] + b'"', type=str)] for a, b in places]
            every = np.concatenate((self.marks, new))
            order = np.argsort(every)
            self.marks = every[order]
            self.marked = np.concatenate((self.marked, np.array(codes, dtype=np.uint32)))[order]
            place = np.searchsorted(self.marks, marks)
        return self.marked[place]

    def _columns(
        self,
        kind: str,
        codes: np.ndarray,
        start: np.ndarray,
        end: np.ndarray,
        pid: np.ndarray,
        tid: np.ndarray,
        args: Callable[[np.ndarray | None], Coded],
    ) -> dict[str, Any]:
        got: dict[str, Any] = {"name": codes, "start_ns": start, "end_ns": end}
        if kind in ON_GPU:
            self._device(kind, args(None), pid, tid, got)
            return got
        got["thread"] = tid
        got["process"] = pid
        if kind == "api":
            got["correlation"] = args(None).numbers("correlation")
        elif kind == "operator":
            counted = np.array(
                [code for name in COUNTED if (code := self.names.get(name)) is not None], dtype=np.uint32
            )
            rows = np.flatnonzero(np.isin(codes, counted))
            if len(rows):
                got["flops"] = np.full(len(codes), np.nan)
                got["flops"][rows] = self._operations(codes[rows], args(rows))
        return got

    def _operations(self, codes: np.ndarray, args: Coded) -> np.ndarray:
        """Floating-point operations, counted once for each operator with the same shapes."""
        names = list(self.names)
        found = np.full(len(codes), np.nan)
        for rows, place, structs in args.blocks:
            pairs, which = np.unique(codes[rows].astype(np.int64) << 32 | place, return_inverse=True)
            counted = [self._flops(names[pair >> 32], structs.structs[pair & 0xFFFFFFFF]) for pair in pairs.tolist()]
            found[rows] = np.array(counted, dtype=np.float64)[which]
        return found

    def _times(self, chosen: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Start and end in ns; the smallest Int64 stands for unknown."""
        dur = np.array([e.dur for e in chosen], dtype=np.float64)
        raw = [e.ts for e in chosen]
        unknown = UNKNOWN
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

    def _device(self, kind: str, args: Coded, pid: np.ndarray, tid: np.ndarray, got: dict[str, Any]) -> None:
        device, stream = args.numbers("device"), args.numbers("stream")
        got["device"] = np.where(device == UNKNOWN, pid, device)
        got["stream"] = np.where(stream == UNKNOWN, tid, stream)
        if kind == "annotation":
            return
        got["correlation"] = args.numbers("correlation")
        if kind == "copy":
            got["bytes"] = args.numbers("bytes")
            return
        sizes = args.column("sizes", lambda a: (*_three(bytes(a.grid)), *_three(bytes(a.block))), len(SIZES))
        for i, name in enumerate(SIZES):
            got[name] = sizes[:, i]
        got["vgpr"] = args.numbers("registers")
        got["lds_bytes"] = args.numbers("shared")

    def _flops(self, name: str, a: Any) -> float:
        key = (name, bytes(a.dims), bytes(a.values))
        if key not in self.counted:
            try:
                dims, values = msgspec.json.decode(key[1] or b"null"), msgspec.json.decode(key[2] or b"[]")
            except (msgspec.DecodeError, RecursionError):
                dims, values = None, None
            found = flops(name, dims, values if isinstance(values, list) else ())
            self.counted[key] = float("nan") if found is None else found
        return self.counted[key]

    def frame(self) -> pl.DataFrame:
        """One table of everything."""
        if not self.parts:
            return empty()
        names = pl.Series("name", list(self.names), dtype=pl.String).cast(pl.Categorical)
        frames = []
        for kind in list(self.parts):
            parts = self.parts.pop(kind)
            columns: dict[str, Any] = {}
            for column in dict.fromkeys(name for part in parts for name in part):
                if column == "name":
                    columns[column] = names.gather(pl.Series(np.concatenate([part["name"] for part in parts])))
                    continue
                none = np.nan if column == "flops" else UNKNOWN
                values = [
                    part[column] if column in part else np.full(len(part["name"]), none, type(none)) for part in parts
                ]
                series = _series(column, np.concatenate(values))
                if column in ("flops", "vgpr", "lds_bytes", "bytes", *SIZES) and series.null_count() == len(series):
                    continue
                columns[column] = series
            frames.append(events(columns, kind=kind))
        return pl.concat(frames, how="diagonal")


_NOTHING = Args()
_EVENTS = msgspec.json.Decoder(list[Event])


def _series(name: str, values: np.ndarray) -> pl.Series:
    """The column, null where a number is UNKNOWN or not a number."""
    none = np.isnan(values) if values.dtype == np.float64 else values == UNKNOWN
    series = pl.Series(name, values)
    return series.set(pl.Series(none), None) if none.any() else series


def _three(text: bytes) -> tuple[int, int, int]:
    """The three numbers of ``[256, 1, 1]``; unknown where they are not that."""
    unknown = UNKNOWN
    found = re.fullmatch(rb'\s*"?\[\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\]"?\s*', text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (unknown, unknown, unknown)


def _numbers(values: list[Any]) -> np.ndarray:
    """Process and thread numbers; UNKNOWN for those that are words ('Spans')."""
    try:
        return np.array(values, dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array([UNKNOWN if (v := whole(value)) is None else v for value in values], dtype=np.int64)
