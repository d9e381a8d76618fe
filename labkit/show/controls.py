"""What the widgets share: how they are shown where nobody can move them, and what happens when a callback fails."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import wraps
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.live import watched

FRAME = (
    f"background:{style.BACKGROUND};color:{style.INK};padding:8px 12px;font-size:13px;line-height:1.4;max-width:60em"
)
"""The look of every panel: a light ground of its own, so that it reads the same in a dark theme."""


def bundle(text: str, still: str, widget: Callable[[], Any]) -> dict[str, Any]:
    """What a notebook stores and shows: the words, the still HTML, and the widget for a person with a kernel.

    The still form is what a page without a kernel shows, also after the kernel was restarted or when ipywidgets is missing.
    """
    shown: dict[str, Any] = {"text/plain": text, "text/html": still}
    if watched():
        try:
            made = widget()._repr_mimebundle_()
        except ImportError:
            return shown
        shown.update({k: v for k, v in made.items() if k.startswith("application/vnd.jupyter.widget")})
    return shown


def told(sentence: str, *, bad: bool = False) -> str:
    """A line that a screen reader speaks when it changes; a problem is marked by a word and a bar, not by colour alone."""
    if not sentence:
        return '<div role="status" aria-live="polite"></div>'
    edge = f"border-left:4px solid {style.WRONG};padding-left:8px;" if bad else ""
    word = "<b>Problem:</b> " if bad else ""
    lines = html.escape(sentence).replace("\n", "<br>")
    return f'<div role="status" aria-live="polite" style="{FRAME};{edge}">{word}{lines}</div>'


def problem(error: BaseException) -> str:
    """An exception in a callback as a sentence."""
    if isinstance(error, LabkitError):
        return f"{error.problem} {error.remedy}".strip()
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0]}" if first else type(error).__name__


def guarded(callback: Callable[..., Any], say: Callable[[str], None]) -> Callable[..., None]:
    """The callback, whose exception or interruption is said in a sentence instead of getting lost in a log.

    ``say`` receives ready HTML. An interruption ends here too: it must stop the callback, not the widget.
    """

    @wraps(callback)
    def run(*given: Any) -> None:
        try:
            callback(*given)
        except KeyboardInterrupt:
            say(told("Interrupted. Everything before it is kept."))
        except Exception as error:
            say(told(problem(error), bad=True))

    return run
