"""Where wheels of PyTorch for AMD GPUs come from: indexes, versions, targets, sizes.

Every row names its source and the day it was checked. What is not established is None and says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CHECKED = "2026-11-30"

PYTORCH_BASE = "https://download.pytorch.org/whl/"
CPU_INDEX = PYTORCH_BASE + "cpu"
AMD_INDEX = "https://stable.repo.amd.com/rocm/whl-next/"
AMD_MULTI_ARCH_INDEX = "https://repo.amd.com/rocm/whl-multi-arch/"

# What PyTorch's own page offered (GETTING_STARTED_ROCM_ARCH in pytorch/test-infra, August 2026).
PREFERRED_ROCM = "rocm7.2"

# The versions that the course was run with, and the set that AMD's install page names for ROCm 10.0.0.
TESTED_TORCH = "2.14.1"
TESTED_TORCHVISION = "0.29.1"
AMD_TORCH = "2.13.0+rocm10.0.0"
AMD_TORCHVISION = "0.28.0+rocm10.0.0"

# What is asked of an index that picks the version itself: not newer than the tested minor version.
TORCH_RANGE = ">=2.10,<2.15"
TORCHVISION_RANGE = ">=0.25,<0.30"


@dataclass(frozen=True)
class TorchIndexes:
    """Which ROCm indexes of download.pytorch.org got wheels of a torch version (Linux, x86_64)."""

    torch: str
    indexes: tuple[str, ...]
    established: bool
    source: str
    checked: str = CHECKED


_MATRIX = "pytorch/test-infra tools/scripts/generate_binary_build_matrix.py @"

TORCH_INDEXES: tuple[TorchIndexes, ...] = (
    TorchIndexes("1.13", ("rocm5.1.1", "rocm5.2"), True, _MATRIX + "6c0f52913"),
    TorchIndexes("2.0", ("rocm5.3", "rocm5.4.2"), True, _MATRIX + "d3629fa2e"),
    TorchIndexes("2.1", ("rocm5.5", "rocm5.6"), True, _MATRIX + "bc6492694"),
    TorchIndexes("2.2", ("rocm5.6", "rocm5.7"), True, _MATRIX + "8e04a8e90"),
    TorchIndexes("2.3", ("rocm5.7", "rocm6.0"), True, _MATRIX + "585bbc377"),
    TorchIndexes("2.4", ("rocm6.0", "rocm6.1"), True, _MATRIX + "ac9a718ca"),
    TorchIndexes("2.5", ("rocm6.1", "rocm6.2"), True, _MATRIX + "5510fd052"),
    TorchIndexes("2.6", ("rocm6.1", "rocm6.2.4"), True, _MATRIX + "b1bdc3323"),
    TorchIndexes("2.7", ("rocm6.2.4", "rocm6.3"), True, _MATRIX + "bad60f65d"),
    TorchIndexes("2.8", ("rocm6.3", "rocm6.4"), True, _MATRIX + "21480431a"),
    TorchIndexes("2.9", ("rocm6.3", "rocm6.4"), True, _MATRIX + "f563b660a"),
    TorchIndexes("2.10", ("rocm7.0", "rocm7.1"), True, _MATRIX + "e8208cf27"),
    TorchIndexes("2.11", ("rocm7.1", "rocm7.2"), True, _MATRIX + "0cd5e78a1"),
    TorchIndexes("2.12", ("rocm7.1", "rocm7.2"), True, _MATRIX + "626d4e708"),
    TorchIndexes("2.13", ("rocm7.1", "rocm7.2"), True, _MATRIX + "6d36e31f4"),
    TorchIndexes(
        "2.14",
        ("rocm7.2", "rocm7.14"),
        False,
        _MATRIX + "00fa5780c (candidates of 2026-08-11; the final list was not seen)",
    ),
    TorchIndexes("2.15", (), False, "not established"),
)


def indexes_for(torch: str) -> tuple[str, ...]:
    """The ROCm indexes of a torch version such as ``2.13.0``; empty where they are not known."""
    minor = ".".join(torch.split("+")[0].split(".")[:2])
    return next((row.indexes for row in TORCH_INDEXES if row.torch == minor), ())


def usable_rocm_indexes() -> tuple[str, ...]:
    """The indexes that are established for a torch that the course accepts, best first."""
    fitting = [row for row in TORCH_INDEXES if row.established and (2, 10) <= version(row.torch) < (2, 15)]
    usable = {index for row in fitting for index in row.indexes}
    return tuple(sorted(usable, key=lambda name: (name != PREFERRED_ROCM, [-part for part in version(name[4:])])))


def version(text: str) -> tuple[int, ...]:
    """``'7.14'`` as (7, 14), so that it sorts after (7, 2)."""
    return tuple(int(part) for part in text.split("."))


@dataclass(frozen=True)
class Channel:
    """An index, what it has and where that is written. ``pythons`` are the first and last minor version of Python 3."""

    name: str
    url: str | None  # None: pip's own default
    systems: tuple[str, ...]
    architectures: tuple[str, ...]
    pythons: tuple[int, int]
    note: str
    source: str
    checked: str = CHECKED


CHANNELS: dict[str, Channel] = {
    "pytorch-rocm": Channel(
        "PyTorch's ROCm wheels",
        PYTORCH_BASE + PREFERRED_ROCM,
        ("linux",),
        ("x86_64",),
        (10, 14),
        "The ROCm user space is inside the wheels up to rocm7.2; only the kernel driver is needed.",
        "pytorch/test-infra generate_binary_build_matrix.py; astral-sh/uv docs/guides/integration/pytorch.md",
    ),
    "pytorch-cpu": Channel(
        "PyTorch's CPU wheels",
        CPU_INDEX,
        ("linux",),
        ("x86_64", "arm64"),
        (10, 14),
        "Smallest build on Linux.",
        "pytorch/test-infra generate_binary_build_matrix.py",
    ),
    "amd": Channel(
        "AMD's wheels for ROCm 10",
        AMD_INDEX,
        ("linux", "windows"),
        ("x86_64",),
        (10, 14),
        "One extra per target, device-gfx..., brings its kernels; without it the first kernel fails. "
        "Packages that the index lacks answer 403: only the torch family comes from it. "
        "Python 3.10 is not named on the page for ROCm 10.0.0 itself.",
        "ROCm documentation source, PyTorch install page for ROCm 10.0.0; astral-sh/uv#21683; "
        "ultralytics/ultralytics#24137; Python versions: TheRock docs/packaging/legacy_per_family_releases.md",
    ),
    "amd-multi-arch": Channel(
        "AMD's multi-arch wheels for ROCm 7.14",
        AMD_MULTI_ARCH_INDEX,
        ("linux", "windows"),
        ("x86_64",),
        (10, 14),
        "One extra per target, as above; all targets but gfx900 and gfx906.",
        "TheRock RELEASES.md and docs/packaging/versioning.md; list of targets: easydiffusion/torchruntime#34",
    ),
    "default": Channel(
        "pip's default index",
        None,
        ("linux", "windows", "macos"),
        ("x86_64", "arm64"),
        (10, 14),
        "On Linux x86_64 a CUDA build, on Windows a CPU build, on Apple silicon a build with Metal (mps).",
        "run on 2026-11-30 (Linux); torch release matrix",
    ),
}


@dataclass(frozen=True)
class Size:
    """Bytes of torch and what it brings along; None where it is not established."""

    download_bytes: int | None
    installed_bytes: int | None
    source: str
    checked: str = CHECKED


_GB = 10**9
_AMD_SIZE = (
    "ultralytics/ultralytics#24137, download and installed: gfx950 2.1 and 6.2 GB, gfx1201 1.8 and 5.8 GB, "
    "gfx1151 1.6 and 5.7 GB; device-all 10 and 19 GB"
)

SIZES: dict[str, Size] = {
    "default-linux": Size(3 * _GB, 5_500_000_000, "measured on 2026-11-30, torch 2.14.1, Linux x86_64 (CUDA build)"),
    "pytorch-cpu": Size(
        None,
        1_300_000_000,
        "measured on 2026-11-30: installed, together with everything else that the "
        "course needs; download not established",
    ),
    "pytorch-rocm": Size(None, None, "not established"),
    "amd": Size(2_100_000_000, 6_200_000_000, _AMD_SIZE + ": the largest of the three"),
    "amd-all": Size(10 * _GB, 19 * _GB, _AMD_SIZE),
    "default-other": Size(None, None, "not established"),
}


def amd_targets(system: str) -> tuple[str, ...]:
    """The targets that AMD's install page for ROCm 10.0.0 lists for ``'linux'`` or ``'windows'``."""
    from labkit.catalog.gfx import TARGETS

    if system == "linux":
        return tuple(row.gfx for row in TARGETS.values() if row.amd_linux)
    if system == "windows":
        return tuple(row.gfx for row in TARGETS.values() if row.amd_windows)
    return ()


