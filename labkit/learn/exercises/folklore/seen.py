"""A probe that tells three things apart: a call that works, one that works and is deprecated, and one that fails."""

from __future__ import annotations

import warnings
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call

_NO_HIP = "module 'torch.backends' has no attribute 'hip'"
_NOT_LINKED = "not linked with support for hip devices"
_WORDS = ("holds", "deprecated", "fails")


def _fine() -> int:
    return 3


def _nothing() -> None:
    return None


def _false() -> bool:
    return False


def _future() -> int:
    warnings.warn("old(): use new()", FutureWarning, stacklevel=2)
    return 3


def _deprecated() -> int:
    warnings.warn("old(): use new()", DeprecationWarning, stacklevel=2)
    return 3


def _other_warning() -> int:
    warnings.warn("the batch is small", UserWarning, stacklevel=2)
    return 3


def _raises() -> int:
    raise AttributeError(_NO_HIP)


def _ends() -> int:
    raise RuntimeError(_NOT_LINKED)


def _asked(answer: Any, subject: Any) -> str:
    """The learner's word for a subject, with the filters that most programs have: a DeprecationWarning is not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            got = call(answer, subject)
        except (AttributeError, RuntimeError) as error:
            if subject in (_raises, _ends) and str(error) in (_NO_HIP, _NOT_LINKED):
                raise Wrong("let_through", error=str(error)) from None
            raise
    if isinstance(got, bool):
        raise Wrong("yes_or_no", got=got)
    if got not in _WORDS:
        raise Wrong("no_word", got=repr(got)[:60])
    return str(got)


def _probe(answer: Any) -> None:
    for subject in (_raises, _ends):
        if _asked(answer, subject) != "fails":
            raise Wrong("failure_called_well", got=_asked(answer, subject))
    if _asked(answer, _fine) != "holds":
        raise Wrong("fine_called_badly", got=_asked(answer, _fine))
    for quiet in (_nothing, _false):
        if _asked(answer, quiet) != "holds":
            raise Wrong("by_result", got=_asked(answer, quiet))
    future, old = _asked(answer, _future), _asked(answer, _deprecated)
    if (future, old) == ("holds", "holds"):
        raise Wrong("unheard")
    if "fails" in (future, old):
        raise Wrong("warning_fails")
    if old != "deprecated":
        raise Wrong("one_kind", missing="DeprecationWarning")
    if future != "deprecated":
        raise Wrong("one_kind", missing="FutureWarning")
    if _asked(answer, _other_warning) != "holds":
        raise Wrong("every_warning")


what_is_seen = Exercise(
    name="what_is_seen",
    lesson="11",
    probe=_probe,
    hints={
        "let_through": Hint(
            "a call that raises stops your probe: {error}. Its error is an answer, too.",
            'wrap the call: `try: call()`, `except Exception: return "fails"` (it raised: {error}).',
        ),
        "yes_or_no": Hint(
            "you return {got}. There are three answers, and two of them would be the same.",
            'return one of the words "holds", "deprecated", "fails", not {got}.',
        ),
        "no_word": Hint(
            'you return {got}; the words are "holds", "deprecated" and "fails".',
            "every way out of the function ends with `return` and one of the three words (this one gave {got}).",
        ),
        "failure_called_well": Hint(
            'a call that raises gets "{got}".', 'in the `except` branch: `return "fails"`, not "{got}".'
        ),
        "fine_called_badly": Hint(
            'a call that works in silence gets "{got}". A probe that always says so shows nothing.',
            'without error and without warning: `return "holds"` (now "{got}").',
        ),
        "by_result": Hint(
            'a call that returns None or False gets "{got}". What it returns says nothing about whether it works.',
            'do not look at the result: only an exception is "fails" (None and False give "{got}" now).',
        ),
        "unheard": Hint(
            'a deprecated call gets "holds": nobody listened to its warning. Python hides most of them, and shows others once.',
            '`with warnings.catch_warnings(record=True) as heard:` and in it first `warnings.simplefilter("always")`, then the call.',
        ),
        "warning_fails": Hint(
            'a deprecated call works, and you say "fails". Did the warning become an error?',
            'record warnings (`simplefilter("always")`) instead of turning them into errors.',
        ),
        "one_kind": Hint(
            "a {missing} is not seen. PyTorch uses both kinds.",
            "`issubclass(w.category, (DeprecationWarning, FutureWarning))`; yours misses {missing}.",
        ),
        "every_warning": Hint(
            'a UserWarning about a small batch gets "deprecated". Which warnings speak of age?',
            "look at `w.category`: DeprecationWarning and FutureWarning only.",
        ),
    },
    push=(
        "Three branches: it raises; it warns of its age; neither. `warnings.catch_warnings(record=True)` gives a list.",
        "`with warnings.catch_warnings(record=True) as heard:`, `warnings.simplefilter('always')`, then `call()` in a `try`; after it look "
        "at each `w.category` in `heard`.",
    ),
    mistakes=(
        KnownMistake(
            "yes or no",
            """
def what_is_seen(call):
    try:
        call()
        return True
    except Exception:
        return False
""",
            "yes_or_no",
        ),
        KnownMistake(
            "the error is let through",
            """
import warnings

def what_is_seen(call):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        call()
    return "deprecated" if heard else "holds"
""",
            "let_through",
        ),
        KnownMistake(
            "nobody listens",
            """
def what_is_seen(call):
    try:
        call()
    except DeprecationWarning:
        return "deprecated"
    except Exception:
        return "fails"
    return "holds"
""",
            "unheard",
        ),
        KnownMistake(
            "recorded, but the filter hides it",
            """
import warnings

def what_is_seen(call):
    with warnings.catch_warnings(record=True) as heard:
        try:
            call()
        except Exception:
            return "fails"
    return "deprecated" if heard else "holds"
""",
            "unheard",
        ),
        KnownMistake(
            "warnings made errors",
            """
import warnings

def what_is_seen(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call()
        except Exception:
            return "fails"
    return "holds"
""",
            "warning_fails",
        ),
        KnownMistake(
            "one of two kinds",
            """
import warnings

def what_is_seen(call):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            call()
        except Exception:
            return "fails"
    return "deprecated" if any(w.category is FutureWarning for w in heard) else "holds"
""",
            "one_kind",
        ),
        KnownMistake(
            "every warning counts",
            """
import warnings

def what_is_seen(call):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            call()
        except Exception:
            return "fails"
    return "deprecated" if heard else "holds"
""",
            "every_warning",
        ),
        KnownMistake(
            "the result decides",
            """
def what_is_seen(call):
    try:
        return "holds" if call() else "fails"
    except Exception:
        return "fails"
""",
            "by_result",
        ),
        KnownMistake(
            "always the same answer",
            """
def what_is_seen(call):
    return "fails"
""",
            "fine_called_badly",
        ),
        KnownMistake(
            "the error is called well",
            """
import contextlib

def what_is_seen(call):
    with contextlib.suppress(Exception):
        call()
    return "holds"
""",
            "failure_called_well",
        ),
        KnownMistake(
            "the call is not called but asked for a word",
            """
def what_is_seen(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "holds"
""",
            "no_word",
        ),
    ),
    variants=(
        """
import warnings

def what_is_seen(call):
    heard = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *more, **named: heard.append(category)
        try:
            call()
        except Exception:
            return "fails"
    old = [kind for kind in heard if issubclass(kind, (FutureWarning, DeprecationWarning))]
    return "deprecated" if old else "holds"
""",
    ),
)
