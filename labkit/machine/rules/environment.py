"""Environment variables, and which GPU the program sees."""

from __future__ import annotations

import re

from labkit.catalog.gfx import target
from labkit.catalog.masks import HIDING
from labkit.machine.evidence import Evidence, is_integrated
from labkit.machine.rules import NO_GPU, Match, rule, seen, setting
from labkit.machine.rules.install import WORKS, commands

_STALE = r"INVALID_ISA|invalid device function|hipErrorInvalidDeviceFunction|no kernel image|NoBinaryForGpu|Memory access fault|GPU Hang|core dumped|Segmentation fault|TensileLibrary|device kernel image is invalid"


def _major_minor(gfx: str) -> tuple[int, int] | None:
    found = re.fullmatch(r"gfx(\d{1,2})([0-9a-f])([0-9a-f])", gfx)
    return (int(found.group(1)), int(found.group(2), 16)) if found else None


def _unset(name: str) -> str:
    return f"unset {name}   # and delete it from ~/.bashrc, ~/.profile, /etc/environment, notebooks and launchers that set it"


def _override(e: Evidence) -> str:
    name = next(name for name in e.env or {} if name.startswith("HSA_OVERRIDE_GFX_VERSION"))
    return f"{name}={(e.env or {})[name]}"


@rule(
    "override-wrong-family",
    explains=("override-unneeded", "override-unsafe", "memory-access-fault", "arch-not-in-wheel", "gpu-reset", *NO_GPU),
)
def override_wrong_family(e: Evidence) -> Match | None:
    gfx = e.primary_gfx
    if e.override is None or e.is_windows or gfx is None:
        return None
    real = _major_minor(gfx)
    near = real is not None and real[0] == e.override[0] == 11  # RDNA 3 and 3.5: a stopgap that is unsafe, not foreign
    if real is None or real == e.override[:2] or near:
        return None
    return Match(
        seen(f"{_override(e)} is set, but the GPU is {gfx}: another family", e.fails),
        (_unset("HSA_OVERRIDE_GFX_VERSION"), f"Then use a wheel with kernels for {gfx}:", *commands(e)[1:]),
        ("env | grep HSA_OVERRIDE   # prints nothing", WORKS),
    )


@rule(
    "override-unsafe",
    explains=("override-unneeded", "memory-access-fault", "arch-not-in-wheel", "rocblas-arch-missing", *NO_GPU),
)
def override_unsafe(e: Evidence) -> Match | None:
    gfx = e.primary_gfx
    if e.override is None or e.is_windows or gfx is None:
        return None
    line = e.quote(_STALE, "")
    real = _major_minor(gfx)
    if not line or real is None or real[0] != e.override[0]:
        return None
    spelled = f"gfx{e.override[0]}{e.override[1]:x}{e.override[2]:x}"
    if spelled == gfx:
        return None  # it changes nothing, so it is not the cause
    return Match(
        seen(f"{_override(e)} makes the runtime load code for {spelled}; the GPU is {gfx}", line),
        (_unset("HSA_OVERRIDE_GFX_VERSION"), f"Then use a wheel with native kernels for {gfx}:", *commands(e)[1:]),
        ("env | grep HSA_OVERRIDE   # prints nothing", WORKS),
    )


@rule("override-unneeded")
def override_unneeded(e: Evidence) -> Match | None:
    gfx = e.primary_gfx
    if e.override is None or e.is_windows or gfx is None or not e.wheel_has(gfx):
        return None
    return Match(
        seen(
            f"{_override(e)} is set, and this wheel has kernels for the real target, {gfx}",
            e.quote(r"hipBLASLt on an unsupported", ""),
        ),
        (_unset("HSA_OVERRIDE_GFX_VERSION"),),
        ("env | grep HSA_OVERRIDE   # prints nothing", WORKS),
    )


