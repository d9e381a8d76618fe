"""Host and GPU as two clocks: the host launches ahead, each stream carries out its work in order.

A launch costs the host ``LAUNCH_NS`` and returns. The kernel starts when its packet has reached the GPU, when the work
before it on its stream is done, and when what it waits for on other streams is done. A wait makes the host's clock jump
to the GPU's. Nothing else is needed to see a queue run dry.

All constants are **assumptions** of the usual order of size for ROCm on a desktop or server CPU; none was measured.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from labkit.profile.simulate.names import Kernel

LAUNCH_NS = 5_000  # hipLaunchKernel on the host
ARRIVAL_NS = 4_000  # from the launch's return until an idle GPU can start the kernel
BETWEEN_NS = 800  # from the end of a kernel to the start of the next on the same stream
OPERATOR_NS = 7_000  # Python and PyTorch's dispatcher, per operator of the forward pass, without the launch
BACKWARD_OPERATOR_NS = 4_500  # the same on autograd's thread, which runs no Python
WAKE_NS = 12_000  # from the end of the GPU's work until a waiting host goes on
COPY_CALL_NS = 8_000  # host cost of a copy's call
COPY_MINIMUM_NS = 6_000  # of the copy engine
PINNED_GBS = 25.0  # host to device from pinned memory, PCIe 4 x16
PAGEABLE_GBS = 6.0  # from ordinary memory, through a staging buffer
QUEUE_SLOTS = 4_096  # launches that may be under way; then the host waits for the oldest
JITTER = 0.04  # standard deviation of durations, as a part
DIRECTIONS = ("MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE")

_COLUMNS = (
    "kind", "device", "queue", "stream", "thread", "name", "start_ns", "end_ns", "correlation", "grid_x", "grid_y", "grid_z",
    "workgroup_x", "workgroup_y", "workgroup_z", "lds_bytes", "scratch_bytes", "vgpr", "accum_vgpr", "sgpr", "bytes", "flops",
    "dispatch", "process",
)  # fmt: skip


@dataclass
class Machine:
    """One host process with one GPU. ``now``: the host's clock in nanoseconds."""

    device: int
    process: int
    seed: int
    now: float
    slowness: float = 1.0  # multiplies what operators cost the host
    rows: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    free: dict[int, float] = field(default_factory=dict)  # stream -> end of its last work
    correlation: int = 0
    dispatched: int = 0
    ends: list[float] = field(default_factory=list)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(f"labkit {self.seed} {self.device}")

    def vary(self, ns: float) -> float:
        """A duration with jitter, never below half of it."""
        return max(0.5 * ns, ns * self._random.gauss(1.0, JITTER))

    def host(self, ns: float) -> None:
        """The host works."""
        self.now += self.vary(ns)

    def _row(self, kind: str, name: str, start: float, end: float, **more: Any) -> None:
        rows = self.rows
        more.update(
            kind=kind, name=name, start_ns=round(start), end_ns=max(round(end), round(start) + 1), process=self.process
        )
        for column in _COLUMNS:
            rows[column].append(more.get(column))

    def api(self, name: str, start: float, *, thread: int, correlation: int | None = None) -> int:
        """A finished API call from ``start`` until now; gives its correlation."""
        if correlation is None:
            self.correlation += 1
            correlation = self.correlation
        self._row("api", name, start, self.now, thread=thread, correlation=correlation)
        return correlation

    def marker(
        self, name: str, start: float, *, thread: int, operator: bool = False, flops: float | None = None
    ) -> None:
        """A range of the program, or an operator, from ``start`` until now."""
        self.correlation += 1
        kind = "operator" if operator else "marker"
        self._row(
            kind, name, start, self.now, thread=thread, correlation=None if operator else self.correlation, flops=flops
        )

    def launch(
        self,
        kernel: Kernel,
        ns: float,
        *,
        thread: int,
        stream: int = 0,
        after: float = 0.0,
        flops: float | None = None,
        nbytes: int | None = None,
    ) -> float:
        """Launches a kernel that takes ``ns``; ``after``: when what it waits for is done. Gives its end.

        flops, nbytes: what it computes and moves.
        """
        self.dispatched += 1
        if len(self.ends) >= QUEUE_SLOTS:
            self.now = max(self.now, self.ends[-QUEUE_SLOTS])
        start = self.now
        self.host(LAUNCH_NS)
        correlation = self.api("hipExtModuleLaunchKernel" if kernel.module else "hipLaunchKernel", start, thread=thread)
        begin = max(self.now + self.vary(ARRIVAL_NS), self.free.get(stream, 0.0) + self.vary(BETWEEN_NS), after)
        end = begin + self.vary(ns)
        self.free[stream] = end
        self.ends.append(end)
        self._row(
            "dispatch", kernel.name, begin, end, device=self.device, queue=stream + 1, stream=stream, thread=thread,
            correlation=correlation, grid_x=kernel.grid[0], grid_y=kernel.grid[1], grid_z=kernel.grid[2],
            workgroup_x=kernel.workgroup[0], workgroup_y=kernel.workgroup[1], workgroup_z=kernel.workgroup[2],
            lds_bytes=kernel.lds_bytes, scratch_bytes=0, vgpr=kernel.vgpr, accum_vgpr=kernel.accum_vgpr,
            sgpr=kernel.sgpr, dispatch=self.dispatched, flops=flops, bytes=nbytes,
        )  # fmt: skip
        return end

    def copy(self, nbytes: int, *, thread: int, stream: int = 0, pinned: bool = False, to_host: bool = False) -> float:
        """A transfer on a stream, in order with its other work. From ordinary memory the host waits for it. Gives its end."""
        start = self.now
        self.host(COPY_CALL_NS)
        rate = PINNED_GBS if pinned else PAGEABLE_GBS
        ns = COPY_MINIMUM_NS + nbytes / rate
        begin = max(self.now, self.free.get(stream, 0.0) + self.vary(BETWEEN_NS))
        end = begin + self.vary(ns)
        self.free[stream] = end
        if not pinned:
            self.now = end + self.vary(WAKE_NS)
        correlation = self.api("hipMemcpyAsync" if pinned else "hipMemcpyWithStream", start, thread=thread)
        self._row(
            "copy", DIRECTIONS[1 if to_host else 0], begin, end, device=self.device, queue=stream + 1, stream=stream, thread=thread,
            correlation=correlation, bytes=nbytes,
        )  # fmt: skip
        return end

    def synchronise(self, *, thread: int, stream: int | None = None) -> None:
        """The host waits for a stream, or for all of them."""
        start = self.now
        done = self.free.get(stream, 0.0) if stream is not None else max(self.free.values(), default=0.0)
        self.now = max(self.now + 1_500, done + self.vary(WAKE_NS))
        self.api("hipStreamSynchronize" if stream is not None else "hipDeviceSynchronize", start, thread=thread)
