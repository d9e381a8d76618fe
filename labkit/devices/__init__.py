"""Choose a device, describe it, and prove with real kernels that it works.

``device()`` is what lessons call. ``describe()`` is the card of this machine, ``smoke_test()`` the proof behind it. All
decisions are pure functions of plain facts (``choose``, ``card``), so simulated machines get the same answers from the
same code. torch is imported only inside functions: where it is broken, a sentence says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from labkit.devices import facts as _facts
from labkit.devices import smoke as _smoke
from labkit.devices import symptoms as _symptoms
from labkit.devices.cards import Card, Row, card
from labkit.devices.choice import Choice, choose
from labkit.devices.facts import best_device, build_of, has_kernels
from labkit.devices.native import Dtype, dtypes
from labkit.devices.smoke import KernelResult, SmokeTest
from labkit.errors import LabkitError

if TYPE_CHECKING:
    import torch

    from labkit.machine.facts import Machine

__all__ = [
    "Card",
    "Choice",
    "Dtype",
    "KernelResult",
    "Row",
    "SmokeTest",
    "best_device",
    "build_of",
    "card",
    "card_here",
    "choose",
    "describe",
    "device",
    "dtypes",
    "has_kernels",
    "smoke_test",
    "snapshot",
]


def _import_torch() -> Any:
    try:
        import torch
    except Exception as error:  # ImportError, OSError of a missing library, and what a half-installed wheel throws
        problem, remedy = _symptoms.explain_import(type(error).__name__, str(error))
        raise LabkitError(f"{problem[0].upper()}{problem[1:]}.", remedy) from error
    return torch


@lru_cache(maxsize=1)
def _facts_here() -> Mapping[str, Any]:
    return _facts.torch_facts(_import_torch())


@lru_cache(maxsize=8)
def _first_kernel(device: str) -> str:
    """Runs one tiny kernel in this process; the error text, or '' when the result is right."""
    torch = _import_torch()
    try:
        total = float(torch.arange(8.0, device=device).mul(2).sum().item())
    except RuntimeError as error:
        return str(error).strip() or type(error).__name__
    return "" if total == 56.0 else f"a sum that must be 56 came out as {total}"


_told: set[str] = set()
_tested: dict[str, SmokeTest] = {}


def device() -> torch.device:
    """The device to use, as torch.device: the best GPU that works here, else the CPU.

    LABKIT_DEVICE (cpu, cuda, cuda:1, mps) overrides the choice. A GPU always comes with its number ('cuda:0'), so that
    ``tensor.device == labkit.device()`` holds; where that is not GPU 0 it is made torch's current device. When a GPU is
    there but cannot be used, a sentence is printed, once. Raises LabkitError where torch cannot be imported or
    LABKIT_DEVICE cannot be obeyed.
    """
    torch = _import_torch()
    override = os.environ.get("LABKIT_DEVICE", "")
    choice = choose(_facts_here(), override, _tested.get(_wanted()))
    if choice.device.startswith("cuda") and not override.strip():
        error = _first_kernel(choice.device)
        if error:
            cause, remedy = _symptoms.explain(error, _facts_here(), choice.device)
            why = cause or " ".join(error.split())[:160]
            choice = Choice(
                "cpu",
                f"The first kernel on {_facts.gpu_facts(_facts_here(), choice.device).get('name')} failed ({why}), "
                f"so labkit uses the CPU.{f' What to do: {remedy}.' if remedy else ''}",
            )
    if choice.sentence and choice.sentence not in _told:
        _told.add(choice.sentence)
        print(choice.sentence)
    if choice.device.startswith("cuda"):
        index = int(choice.device.partition(":")[2])
        if index != torch.cuda.current_device():
            torch.cuda.set_device(index)
    return torch.device(choice.device)


def smoke_test(timeout_s: float = 120.0, *, again: bool = False) -> SmokeTest:
    """Matrix product, convolution and copy in three dtypes against float64, in a process of their own.

    Never raises: an error, a wrong number, a crash or a hang (longer than ``timeout_s`` seconds) is part of the result.
    It tests the device that LABKIT_DEVICE names, else the best GPU, else the CPU. The result is kept for this process
    (``again=True`` repeats it).
    """
    which = _wanted()
    if again or which not in _tested:
        _tested[which] = _smoke.run(which, timeout_s)
    return _tested[which]


def _wanted() -> str:
    """What the child is to test: the device that LABKIT_DEVICE names, 'auto' where it names none or none that exists."""
    override = os.environ.get("LABKIT_DEVICE", "").strip().lower()
    return override if override in ("cpu", "mps") or re.fullmatch(r"cuda:\d+", override) else "auto"


def describe(*, smoke: bool = True, timeout_s: float = 120.0) -> Card:
    """The card of this machine. Everything about torch is asked in one process of its own, so that a crash there becomes
    a row of the card. ``smoke=False`` runs no kernel. Never raises for a broken torch."""
    override = os.environ.get("LABKIT_DEVICE", "")
    test = smoke_test(timeout_s) if smoke else _tested.get(_wanted()) or _smoke.run("none", timeout_s)
    return card(test.facts, smoke=test, machine=_machine_here(), override=override)


def card_here() -> Card:
    """The card of this machine, asked in this process and without a kernel: quick, and no proof that a GPU computes.
    Raises LabkitError where torch cannot be imported."""
    return card(_facts_here(), machine=_machine_here(), override=os.environ.get("LABKIT_DEVICE", ""))


def snapshot(*, smoke: bool = True) -> dict[str, Any]:
    """The snapshot of this machine (``labkit.machine.snapshot``), with what the smoke test found out as its ``torch`` entry:
    ``kernel_result`` is 'ok', the problem's sentence, or None where no kernel was run on a GPU. Of a torch that does not
    start, the entry holds the error."""
    test = smoke_test() if smoke else _tested.get(_wanted()) or _smoke.run("none")
    said: Mapping[str, Any] | None = test.facts.get("snapshot")
    if said is None:
        return _snapshot_here(torch=True)
    on_gpu = bool(test.device and test.device.startswith("cuda"))
    result = test.problem or ("ok" if test.passed and on_gpu else None)
    return {
        **_snapshot_here(torch=False),
        "torch": {**said, "kernel_result": result},
        "packages": test.facts.get("packages"),
    }


@lru_cache(maxsize=2)
def _snapshot_here(*, torch: bool) -> dict[str, Any]:
    from labkit.machine import snapshot

    return snapshot.collect(torch=torch)


def _machine_here() -> Machine | None:
    from labkit.machine import facts as machine_facts

    try:
        return machine_facts.machine(_snapshot_here(torch=False))
    except Exception:  # the card must come even on a system that nobody foresaw; it then says less
        return None
