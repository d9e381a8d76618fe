"""What a snapshot says about a machine: pure functions from raw text to facts.

Nothing here reads a file or runs a command, so a broken laptop elsewhere, a simulated server and this machine are
understood by the same code. The shape of a snapshot stands in ``labkit.machine.snapshot``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.catalog.gfx import GfxTarget, by_pci_id, by_product, target

if TYPE_CHECKING:
    from labkit.machine.checks import Check

Snapshot = Mapping[str, Any]

_AMD = "1002"
_NVIDIA = "10de"


@dataclass(frozen=True)
class Gpu:
    """One AMD GPU as found before anything is installed.

    ``gfx`` is the target, for example ``gfx1100``, or None where it could not be read. ``found_by`` names the part of
    the snapshot that it comes from.
    """

    gfx: str | None
    name: str | None
    integrated: bool | None
    found_by: str

    @property
    def label(self) -> str:
        """Short for people: 'Radeon RX 9070 (gfx1201)', or the chip where the name lists several products."""
        name = self.name or ""
        chip, _, products = name.partition(" [")
        if products:  # as lspci prints it: 'Navi 31 [Radeon RX 7900 XT/7900 XTX]'
            name = chip if "/" in products else products.rstrip("]")
        if name and self.gfx:
            return f"{name} ({self.gfx})"
        return name or self.gfx or "an AMD GPU of unknown target"


@dataclass(frozen=True)
class Machine:
    """What the choice of a PyTorch build depends on."""

    system: str  # 'linux', 'windows', 'macos' or 'other'
    wsl: bool
    architecture: str  # 'x86_64', 'arm64', or what the system calls it
    python: tuple[int, int]
    gpus: tuple[Gpu, ...]  # AMD GPUs, discrete ones first
    nvidia: bool
    apple: bool


_SHAPES: dict[str, type] = {
    **dict.fromkeys(
        ("kfd", "tools", "packages", "devices", "environment", "modules", "python", "torch", "group_ids"), Mapping
    ),
    **dict.fromkeys(("groups", "groups_on_file", "pci", "nvidia", "windows_adapters", "container"), list),
    **dict.fromkeys(("lspci", "cmdline", "os_release", "kernel", "proc_version", "system", "architecture"), str),
}


def tidy(snapshot: Snapshot) -> Snapshot:
    """The snapshot without values of a wrong kind: one that came from elsewhere can hold anything."""
    return {key: value for key, value in snapshot.items() if key not in _SHAPES or isinstance(value, _SHAPES[key])}


def machine(snapshot: Snapshot) -> Machine:
    """The facts of a snapshot; whatever is missing in it counts as not there."""
    snapshot = tidy(snapshot)
    system = {"linux": "linux", "windows": "windows", "darwin": "macos"}.get(
        str(snapshot.get("system", "")).lower(), "other"
    )
    architecture = str(snapshot.get("architecture") or "").lower()
    architecture = {"amd64": "x86_64", "x64": "x86_64", "aarch64": "arm64"}.get(architecture, architecture)
    nvidia = bool(snapshot.get("nvidia")) or any(
        re.search(r"nvidia|geforce", _text(row, "name").lower()) for row in _adapters(snapshot)
    )
    return Machine(
        system=system,
        wsl=is_wsl(snapshot),
        architecture=architecture,
        python=_python(snapshot),
        gpus=gpus(snapshot),
        nvidia=nvidia,
        apple=system == "macos" and architecture == "arm64",
    )


def is_wsl(snapshot: Snapshot) -> bool:
    """Whether Linux runs inside Windows: the kernel says so."""
    snapshot = tidy(snapshot)
    words = f"{snapshot.get('kernel') or ''} {snapshot.get('proc_version') or ''}".lower()
    return str(snapshot.get("system", "")).lower() == "linux" and "microsoft" in words


def in_container(snapshot: Snapshot) -> bool:
    return bool(snapshot.get("container"))


def gpus(snapshot: Snapshot) -> tuple[Gpu, ...]:
    """The AMD GPUs, discrete ones first, otherwise in the order in which the system lists them."""
    snapshot = tidy(snapshot)
    environment = _mapping(snapshot, "environment")
    forced = str(environment.get("ROCM_BOOTSTRAP_FORCE_GFX_ARCH") or "")
    if str(environment.get("ROCM_BOOTSTRAP_DISABLE_DETECTION")) == "1":
        found: list[Gpu] = []
    elif forced.strip(" ,"):
        found = [
            _of(target(name), None, "ROCM_BOOTSTRAP_FORCE_GFX_ARCH", gfx=name.strip().lower())
            for name in forced.split(",")
            if name.strip()
        ]
    else:
        found = (
            _from_kfd(snapshot)
            or _from_adapters(snapshot)
            or _from_dxg(snapshot)
            or _from_lspci(snapshot)
            or _from_pci(snapshot)
        )
    return tuple(sorted(found, key=lambda gpu: bool(gpu.integrated)))


def gfx_name(version: int) -> str | None:
    """The target's name for sysfs' gfx_target_version: 110001 is gfx1101, 90010 is gfx90a; None for 0."""
    if version <= 0:
        return None
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{step:x}"


def kfd_nodes(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The driver's nodes, by number: their names, and the texts of their properties files."""
    nodes = _mapping(snapshot, "kfd")
    return sorted(
        ((str(name), str(text)) for name, text in nodes.items()),
        key=lambda item: (int(item[0]) if item[0].isdigit() else 10**6, item[0]),
    )


