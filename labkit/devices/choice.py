"""Which device to use: a pure function of what torch says, of LABKIT_DEVICE and of the smoke test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.devices.facts import best_device, build_text, gpu_facts, has_kernels, target_of
from labkit.devices.smoke import SmokeTest
from labkit.errors import LabkitError

SETUP = "python3 -m labkit setup --recreate"


@dataclass(frozen=True)
class Choice:
    """A device string ('cpu', 'cuda:0', 'mps') and, where a person should know why, a sentence."""

    device: str
    sentence: str = ""


def choose(facts: Mapping[str, Any], override: str = "", smoke: SmokeTest | None = None) -> Choice:
    """The device to use, from what torch says (see ``labkit.devices.facts.torch_facts``). A pure function.

    A discrete GPU comes before an integrated one, and a GPU whose kernels are in the wheel before one without. Where no
    GPU has its kernels in the wheel, or the smoke test has shown that the chosen one fails, it is the CPU, with a
    sentence. ``override`` is the value of LABKIT_DEVICE; it is obeyed, or a LabkitError says why it cannot be.
    """
    wanted = override.strip().lower()
    if wanted:
        return Choice(_obey(wanted, facts))
    best = best_device(facts)
    if best == "cpu":
        return Choice("cpu")
    gpu = gpu_facts(facts, best)
    name, target = gpu.get("name") or "the GPU", target_of(gpu)
    if has_kernels(gpu, facts.get("arch_list") or []) is False:
        return Choice(
            "cpu",
            f"{name} ({target}) is visible, but this torch has no kernels for {target}, so labkit uses "
            f"the CPU. What to do: '{SETUP}' chooses a torch that has them.",
        )
    if smoke is not None and smoke.device == best and not smoke.usable:
        return Choice(
            "cpu", f"{name} ({best}) failed the smoke test, so labkit uses the CPU. labkit.describe() says what to do."
        )
    return Choice(best)


def _obey(wanted: str, facts: Mapping[str, Any]) -> str:
    kind, _, number = wanted.partition(":")
    if kind in ("hip", "rocm", "gpu", "amd", "radeon"):
        raise LabkitError(
            f"LABKIT_DEVICE={wanted}: PyTorch has no usable device of that name. "
            "It calls AMD GPUs 'cuda', just like NVIDIA GPUs.",
            "set LABKIT_DEVICE=cuda (or cuda:1 for the second GPU), or leave it unset",
        )
    if kind not in ("cpu", "cuda", "mps") or (number and not number.isdigit()) or (number and kind != "cuda"):
        raise LabkitError(
            f"LABKIT_DEVICE={wanted} is not a device that labkit knows.",
            "use cpu, cuda, cuda:1 or mps, or leave it unset",
        )
    if kind == "mps" and not facts.get("mps"):
        raise LabkitError(
            "LABKIT_DEVICE=mps, but this torch sees no Apple GPU.", "leave LABKIT_DEVICE unset, or set it to cpu"
        )
    if kind != "cuda":
        return kind
    count = len(facts.get("devices") or [])
    if not count:
        raise LabkitError(
            f"LABKIT_DEVICE={wanted}, but this torch ({build_text(facts)}) sees no GPU.",
            "leave LABKIT_DEVICE unset to use the CPU; labkit.describe() says what this machine has",
        )
    if not number:
        return best_device(facts)
    if int(number) >= count:
        raise LabkitError(
            f"LABKIT_DEVICE={wanted}, but torch sees only {count} GPU{'s' if count > 1 else ''} and counts from 0.",
            f"set it to cuda:0{f' ... cuda:{count - 1}' if count > 1 else ''}, or leave it unset",
        )
    return f"cuda:{int(number)}"