@rule("env-not-exported", explains=("arch-not-in-wheel", "bf16-unsupported"))
def env_not_exported(e: Evidence) -> Match | None:
    if e.env is None:
        return None
    names = r"(HSA_OVERRIDE_GFX_VERSION|HIP_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|PYTORCH_\w*ALLOC_CONF|TORCH_\w+|MIOPEN_\w+|HSA_\w+|LD_LIBRARY_PATH|NCCL_\w+)"
    asked = e.match(
        rf"os\.environ(?:\.get\(|\[)['\"]{names}['\"][^\n]*(?:\n\W*|\b(?:prints?|is|returns?|gives?|says|shows) |[-=]>? ?)(?:None\b|KeyError)"
    )
    if asked and asked.group(1) not in e.env and e.quote(rf"echo \"?\$\{{?{asked.group(1)}|{asked.group(1)}[= ]\S", ""):
        return _hand_over(e, asked.group(1), asked.group().split("\n")[0].strip())
    without = e.match(
        rf"(?:\b(?:export|set|put|add\w*|echo)\b|\.(?:bashrc|zshrc|profile)\b)[^\n]{{0,80}}?\b{names}\b[^\n]*?"
        r"\b(?:is not (?:set|passed|seen|there|visible)|(?:does|do)(?: not|n't) (?:have|see|get|know|receive|pick|show)|never (?:sees|gets|arrives))\b"
    )
    if without and without.group(1) not in e.env:
        return _hand_over(e, without.group(1), without.group().strip()[:300])
    for pattern in (
        rf"^[$>%#~ \w@:/-]{{0,40}}?(?<![\w-]){names}=\S+[ \t]*$",  # set on a line of its own, without export
        rf"^[$>%#~ \w@:/-]{{0,40}}?\bset (?!-)\s*{names} \S+[ \t]*$",  # fish, without -x
        rf"echo \"?\${{?{names}}}?\"?[ \t]*\n(?!\s*$)(?!\$)\S",  # echo shows a value
        rf"^\W*(?:export|set -gx)\s+{names}[= ]\S+",  # in a shell file that this process never read
    ):
        for found in re.finditer(pattern, e.said[:200_000], re.M):
            name = found.group(1)
            line = found.group().strip().split("\n")[0]
            handed_on = "$env:" in line  # PowerShell's own way
            if (
                handed_on
                or name in e.env
                or (
                    re.search(rf"export\s+{name}", line)
                    and not e.match(
                        r"\.bashrc|\.profile|\.zshrc|config\.fish|IDE|PyCharm|VS ?Code|systemd|service|cron|sudo|Jupyter"
                    )
                )
            ):
                continue
            return _hand_over(e, name, line)
    return None


def _hand_over(e: Evidence, name: str, line: str) -> Match:
    value = e.match(rf"\b{name}[= ]([^\s,;)]+)")
    shown = value.group(1) if value else "VALUE"
    return Match(
        (line, f"the process that failed does not have {name} in its environment"),
        (
            f"Hand it to the program: export {name}={shown} in the shell that starts it (fish: set -gx {name} {shown}), "
            f"or in the launcher, unit or notebook kernel: {name}={shown} python …",
        ),
        (f"python -c \"import os; print(os.environ.get('{name}'))\"",),
    )


def _left(value: str, count: int | None) -> int | None:
    """How many devices a list of indices leaves of ``count``; None when that cannot be told."""
    entries = [entry.strip() for entry in value.split(",")]
    left = 0
    for entry in entries:
        if re.fullmatch(r"\d+", entry):
            if count is not None and int(entry) >= count:
                break  # the runtime stops at the first entry that does not exist
            if count is None and int(entry) > 0:
                return None
            left += 1
        elif re.match(r"(?i)gpu-\S+", entry):
            left += 1
        else:
            break  # '-1', '' and anything else ends the list
    return left


