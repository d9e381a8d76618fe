"""Which two faults can be on one machine at once, and what the doctor then has to name.

Two faults exclude one another when they take the same part of the machine (``claims``), or when one breaks what the other's
signs need (an out-of-memory error needs a program that computes, so it cannot be seen behind a CPU wheel). One can explain
the other: that stands in the doctor's rules (``explains``), and then the cause alone has to be named.
"""

from __future__ import annotations

from collections.abc import Iterator

from labkit.machine.simulate.faults import FAULTS, Fault


def excluded(one: str, other: str) -> str:
    """Why the two cannot be there at once, as a sentence; '' where they can."""
    a, b = FAULTS[one], FAULTS[other]
    shared = a.claims & b.claims
    if shared:
        return f"both change the same part of the machine: {', '.join(sorted(shared))}."
    for cause, hidden in ((a, b), (b, a)):
        broken = _first(cause.breaks & hidden.needs)
        if broken:
            return f"with '{cause.code}' nothing gets as far as '{broken}', which the signs of '{hidden.code}' need."
    return ""


def _first(stages: frozenset[str]) -> str:
    order = ("card", "driver", "device", "import", "build", "sees", "kernel", "end")
    return next((stage for stage in order if stage in stages), "")


def pairs(box_faults: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The pairs of these faults that can coexist."""
    for at, one in enumerate(box_faults):
        for other in box_faults[at + 1 :]:
            if not excluded(one, other):
                yield one, other


def explained_by(fault: Fault) -> frozenset[str]:
    """Codes that the doctor does not list beside this one, because this one explains them."""
    from labkit.machine import doctor
    from labkit.machine.rules import RULES

    assert doctor.rule_codes()  # the rules are there once the doctor is
    return frozenset().union(*(rule.explains for rule in RULES if rule.code == fault.code))
