"""The model of a machine that exists only on paper, and what follows from it.

A :class:`Box` holds causes (which cards, which driver, who may open what, which torch). What tools would print follows
from it (:mod:`labkit.machine.simulate.texts`), so two faults at once give the texts that such a machine would give.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from labkit.catalog.gfx import TARGETS
from labkit.catalog.masks import MASKS
from labkit.catalog.wheels import AMD_TORCH

NO_DEVICE = "RuntimeError: No HIP GPUs are available"
NO_KERNEL = "RuntimeError: HIP error: invalid device function"
RENDER, VIDEO = "render", "video"


@dataclass
class Card:
    """One AMD GPU. ``name`` is the product, ``chip`` what the list of PCI devices calls it, ``slot`` its PCI address."""

    gfx: str
    name: str
    chip: str
    device: str
    units: int
    clock_mhz: int
    vram_gib: int
    slot: str = "03:00.0"
    kind: str = "VGA compatible controller [0300]"
    driver: str | None = "amdgpu"
    in_kfd: bool = True
    xcc: int = 1

    @property
    def integrated(self) -> bool:
        return TARGETS[self.gfx].integrated


@dataclass
class Node:
    """A device node."""

    group: str = RENDER
    owner: str = "root"
    mode: str = "crw-rw----"
    error: str | None = None

    @property
    def openable(self) -> bool:
        return self.error is None


@dataclass
class Torch:
    """The installed torch. ``error``: what its import says. ``blind``: it sees no device although nothing shows why."""

    version: str | None = None
    hip: str | None = None
    cuda: str | None = None
    arch_list: tuple[str, ...] = ()
    error: str | None = None
    blind: bool = False
    kernel_error: str | None = None

    @property
    def imports(self) -> bool:
        return self.version is not None and self.error is None

    @property
    def rocm(self) -> bool:
        return self.hip is not None and not self.hip.startswith("0.0.0")


def pytorch_wheel(index: str = "rocm7.2", version: str = "2.13.0") -> Torch:
    """PyTorch's own ROCm wheel of an index: its targets are those of the catalog."""
    held = tuple(row.gfx for row in TARGETS.values() if index in row.pytorch_indexes)
    release = index[4:]
    return Torch(f"{version}+{index}", release if release.count(".") == 2 else f"{release}.0", None, held)


def amd_wheel(*gfx: str) -> Torch:
    """AMD's wheel with the extras of these targets."""
    return Torch(AMD_TORCH, "10.0.0", None, tuple(dict.fromkeys(gfx)))


def cpu_wheel() -> Torch:
    return Torch("2.14.1+cpu")


def cuda_wheel() -> Torch:
    """What plain 'pip install torch' brings on Linux."""
    return Torch("2.14.1+cu130", None, "13.0", ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"))


@dataclass
class Box:
    """A whole machine; every field is a cause, and everything that tools print follows."""

    cards: list[Card]
    torch: Torch
    place: str = "linux"  # 'linux', 'container', 'wsl' or 'windows'
    kernel: str = "6.18.9-generic"
    os_name: str = "Ubuntu 24.04.3 LTS"
    python: str = "3.12.3"
    ram_gib: int = 64
    module: str | None = "live"
    kfd: Node | None = field(default_factory=Node)
    render: Node | None = field(default_factory=Node)
    groups: list[str] = field(default_factory=lambda: ["render", "user", "video"])
    container: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    cmdline: str = "BOOT_IMAGE=/boot/vmlinuz-6.18.9-generic root=/dev/nvme0n1p2 ro quiet splash iommu=pt"
    kernel_log: list[str] = field(default_factory=list)
    rocminfo_before: list[str] = field(default_factory=list)  # lines that other libraries print first
    rocminfo_ends: str | None = None  # 'cpu-only', 'api-failure', or the reason that opening /dev/kfd gives
    wsl: str = "good"  # 'good', 'no-bridge' or 'unsupported'
    smi_before: list[str] = field(default_factory=list)
    sysctl: dict[str, int] = field(default_factory=lambda: {"kernel.numa_balancing": 0, "vm.max_map_count": 65530})
    tools: dict[str, str] = field(default_factory=dict)  # texts that nothing else here makes
    packages: dict[str, str] = field(default_factory=dict)
    symptom: list[str] = field(default_factory=list)

    @property
    def native(self) -> bool:
        """Whether the Linux kernel's own driver serves the GPU."""
        return self.place in ("linux", "container")

    @property
    def serviceable(self) -> list[Card]:
        """The cards that the driver hands out for computing."""
        if not self.native:
            return list(self.cards)
        return [card for card in self.cards if self.module and card.driver == "amdgpu" and card.in_kfd]

    @property
    def opens(self) -> bool:
        """Whether this process gets through to the GPU at all."""
        if self.place == "wsl":
            return self.wsl == "good"
        if self.place == "windows":
            return True
        return bool(self.kfd and self.kfd.openable and self.render and self.render.openable and not self.rocminfo_ends)

    @property
    def visible(self) -> list[Card]:
        """What the visibility variables leave of the serviceable cards."""
        left = self.serviceable
        for name in MASKS:
            if name in self.environment:
                kept = []
                for entry in self.environment[name].split(","):
                    if not entry.strip().isdigit() or int(entry) >= len(left):
                        break
                    kept.append(left[int(entry)])
                left = kept
        return left

    @property
    def sees(self) -> bool:
        """Whether torch.cuda.is_available() says True."""
        return self.torch.imports and self.torch.rocm and not self.torch.blind and self.opens and bool(self.visible)

    def shown_gfx(self, card: Card) -> str:
        """The target that the runtime shows: the override's where it is read."""
        return self.override or card.gfx

    @property
    def override(self) -> str | None:
        content = self.environment.get("HSA_OVERRIDE_GFX_VERSION", "")
        found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", content)
        if not found or self.place == "windows":
            return None
        return f"gfx{int(found.group(1))}{int(found.group(2)):x}{int(found.group(3)):x}"

    def torch_entry(self) -> dict[str, Any]:
        """The ``torch`` entry of the snapshot."""
        torch = self.torch
        if not torch.imports:
            tagged = torch.version if torch.version and "+" in torch.version else None
            return {
                "version": tagged, "hip": None, "cuda": None, "arch_list": None, "gcn_arch_names": [],
                "cuda_available": None, "kernel_result": None, "error": torch.error,
            }  # fmt: skip
        seen = self.visible if self.sees else []
        names = [
            self.shown_gfx(card) + (":sramecc+:xnack-" if card.gfx in ("gfx90a", "gfx942") else "") for card in seen
        ]
        result: str | None = None
        if seen:
            held = set(torch.arch_list)
            result = torch.kernel_error or ("ok" if names[0].split(":")[0] in held else NO_KERNEL)
        elif torch.rocm:
            result = NO_DEVICE
        return {
            "version": torch.version, "hip": torch.hip, "cuda": torch.cuda, "arch_list": list(torch.arch_list),
            "gcn_arch_names": names, "cuda_available": bool(seen), "kernel_result": result,
        }  # fmt: skip

    def say(self, *lines: str) -> None:
        """Adds lines to what a person would see."""
        self.symptom += lines

    def log(self, *lines: str) -> None:
        """Adds lines to the kernel log."""
        self.kernel_log += lines
