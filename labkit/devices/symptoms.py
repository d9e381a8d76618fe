"""From an error text to its likely cause and what to do: pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from labkit.devices.facts import gpu_facts, has_kernels, target_of

ANEW = "reinstall torch from the index for this machine ('python3 -m labkit setup --recreate')"
HUNG = (
    "try again; if it stays, update the GPU driver and torch, hide an integrated GPU with HIP_VISIBLE_DEVICES, and "
    "look for 'amdgpu' in the kernel's log (journalctl -k)"
)

_NO_KERNEL = (
    "invalid device function|no kernel image|NoBinaryForGpu|Unable to find code object|INVALID_ISA|"
    "invalid device image|hipErrorInvalidImage|hipErrorInvalidKernelFile|device kernel image is invalid"
)
_SIGNATURES: tuple[tuple[str, str, str], ...] = (
    (
        "No HIP GPUs are available",
        "ROCm sees no GPU that this process may use",
        "check that /dev/kfd exists and that you may open it (groups render and video), and that HIP_VISIBLE_DEVICES and "
        "ROCR_VISIBLE_DEVICES are not set to nothing",
    ),
    (
        "Unable to open /dev/kfd|/dev/kfd.*Permission denied",
        "this user may not open /dev/kfd",
        "sudo usermod -aG render,video $USER, then log out and in again",
    ),
    (
        "Torch not compiled with CUDA enabled",
        "this torch is a CPU build",
        "install a ROCm build ('python3 -m labkit setup --recreate' chooses the index)",
    ),
    (
        "Found no NVIDIA driver",
        "this torch is a CUDA build, and there is no NVIDIA driver here",
        "on an AMD GPU install a ROCm build ('python3 -m labkit setup --recreate'); without a GPU use LABKIT_DEVICE=cpu",
    ),
    (
        "Memory access fault by GPU",
        "a kernel touched memory that is not its own",
        "unset HSA_OVERRIDE_GFX_VERSION if it is set, hide an integrated GPU with HIP_VISIBLE_DEVICES, and update the "
        "driver and torch",
    ),
    (
        "HW Exception by GPU|GPU Hang",
        "the GPU hung",
        "update the driver and torch, hide an integrated GPU with HIP_VISIBLE_DEVICES, unset HSA_OVERRIDE_GFX_VERSION",
    ),
    (
        "rocBLAS error: Cannot read|for GPU arch",
        "rocBLAS has no kernels for this GPU",
        "install a torch whose wheel has this target ('python3 -m labkit setup --recreate'); do not copy library files "
        "from elsewhere",
    ),
    (
        "out of memory|OutOfMemory|bad_alloc|can't allocate memory",
        "there is not enough free memory",
        "close other programs that use the GPU or much memory, then try again",
    ),
    (
        "more devices than ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES disagree",
        "set only one of them",
    ),
)


def explain(text: str, facts: Mapping[str, Any] | None = None, device: str | None = None) -> tuple[str, str]:
    """The likely cause of an error text and what to do, as two sentences; empty where the text is not known.

    Texts and causes: public issue trackers of PyTorch and ROCm (pytorch#147626, #164346; legacy-rocm-build#1530, #2719,
    #4554, #6137), read 2026-11-30; none was reproduced on ROCm hardware here.
    """
    facts = facts or {}
    if re.search(_NO_KERNEL, text, re.IGNORECASE):
        gpu = gpu_facts(facts, device or "")
        target = target_of(gpu) or "this GPU"
        listed = has_kernels(gpu, facts.get("arch_list") or [])
        recreate = "'python3 -m labkit setup --recreate' chooses the index"
        if listed is False:
            return f"this torch has no kernels for {target}", f"install a torch whose wheel has them ({recreate})"
        if listed and facts.get("hip"):
            return (
                f"this torch names {target}, yet its kernels are not there",
                f"AMD's wheels need the extra for the GPU, torch[device-{target}] ({recreate})",
            )
        return f"there are no kernels for {target}", f"install a torch whose wheel has them ({recreate})"
    for pattern, cause, remedy in _SIGNATURES:
        if re.search(pattern, text, re.IGNORECASE):
            return cause, remedy
    return "", ""


def explain_import(kind: str, text: str) -> tuple[str, str]:
    """Why ``import torch`` failed and what to do, as two sentences; ``kind`` is the exception's class name."""
    again = ANEW
    if kind == "ModuleNotFoundError" and re.search(r"No module named '?torch'?$", text.strip()):
        return (
            "torch is not installed in this Python",
            "run 'python3 -m labkit setup' and choose its environment's Python as the kernel",
        )
    library = (
        re.search(r"([\w.+-]+\.so[\w.]*): cannot open shared object file", text)
        or re.search(r"Library not loaded: (\S+)", text)
        or re.search(r'Error loading "([^"]+)"', text)
    )
    if library:
        name = library.group(1)
        if "amdhip" in name or "rocm" in name or "hsa" in name or "hip" in name:
            return (
                f"torch cannot start because the ROCm library {name} is missing: two ROCm versions are mixed, or a "
                "package was left out",
                again,
            )
        if "cuda" in name or "cudnn" in name or "nccl" in name or "cublas" in name:
            return f"torch cannot start because the CUDA library {name} is missing (this torch is a CUDA build)", again
        return f"torch cannot start because the library {name} is missing or cannot be loaded", again
    if "DLL load failed" in text or "WinError" in text:
        return (
            "torch cannot start because Windows could not load one of its DLLs",
            f"install Microsoft's Visual C++ redistributable and a current GPU driver; if that does not help, {again}",
        )
    if "numpy" in text.lower():
        return f"torch cannot start because of NumPy ({shorten(text, 120)})", again
    return f"torch is installed but cannot start ({kind}: {shorten(text, 160)})", again


def shorten(text: str, length: int = 200) -> str:
    """The text on one line of at most ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
