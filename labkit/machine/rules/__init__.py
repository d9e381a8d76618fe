"""Rules: one small function for each finding code.

A rule looks at the evidence and returns a :class:`Match` (what proves it, what mends it, how to see that it is mended) or
None. To add one: write the function in the module of its theme with ``@rule("code")``, and give the code a row in
``labkit/catalog/findings.json``. A rule that no test reaches fails the build.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labkit.machine.evidence import Evidence


@dataclass(frozen=True)
class Match:
    """Why a rule holds. ``likely`` marks what is inferred from a symptom rather than seen."""

    evidence: tuple[str, ...]
    fix: tuple[str, ...]
    verify: tuple[str, ...] = ()
    likely: bool = False


@dataclass(frozen=True)
class Rule:
    """A code, the codes that its being true explains (consequences), and its test.

    ``last`` rules are asked only about what nothing else explains. ``first`` ones rank above all others of their severity:
    before they are mended nothing else can be looked at.
    """

    code: str
    explains: frozenset[str]
    last: bool
    first: bool
    test: Callable[[Evidence], Match | None]


RULES: list[Rule] = []


def rule(
    code: str, *, explains: tuple[str, ...] = (), last: bool = False, first: bool = False
) -> Callable[[Callable[[Evidence], Match | None]], Callable[[Evidence], Match | None]]:
    """Registers a rule. Within one severity, rules rank in the order in which the modules register them: causes first."""

    def register(test: Callable[[Evidence], Match | None]) -> Callable[[Evidence], Match | None]:
        RULES.append(Rule(code, frozenset(explains), last, first, test))
        return test

    return register


def seen(*lines: str | None) -> tuple[str, ...]:
    """Evidence lines without the missing ones."""
    return tuple(line for line in lines if line)


def setting(e: Evidence, name: str, content: str) -> str:
    """How a variable is handed to a program in this system's shell."""
    if e.is_windows:
        return f'$env:{name}="{content}"   ({name}={content})'
    return f"export {name}={content}"


# Seen from torch, every one of these is 'no GPU'. Whatever blocks the device on the way explains them.
NO_GPU = ("hip-no-device", "no-gpu-agent", "hsa-init-failed")
# Only torch says this one: what is wrong with torch explains it, and not what rocminfo says.
NOT_SEEN = ("hip-no-device",)