# Not on AMD's page, but installed from AMD's ROCm 10 index by others: images (Linux), and a gfx1032 card on Windows.
AMD_SEEN_ELSEWHERE = (
    "gfx1010",
    "gfx1011",
    "gfx1012",
    "gfx1031",
    "gfx1032",
    "gfx1033",
    "gfx1034",
    "gfx1035",
    "gfx1036",
    "gfx1250",
)


def amd_carries(gfx: str, system: str) -> str:
    """Whether AMD's wheels fit a target on ``'linux'`` or ``'windows'``: 'listed', 'seen' (elsewhere) or '' (no).

    gfx900 and gfx906 have build rows, but no torch wheels in AMD's stable indexes (easydiffusion/torchruntime#34,
    ROCm/TheRock#5358), and Instinct parts do not exist for Windows.
    """
    from labkit.catalog.gfx import target

    row = target(gfx)
    if row is None:
        return ""
    if gfx in amd_targets(system):
        return "listed"
    supported = row.linux if system == "linux" else row.windows
    return "seen" if gfx in AMD_SEEN_ELSEWHERE and "not supported" not in supported else ""


def kind_of(url: str) -> str | None:
    """What an address says about its wheels: 'rocm7.2' or the like, 'cpu', 'cuda', 'amd', 'amd-multi-arch', or None."""
    path = url.lower().rstrip("/")
    if "whl-next" in path:
        return "amd"
    if "whl-multi-arch" in path:
        return "amd-multi-arch"
    last = path.split("/")[-1]
    if re.fullmatch(r"rocm\d+(\.\d+)*", last) or last == "cpu":
        return last
    return "cuda" if re.fullmatch(r"cu\d+", last) else None
