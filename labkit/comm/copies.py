"""Copies between the host's memory and a device's, and within a device, over sizes.

On a GPU: host to device and back, from pageable memory (the driver copies it through a buffer of its own first) and
from pinned memory (the device reads it directly), both directions at once on two streams, and within the device. On a
CPU there is no link to cross: what is measured is memory to memory, and it is called that. Not yet verified on ROCm.

A copy of n bytes counts n, as the bandwidth tools count it, although memory that is copied within one device is read
and written (``labkit.comm.streams`` counts both).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from labkit.comm import sizes as which
from labkit.comm.pace import Pace, Progress, quiet
from labkit.comm.results import Series
from labkit.errors import LabkitError
from labkit.timing.stopwatch import Stopwatch, stopwatch_for
from labkit.timing.words import size as words

SMALLEST = 4 * 2**10
GPU_LARGEST = 2**28
_ITEM = 4  # float32
COUNTED = "n bytes per copy"
COUNTED_BOTH = "2n bytes: n in each direction at once (sizes are both together)"
NO_LINK = "no GPU here: nothing crosses a link, memory is copied to memory; pinned memory is not applicable"
LOCAL = "local memory, not a link: the device reads and writes n bytes, and n are counted"
UNVERIFIED = "not yet verified on ROCm"

Way = tuple[str, str, str, str, int, "Callable[[int], Callable[[], object]]"]
"""(name, label, src, dst, directions, items -> the copy of so many)."""


def measure_copies(
    device: Any = "cpu",
    *,
    sizes: Sequence[int] | None = None,
    seconds: float = 4.0,
    stopwatch: Stopwatch | None = None,
    progress: Progress = quiet,
    torch: Any = None,
) -> tuple[Series, ...]:
    """One series for each way of copying that ``device`` has: 'pageable' and 'pinned' (to the device, then from it), 'both'
    and 'local' on a GPU; 'local' on a CPU.

    ``sizes``: bytes in one direction (default: from 4 KiB to beyond the last-level cache, 256 MiB on a GPU, at most a quarter of
    the free memory). ``seconds``: about how long all of it takes. Raises LabkitError for a size under 4 bytes or memory that does
    not suffice.
    """
    if torch is None:
        import torch
    where = str(device)
    if sizes is not None and (not sizes or min(sizes) < _ITEM):
        raise LabkitError("A copy needs sizes of at least 4 bytes.", "Leave sizes out for the usual ones.")
    note = ""
    if sizes is None:
        largest, note = which.largest_array(where, 2, torch)
        if where != "cpu":
            host, host_note = which.largest_array("cpu", 2, torch)
            largest, note = min(largest, host, GPU_LARGEST), note or host_note * (host < GPU_LARGEST)
        chosen = which.sweep(SMALLEST, largest, 10)
    else:
        chosen = tuple(sorted({int(n) // _ITEM * _ITEM for n in sizes}))
        which.fits("cpu", 2 * chosen[-1], torch)
        if where != "cpu":
            which.fits(where, 2 * chosen[-1], torch)
    watch = stopwatch_for(where) if stopwatch is None else stopwatch
    missing: list[str] = []
    ways = list(_ways(where, chosen[-1] // _ITEM, torch, missing))
    made = []
    for name, label, src, dst, directions, copy in ways:
        pace = Pace(seconds / len(ways), len(chosen), watch)
        points = []
        for n in chosen:
            progress(f"copy: {label}, {words(n * directions)}")
            points.append(pace.point(copy(n // _ITEM), n * directions, work=n * directions))
        notes = [NO_LINK if where == "cpu" else LOCAL if src == dst else "", note, *missing, *pace.notes()]
        if where.startswith("cuda") and getattr(torch.version, "hip", None):
            notes.append(UNVERIFIED)
        counted = COUNTED if directions == 1 else COUNTED_BOTH
        kept = tuple(text for text in notes if text)
        made.append(Series("copy", label, src, dst, "float32", tuple(points), name=name, counted=counted, notes=kept))
    return tuple(made)


def _ways(where: str, items: int, torch: Any, missing: list[str]) -> Iterator[Way]:
    """The ways of copying, with buffers of ``items`` float32 that are made and touched here; what cannot be is told in ``missing``."""

    def buffer(place: str, **options: Any) -> Any:
        return torch.empty(items, dtype=torch.float32, device=place, **options).fill_(1.0)

    a, b = buffer(where), buffer(where)
    if where == "cpu":
        yield "local", "memory to memory", where, where, 1, one_way(a, b)
        return
    host = buffer("cpu")
    yield "pageable", "host to device, pageable", "cpu", where, 1, one_way(a, host)
    yield "pageable", "device to host, pageable", where, "cpu", 1, one_way(host, a)
    if where.startswith("cuda"):
        try:
            pinned, other = buffer("cpu", pin_memory=True), buffer("cpu", pin_memory=True)
        except RuntimeError as error:
            missing.append(f"no pinned memory: {' '.join(str(error).split())[:100]}")
        else:
            yield "pinned", "host to device, pinned", "cpu", where, 1, one_way(a, pinned, at_once=True)
            yield "pinned", "device to host, pinned", where, "cpu", 1, one_way(pinned, a, at_once=True)
            both = both_ways((a, pinned), (other, b), (where, where), torch)
            yield "both", "both directions at once, pinned", "cpu", where, 2, both
    yield "local", "within the device", where, where, 1, one_way(a, b)


def both_ways(
    there: tuple[Any, Any], back: tuple[Any, Any], devices: tuple[str, str], torch: Any
) -> Callable[[int], Callable[[], object]]:
    """Items -> a copy of so many both ways at once: ``there`` and ``back`` are (target, source), each on a stream of its
    own of ``devices``. The first device's current stream waits for both, so that its events enclose them."""
    ways = [(torch.cuda.Stream(device=name), *pair) for name, pair in zip(devices, (there, back), strict=True)]

    def some(count: int) -> Callable[[], object]:
        parts = [(stream, target[:count], source[:count]) for stream, target, source in ways]

        def copy() -> None:
            here = torch.cuda.current_stream(devices[0])
            for stream, target, source in parts:
                stream.wait_stream(here)
                with torch.cuda.stream(stream):
                    target.copy_(source, non_blocking=True)
            for stream, _, _ in parts:
                here.wait_stream(stream)

        return copy

    return some


def one_way(into: Any, out_of: Any, *, at_once: bool = False) -> Callable[[int], Callable[[], object]]:
    """Items -> a copy of so many; ``at_once``: the host does not wait for it."""

    def some(count: int) -> Callable[[], object]:
        target, source = into[:count], out_of[:count]
        return lambda: target.copy_(source, non_blocking=at_once)

    return some