def kfd_properties(text: str) -> dict[str, int]:
    """A node's properties file as numbers; lines that are not 'name number' are left out."""
    properties = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 2 and re.fullmatch(r"\d+", parts[1]):
            properties[parts[0]] = int(parts[1])
    return properties


def lspci_names(text: str | None) -> dict[str, str]:
    """AMD's display and compute devices in lspci's text: device id (four hexadecimal digits) to name."""
    names = {}
    for line in (text or "").splitlines():
        found = re.match(r"\S+ [^\[]*\[(?:03|12)\w\w\]: (.*)\[1002:([0-9a-f]{4})\]", line)
        if found:
            name = re.sub(r"Advanced Micro Devices, Inc\. *(\[AMD/ATI\])?", "", found.group(1)).strip()
            names[found.group(2)] = name
    return names


def checks(snapshot: Snapshot) -> list[Check]:
    """The findings of ``labkit.machine.checks`` on this snapshot."""
    from labkit.machine import checks as room

    return room.checks(snapshot)


# ------------------------------------------------------------------------------------------------------------- sources


def _of(
    row: GfxTarget | None, name: str | None, found_by: str, *, gfx: str | None = None, integrated: bool | None = None
) -> Gpu:
    """A GPU whose table row, where there is one, knows best whether it is part of a processor."""
    if row is not None:
        return Gpu(row.gfx, name, row.integrated, found_by)
    return Gpu(gfx, name, integrated, found_by)


def _from_kfd(snapshot: Snapshot) -> list[Gpu]:
    names = lspci_names(snapshot.get("lspci"))
    found = []
    for _, text in kfd_nodes(snapshot):
        properties = kfd_properties(text)
        if properties.get("simd_count", 0) == 0:  # a processor without a GPU
            continue
        gfx = gfx_name(properties.get("gfx_target_version", 0))
        device = f"{properties.get('device_id', 0):04x}"
        row = target(gfx) or (by_pci_id(device) if gfx is None else None)
        found.append(_of(row, names.get(device), "kfd", gfx=gfx, integrated=properties.get("cpu_cores_count", 0) > 0))
    return found


def _from_adapters(snapshot: Snapshot) -> list[Gpu]:
    """Windows' display adapters, seen on Windows or from inside WSL."""
    found = []
    for row in _adapters(snapshot):
        name, device = _text(row, "name"), _text(row, "device").upper()
        if "VEN_1002" not in device and not re.search(r"\b(amd|radeon|ati)\b", name.lower()):
            continue
        number = re.search(r"DEV_([0-9A-F]{4})", device)
        known = by_product(name) or (by_pci_id(number.group(1)) if number else None)
        found.append(_of(known, name or None, "Windows display adapters"))
    return found


def _from_dxg(snapshot: Snapshot) -> list[Gpu]:
    """WSL shows a GPU as /dev/dxg and does not say which: only where Windows could not be asked, and it is no NVIDIA."""
    if "/dev/dxg" not in _mapping(snapshot, "devices") or snapshot.get("nvidia"):
        return []
    return [] if snapshot.get("windows_adapters") is not None else [Gpu(None, None, None, "/dev/dxg")]


def _from_lspci(snapshot: Snapshot) -> list[Gpu]:
    return [
        _of(by_pci_id(device) or by_product(name), name, "lspci")
        for device, name in lspci_names(snapshot.get("lspci")).items()
    ]


def _from_pci(snapshot: Snapshot) -> list[Gpu]:
    return [
        _of(by_pci_id(_text(row, "device")), None, "pci")
        for row in snapshot.get("pci") or []
        if _text(row, "vendor") == _AMD
    ]


def _adapters(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    return [row for row in snapshot.get("windows_adapters") or [] if isinstance(row, Mapping)]


def _mapping(snapshot: Snapshot, key: str) -> Mapping[str, Any]:
    value = snapshot.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(row: Any, key: str) -> str:
    return str(row.get(key) or "") if isinstance(row, Mapping) else ""


def _python(snapshot: Snapshot) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", str(_mapping(snapshot, "python").get("version") or ""))
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)
