"""Which sizes to measure: from well inside the caches to well beyond them, and never more than there is room for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.timing.words import size as words

SMALLEST = 16 * 2**10
BEYOND = 4
"""Arrays this many times the last-level cache count as memory: STREAM's rule (J. D. McCalpin, 'STREAM Benchmark
Reference Information', www.cs.virginia.edu/stream/ref.html)."""

ASSUMED_CACHE = 32 * 2**20  # where the system does not tell
GPU_LARGEST = 2**30
"""Arrays of 1 GiB on a GPU: four times 256 MiB, the largest last-level cache of the GPUs that the course knows (the
Infinity Cache of Instinct MI300)."""

SHARE = 0.25  # of the free memory: the others, and the system, keep theirs
MOST_SHARE = 0.8  # of the free memory, where somebody names the sizes


@dataclass(frozen=True)
class Cache:
    """The last-level cache. ``bytes``: all instances that this process's cores can reach; ``told``: where it is known from, or that
    it is assumed."""

    bytes: int
    told: str


@lru_cache(maxsize=1)
def cpu_cache() -> Cache:
    """The CPU's last-level cache: Linux's sysfs, macOS's sysctl; assumed elsewhere."""
    found = _from_sysfs(Path("/sys/devices/system/cpu")) if sys.platform.startswith("linux") else 0
    if found:
        return Cache(found, f"last-level cache {words(found)}")
    found = _from_sysctl() if sys.platform == "darwin" else 0
    if found:
        return Cache(found, f"largest cache that macOS names {words(found)}")
    return Cache(ASSUMED_CACHE, f"last-level cache not known here, {words(ASSUMED_CACHE)} assumed")


def _from_sysfs(root: Path) -> int:
    """Bytes of all instances of the highest level; 0 where sysfs does not tell."""
    instances: dict[tuple[int, str], int] = {}
    for index in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            kind = (index / "type").read_text(encoding="ascii").strip()
            level = int((index / "level").read_text(encoding="ascii"))
            shared = (index / "shared_cpu_list").read_text(encoding="ascii").strip()
            text = (index / "size").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:], 1)
        number = text.rstrip("KMG")
        if kind != "Instruction" and number.isdigit():
            instances[level, shared] = int(number) * unit
    highest = max((level for level, _ in instances), default=0)
    return sum(size for (level, _), size in instances.items() if level == highest)


def _from_sysctl() -> int:
    import subprocess

    best = 0
    for name in ("hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"):
        try:
            said = subprocess.run(
                ["sysctl", "-n", name], capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=5
            )
            best = max(best, int(said.stdout.strip() or 0))
        except (OSError, ValueError, subprocess.SubprocessError):
            continue
    return best


def free_bytes(device: str, torch: Any = None) -> int:
    """Bytes that are free on ``device`` ('cpu', 'cuda:0', 'mps') now."""
    if device.startswith("cuda"):
        torch = _torch(torch)
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    import psutil

    return int(psutil.virtual_memory().available)


def cache_of(device: str, torch: Any = None) -> Cache:
    """The last-level cache of ``device``. Of a GPU torch tells the L2; an Infinity Cache behind it is not in that number."""
    if not device.startswith("cuda"):
        return cpu_cache()
    properties = _torch(torch).cuda.get_device_properties(device)
    found = int(getattr(properties, "L2_cache_size", 0) or 0)
    return Cache(found, f"L2 {words(found)}; a last-level cache behind it is not told by torch")


def largest_array(device: str, arrays: int, torch: Any = None) -> tuple[int, str]:
    """(bytes of the largest array, a note or '') so that ``arrays`` of them go beyond the cache and take at most a quarter of the
    free memory.

    Raises LabkitError where not even arrays of the smallest size fit.
    """
    beyond = GPU_LARGEST if device.startswith("cuda") else BEYOND * cpu_cache().bytes
    wanted = max(beyond, 2**26)
    room = int(free_bytes(device, torch) * SHARE) // arrays
    if room < SMALLEST:
        raise LabkitError(
            f"{device} has no free memory to measure in: {arrays} arrays of {words(SMALLEST)} are the least.",
            "Close what else uses it.",
        )
    if room >= wanted:
        return wanted, ""
    room = 2 ** (room.bit_length() - 1)
    note = f"memory is short: arrays end at {words(room)} instead of {words(wanted)}"
    return room, note + (", which a cache may still hold in part" if room < beyond else "")


def sweep(smallest: int, largest: int, points: int) -> tuple[int, ...]:
    """About ``points`` powers of two from ``smallest`` to ``largest`` (both taken up to a power of two), ascending."""
    low, high = max(1, smallest - 1).bit_length(), max(1, largest).bit_length() - 1
    high = max(high, low)
    step = max(1, round((high - low) / max(1, points - 1)))
    return tuple(2**k for k in sorted({*range(high, low - 1, -step), low}))


def fits(device: str, wanted: int, torch: Any = None) -> None:
    """Raises LabkitError where ``wanted`` bytes are more than ``device`` has to spare."""
    free = free_bytes(device, torch)
    if wanted > MOST_SHARE * free:
        raise LabkitError(
            f"The measurement needs {words(wanted)} on {device}, where {words(free)} are free.",
            "Name smaller sizes, or close what else uses the memory.",
        )


def _torch(torch: Any) -> Any:
    if torch is None:
        import torch
    return torch
