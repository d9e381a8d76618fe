"""What torch would say on a machine that is not here: made up from a simulated snapshot or from the catalog.

Nothing here was measured or recorded. The shape is that of ``labkit.devices.facts.torch_facts``, and whoever shows these
facts says that they are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.catalog import wheels
from labkit.catalog.gfx import TARGETS
from labkit.devices.cards import Card, card
from labkit.devices.smoke import SmokeTest
from labkit.devices.symptoms import explain_import
from labkit.errors import LabkitError
from labkit.machine import facts as machine_facts
from labkit.machine import simulate
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
        "version": f"{wheels.TESTED_TORCH}+simulated",
        "hip": None,
        "cuda": None,
        "available": False,
        "device_count": 0,
        "devices": [],
        "arch_list": [],
        "bf16_claim": False,
        "mps": machine.apple,
        "cpu": {"name": None, "capability": None, "flags": {}},
        "threads": None,
        "env": dict(env or {}),
        "errors": {},
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
    devices = [
        {
            "index": index,
            "name": gpu.name,
            "gfx": gpu.gfx,
            "capability": None,
            "memory_bytes": None,
            "integrated": gpu.integrated,
        }
        for index, gpu in enumerate(machine.gpus)
    ]
    facts.update(
        hip="simulated",
        available=bool(devices),
        device_count=len(devices),
        devices=devices,
        arch_list=carried,
        bf16_claim=True,
    )
    return facts


def torch_of(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of torch that a simulated snapshot holds in its ``torch`` entry; empty where it has none."""
    said: Mapping[str, Any] = snapshot.get("torch") or {}
    if not said:
        return {}
    machine = machine_facts.machine(snapshot)
    facts = torch_on(machine, "cpu", env=snapshot.get("environment") or {})
    known = {gpu.gfx: gpu for gpu in machine.gpus}
    targets = [str(name).split(":")[0] for name in said.get("gcn_arch_names") or []]
    devices = [
        {
            "index": index,
            "name": "Simulated GPU",
            "gfx": gfx,
            "capability": None,
            "memory_bytes": None,
            "integrated": known[gfx].integrated if gfx in known else None,
        }
        for index, gfx in enumerate(targets)
    ]
    facts.update(
        version=said["version"],
        hip=said.get("hip"),
        cuda=said.get("cuda"),
        available=bool(said.get("cuda_available")),
        device_count=len(devices),
        devices=devices,
        arch_list=list(said.get("arch_list") or []),
        bf16_claim=bool(said.get("hip")),
    )
    return facts


def simulated_card(name: str, faults: Sequence[str] = ()) -> Card:
    """The card of one of ``labkit.machine.simulate.names()``, healthy or with faults of ``simulate.faults(name)``.

    Raises LabkitError for another name, or for a fault that this machine cannot have.
    """
    snapshot = simulate.snapshot(name, faults)
    said: Mapping[str, Any] = snapshot.get("torch") or {}
    stopped = None
    if said.get("error"):
        kind, _, text = str(said["error"]).partition(": ")
        stopped = SmokeTest(None, (), {}, *explain_import(kind, text or kind))
    title = f"{simulate.title(name)}, with the fault {' and '.join(faults)}" if faults else simulate.title(name)
    facts = {} if stopped else torch_of(snapshot)
    return card(facts, smoke=stopped, machine=machine_facts.machine(snapshot), simulated=title)
