"""The fast path: a clean CSV file, piece by piece through polars, with the types that its header asks for.

A piece at a time keeps the memory at the table's own size: nothing of the file stays, and each column is as narrow as it can be. Anything
that polars does not take as it stands (a fraction, an exponent, dots, a second table) is left to the reader that goes line by line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from labkit.profile.readers import columns, numbers
from labkit.profile.readers.dispatch_tables import LAUNCH
from labkit.profile.readers.recognise import Source

PIECE = 16 << 20  # bytes that are parsed at a time
LARGE = (
    512 << 20
)  # bytes; above, a kernel trace's launch configurations are kept once per kernel, not once per dispatch
FORGIVING = (
    256 << 20
)  # bytes; above, single lines that are no records are passed over here instead of reading anew line by line

_TABLES = ("kernel-trace", "counters", "api-trace", "memory-copy-trace", "rocprofv2", "rocprof-v1", "compute-long")
_NUMBERS = (
    "queue", "stream", "thread", "process", "dispatch", "correlation", "start_ns", "end_ns", *LAUNCH,
)  # fmt: skip
_WHOLE = frozenset(name for role in _NUMBERS for name in columns.ROLES[role])
_SMALL = frozenset(
    name
    for role in LAUNCH
    if role in ("vgpr", "accum_vgpr", "sgpr", "workgroup_x", "workgroup_y", "workgroup_z")
    for name in columns.ROLES[role]
)
_AGENTS = ("agentid", "gpuid", "sourceagentid", "destinationagentid")
_LABELS = frozenset(("kernelname", "function", "direction", "countername", "domain", "guid", *_AGENTS))
_UNUSED = frozenset(
    ("kind", "kernelid", "address", "sig", "obj", "queueindex", "dispatchns", "completens", "durationns")
)


_NAME = re.compile(r"[A-Za-z0-9]|[A-Za-z0-9][\w \[\]().:+-]*[\w\])]")


@dataclass(frozen=True)
class Fast:
    """What the fast path found. launches: the launch configurations by kernel, where they were too many to keep per dispatch."""

    table: str
    frame: pl.DataFrame
    printed: dict[str, str]
    launches: pl.DataFrame | None = None
    passed_over: int = 0


def read(source: Source) -> Fast | None:
    """Table, rows and printed names of a clean CSV file, None for anything that has to be read line by line."""
    size = len(source.content)
    first, found, _ = source.head.partition(b"\n")
    names = _header(first) if found else None
    if names is None:
        return None
    header = [columns.plain(name) for name in names]
    table = columns.table_of(header)
    if table not in _TABLES or len(set(header)) != len(header) or "" in header:
        return None
    counted = table == "kernel-trace" and size > LARGE
    launch = [name for role in LAUNCH if (name := _first(role, header)) is not None] if counted else []
    schema = {
        name: pl.Int32
        if name in _SMALL
        else pl.Int64
        if name in _WHOLE
        else pl.Categorical
        if name in _LABELS
        else pl.String
        for name in header
    }
    unused = _UNUSED | {"dispatchid"} if counted else _UNUSED  # the correlation tells dispatches apart as well
    wanted = [i for i, name in enumerate(header) if name not in unused]
    stamps = [name for role in ("start_ns", "end_ns") if (name := _first(role, header)) is not None]
    named = next((name for name in ("kernelname", "function", "direction") if name in header), None)
    if named is None or not wanted:
        return None
    frames: list[pl.DataFrame] = []
    launches: list[pl.DataFrame] = []
    passed_over = 0
    try:
        for piece in _pieces(source, len(first) + 1):
            frame = pl.read_csv(piece, has_header=False, schema=schema, columns=wanted)
            empty = frame.select(pl.any_horizontal(pl.col(n).is_null() for n in (*stamps, named))).to_series()
            if empty.any():
                if size <= FORGIVING:
                    return None
                passed_over += int(empty.sum())
                frame = frame.filter(~empty)
            if launch:
                launches.append(frame.group_by(named, *launch).len("dispatches"))
                frame = frame.drop(launch)
            agents = [numbers.device(frame[name]).alias(name) for name in _AGENTS if name in frame.columns]
            frames.append(frame.with_columns(agents).rechunk())
    except (pl.exceptions.PolarsError, ValueError, _CutError):
        return None
    if not frames:
        return Fast(
            table,
            pl.DataFrame(schema={h: schema[h] for i, h in enumerate(header) if i in wanted}),
            dict(zip(header, names, strict=True)),
        )
    frame = pl.concat(frames)
    together = pl.concat(launches).group_by(named, *launch).agg(pl.col("dispatches").sum()) if launches else None
    return Fast(table, frame, dict(zip(header, names, strict=True)), together, passed_over)


class _CutError(Exception):
    """The content does not end with a line's end."""


def _header(line: bytes) -> list[str] | None:
    """The column names of a first line, None where it is no plain CSV header."""
    line = line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    if b"," not in line or b"\x1b" in line or len(line) > 1 << 16:
        return None
    try:
        names = next(csv.reader([line.decode("utf-8")], strict=True))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        return None
    return names if all(_NAME.fullmatch(name) for name in names) else None


def _first(role: str, header: list[str]) -> str | None:
    return next((name for name in columns.ROLES[role] if name in header), None)


def _pieces(source: Source, at: int) -> Iterator[bytes]:
    """The lines from ``at`` on, about PIECE bytes at a time, each piece ending with a line."""
    content, size = source.content, len(source.content)
    if size > at and content[size - 1 : size] != b"\n":
        raise _CutError
    if source.path is not None:  # reading leaves no pages of the file in this process, mapping would
        with source.path.open("rb") as file:
            file.seek(at)
            rest = b""
            while block := file.read(PIECE):
                end = block.rfind(b"\n") + 1
                if end:
                    yield rest + block[:end]
                    rest = block[end:]
                else:
                    rest += block
                    if len(rest) > 4 * PIECE:
                        raise _CutError
            if rest:
                raise _CutError
        return
    while at < size:
        end = content.rfind(b"\n", at, at + PIECE) + 1
        if end <= at:
            raise _CutError
        yield content[at:end]
        at = end
