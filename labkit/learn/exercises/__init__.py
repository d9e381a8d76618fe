"""The exercises and quizzes of the course, one package per lesson. A new package in this folder is found by itself.

Each holds ``EXERCISES``, a tuple of Exercise in the order of the lesson, and may hold ``QUIZZES``, a tuple of the kinds
of ``labkit.learn.quizzes``.
"""

from __future__ import annotations

import difflib
import pkgutil
from functools import cache
from importlib import import_module

from labkit.errors import LabkitError
from labkit.learn.exercise import Exercise
from labkit.learn.judge import bounded
from labkit.learn.quizzes.kinds import Question


@cache
def everything() -> dict[str, Exercise]:
    """Every exercise of the course by name. Names are unique in the whole course."""
    return {one.name: one for one in _all().values() if isinstance(one, Exercise)}


@cache
def quizzes() -> dict[str, Question]:
    """Every quiz of the course by name."""
    return {one.name: one for one in _all().values() if isinstance(one, Question)}


@cache
def _all() -> dict[str, Exercise | Question]:
    found: dict[str, Exercise | Question] = {}
    for place in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        module = import_module(f"{__name__}.{place.name}")
        for one in (*module.EXERCISES, *getattr(module, "QUIZZES", ())):
            if one.name in found:
                raise LabkitError(f"Two exercises are called '{one.name}'", "Give one of them another name.")
            found[one.name] = one
    return found


def find(name: str) -> Exercise:
    """The exercise of this name. Raises LabkitError with the nearest names for an unknown one."""
    if name in quizzes():
        raise LabkitError(f"'{name}' is a quiz.", f'Answer it with quiz("{name}", …).')
    if name in everything():
        return everything()[name]
    raise _unknown(name, "exercise", list(everything()))


def find_quiz(name: str) -> Question:
    """The quiz of this name. Raises LabkitError with the nearest names for an unknown one."""
    if name in everything():
        raise LabkitError(f"'{name}' is an exercise.", f'Check it with check("{name}", …).')
    if name in quizzes():
        return quizzes()[name]
    raise _unknown(name, "quiz", list(quizzes()))


def find_any(name: str) -> Exercise | Question:
    """The exercise or quiz of this name. Raises LabkitError with the nearest names for an unknown one."""
    return quizzes()[name] if name in quizzes() else find(name)


def _unknown(name: str, what: str, known: list[str]) -> LabkitError:
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    remedy = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else f"There are: {', '.join(known)}."
    return LabkitError(f"There is no {what} called {bounded(repr(name), 80)}", remedy)
