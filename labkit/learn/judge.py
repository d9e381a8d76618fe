"""From an answer to a verdict: run the probe safely, and turn whatever happens into the key of a hint."""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.learn.exercise import Exercise, Hint, Wrong
from labkit.learn.isolation import untouched

# Hints that every exercise has. An exercise may hold its own text under the same key.
GENERAL: dict[str, Hint] = {
    "not_started": Hint(
        "not started. Replace the placeholder in the cell above, run it, then run this cell again.",
        'not started. Replace the placeholder in the cell above; hint("{name}") gives a push.',
    ),
    "returned_none": Hint(
        "your function gives back None. Is a `return` missing?",
        "your function gives back None: its last line must be `return …` with the result.",
    ),
    "raised": Hint(
        "your code stopped with {error}{where}.",
        "your code still stops with {error}{where}. Call it by hand in a new cell with a small tensor and print the shapes.",
    ),
    "device": Hint(
        "tensors on two devices met{where}. Create new tensors where the input lives: `device=images.device`.",
        "tensors on two devices met{where}. Write `device=x.device` (x: your input) wherever you make a new tensor.",
    ),
    "signature": Hint(
        "the check could not call your answer: {error}. Keep the names and the order of the parameters of the stub.",
        "the check could not call your answer: {error}. Copy the `def` line of the stub again and keep it.",
    ),
    "not_callable": Hint(
        "this should be a function, but it is a {kind}. Hand over the function itself, without calling it.",
        "this should be a function, but it is a {kind}. Write `check(\"{name}\", {name})`, no brackets after the second.",
    ),
}

_PLACEHOLDERS = (None, NotImplemented, Ellipsis)
_LABKIT = Path(__file__).resolve().parent.parent
_LIBRARIES = tuple(
    Path(p).resolve() for key in ("purelib", "platlib", "stdlib") if (p := sysconfig.get_paths().get(key))
)


@dataclass(frozen=True)
class Verdict:
    """passed, or the key of the hint that fits together with the values that its text may mention."""

    passed: bool
    key: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def is_placeholder(value: Any) -> bool:
    """True for what a stub gives: None, NotImplemented or ``...``."""
    return any(value is p for p in _PLACEHOLDERS)


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the learner's function for a probe; a placeholder as its result becomes Wrong('not_started')."""
    if not callable(function):
        raise Wrong("not_callable", kind=type(function).__name__)
    result = function(*args, **kwargs)
    if result is None:
        raise Wrong("returned_none")
    if is_placeholder(result):
        raise Wrong("not_started")
    return result


def judge(exercise: Exercise, *answer: Any, **extra: Any) -> Verdict:
    """Run the exercise's probe on an answer. Never raises for what the learner wrote; an interrupt passes through."""
    if not answer or is_placeholder(answer[0]):
        return Verdict(False, "not_started", {"name": exercise.name})
    try:
        with untouched():
            exercise.probe(*answer, **extra)
    except KeyboardInterrupt:
        raise
    except NotImplementedError as error:
        if not str(error):
            return Verdict(False, "not_started", {"name": exercise.name})
        return _from_error(exercise, error)
    except Wrong as wrong:
        return Verdict(False, wrong.key, {"name": exercise.name, **wrong.values})
    except BaseException as error:  # SystemExit from a learner's exit() too: a check must not end the kernel
        return _from_error(exercise, error)
    return Verdict(True)


def hint_of(exercise: Exercise, key: str) -> Hint:
    """The exercise's own hint for a key, else the general one."""
    return exercise.hints.get(key) or GENERAL[key]


def sentence(exercise: Exercise, verdict: Verdict, tries: int) -> str:
    """The hint for this verdict: concrete from the second try on, with the way to the solution from the third on."""
    hint = hint_of(exercise, verdict.key)
    text = (hint.first if tries <= 1 else hint.then).format_map({"name": exercise.name, **verdict.values})
    if tries >= 3 and verdict.key != "not_started":
        text += f' Stuck? solution("{exercise.name}") shows one way.'
    return " ".join(text.split())


def describe_error(error: BaseException) -> str:
    """'TypeError: what it said', in one line of at most 160 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return (text if len(text) <= 160 else text[:157] + "…").rstrip(".")


def _from_error(exercise: Exercise, error: BaseException) -> Verdict:
    where = _where(error)
    values = {"name": exercise.name, "error": describe_error(error), "where": where}
    text = str(error)
    if isinstance(error, RuntimeError) and "same device" in text:
        return Verdict(False, "device", values)
    if isinstance(error, TypeError) and not where and ("argument" in text):
        return Verdict(False, "signature", values)
    return Verdict(False, "raised", values)


def _where(error: BaseException) -> str:
    """' in the line `…`' for the innermost line that the learner wrote, or nothing."""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if _is_ours(name):
            continue
        source = linecache.getline(name, line, frame.f_globals).strip()
        found = f" in the line `{source}`" if source else f" in line {line}"
    return found


def _is_ours(filename: str) -> bool:
    """Is this file part of labkit, torch or Python, so not the learner's?"""
    if filename.startswith("<") and not filename.startswith(("<ipython", "<answer")):
        return True
    path = Path(filename)
    if not path.is_absolute():
        return False
    try:
        path = path.resolve()
    except OSError:
        return False
    return any(parent in path.parents for parent in (_LABKIT, *_LIBRARIES))
