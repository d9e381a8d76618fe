"""What torch says of itself and of its devices, as a plain mapping, and what follows from it.

``torch_facts`` asks; everything else is a pure function of the mapping, so the same code judges this machine, a recorded
one and a simulated one.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_VARIABLES = (
    "HSA_OVERRIDE_GFX_VERSION",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "LABKIT_DEVICE",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
)


def torch_facts(torch: Any) -> dict[str, Any]:
    """Everything that labkit asks an imported torch, as a plain mapping that JSON can hold.

    Keys: version, hip, cuda (strings or None), available, device_count, devices (a list of mappings with index, name,
    gfx, capability, memory_bytes, integrated), arch_list, bf16_claim, mps, cpu (name, capability, flags), threads, env,
    and errors: what went wrong while asking, by question. Never raises.
    """
    errors: dict[str, str] = {}

    def ask(question: str, call: Callable[[], Any], otherwise: Any = None) -> Any:
        try:
            return call()
        except Exception as error:  # a broken installation fails in many ways; each is a fact worth telling
            errors[question] = f"{type(error).__name__}: {error}"
            return otherwise

    available = bool(ask("is_available", torch.cuda.is_available, False))
    count = int(ask("device_count", torch.cuda.device_count, 0) or 0) if available else 0
    devices = []
    for index in range(count):
        device = ask(f"properties of cuda:{index}", functools.partial(_device_facts, torch, index))
        devices.append(
            device
            or {"index": index, "name": None, "gfx": None, "capability": None, "memory_bytes": None, "integrated": None}
        )
    return {
        "version": str(torch.__version__),
        "hip": getattr(torch.version, "hip", None),
        "cuda": getattr(torch.version, "cuda", None),
        "available": available,
        "device_count": count,
        "devices": devices,
        "arch_list": list(ask("get_arch_list", torch.cuda.get_arch_list, [])),
        "bf16_claim": ask("is_bf16_supported", torch.cuda.is_bf16_supported),
        "mps": bool(ask("mps", lambda: torch.backends.mps.is_available(), False)),
        "cpu": _cpu_facts(torch, ask),
        "threads": ask("threads", torch.get_num_threads),
        "env": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "errors": errors,
    }


def _device_facts(torch: Any, index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    hip = getattr(torch.version, "hip", None)
    gfx = str(getattr(properties, "gcnArchName", "") or "").split(":")[0] if hip else ""
    integrated = getattr(properties, "is_integrated", None)
    return {
        "index": index,
        "name": str(properties.name),
        "gfx": gfx if gfx.startswith("gfx") else None,
        "capability": None if hip else [int(properties.major), int(properties.minor)],
        "memory_bytes": int(properties.total_memory),
        "integrated": None if integrated is None else bool(integrated),
    }


def _cpu_facts(torch: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    flags: dict[str, Any] = dict(ask("cpu flags", lambda: torch.cpu.get_capabilities(), {}) or {})
    wanted = ("avx2", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16", "bf16", "fp16")
    known = {name: bool(flags[name]) for name in wanted if name in flags}
    name = flags.get("cpu_name")
    text = ask("cpuinfo", lambda: _read(Path("/proc/cpuinfo")), "") or ""
    if not known and text:
        line = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
        words = set(line.group(1).split()) if line else set()
        if "avx2" in words or "sse2" in words:
            known = {flag: flag in words for flag in ("avx2", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16")}
        elif "asimd" in words:
            known = {"bf16": "bf16" in words, "fp16": "asimdhp" in words}
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return {
        "name": (model.group(1).strip() if model else None) or (str(name) if name else None),
        "capability": ask("cpu capability", lambda: str(torch.backends.cpu.get_cpu_capability())),
        "flags": known,
    }


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def best_device(facts: Mapping[str, Any]) -> str:
    """The device string to try: a discrete GPU before an integrated one, one whose kernels are in the wheel before
    one without, then the lower number; 'cpu' when torch sees none."""
    devices = facts.get("devices") or []
    if not devices:
        return "cpu"

    def rank(device: Mapping[str, Any]) -> tuple[bool, bool, int]:
        without_kernels = has_kernels(device, facts.get("arch_list") or []) is False
        return without_kernels, is_integrated(device) is True, device["index"]

    return f"cuda:{min(devices, key=rank)['index']}"


def target_of(device: Mapping[str, Any]) -> str | None:
    """'gfx1100' for an AMD GPU, 'sm_90' for an NVIDIA GPU, None where it is not known."""
    if device.get("gfx"):
        return str(device["gfx"])
    return "sm_{}{}".format(*device["capability"]) if device.get("capability") else None


def is_integrated(device: Mapping[str, Any]) -> bool | None:
    """Whether the GPU shares the processor's memory, by torch's word or by its target; None when unknown."""
    from labkit.catalog import gfx

    row = gfx.target(device.get("gfx"))
    said: bool | None = device.get("integrated")
    return True if row is not None and row.integrated else said


# Code for a generic target runs on every member (LLVM, AMDGPU usage guide, 'generic processors').
_GENERIC = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}


def has_kernels(device: Mapping[str, Any], arch_list: Sequence[str]) -> bool | None:
    """Whether the wheel lists kernels for this device; None when that cannot be told.

    AMD: the gfx target itself, or a generic target that holds it. NVIDIA: binary code of the same major version and no
    higher minor, or PTX (``compute_``) no newer than the device. True is a listing, not a proof: AMD's wheels list
    targets whose kernels come in a separate package. Only a kernel that ran is a proof.
    """
    if not arch_list:
        return None
    gfx, capability = device.get("gfx"), device.get("capability")
    if gfx:
        listed = {name.split(":")[0] for name in arch_list}
        return gfx in listed or any(gfx in _GENERIC.get(name, ()) for name in listed)
    if capability:
        major, minor = capability
        for name in arch_list:
            found = re.fullmatch(r"(sm|compute)_(\d+?)(\d)[a-z]?", name)
            if not found:
                continue
            code = (int(found.group(2)), int(found.group(3)))
            if found.group(1) == "sm" and code[0] == major and code[1] <= minor:
                return True
            if found.group(1) == "compute" and code <= (major, minor):
                return True
        return False
    return None


def build_of(facts: Mapping[str, Any]) -> str:
    """'rocm', 'cuda' or 'cpu': what this torch was built for, by torch.version.hip and torch.version.cuda."""
    return "rocm" if facts.get("hip") else "cuda" if facts.get("cuda") else "cpu"


def build_text(facts: Mapping[str, Any]) -> str:
    """The build in words, with its version of HIP or CUDA."""
    return {
        "rocm": f"ROCm build, HIP {facts.get('hip')}",
        "cuda": f"CUDA build, CUDA {facts.get('cuda')}",
        "cpu": "CPU build" + (" with Apple's Metal" if facts.get("mps") else ""),
    }[build_of(facts)]


def gpu_facts(facts: Mapping[str, Any], device: str) -> Mapping[str, Any]:
    """The facts of the GPU with this device string ('cuda:0'); empty where there is none."""
    for gpu in facts.get("devices") or []:
        if f"cuda:{gpu['index']}" == device:
            found: Mapping[str, Any] = gpu
            return found
    return {}