@rule("gpu-hidden-by-env", explains=NO_GPU)
def gpu_hidden_by_env(e: Evidence) -> Match | None:
    more = e.quote(r"contains more devices than ROCR_VISIBLE_DEVICES", "")
    env = {name: content for name, content in (e.env or {}).items() if name in HIDING}
    if not env and not more:
        return None
    if more:
        return Match(seen(more, *_shown(env)), _unhide(e, env or {"HIP_VISIBLE_DEVICES": ""}), (_COUNT,))
    if e.sees_gpu or (e.kernel_ran and e.sees_gpu is not False):
        return None
    count = e.gpu_count
    remaining = count
    guilty: list[str] = []
    if "ROCR_VISIBLE_DEVICES" in env and not e.is_windows:
        remaining = _left(env["ROCR_VISIBLE_DEVICES"], count)
        if remaining == 0:
            guilty.append("ROCR_VISIBLE_DEVICES")
    if not guilty:
        for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"):
            if name in env and _left(env[name], remaining) == 0:
                guilty.append(name)
    unsure = not guilty and count is None and e.sees_gpu is False
    if unsure:  # an index beyond the first, and nobody says that there is a second GPU
        guilty = [name for name, content in env.items() if re.fullmatch(r"\s*[1-9]\d*\s*", content)]
    if not guilty:
        return None
    return Match(
        seen(*_shown(env), f"the machine has {count} GPU{'s' if count != 1 else ''}; nothing is left of them" if count else None,
             e.quote(r"No HIP GPUs are available|device_count|hipErrorNoDevice", "")),
        _unhide(e, env),
        (_COUNT,),
        likely=unsure,
    )  # fmt: skip


_COUNT = 'python -c "import torch; print(torch.cuda.device_count())"'


def _shown(env: dict[str, str]) -> list[str]:
    return [f"{name}={content!r}" for name, content in env.items()]


def _unhide(e: Evidence, env: dict[str, str]) -> tuple[str, ...]:
    if e.is_windows:
        return tuple(f"unset it: Remove-Item Env:{name}   # and delete it from the system's variables" for name in env)
    if len(env) > 1:
        return (
            "ROCR_VISIBLE_DEVICES filters first and numbers what is left from 0; the other variables index that. Keep one of them:",
            f"unset {' '.join(name for name in env if name != 'ROCR_VISIBLE_DEVICES') or ' '.join(env)}",
            "and give the one that stays a valid index, for example ROCR_VISIBLE_DEVICES=0",
        )
    return tuple(f"unset {name}   # or give it a valid index, for example {name}=0" for name in env)


@rule(
    "igpu-shadows-dgpu",
    explains=("arch-not-in-wheel", "rocblas-arch-missing", "numerics-suspect", "oom-real", "apu-memory-limit", *NO_GPU),
)
def igpu_shadows_dgpu(e: Evidence) -> Match | None:
    facts = e.torch_facts
    listed = [agent["gfx"] for agent in e.agents] or [gpu["gfx"] for gpu in e.topology_gpus or ()]
    if len(listed) < 2 and facts:
        listed = [name.split(":")[0] for name in facts.gcn_arch_names]
    if len(listed) < 2 or e.override:
        return None
    small = [i for i, gfx in enumerate(listed) if gfx and _is_small(e, i, gfx)]
    large = [i for i, gfx in enumerate(listed) if gfx and i not in small]
    if not small or not large:
        return None
    hidden = any((e.env or {}).get(name) for name in HIDING)
    if facts and len(facts.gcn_arch_names) == 1 and not is_integrated(facts.gcn_arch_names[0]):
        return None  # torch sees the card alone already
    wrong = e.quote(
        r"(?:\biGPU\b|integrated (?:GPU|graphics)|wrong (?:GPU|card|device)).*(?:instead|picks?|pick(?:s|ed) up|uses?|used|runs?|slow|memory|wrong)|"
        r"(?:picks?|uses?|used|(?:runs?|trains?|works?|computes?|ends? up) on).*(?:\biGPU\b|integrated|wrong (?:GPU|card|device))|"
        r"(?:cuda:0|get_device_name\(0\)|device 0)\b.*Radeon(?:\(TM\))? Graphics",
        "",
    )
    trouble = wrong or e.quote(
        r"HIP error|hipError[A-Z]|HSA_STATUS_ERROR|core dumped|Segmentation fault|GPU Hang|rocBLAS error|MIOpen\(HIP\): Error|"
        r"miopenStatus|NoBinaryForGpu|Unable to find code object|shared object initialization|\bhangs?\b.*GPU|GPU.*\b(?:hangs?|crash)",
        "",
    )
    loading = e.quote(r"shared object initialization failed|NoBinaryForGpu|Unable to find code object", "")
    if not trouble or hidden or (not loading and e.kernel_log.keys() & {"mes-firmware-hang", "ras-errors"}):
        return None
    if facts and e.wheel_has(listed[large[0]] or "") is False and e.quote(r"invalid device function", ""):
        return None  # the card itself lacks kernels: hiding the other one mends nothing
    if not loading and e.match(r"Memory access fault|No module named|hip devices|Bus error"):
        return None
    first_is_small = small[0] == 0 and e.match(
        r"cuda:0\b[^\n]*Graphics|wrong (?:GPU|device)|uses? (?:the )?(?:iGPU|integrated)"
    )
    if e.match(r"out of memory|OutOfMemoryError") and not first_is_small:
        return None
    index = large[0]
    return Match(
        seen(
            f"{len(listed)} GPUs are visible: {', '.join(str(gfx) for gfx in listed)}; {listed[small[0]]} is the processor's own",
            trouble,
        ),
        (
            f"Hide it before Python starts: export HIP_VISIBLE_DEVICES={index}"
            if not e.is_windows
            else f"Hide it before Python starts: $env:HIP_VISIBLE_DEVICES={index} (HIP_VISIBLE_DEVICES={index})",
            "Or switch the processor's graphics off in the BIOS.",
        ),
        (f"HIP_VISIBLE_DEVICES={index} {_COUNT}   # 1",),
    )


