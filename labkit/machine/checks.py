"""The few checks that decide whether PyTorch can use an AMD GPU here, in the order in which one rests on the other.

Pure: snapshot in, findings out. A check that rests on a bad one is not judged ('unknown'), so that a broken machine
shows its one cause and not five consequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.catalog import wheels
from labkit.catalog.gfx import target
from labkit.machine.facts import Machine, Snapshot, gfx_name, in_container, kfd_properties, machine, tidy

GOOD, BAD, UNKNOWN, NOT_NEEDED = "good", "bad", "unknown", "not needed"


@dataclass(frozen=True)
class Check:
    """One finding: what was seen, what that means, and what to do about it ('' where nothing is to be done)."""

    name: str
    state: str  # 'good', 'bad', 'unknown' or 'not needed'
    seen: str
    meaning: str
    remedy: str = ""


def checks(snapshot: Snapshot) -> list[Check]:
    """The findings on a snapshot: gpu, driver, devices, access, topology, wheel, target, kernel."""
    snapshot = tidy(snapshot)
    here = machine(snapshot)
    findings: list[Check] = []
    for judge in (_gpu, _driver, _devices, _access, _topology, _wheel, _target, _kernel):
        cause = next((check for check in findings if check.state == BAD), None)
        findings.append(judge(snapshot, here, cause))
    return findings


def _gpu(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    if not here.gpus:
        return Check(
            "gpu",
            NOT_NEEDED,
            "no AMD GPU",
            "The lessons run on the CPU" + (" or on the GPU of another maker." if here.nvidia or here.apple else "."),
        )
    seen = ", ".join(gpu.label + (" (integrated)" if gpu.integrated else "") for gpu in here.gpus)
    best = here.gpus[0]
    if best.gfx is None:
        return Check(
            "gpu",
            UNKNOWN,
            seen,
            "An AMD GPU is there, but its target could not be read.",
            "Set ROCM_BOOTSTRAP_FORCE_GFX_ARCH to its target if you know it, for example gfx1100.",
        )
    if not any(_has_wheels(gpu.gfx, here) for gpu in here.gpus):
        return Check(
            "gpu",
            UNKNOWN,
            seen,
            "labkit knows no wheels of PyTorch with kernels for it: the lessons run on the CPU.",
            "Look in AMD's list: https://github.com/ROCm/TheRock/blob/main/SUPPORTED_GPUS.md",
        )
    return Check("gpu", GOOD, seen, "An AMD GPU that PyTorch has kernels for.")


def _driver(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    if not here.gpus:
        return _not_needed("driver")
    if here.system == "windows":
        return Check("driver", GOOD, "Windows lists the display adapter", "The Windows driver serves the GPU.")
    if here.wsl:
        if "/dev/dxg" in _devices_of(snapshot):
            return Check("driver", GOOD, "/dev/dxg", "The GPU reaches WSL through the driver of Windows.")
        return Check(
            "driver",
            BAD,
            "no /dev/dxg",
            "WSL was given no GPU by Windows.",
            "Update the graphics driver in Windows, run 'wsl --update' there, then 'wsl --shutdown'.",
        )
    state = (snapshot.get("modules") or {}).get("amdgpu")
    if state in ("live", "built in"):
        return Check("driver", GOOD, f"amdgpu: {state}", "The kernel driver is loaded.")
    return Check(
        "driver",
        BAD,
        "amdgpu is not loaded",
        "Without the kernel driver nothing reaches the GPU.",
        "The host of this container has to load amdgpu."
        if in_container(snapshot)
        else "Try 'sudo modprobe amdgpu' and read 'sudo dmesg | grep amdgpu'; see whether the module is blacklisted.",
    )


def _devices(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    if not here.gpus or here.system == "windows" or here.wsl:
        return _not_needed("devices")
    if cause:
        return _waits("devices", cause)
    there = _devices_of(snapshot)
    missing = [
        name
        for name in ("/dev/kfd", "/dev/dri/renderD*")
        if not any(path == name or (name.endswith("*") and path.startswith(name[:-1])) for path in there)
    ]
    if not missing:
        return Check("devices", GOOD, ", ".join(sorted(there)), "Programs talk to the GPU through these files.")
    remedy = (
        "Start the container with --device=/dev/kfd --device=/dev/dri --group-add video --group-add render."
        if in_container(snapshot)
        else "Read 'sudo dmesg | grep -i -e amdgpu -e kfd': the driver is loaded but did not offer compute."
    )
    return Check(
        "devices", BAD, f"missing: {', '.join(missing)}", "ROCm needs both /dev/kfd and a render device.", remedy
    )


def _access(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    if not here.gpus or here.system == "windows":
        return _not_needed("access")
    if cause:
        return _waits("access", cause)
    wanted = ("/dev/dxg",) if here.wsl else ("/dev/kfd", "/dev/dri/renderD")
    closed = {
        path: facts
        for path, facts in _devices_of(snapshot).items()
        if path.startswith(wanted) and not facts.get("openable")
    }
    groups = ", ".join(map(str, snapshot.get("groups") or [])) or "none"
    if not closed:
        return Check("access", GOOD, f"this user may open them (groups: {groups})", "You are allowed to use the GPU.")
    owners = sorted({str(facts.get("group")) for facts in closed.values()})
    seen = (
        "; ".join(
            f"{path}: {facts.get('error') or 'closed'} (group {facts.get('group')}, {facts.get('mode')})"
            for path, facts in sorted(closed.items())
        )
        + f"; your groups: {groups}"
    )
    if in_container(snapshot):
        remedy = f"Start the container with {' '.join(f'--group-add {name}' for name in owners)} (names or numbers of the host)."
    elif set(owners) <= set(map(str, snapshot.get("groups_on_file") or [])) - set(
        map(str, snapshot.get("groups") or [])
    ):
        remedy = "You are in the group already, but not in this session: log out and in again."
    else:
        remedy = f"Run 'sudo usermod -aG {','.join(owners)} $USER', then log out and in again."
    return Check("access", BAD, seen, "The files are there, but this user may not open them.", remedy)


def _topology(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    if not here.gpus or here.system == "windows" or here.wsl:
        return _not_needed("topology")
    if cause and cause.name == "driver":
        return _waits("topology", cause)
    nodes = []
    for name, text in sorted((snapshot.get("kfd") or {}).items()):
        properties = kfd_properties(str(text))
        if properties.get("simd_count", 0) > 0:
            nodes.append(f"node {name}: {gfx_name(properties.get('gfx_target_version', 0)) or 'target unknown'}")
    if nodes:
        return Check("topology", GOOD, "; ".join(nodes), "The driver offers these GPUs for computing.")
    return Check(
        "topology",
        BAD,
        "no GPU node in /sys/class/kfd",
        "The driver offers no GPU for computing.",
        "Read 'sudo dmesg | grep -i -e amdgpu -e kfd'; an old kernel may not know a new GPU.",
    )


def _wheel(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    torch = _torch(snapshot)
    if not torch:
        return Check("wheel", UNKNOWN, "PyTorch was not looked at", "Nothing is known about the installed PyTorch.")
    version = torch.get("version") or "no version"
    if torch.get("hip"):
        return Check("wheel", GOOD, f"torch {version}, HIP {torch['hip']}", "A build for AMD GPUs.")
    build = f"a CUDA build ({torch['cuda']})" if torch.get("cuda") else "a CPU build"
    if not any(_has_wheels(gpu.gfx, here) for gpu in here.gpus):
        return Check(
            "wheel", GOOD, f"torch {version}, {build}", "Right for a machine without an AMD GPU that PyTorch can use."
        )
    if here.nvidia and torch.get("cuda") and all(gpu.integrated for gpu in here.gpus):
        return Check(
            "wheel", GOOD, f"torch {version}, {build}", "The NVIDIA GPU is used; the integrated AMD one is left aside."
        )
    return Check(
        "wheel",
        BAD,
        f"torch {version}, {build}",
        "This build cannot use an AMD GPU.",
        "Run 'python3 -m labkit setup --recreate': it installs the build that fits.",
    )


def _target(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    torch = _torch(snapshot)
    if not here.gpus or (torch and not torch.get("hip") and not (cause and cause.name == "wheel")):
        return _not_needed("target")
    if cause and cause.name == "wheel":
        return _waits("target", cause)
    listed = torch.get("arch_list")
    held = [str(name).split(":")[0] for name in listed] if isinstance(listed, (list, tuple)) else []
    if not held:
        return Check("target", UNKNOWN, "no list of targets", "The wheel did not say which targets it has kernels for.")
    wanted = [gpu.gfx for gpu in here.gpus if gpu.gfx and not gpu.integrated] or [
        gpu.gfx for gpu in here.gpus if gpu.gfx
    ]
    missing = [gfx for gfx in dict.fromkeys(wanted) if gfx not in held]
    if not missing:
        return Check(
            "target",
            GOOD,
            f"{', '.join(dict.fromkeys(wanted))} in {', '.join(held)}",
            "The wheel has kernels for this GPU.",
        )
    return Check(
        "target",
        BAD,
        f"{', '.join(missing)} is not in {', '.join(held)}",
        "The wheel has no kernels for this GPU: is_available() says True all the same, and the first kernel fails.",
        "Run 'python3 -m labkit setup --recreate': it takes an index whose wheels have them.",
    )


def _kernel(snapshot: Snapshot, here: Machine, cause: Check | None) -> Check:
    torch = _torch(snapshot)
    if not here.gpus or (torch and not torch.get("hip") and not cause):
        return _not_needed("kernel")
    result = torch.get("kernel_result")
    simulated = "not run, simulated: " if snapshot.get("simulated") else ""
    if result == "ok":
        if simulated:
            return Check(
                "kernel", GOOD, f"{simulated}a real kernel would have given the right numbers", "PyTorch would compute."
            )
        return Check("kernel", GOOD, "a real kernel gave the right numbers", "PyTorch computes on this GPU.")
    if cause:
        explained = f" It did not run ({simulated}{result}), as '{cause.name}' explains." if result else ""
        waits = _waits("kernel", cause)
        return Check(waits.name, waits.state, waits.seen, waits.meaning + explained)
    if result is None:
        return Check(
            "kernel",
            UNKNOWN,
            "no kernel was run",
            "Only a kernel that runs proves that everything fits.",
            "Run 'python3 -m labkit describe' in a terminal.",
        )
    return Check(
        "kernel",
        BAD,
        f"{simulated}would have given {result}" if simulated else str(result),
        "Everything seems to be there, but a real kernel fails.",
        "Run 'python3 -m labkit doctor' in a terminal: it knows the causes of many such texts.",
    )


def _waits(name: str, cause: Check) -> Check:
    return Check(name, UNKNOWN, f"waits for '{cause.name}'", f"Not judged before '{cause.name}' is mended.")


def _not_needed(name: str) -> Check:
    return Check(name, NOT_NEEDED, "", "Nothing to check on a machine like this one.")


def _devices_of(snapshot: Snapshot) -> Mapping[str, Mapping[str, Any]]:
    value = snapshot.get("devices") or {}
    return {str(path): facts for path, facts in value.items() if isinstance(facts, Mapping)}


def _torch(snapshot: Snapshot) -> Mapping[str, Any]:
    return snapshot.get("torch") or {}


def _has_wheels(gfx: str | None, here: Machine) -> bool:
    row = target(gfx)
    if row is None or here.architecture != "x86_64":
        return False
    system = "windows" if here.system == "windows" else "linux"
    from_pytorch = (
        system == "linux" and not here.wsl and any(name in row.pytorch_indexes for name in wheels.usable_rocm_indexes())
    )
    return from_pytorch or bool(wheels.amd_carries(row.gfx, system))
