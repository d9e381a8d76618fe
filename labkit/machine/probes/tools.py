"""The programs that a full snapshot asks, as a table: one row more is one tool more."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


def _everything(text: str) -> str:
    return text


@dataclass(frozen=True)
class Tool:
    """A program: its name in the snapshot, its command line, how long it may take, and what is kept of its text."""

    name: str
    command: tuple[str, ...]
    seconds: float
    systems: tuple[str, ...] = ("Linux",)
    keep: Callable[[str], str] = _everything
    limit: int = 64 * 1024  # bytes read


_KERNEL = re.compile(
    r"Command line:|amdgpu|\bkfd\b|amdkcl|amdttm|\bAMD-Vi\b|IO_PAGE_FAULT|simple-?framebuffer|simpledrm|vfio|Key was rejected|"
    r"unavailable key|Secure boot|apparmor=\"?DENIED|avc: +denied|\bMES\b|BUILD_EXCLUSIVE|\[drm\]|\bTTM\b|iommu|hardware errors? detected",
    re.I,
)


def kernel_lines(text: str) -> str:
    """The lines of a kernel log that are about GPUs, at most 400: the first 150 and the last 250."""
    found = [line[:500] for line in text.splitlines() if _KERNEL.search(line)]
    if len(found) > 400:
        found = [*found[:150], f"... {len(found) - 400} lines left out ...", *found[-250:]]
    return "\n".join(found)


def rocm_libraries(text: str) -> str:
    """The lines of 'ldconfig -p' on libraries of ROCm."""
    return "\n".join(
        line.strip() for line in text.splitlines() if re.search(r"\blib(?:amdhip|hsa|roc|hip|MIOpen|rccl|amd_)", line)
    )


def installed(text: str) -> str:
    """A package manager's answer without the packages that are not there."""
    return "\n".join(line for line in text.splitlines() if not re.search(r"no packages found|is not installed", line))


_DEBIAN = ("amdgpu-dkms*", "rocm-core", "libhsa-runtime64*", "libhsakmt1*", "librocdxg*", "rocminfo", "hip-runtime-amd",
           "libstdc++-*-dev", "firmware-amd-graphics", "linux-firmware")  # fmt: skip
TOOLS = (
    Tool("rocminfo", ("rocminfo",), 8),
    Tool("rocm_smi", ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showuse", "--showtemp"), 8),
    Tool("amd_smi", ("amd-smi", "static", "--asic", "--bus", "--vram", "--driver"), 10),
    Tool("amd_smi_list", ("amd-smi", "list"), 10),
    Tool("rocm_agent_enumerator", ("rocm_agent_enumerator",), 8),
    Tool("hipinfo", ("hipInfo",), 8, ("Windows",)),
    Tool("clinfo", ("clinfo", "-l"), 6, ("Linux", "Windows", "Darwin")),
    Tool("dmesg", ("dmesg",), 5, keep=kernel_lines, limit=2 << 20),
    Tool("journal", ("journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager"), 5, keep=kernel_lines, limit=4 << 20),
    Tool("dkms", ("dkms", "status"), 5),
    Tool("mokutil", ("mokutil", "--sb-state"), 5),
    Tool("dpkg", ("dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Package} ${Version}\\n", *_DEBIAN), 5, keep=installed),
    Tool("rpm", ("rpm", "-q", "amdgpu-dkms", "rocm-core", "rocminfo", "rocm-runtime", "linux-firmware"), 5, keep=installed),
    Tool("ldconfig", ("ldconfig", "-p"), 5, keep=rocm_libraries, limit=1 << 20),
    Tool("getenforce", ("getenforce",), 3),
)  # fmt: skip
