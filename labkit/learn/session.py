"""check, hint and solution: what a notebook calls.

The state of this kernel is how often each exercise was tried since it last passed, and what was said about it; what stays
is in ``labkit.learn.records``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.learn import records
from labkit.learn.exercise import Exercise
from labkit.learn.exercises import find
from labkit.learn.judge import Verdict, judge, sentence
from labkit.learn.solutions import source_of


@dataclass(frozen=True)
class Result:
    """What ``check`` gives back: true when the answer passed. Shows nothing by itself in a notebook.

    name: the exercise. passed: the verdict. key: which hint fitted ('' when passed). message: the printed line.
    """

    name: str
    passed: bool
    key: str
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return "PASS" if self.passed else "TODO"

    def _ipython_display_(self) -> None:
        """The line is already printed: an expression at a cell's end adds nothing."""


_tries: dict[str, int] = {}
_last: dict[str, Verdict] = {}
_pushes: dict[str, int] = {}
_told: set[str] = set()  # exercises whose last mistake hint() has talked about already


def check(name: str, *answer: Any, **extra: Any) -> Result:
    """Probe an answer and print one line: ``PASS name …`` or ``TODO name: hint``.

    answer: what the exercise asks for (a function, a model, a number …); further values as the exercise's text says.
    Never raises for an unfinished or broken answer, changes no random state and no model's mode that it was not given for
    that purpose. From the second try on the hint is more concrete, from the third on it names ``solution``.
    Raises LabkitError for a name that is no exercise.
    """
    exercise = find(name)
    verdict = judge(exercise, *answer, **extra)
    return _report(exercise, verdict)


def hint(name: str) -> None:
    """Print the next hint for an exercise: first about your last mistake if there was one, then one general push after another."""
    exercise = find(name)
    verdict = _last.get(name)
    if verdict is not None and not verdict.passed and verdict.key != "not_started" and name not in _told:
        _told.add(name)
        print(f"HINT {name}: {sentence(exercise, verdict, 2)}")
        return
    step = min(_pushes.get(name, 0), len(exercise.push) - 1)
    _pushes[name] = step + 1
    more = "" if step + 1 < len(exercise.push) else f' That was the last one; solution("{name}") shows one way.'
    print(f"HINT {name} ({step + 1} of {len(exercise.push)}): {exercise.push[step]}{more}")


def solution(name: str) -> None:
    """Print one right answer, from the lesson's file in ``notebooks/solutions``. Raises LabkitError where it is missing."""
    exercise = find(name)
    print(source_of(exercise.lesson, name))


def forget(name: str | None = None) -> None:
    """Forget the tries of one exercise, or of all."""
    for store in (_tries, _last, _pushes):
        if name is None:
            store.clear()
        else:
            store.pop(name, None)
    if name is None:
        _told.clear()
    else:
        _told.discard(name)


def _report(exercise: Exercise, verdict: Verdict) -> Result:
    name = exercise.name
    if _last.get(name) != verdict:
        _told.discard(name)
    _last[name] = verdict
    if verdict.passed:
        tries = _tries.pop(name, 0)
        message = f"PASS {name}" + (f" (after {tries + 1} tries)" if tries else "")
    else:
        if verdict.key != "not_started":
            _tries[name] = _tries.get(name, 0) + 1
        message = f"TODO {name}: {sentence(exercise, verdict, _tries.get(name, 0))}"
    print(message)
    if verdict.passed or verdict.key != "not_started":
        said = records.note(name, exercise.lesson, "exercise", verdict.passed)
        if said:
            print(said)
    return Result(name, verdict.passed, verdict.key, message)
