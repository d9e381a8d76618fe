"""From an answer to a verdict: run the probe safely, and turn whatever happens into the key of a hint."""

from __future__ import annotations

import inspect
import linecache
import reprlib
import string
import sysconfig
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.learn.exercise import Exercise, Hint, Stopped, Wrong
from labkit.learn.isolation import no_exit, untouched

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
    "in_place": Hint(
        "your function writes into its argument `{which}`. Whoever called it still needs that as it was.",
        "no `-=`, `/=` or names that end in `_` on `{which}`: make a new tensor, for example with `.clone()`.",
    ),
    "bytes_in_place": Hint(
        "numbers with a fraction do not fit into bytes{where}: that line writes into a uint8 tensor. Make a new tensor.",
        "no `/=` or `-=` on uint8 pictures: `x = images.float() / 255` makes a new tensor; go on with x.",
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
        "this should be a function, but it is of the type {kind}. Keep the `def` line of the stub; hand over the function itself, "
        "without calling it.",
        'this should be a function, but it is of the type {kind}. Write `check("{name}", {name})`, no brackets after the second.',
    ),
}

LONGEST = 800
"""Characters of a check's line, whatever a learner's code says or gives back."""
_LONGEST_FIELD = 300
_LONGEST_SOURCE = 120
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 12
_SHORT.maxstring = _SHORT.maxother = _LONGEST_FIELD

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
    """Call the learner's function for a probe.

    A placeholder as its result becomes Wrong('not_started'), None becomes Wrong('returned_none'), and a tensor among the
    arguments that the function changed becomes Wrong('in_place', which=…).
    """
    import torch

    if not callable(function):
        raise Wrong("not_callable", kind=type(function).__name__)
    before = {i: a.detach().clone() for i, a in enumerate(args) if isinstance(a, torch.Tensor)}
    result = function(*args, **kwargs)
    if result is None:
        raise Wrong("returned_none")
    if is_placeholder(result):
        raise Wrong("not_started")
    for i, kept in before.items():
        if args[i].shape != kept.shape or not torch.equal(args[i].detach(), kept):
            raise Wrong("in_place", which=_parameter(function, i))
    return result


def attempt(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a learner's function and give back its result; an error becomes a Stopped, about which ``check`` has a hint.

    For exercises whose function takes long, so that it runs in its own cell and not inside a check. An interrupt passes
    through.
    """
    if not callable(function):
        return function
    try:
        with no_exit():
            return function(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except NotImplementedError as error:
        return NotImplemented if not _text_of(error) else Stopped(error)
    except (Exception, SystemExit) as error:
        return Stopped(error)


def _parameter(function: Any, place: int) -> str:
    """The name of a function's positional parameter; 'argument 2' where it has none."""
    try:
        return list(inspect.signature(function).parameters)[place]
    except (TypeError, ValueError, IndexError):
        return f"argument {place + 1}"


def judge(exercise: Exercise, *answer: Any, **extra: Any) -> Verdict:
    """Run the exercise's probe on an answer. Never raises for what the learner wrote; an interrupt passes through."""
    if not answer or is_placeholder(answer[0]):
        if answer and answer[0] is None and exercise.of_result:
            return Verdict(False, "returned_none", {"name": exercise.name})
        return Verdict(False, "not_started", {"name": exercise.name})
    if isinstance(answer[0], Stopped):
        return _from_error(exercise, answer[0].error)
    try:
        with untouched(), no_exit():
            exercise.probe(*answer, **extra)
    except KeyboardInterrupt:
        raise
    except NotImplementedError as error:
        if not _text_of(error):
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
    """The hint for this verdict: concrete from the second try on, with the way to the solution from the third on.

    An error without a hint of its own is followed by the exercise's pushes, one further with each try.
    """
    hint = hint_of(exercise, verdict.key)
    template = hint.first if tries <= 1 else hint.then
    text = _Bounded().vformat(template, (), {"name": exercise.name, **verdict.values})
    if verdict.key == "raised" and tries >= 2 and exercise.push:
        text += " " + exercise.push[min(tries - 2, len(exercise.push) - 1)]
    if tries >= 3 and verdict.key != "not_started":
        text += f' Stuck? solution("{exercise.name}") shows one way.'
    return bounded(text)


class _Bounded(string.Formatter):
    """Fills in a hint's values: each cut to a length, and one that cannot be shown as '…'."""

    def format_field(self, value: Any, format_spec: str) -> str:
        try:
            if isinstance(value, (list, tuple, dict, set, frozenset)) and len(value) > 12:
                value = _SHORT.repr(value)
            elif isinstance(value, str):
                value = value[: 4 * _LONGEST_FIELD]
            text = str(super().format_field(value, format_spec))
        except Exception:  # a learner's object, or an int of a million digits
            return "…"
        space = " " if text.startswith(" ") else ""  # as before "in the line …"
        return space + bounded(text, _LONGEST_FIELD)

    def convert_field(self, value: Any, conversion: Any) -> Any:
        try:
            return super().convert_field(value[: 4 * _LONGEST_FIELD] if isinstance(value, str) else value, conversion)
        except Exception:
            return "…"


def bounded(text: str, most: int = LONGEST) -> str:
    """One line of at most ``most`` characters."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def describe_error(error: BaseException) -> str:
    """'TypeError: what it said', in one line of at most 160 characters."""
    lines = [line.strip() for line in _text_of(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return (text if len(text) <= 160 else text[:157] + "…").rstrip(".")


def _text_of(error: BaseException) -> str:
    """What the error says; an error whose own text raises says nothing."""
    try:
        return str(error)[:4000]
    except Exception:
        return ""


def _from_error(exercise: Exercise, error: BaseException) -> Verdict:
    where = _where(error)
    values = {"name": exercise.name, "error": describe_error(error), "where": where}
    text = _text_of(error)
    for part, key in exercise.errors.items():
        if part in text:
            return Verdict(False, key, values)
    if isinstance(error, RuntimeError) and "can't be cast to the desired output type" in text:
        return Verdict(False, "bytes_in_place", values)
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
        source = bounded(linecache.getline(name, line, frame.f_globals), _LONGEST_SOURCE)
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
