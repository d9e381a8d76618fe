"""The exercises of the course, one module per lesson. A new module in this folder is found by itself.

Each module holds ``EXERCISES``, a tuple of Exercise in the order of the lesson.
"""

from __future__ import annotations

import difflib
import pkgutil
from functools import cache
from importlib import import_module

from labkit.errors import LabkitError
from labkit.learn.exercise import Exercise


@cache
def everything() -> dict[str, Exercise]:
    """Every exercise of the course by name. Names are unique in the whole course."""
    found: dict[str, Exercise] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        for exercise in import_module(f"{__name__}.{module.name}").EXERCISES:
            if exercise.name in found:
                raise LabkitError(f"Two exercises are called '{exercise.name}'", "Give one of them another name.")
            found[exercise.name] = exercise
    return found


def find(name: str) -> Exercise:
    """The exercise of this name. Raises LabkitError with the nearest names for an unknown one."""
    known = everything()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(str(name), list(known), n=3, cutoff=0.5)
    remedy = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else f"There are: {', '.join(known)}."
    raise LabkitError(f"There is no exercise called {name!r}", remedy)
