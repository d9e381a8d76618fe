"""A made-up clock for measures, and a made-up GPU for the code that only a GPU would run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch

from labkit.timing.stopwatch import Lap


class Watch:
    """Calls the function once per lap, whatever was asked, and tells ``seconds()`` for each of the calls."""

    shortest_s = 1e-3

    def __init__(self, seconds: Callable[[], float] = lambda: 1e-4, device: str = "cpu") -> None:
        self.seconds, self.device = seconds, device
        self.laps = 0

    def lap(self, function: Callable[[], object], calls: int) -> Lap:
        function()
        self.laps += 1
        return Lap(self.seconds() * calls, float("nan"))


class GpuTorch:
    """torch with ``count`` GPUs that are the CPU's memory; ``log`` keeps what was asked of streams and of pinned memory."""

    def __init__(self, count: int = 1, *, free: int = 2**26, pinned: bool = True, peers: bool = True, hip: str = "7.2"):
        self.float32, self.uint8, self.bfloat16, self.float16 = (
            torch.float32,
            torch.uint8,
            torch.bfloat16,
            torch.float16,
        )
        self.sum, self.add, self.mm = torch.sum, torch.add, torch.mm
        self.Generator = lambda device: torch.Generator()
        self.version = SimpleNamespace(hip=hip)
        self.log: list[str] = []
        self._pinned = pinned
        log = self.log

        class Stream:
            def __init__(self, device: str) -> None:
                self.device = device

            def wait_stream(self, other: Stream) -> None:
                log.append("wait")

        @contextlib.contextmanager
        def stream(which: Stream) -> Iterator[None]:
            log.append(f"on stream of {which.device}")
            yield

        self.cuda = SimpleNamespace(
            is_available=lambda: count > 0,
            device_count=lambda: count,
            mem_get_info=lambda device: (free, 2 * free),
            get_device_properties=lambda device: SimpleNamespace(L2_cache_size=6 * 2**20),
            can_device_access_peer=lambda i, j: peers,
            Stream=Stream,
            stream=stream,
            current_stream=lambda device: Stream(str(device)),
        )

    def device(self, name: str) -> str:
        return name

    def get_float32_matmul_precision(self) -> str:
        return "high"

    def empty(self, *size: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False) -> Any:
        if pin_memory:
            self.log.append("pinned")
            if not self._pinned:
                raise RuntimeError("cannot pin")
        return torch.empty(*size, dtype=dtype)

    def full(self, size: Any, value: float, *, dtype: Any, device: Any) -> Any:
        return torch.full(size, value, dtype=dtype)

    def zeros(self, *size: Any, dtype: Any, device: Any) -> Any:
        return torch.zeros(*size, dtype=dtype)
