"""What reads the time: the host's clock, or a device's own events. Tests put a made-up clock in their place."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.errors import LabkitError

Clock = Callable[[], float]


@dataclass(frozen=True)
class Lap:
    """One repetition: seconds for all its calls, and the processor seconds that this process got meanwhile."""

    wall_s: float
    cpu_s: float


class Stopwatch(Protocol):
    """Times ``calls`` calls of a function in one go."""

    device: str
    shortest_s: float  # a repetition should take at least this long, so that the clock's resolution does not matter

    def lap(self, function: Callable[[], object], calls: int) -> Lap: ...


class HostStopwatch:
    """The host's monotonic clock, beside the process's own processor time. ``synchronise`` waits for a device, if any."""

    def __init__(
        self,
        wall: Clock = time.perf_counter,
        cpu: Clock = time.process_time,
        *,
        device: str = "cpu",
        shortest_s: float = 1e-3,
        synchronise: Callable[[], object] | None = None,
    ) -> None:
        self.device = device
        self.shortest_s = shortest_s
        self._wall = wall
        self._cpu = cpu
        self._synchronise = synchronise

    def lap(self, function: Callable[[], object], calls: int) -> Lap:
        if self._synchronise is not None:
            self._synchronise()
        wall, cpu = self._wall, self._cpu
        repeat = range(calls)
        cpu_start = cpu()
        start = wall()
        for _ in repeat:
            function()
        if self._synchronise is not None:
            self._synchronise()
        stop = wall()
        return Lap(stop - start, cpu() - cpu_start)


class EventStopwatch:
    """A pair of device events around the calls, on the current stream ('cuda' is also the name of AMD's GPUs here).

    Events are stamped by the device, to about half a microsecond; several short calls share one pair of events.
    Source: torch.cuda.Event in PyTorch's documentation. Not yet verified on ROCm hardware.
    """

    def __init__(self, torch: Any, device: Any, *, shortest_s: float = 1e-3) -> None:
        self._cuda = torch.cuda
        self._torch_device = device
        self.device = str(device)
        self.shortest_s = shortest_s

    def lap(self, function: Callable[[], object], calls: int) -> Lap:
        with self._cuda.device(self._torch_device):
            begin = self._cuda.Event(enable_timing=True)
            end = self._cuda.Event(enable_timing=True)
            self._cuda.synchronize()
            begin.record()
            for _ in range(calls):
                function()
            end.record()
            self._cuda.synchronize()
            return Lap(begin.elapsed_time(end) / 1e3, float("nan"))


def stopwatch_for(device: Any = None) -> Stopwatch:
    """The stopwatch that fits ``device`` (a torch.device, its name, or None: the GPU if torch is loaded and has one).

    Raises LabkitError where a device is named that is not there.
    """
    torch = sys.modules.get("torch")
    if device is None:
        if torch is None:  # nothing that could run on a device has been imported
            return HostStopwatch()
        kind = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        device = kind
    name = str(device)
    kind = name.partition(":")[0]
    if kind == "cpu":
        return HostStopwatch()
    if torch is None:
        try:
            import torch
        except Exception as error:
            raise LabkitError(
                f"Device '{name}' needs torch, which cannot be imported: {error}",
                "Run 'python3 -m labkit setup', or time on the CPU with device='cpu'.",
            ) from error
    assert torch is not None
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise LabkitError(
                f"Device '{name}' is not available to this torch ({torch.__version__}).",
                "Leave device out, or see lesson 00 for what is missing.",
            )
        chosen = torch.device(name)
        index = torch.cuda.current_device() if chosen.index is None else chosen.index
        return EventStopwatch(torch, torch.device("cuda", index))
    if kind == "mps":
        return HostStopwatch(device=name, synchronise=torch.mps.synchronize)
    raise LabkitError(f"labkit cannot time on '{name}'.", "Use 'cpu', 'cuda' (also for AMD GPUs) or 'mps'.")
