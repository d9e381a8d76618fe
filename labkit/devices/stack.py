"""The layers between a notebook and an AMD GPU, with what one machine has of each. Pure functions of a snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.machine import facts as machine_facts
from labkit.machine.checks import BAD, GOOD, checks

NOT_HERE = "not here"


@dataclass(frozen=True)
class Layer:
    """One layer: its name, what it is for, what this machine has of it, and whether it is there ('good', 'bad' for there
    but not working, 'absent')."""

    name: str
    purpose: str
    here: str
    state: str


def layers(snapshot: Mapping[str, Any]) -> tuple[Layer, ...]:
    """The stack from the notebook (first) down to the GPU (last). ``snapshot`` with its ``torch`` entry, see
    ``labkit.machine.snapshot``; what is not there is said to be not here."""
    torch: Mapping[str, Any] = snapshot.get("torch") or {}
    machine = machine_facts.machine(snapshot)
    found = {check.name: check for check in checks(snapshot)}
    hip = torch.get("hip")
    build = (
        f"ROCm build, HIP {hip}" if hip else f"CUDA build, CUDA {torch['cuda']}" if torch.get("cuda") else "CPU build"
    )
    why = "" if hip or not torch else f" ({'CUDA' if torch.get('cuda') else 'CPU'} build of torch)"
    wheel_suits = BAD not in (found["wheel"].state, found["target"].state, found["kernel"].state)
    if found["target"].state == BAD:
        build += ", without kernels for this GPU"
    elif found["kernel"].state == BAD:
        build += "; a real kernel fails"

    def state(name: str) -> str:
        return "absent" if found[name].state == "not needed" else "good" if found[name].state == GOOD else "bad"

    python = (snapshot.get("python") or {}).get("version")
    elsewhere = "not needed in WSL" if machine.wsl else "not needed on Windows" if machine.system == "windows" else ""
    files = [
        path for path in snapshot.get("devices") or {} if path == "/dev/kfd" or path.startswith("/dev/dri/renderD")
    ]
    if not machine.gpus or elsewhere:
        doors, door_state = elsewhere or NOT_HERE, "absent"
    elif found["devices"].state == BAD:
        doors, door_state = found["devices"].seen, "bad"
    else:
        renders = len(files) - files.count("/dev/kfd")
        doors = f"{'/dev/kfd and ' if '/dev/kfd' in files else ''}{renders} render device{'s' if renders != 1 else ''}"
        doors = doors if files else "not there"
        doors += ", but closed to this user" if found["access"].state == BAD else ""
        door_state = "bad" if BAD in (found["devices"].state, found["access"].state) else state("devices")
    gpus = Counter(f"{gpu.name or 'name not known'} ({gpu.gfx or 'target not known'})" for gpu in machine.gpus)
    gpu_text = ", ".join(f"{count} × {name}" if count > 1 else name for name, count in gpus.items())
    return (
        Layer(
            "Your notebook",
            "your model and your data, in Python",
            f"Python {python}" if python else "not known",
            "good",
        ),
        Layer(
            "PyTorch",
            "one library, several builds: ROCm, CUDA, CPU",
            f"torch {torch['version']}, {build}" if torch else NOT_HERE,
            ("good" if wheel_suits else "bad") if torch else "absent",
        ),
        Layer(
            "ROCm libraries",
            "rocBLAS: matrices, MIOpen: convolutions, RCCL: several GPUs",
            "come with this torch" if hip else NOT_HERE + why,
            "good" if hip else "absent",
        ),
        Layer(
            "HIP and the ROCm runtime",
            "HIP: the language of the kernels; the runtime starts them",
            f"HIP {hip}" if hip else NOT_HERE + why,
            "good" if hip else "absent",
        ),
        Layer(
            "/dev/kfd and /dev/dri", "the doors to the GPU: files that you must be allowed to open", doors, door_state
        ),
        Layer(
            "Driver",
            "amdgpu, a part of the Linux kernel (on Windows: AMD's graphics driver)",
            found["driver"].seen if machine.gpus else NOT_HERE,
            state("driver"),
        ),
        Layer("GPU", "the chip; its gfx target says which kernels it can run", gpu_text or NOT_HERE, state("gpu")),
    )
