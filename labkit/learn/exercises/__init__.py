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
from labkit.learn.lessons import lessons
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
    for package in _packages():
        for name, one in _of(package).items():
            if name in found:
                raise LabkitError(f"Two exercises are called '{name}'", "Give one of them another name.")
            found[name] = one
    return found


def _packages() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


@cache
def _of(package: str) -> dict[str, Exercise | Question]:
    """What one lesson's package holds, by name."""
    module = import_module(f"{__name__}.{package}")
    found: dict[str, Exercise | Question] = {}
    for one in (*module.EXERCISES, *getattr(module, "QUIZZES", ())):
        if one.name in found:
            raise LabkitError(f"Two exercises are called '{one.name}'", "Give one of them another name.")
        found[one.name] = one
    return found


@cache
def _index() -> dict[str, str]:
    """Name -> package of its lesson, from the notebooks: a check then loads its own lesson's exercises and no others."""
    try:
        return {item.name: lesson.notebook[3:-6] for lesson in lessons() for item in lesson.items}
    except LabkitError:  # no notebooks here
        return {}


def _known(name: str) -> Exercise | Question | None:
    package = _index().get(str(name), "")
    if package in _packages() and name in _of(package):
        return _of(package)[name]
    return _all().get(name)


def find(name: str) -> Exercise:
    """The exercise of this name. Raises LabkitError with the nearest names for an unknown one."""
    found = _known(name)
    if isinstance(found, Question):
        raise LabkitError(f"'{name}' is a quiz.", f'Answer it with quiz("{name}", ...).')
    if found is None:
        raise _unknown(name, "exercise", list(everything()))
    return found


def find_quiz(name: str) -> Question:
    """The quiz of this name. Raises LabkitError with the nearest names for an unknown one."""
    found = _known(name)
    if isinstance(found, Exercise):
        raise LabkitError(f"'{name}' is an exercise.", f'Check it with check("{name}", ...).')
    if found is None:
        raise _unknown(name, "quiz", [n for n, one in _all().items() if isinstance(one, Question)])
    return found


def find_any(name: str) -> Exercise | Question:
    """The exercise or quiz of this name. Raises LabkitError with the nearest names for an unknown one."""
    found = _known(name)
    return find(name) if found is None else found


def _unknown(name: str, what: str, known: list[str]) -> LabkitError:
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    remedy = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else f"There are: {', '.join(known)}."
    return LabkitError(f"There is no {what} called {bounded(repr(name), 80)}", remedy)
