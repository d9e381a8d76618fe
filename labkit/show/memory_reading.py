"""How much memory the training holds at this moment: cheap enough to be asked while it runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class MemoryReading:
    """Bytes in use now and at most so far, and what was counted: torch's tensors on the GPU, or this whole process."""

    bytes: int
    peak_bytes: int
    label: str

    @property
    def now(self) -> str:
        return told(self.bytes)

    @property
    def peak(self) -> str:
        return told(self.peak_bytes)


def read_memory(device: Any = None) -> MemoryReading | None:
    """What torch has allocated on ``device`` where that is a GPU, otherwise the resident memory of this process.

    None where the system does not tell. For the process there is no peak: the reading stands for it.
    """
    if getattr(device, "type", "cpu") == "cuda":
        import torch

        kind = "HIP" if getattr(torch.version, "hip", None) else "CUDA"
        return MemoryReading(
            torch.cuda.memory_allocated(device),
            torch.cuda.max_memory_allocated(device),
            f"memory allocated on the GPU ({kind})",
        )
    resident = _resident()
    return None if resident is None else MemoryReading(resident, resident, "memory of this process")


def told(amount: int) -> str:
    """Bytes for people: '812 MB', '1.25 GB' (powers of ten)."""
    return f"{amount / 1e9:.2f} GB" if amount >= 1e9 else f"{amount / 1e6:.0f} MB"


def _resident() -> int | None:
    try:  # Linux: a hundred times cheaper than psutil
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _page_bytes()
    except (OSError, ValueError, IndexError, AttributeError):
        pass
    try:
        import psutil

        return int(psutil.Process().memory_info().rss)
    except Exception:  # no psutil, or a system that does not tell: then memory is not shown
        return None


@lru_cache(maxsize=1)
def _page_bytes() -> int:
    return int(os.sysconf("SC_PAGE_SIZE"))
