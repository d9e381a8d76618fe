"""How much memory a function takes at its peak, as the allocator itself reports it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from labkit.errors import LabkitError
from labkit.memory.parts import size

_HOW = {
    "cpu": "PyTorch's CPU allocator, every allocation and release as the profiler reports it",
    "cuda": "the caching allocator's statistics (torch.cuda.max_memory_allocated); timeline from the profiler",
}


@dataclass(frozen=True)
class Usage:
    """Bytes that one call allocated beyond what was there before it.

    peak_bytes: the most at one time. left_bytes: what was still there when it ended (negative: it released more than it
    took). timeline: (seconds since the first event, bytes) at each event. how: what was counted, in words.
    """

    peak_bytes: int
    left_bytes: int
    timeline: tuple[tuple[float, int], ...]
    device: str
    how: str

    def __str__(self) -> str:
        return f"peak {size(self.peak_bytes)}, left {size(self.left_bytes)} ({self.device}: {self.how})"

    __repr__ = __str__


def measure(function: Callable[[], object], device: Any = None, *, timeline: bool = True) -> Usage:
    """Calls ``function()`` once and says how much memory it took at its peak, beyond what was there before.

    device: whose memory; None for the GPU if torch sees one, else the CPU. timeline False: on a GPU, do without the
    profiler. On a CPU the allocator keeps no statistics, so the profiler's allocation events are added up; memory
    that a library takes past PyTorch's allocator is not in them. Raises LabkitError for devices whose memory cannot be
    counted; what the function raises passes through.
    """
    kind = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
    if kind.type not in _HOW:
        raise LabkitError(
            f"The peak of memory on '{kind.type}' cannot be counted here.", "Measure on 'cpu', or on 'cuda' (ROCm too)."
        )
    if kind.type == "cpu":
        events = _events(function, "CPU")
        peak = max((total for _, total in events), default=0)
        return Usage(max(peak, 0), events[-1][1] if events else 0, events, "cpu", _HOW["cpu"])
    torch.cuda.synchronize(kind)
    before = torch.cuda.memory_allocated(kind)
    torch.cuda.reset_peak_memory_stats(kind)
    events = _events(function, "CUDA") if timeline else ()
    if not timeline:
        function()
    torch.cuda.synchronize(kind)
    peak = torch.cuda.max_memory_allocated(kind) - before
    return Usage(peak, torch.cuda.memory_allocated(kind) - before, events, str(kind), _HOW["cuda"])


def _events(function: Callable[[], object], device_type: str) -> tuple[tuple[float, int], ...]:
    """(seconds, bytes since the start) after each allocation and release on devices of this type."""
    from torch.profiler import ProfilerActivity, profile

    with _quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        function()
    results: Any = recorded.profiler.kineto_results if recorded.profiler is not None else None
    rows = [
        (event.start_ns(), event.nbytes())
        for event in (results.events() if results is not None else ())
        if event.name() == "[memory]" and event.device_type().name == device_type
    ]
    rows.sort(key=lambda row: row[0])
    total, told = 0, []
    for at, amount in rows:
        total += amount
        told.append(((at - rows[0][0]) / 1e9, total))
    return tuple(told)


@contextmanager
def _quiet() -> Iterator[None]:
    """The profiler's library says on stderr when it starts and stops; unless somebody set its level, it does not here."""
    name = "KINETO_LOG_LEVEL"
    if name in os.environ:
        yield
        return
    os.environ[name] = "99"
    try:
        yield
    finally:
        os.environ.pop(name, None)
