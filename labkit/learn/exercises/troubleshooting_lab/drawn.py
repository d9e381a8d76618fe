"""Cases drawn at random, for instructors: any simulated machine with any fault that it can have.

The story is what the person would see, the choices come from the doctor: its causes for the same machine with other
faults, and what mends those. So a wrong choice is always one that would be right on a machine of the same kind.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.catalog.findings import codes
from labkit.learn.exercises.troubleshooting_lab.case import Case, Choice
from labkit.machine import doctor, evidence, simulate
from labkit.machine.doctor import Finding

_CHOICES = 4
_LETTERS = "abcd"


def draw_cases(seed: int, names: Sequence[str]) -> tuple[Case, ...]:
    """One case for each name, with different faults; the same seed always draws the same ones."""
    dice = random.Random(seed)
    pairs = [(machine, fault) for machine in simulate.healthy() for fault in _harmful(machine)]
    dice.shuffle(pairs)
    drawn: list[Case] = []
    used: set[str] = set()
    for machine, fault in pairs:
        if len(drawn) == len(names):
            break
        if fault not in used and (case := _case(names[len(drawn)], machine, fault, dice)) is not None:
            drawn.append(case)
            used.add(fault)
    return tuple(drawn)


def _harmful(machine: str) -> list[str]:
    """Faults that block or degrade, and that leave a GPU to speak of."""
    return [code for code in simulate.faults(machine) if codes()[code].severity != "info" and code != "no-amd-gpu"]


def _finding(snapshot: Mapping[str, Any]) -> Finding:
    return doctor.diagnose(evidence.from_snapshot(snapshot)).findings[0]


def _case(name: str, machine: str, fault: str, dice: random.Random) -> Case | None:
    """The case, or None where the doctor's answer is not this fault, or too few other answers differ from it."""
    snapshot = simulate.snapshot(machine, [fault])
    right = _finding(snapshot)
    if right.code != fault or not right.fix or not right.evidence:
        return None
    others: list[Finding] = []
    for code in dice.sample(_harmful(machine), len(_harmful(machine))):
        if len(others) == _CHOICES - 1:
            break
        other = _finding(simulate.snapshot(machine, [code])) if code != fault else right
        fresh = all(set(other.fix).isdisjoint(known.fix) for known in (right, *others))  # one right fix on the list
        if other.code == code and other.evidence and other.fix and fresh:
            others.append(other)
    if len(others) < _CHOICES - 1:
        return None
    found = dice.sample([right, *others], _CHOICES)
    title = simulate.title(machine).replace(", AMD's wheels", "")  # that is one of the questions
    return Case(
        name,
        f"A drawn case: {title}",
        "Somebody brings this machine to you, and tells no more than what the screen shows. (The rule above and the comments "
        "below were written for the course's own case: they hold, but they need not point at this fault.)",
        screen(snapshot),
        f"What is there: {right.evidence[0]}",
        tuple(Choice(one.code, one.meaning, _why(one, right, fixing=False)) for one in found),
        tuple(
            Choice(letter, _steps(one), _why(one, right, fixing=True))
            for letter, one in zip(_LETTERS, found, strict=True)
        ),
        snapshot,
    )


def _steps(finding: Finding) -> str:
    return " · ".join(step for step in finding.fix[:2] if step)


def _why(one: Finding, right: Finding, *, fixing: bool) -> str:
    if one.code == right.code:
        return ""
    words = "That would mend" if fixing else "It would be"
    return f"{words} another fault: {one.meaning} Then this machine would show “{one.evidence[0].rstrip('.')}”. Look whether it does."


def screen(snapshot: Mapping[str, Any]) -> str:
    """What the person would see: the first questions to torch with their answers, and the text of the failure."""
    torch: Mapping[str, Any] = snapshot.get("torch") or {}
    lines = [">>> import torch"]
    if torch.get("error"):
        lines.append(str(torch["error"]))
    elif torch:
        lines += [">>> torch.cuda.is_available()", str(bool(torch.get("cuda_available")))]
        result = torch.get("kernel_result")
        if result not in (None, "ok"):
            lines += [">>> torch.ones(2, device='cuda') * 2", str(result)]
    said = str(snapshot.get("symptom") or "").strip()
    return "\n".join([*lines, *([said] if said and said not in lines else [])])
