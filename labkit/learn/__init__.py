"""Exercises: checks that understand mistakes, hints, solutions.

In a notebook: ``check("name", answer)``, ``hint("name")``, ``solution("name")``. An exercise is defined beside its known
mistakes in ``labkit/learn/exercises/<lesson>.py``; ``labkit.learn.proofs`` shows that its check can be trusted.
"""

from __future__ import annotations

from labkit.learn.judge import attempt
from labkit.learn.session import Result, check, forget, hint, solution

__all__ = ["Result", "attempt", "check", "forget", "hint", "solution"]
