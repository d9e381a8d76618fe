"""Under which conditions a time was taken: a number without them says little."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class Conditions:
    """Machine, device, threads and versions of a measurement."""

    machine: str  # the processor's name and how many cores this process may use
    device: str  # 'cpu', or the device with its product name
    threads: int | None  # torch's CPU threads; None without torch
    torch: str | None
    python: str

    def __str__(self) -> str:
        parts = [self.machine]
        if self.device != "cpu":
            parts.insert(0, self.device)
        if self.threads is not None:
            parts.append(f"{self.threads} thread{'s' if self.threads != 1 else ''}")
        parts.append(f"torch {self.torch}" if self.torch else "without torch")
        parts.append(f"Python {self.python}")
        return ", ".join(parts)


@lru_cache(maxsize=1)
def processor() -> str:
    """The processor's own name, as far as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model") and value.strip():
                return " ".join(value.split())
    except OSError:
        pass
    if sys.platform == "darwin":
        try:
            told = subprocess.run(
                ["sysctl", "-n", "machdep.cpu.brand_string"],
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=5,
            )
            if told.stdout.strip():
                return told.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or platform.machine() or "unknown processor"


def usable_cores() -> int:
    """The cores that this process may use (fewer than the machine has in a container or under taskset)."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def conditions(device: str = "cpu") -> Conditions:
    """The conditions now, for a measurement on ``device``. Looks at torch only if it is loaded already."""
    cores = usable_cores()
    machine = f"{processor()} ({cores} core{'s' if cores != 1 else ''})"
    torch = sys.modules.get("torch")
    threads = version = None
    if torch is not None:
        threads, version = int(torch.get_num_threads()), str(torch.__version__)
        if device.startswith("cuda"):
            try:
                device = f"{torch.cuda.get_device_name(device)} ({device})"
            except (RuntimeError, AssertionError):
                pass
    return Conditions(machine, device, threads, version, platform.python_version())
