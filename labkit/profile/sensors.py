"""What the GPUs of this machine are doing at this moment: busy share, memory, power, temperature. Reads only.

On Linux the amdgpu driver's own files are read (a few microseconds); where they are missing, amd-smi or nvidia-smi is asked; without
a GPU it is the CPU and this process, and the reading says so.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

DRM = Path("/sys/class/drm")
LEAST_S = 0.1  # the kernel counts a CPU's time in hundredths of a second: over less than this a share is chance
_AMD = "0x1002"
AMD_SMI = ("amd-smi", "metric", "--usage", "--mem-usage", "--power", "--temperature", "--json")
NVIDIA_SMI = (
    "nvidia-smi",
    "--query-gpu=index,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu",
    "--format=csv,noheader,nounits",
)
_PCI = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True)
class Reading:
    """One device at one moment; None is what its source does not tell.

    source: ``amdgpu driver``, ``amd-smi``, ``nvidia-smi`` or ``CPU``. busy_percent: share of the time in which *some* kernel ran, whatever
    part of the chip it used (CPU: of all cores). memory_bytes: of the card in use by everybody (CPU: of this process). address: on the PCI
    bus, as 0000:c1:00.0; "" where the source does not tell it.
    """

    source: str
    device: int
    busy_percent: float | None = None
    memory_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    address: str = ""


Sensor = Callable[[], Sequence[Reading]]


def find() -> tuple[str, Sensor]:
    """(name, sensor) of the best source on this machine."""
    if driver():
        return "amdgpu driver", driver
    for name, program, read in (("amd-smi", "amd-smi", _ask_amd_smi), ("nvidia-smi", "nvidia-smi", _ask_nvidia_smi)):
        if shutil.which(program) and read():
            return name, read
    return "CPU", Processor().read


def driver(root: Path = DRM) -> tuple[Reading, ...]:
    """The amdgpu driver's files under ``/sys/class/drm/card*/device``; empty without an AMD card.

    Source: the kernel's documentation of amdgpu (gpu_busy_percent in %, mem_info_vram_* in bytes, hwmon power in µW, temperature in
    thousandths of a °C; temp1 is the edge sensor, which an MI300 lacks, and temp2 the junction).
    """
    found: list[Reading] = []
    cards = sorted(root.glob("card[0-9]*"), key=lambda path: (len(path.name), path.name)) if root.is_dir() else []
    for card in cards:
        place = card / "device"
        if "-" in card.name or _text(place / "vendor") != _AMD or not (place / "mem_info_vram_total").exists():
            continue
        sensors = next(iter(sorted(place.glob("hwmon/hwmon*"))), place)
        power = _number(sensors / "power1_average")
        power = _number(sensors / "power1_input") if power is None else power
        heat = _number(sensors / "temp1_input")
        heat = _number(sensors / "temp2_input") if heat is None else heat
        address = place.resolve().name
        found.append(
            Reading(
                "amdgpu driver",
                len(found),
                _number(place / "gpu_busy_percent"),
                _whole(_number(place / "mem_info_vram_used")),
                _whole(_number(place / "mem_info_vram_total")),
                None if power is None else power / 1e6,
                None if heat is None else heat / 1e3,
                address if _PCI.fullmatch(address) else "",
            )
        )
    return tuple(found)


def amd_smi(text: str) -> tuple[Reading, ...]:
    """The readings in amd-smi's output."""
    from labkit.machine.readers import amd_smi as reader

    return tuple(
        Reading(
            "amd-smi",
            gpu["index"],
            gpu["use_percent"],
            gpu["vram_used_bytes"],
            gpu["vram_total_bytes"],
            gpu["power_w"],
            gpu["temperature_c"],
        )
        for gpu in reader.read(text)["gpus"]
    )


def nvidia_smi(text: str) -> tuple[Reading, ...]:
    """The readings in ``nvidia-smi --query-gpu`` lines (CSV without header and units; MiB, W, °C)."""
    found = []
    for row in csv.reader(io.StringIO(text), skipinitialspace=True):
        if len(row) != 6 or not row[0].isdigit():
            continue
        busy, used, total, power, heat = map(_float, row[1:])
        found.append(
            Reading(
                "nvidia-smi",
                int(row[0]),
                busy,
                None if used is None else int(used * 2**20),
                None if total is None else int(total * 2**20),
                power,
                heat,
            )
        )
    return tuple(found)


class Processor:
    """The CPU and this process, for machines without a GPU. May be read by any thread (psutil.cpu_percent begins at 0 in each)."""

    def __init__(self) -> None:
        import psutil

        self._psutil, self._process = psutil, psutil.Process(os.getpid())
        self._asked, self._spent = time.monotonic(), self._times()

    def read(self) -> tuple[Reading, ...]:
        """The busy share since the last reading; None where that is so short ago that its clock has not moved."""
        memory, total = self._process.memory_info().rss, self._psutil.virtual_memory().total
        share, now = None, time.monotonic()
        if now - self._asked >= LEAST_S:
            busy, spent = self._times()
            if spent > self._spent[1]:
                share = min(100.0, max(0.0, 100 * (busy - self._spent[0]) / (spent - self._spent[1])))
                self._asked, self._spent = now, (busy, spent)
        return (Reading("CPU", 0, share, memory, total),)

    def _times(self) -> tuple[float, float]:
        """Seconds in which a CPU was busy, and all seconds, of all CPUs since the machine started."""
        times = self._psutil.cpu_times()._asdict()
        # both kinds of guest are part of user and nice
        spent = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
        return spent - times["idle"] - times.get("iowait", 0.0), spent


def _ask_amd_smi() -> tuple[Reading, ...]:
    from labkit.machine.probes.commands import ask

    return amd_smi(ask(AMD_SMI, 10).text)


def _ask_nvidia_smi() -> tuple[Reading, ...]:
    from labkit.machine.probes.commands import ask

    return nvidia_smi(ask(NVIDIA_SMI, 10).text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # a sensor that is there and does not answer (a sleeping card says so)
        return ""


def _number(path: Path) -> float | None:
    return _float(_text(path))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
