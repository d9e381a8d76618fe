"""Memory bandwidth by read, write, copy and triad, from a working set inside the caches to one beyond them.

Bytes are counted by STREAM's convention (J. D. McCalpin, www.cs.virginia.edu/stream/ref.html): what the program asks
for. With arrays of n bytes a read counts n, a write n, a copy 2n, a triad a = b + s * c 3n. A CPU moves more: a store
to a line that no cache holds first reads that line (write-allocate), unless the store is a non-temporal one. A write
then really moves 2n, a copy 3n, a triad 4n (``with_write_allocate``). So the counted rate of a CPU can stay under its
memory's by a half, a third or a quarter without anything being wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.comm import sizes as which
from labkit.comm.pace import Pace, Progress, quiet
from labkit.comm.results import Point, Series
from labkit.errors import LabkitError
from labkit.timing.stopwatch import Stopwatch, stopwatch_for
from labkit.timing.words import size as words

ARRAYS = {"read": 1, "write": 1, "copy": 2, "triad": 3}
"""Arrays that each measure touches, which is also what it counts, in arrays."""

_WRITTEN = {"read": 0, "write": 1, "copy": 1, "triad": 1}
COUNTED = {
    "read": "bytes counted by STREAM's convention: n per call",
    "write": "bytes counted by STREAM's convention: n per call",
    "copy": "bytes counted by STREAM's convention: 2n per call (n read, n written)",
    "triad": "bytes counted by STREAM's convention: 3n per call (2n read, n written)",
}
_LABELS = {
    "read": "read (a sum)",
    "write": "write (a fill)",
    "copy": "copy (a = b)",
    "triad": "triad (a = b + 2c)",
}
ALLOCATE = (
    "on a CPU, write-allocate can make the memory move more than is counted, unless the stores are non-temporal: "
    "2 times for a write, 1.5 for a copy, 1.33 for a triad"
)
_ITEM = 4  # float32


def with_write_allocate(name: str) -> float:
    """How many times the counted bytes a CPU with write-allocate moves: 1 for a read, 2 for a write, 1.5 for a copy,
    4/3 for a triad."""
    return (ARRAYS[name] + _WRITTEN[name]) / ARRAYS[name]


def measure_memory(
    device: Any = "cpu",
    *,
    names: Sequence[str] = ("read", "write", "copy", "triad"),
    sizes: Sequence[int] | None = None,
    seconds: float = 4.0,
    stopwatch: Stopwatch | None = None,
    progress: Progress = quiet,
    torch: Any = None,
) -> tuple[Series, ...]:
    """One series for each name, over working sets (``Point.bytes``: all arrays of the measure together).

    ``sizes``: bytes of each array, float32 (default: from 16 KiB to four times the last-level cache, 1 GiB on a GPU, at
    most a quarter of the free memory). ``seconds``: about how long all of it takes. The arrays are made and touched once, before
    anything is timed; smaller sizes are the beginnings of them.
    Raises LabkitError for an unknown name, a size under 4 bytes, or memory that does not suffice.
    """
    if torch is None:
        import torch
    where = str(device)
    for name in names:
        if name not in ARRAYS:
            raise LabkitError(f"There is no measure of memory called '{name}'.", f"Choose from: {', '.join(ARRAYS)}.")
    if not names or (sizes is not None and (not sizes or min(sizes) < _ITEM)):
        raise LabkitError("A measure of memory needs a name, and sizes of at least 4 bytes.", "Leave them out.")
    arrays, note = max(ARRAYS[name] for name in names), ""
    if sizes is None:
        largest, note = which.largest_array(where, arrays, torch)
        chosen = which.sweep(which.SMALLEST, largest, 9)
    else:
        chosen = tuple(sorted({int(n) // _ITEM * _ITEM for n in sizes}))
        which.fits(where, arrays * chosen[-1], torch)
    watch = stopwatch_for(where) if stopwatch is None else stopwatch
    held = [torch.full((chosen[-1] // _ITEM,), 1.0 + k, dtype=torch.float32, device=where) for k in range(arrays)]
    cache = which.cache_of(where, torch)
    made = []
    for name in names:
        pace = Pace(seconds / len(names), len(chosen), watch)
        points: list[Point] = []
        for n in chosen:
            progress(f"memory: {name}, {words(ARRAYS[name] * n)}")
            counted = ARRAYS[name] * n
            points.append(pace.point(_kernel(name, [a[: n // _ITEM] for a in held], torch), counted, work=counted))
        notes = [note, cache.told, *pace.notes()]
        if _WRITTEN[name] and where == "cpu":
            notes.insert(0, ALLOCATE)
        made.append(
            Series(
                "memory",
                _LABELS[name],
                where,
                where,
                "float32",
                tuple(points),
                name=name,
                counted=COUNTED[name],
                notes=tuple(text for text in notes if text),
            )
        )
    return tuple(made)


def _kernel(name: str, arrays: Sequence[Any], torch: Any) -> Callable[[], object]:
    a = arrays[0]
    if name == "read":
        out = torch.empty((), dtype=a.dtype, device=a.device)
        return lambda: torch.sum(a, (0,), out=out)
    if name == "write":
        return lambda: a.fill_(3.0)
    b = arrays[1]
    if name == "copy":
        return lambda: a.copy_(b)
    c = arrays[2]
    return lambda: torch.add(b, c, alpha=2.0, out=a)


def memory_roof(series: Sequence[Series]) -> Point:
    """The memory's rate that a roofline may use: the triad's point of the largest working set (beyond the caches).

    Raises LabkitError where no triad was measured.
    """
    triads = [s for s in series if s.kind == "memory" and s.name == "triad"]
    if not triads:
        raise LabkitError("No triad was measured, so the memory's roof is not known.", "Measure: labkit bench memory.")
    return triads[0].largest
