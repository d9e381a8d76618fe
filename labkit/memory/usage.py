"""How much memory a function takes at its peak, as the allocator itself reports it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from labkit.errors import LabkitError
from labkit.memory.parts import size
from labkit.profile.kineto import quiet

_HOW = {
    "cpu": "PyTorch's CPU allocator, every allocation and release as the profiler reports it",
    "cuda": "the caching allocator's statistics (torch.cuda.max_memory_allocated); timeline from the profiler",
}


_NOTE = b"Memory block of unknown size was allocated before the profiling started"


@dataclass(frozen=True)
class Usage:
    """Bytes that one call allocated beyond what was there before it.

    peak_bytes: the most at one time. left_bytes: what was still there when it ended. timeline: (seconds since the first
    event, bytes) after each allocation and release. marks: (name, first event, last event) of each named part, as indices
    of the timeline. how: what was counted, in words.
    """

    peak_bytes: int
    left_bytes: int
    timeline: tuple[tuple[float, int], ...]
    device: str
    how: str
    marks: tuple[tuple[str, int, int], ...] = ()

    def __str__(self) -> str:
        return f"peak {size(self.peak_bytes)}, left {size(self.left_bytes)} ({self.device}: {self.how})"

    __repr__ = __str__

    @property
    def peak_within(self) -> str:
        """The mark during which the peak was reached first; '' where it was outside of all."""
        if not self.timeline:
            return ""
        top = max(range(len(self.timeline)), key=lambda k: self.timeline[k][1])
        return next((name for name, first, last in self.marks if first <= top <= last), "")


def measure(
    function: Callable[[], object], device: Any = None, *, timeline: bool = True, marks: Sequence[str] = ()
) -> Usage:
    """Calls ``function()`` once and says how much memory it took at its peak, beyond what was there before.

    device: whose memory; None for the GPU if torch sees one, else the CPU. timeline False: on a GPU, do without the
    profiler. marks: names of torch.profiler.record_function ranges inside the function, to be found on the timeline.

    On a CPU the allocator keeps no statistics, so the profiler's allocation events are added up. Memory that a library
    takes past PyTorch's allocator is not in them, and neither is the release of what existed before the call (a GPU's
    statistics have it). Raises LabkitError for devices whose memory cannot be counted; what the function raises passes
    through.
    """
    kind = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
    if kind.type not in _HOW:
        raise LabkitError(
            f"The peak of memory on '{kind.type}' cannot be counted here.", "Measure on 'cpu', or on 'cuda' (ROCm too)."
        )
    if kind.type == "cpu":
        events, found = _events(function, "cpu", marks)
        peak = max((total for _, total in events), default=0)
        return Usage(max(peak, 0), events[-1][1] if events else 0, events, "cpu", _HOW["cpu"], found)
    torch.cuda.synchronize(kind)
    before = torch.cuda.memory_allocated(kind)
    torch.cuda.reset_peak_memory_stats(kind)
    events, found = _events(function, "cuda", marks) if timeline else ((), ())
    if not timeline:
        function()
    torch.cuda.synchronize(kind)
    peak = torch.cuda.max_memory_allocated(kind) - before
    return Usage(peak, torch.cuda.memory_allocated(kind) - before, events, str(kind), _HOW["cuda"], found)


def _events(
    function: Callable[[], object], device_type: str, marks: Sequence[str]
) -> tuple[tuple[tuple[float, int], ...], tuple[tuple[str, int, int], ...]]:
    """(seconds, bytes since the start) after each allocation and release on devices of this type; and the marks found."""
    from torch.profiler import ProfilerActivity, profile

    with quiet(), _without_note(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        function()
    results: Any = recorded.profiler.kineto_results if recorded.profiler is not None else None
    rows: list[tuple[int, int, int]] = []  # (ns, bytes, address)
    spans: list[tuple[str, int, int]] = []  # (name, start ns, end ns)
    for node in _walk(results.experimental_event_tree() if results is not None else ()):
        kind, detail = node.typed
        if kind.name == "Allocation":
            if detail.device.type == device_type:
                rows.append((node.start_time_ns, detail.alloc_size, detail.ptr))
        elif node.name in marks:
            spans.append((node.name, node.start_time_ns, node.end_time_ns))
    rows.sort(key=lambda row: row[0])
    total, mine, told, times = 0, set[int](), [], []
    for at, amount, address in rows:
        if amount > 0:
            mine.add(address)
        elif device_type == "cpu" and address not in mine:
            continue  # it existed before, and only some of these are reported
        else:
            mine.discard(address)
        total += amount
        told.append(((at - rows[0][0]) / 1e9, total))
        times.append(at)
    found = []
    for name, start, end in sorted(spans, key=lambda span: span[1]):
        inside = [k for k, at in enumerate(times) if start <= at <= end]
        if inside:
            found.append((name, inside[0], inside[-1]))
    return tuple(told), tuple(found)


@contextlib.contextmanager
def _without_note() -> Iterator[None]:
    """Holds back what C++ writes on the error stream in the block, and then writes it but for the allocator's note.

    The note says that memory from before the profile was released in it, which ``measure`` allows for.
    """
    try:
        stream = os.dup(2)
    except OSError:  # a program without an error stream
        yield
        return
    try:
        with tempfile.TemporaryFile() as held:
            os.dup2(held.fileno(), 2)
            try:
                yield
            finally:
                os.dup2(stream, 2)
                held.seek(0)
                kept = b"".join(line for line in held.read().splitlines(keepends=True) if _NOTE not in line)
                if kept:
                    os.write(2, kept)
    finally:
        os.close(stream)


def _walk(nodes: Iterable[Any]) -> Iterator[Any]:
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        todo.extend(node.children)
