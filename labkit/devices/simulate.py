"""What torch would say on a machine that is not here: facts made up from the catalog, for lessons and tests.

Nothing here was measured or recorded. The shape is that of ``labkit.devices.facts.torch_facts``; every version string
ends in 'simulated', and whoever shows these facts says that word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.catalog import wheels
from labkit.catalog.gfx import TARGETS
from labkit.errors import LabkitError
from labkit.machine.facts import Machine

WHEELS = ("cpu", "cuda", "rocm7.2", "amd")


def torch_on(machine: Machine, wheel: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The facts of torch on ``machine`` with one kind of wheel: 'cpu', 'cuda' (an NVIDIA build), 'rocm7.2' (PyTorch's own
    ROCm wheels) or 'amd' (AMD's wheels with the extra for the GPU). Raises LabkitError for another word.

    Only a ROCm wheel sees AMD GPUs, and it sees them whether or not it has their kernels: that is how torch behaves.
    """
    if wheel not in WHEELS:
        raise LabkitError(f"There is no simulated wheel '{wheel}'.", f"use one of {', '.join(WHEELS)}")
    facts: dict[str, Any] = {
        "version": f"{wheels.TESTED_TORCH}+simulated", "hip": None, "cuda": None, "available": False, "device_count": 0,
        "devices": [], "arch_list": [], "bf16_claim": None, "mps": machine.apple,
        "cpu": {"name": None, "capability": None, "flags": {}}, "threads": None, "env": dict(env or {}), "errors": {},
    }
    if wheel == "cuda":
        facts.update(cuda="simulated", arch_list=["sm_80", "sm_90", "sm_100"])
        return facts
    if wheel == "cpu":
        return facts
    if wheel == "amd":
        carried = [row.gfx for row in TARGETS.values() if row.amd_extra]
    else:
        carried = [row.gfx for row in TARGETS.values() if wheel in row.pytorch_indexes]
    devices = [{"index": index, "name": gpu.name, "gfx": gpu.gfx, "capability": None, "memory_bytes": None,
                "integrated": gpu.integrated} for index, gpu in enumerate(machine.gpus)]
    facts.update(hip="simulated", available=bool(devices), device_count=len(devices), devices=devices, arch_list=carried,
                 bf16_claim=True if devices else None)
    return facts
