"""Exercises and quizzes: checks that understand mistakes, hints, solutions, and the progress of whoever does them.

In a notebook: ``check("name", answer)``, ``hint("name")``, ``solution("name")``, ``quiz("name")`` and
``quiz("name", answer)``, and ``progress("02")`` at a lesson's end. An exercise is defined beside its known mistakes in
``labkit/learn/exercises/<lesson>``, a quiz beside the reasons of its options; ``labkit.learn.proofs`` shows that their
checks can be trusted. Nothing here imports torch before an answer is judged.
"""

from __future__ import annotations

from labkit.learn.judge import attempt
from labkit.learn.session import Result, check, forget, hint, quiz, solution
from labkit.learn.strip import strip as progress

__all__ = ["Result", "attempt", "check", "forget", "hint", "progress", "quiz", "solution"]