def _is_small(e: Evidence, index: int, gfx: str) -> bool:
    units = e.agents[index]["compute_units"] if index < len(e.agents) else None
    return is_integrated(gfx) or (units is not None and units <= 2)


@rule("dgpu-missing", explains=("no-gpu-agent", "hip-no-device"))
def dgpu_missing(e: Evidence) -> Match | None:
    if not e.bus or len(e.bus) < 2:
        return None
    seen_by_hip = [agent["gfx"] for agent in e.agents] if e.override is None else []  # with it, rocminfo shows its name
    seen_by_hip = seen_by_hip or [gpu["gfx"] for gpu in e.topology_gpus or ()]
    if len(seen_by_hip) != 1 or not (seen_by_hip[0] and is_integrated(seen_by_hip[0])):
        return None
    cards = [device for device in e.bus if (row := target(e._on_bus(device))) is not None and not row.integrated]
    if not cards or any(device["driver"] not in (None, "amdgpu") for device in cards):
        return None
    if e.kernel_log.keys() & {"gpu-init-failed", "kfd-unsupported-device", "pcie-atomics-missing", "firmware-too-old"}:
        return None
    return Match(
        (f"on the bus: {cards[0]['name']}; the runtime lists only {seen_by_hip[0]}, the processor's own graphics",),
        (
            "Read what the kernel says of the card's PCI address: sudo dmesg | grep -iE 'amdgpu|kfd'",
            "On a laptop look at the hybrid-graphics switch and the power state: cat /sys/class/drm/card*/device/power_state",
        ),
        ("rocminfo | grep gfx   # lists the card as well",),
    )


@rule("alloc-conf-conflict")
def alloc_conf_conflict(e: Evidence) -> Match | None:
    confs = {
        name: content
        for name, content in (e.env or {}).items()
        if re.fullmatch(r"PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF", name)
    }
    for found in re.finditer(r"(PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF)=(\S+)", e.said):
        confs.setdefault(found.group(1), found.group(2).strip("'\""))
    both = [
        name
        for name, content in confs.items()
        if "max_split_size_mb" in content and re.search(r"expandable_segments:\s*true", content, re.I)
    ]
    different = len(set(confs.values())) > 1
    if not both and not different:
        return None
    return Match(
        tuple(f"{name}={content}" for name, content in confs.items()),
        (
            f"Keep one variable with one option: {setting(e, 'PYTORCH_ALLOC_CONF', 'expandable_segments:True')} "
            "(ROCm 7 and newer; before it leave the option away)",
            *(
                f"Remove-Item Env:{name}" if e.is_windows else f"unset {name}"
                for name in confs
                if name != "PYTORCH_ALLOC_CONF"
            ),
        ),
        ("dir env:*ALLOC_CONF   # one line" if e.is_windows else "env | grep ALLOC_CONF   # one line",),
    )
