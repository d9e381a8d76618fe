"""The few widgets of this room: buttons under a check, the form of a quiz, the strip that can be looked at again.

Each is made only where somebody watches and ipywidgets is there; everything that they say exists as plain text too.
Every control is one that a browser knows (button, radio, checkbox, select, text field), so the keyboard works: Tab goes
on, Space or Enter presses. What changes is announced to screen readers (``role="status"``).
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

_SAYS = "white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0;color:inherit;line-height:1.4;max-width:66em;"
_CODE = _SAYS + "font-family:monospace;padding:.5em .8em;border-radius:4px;background:rgba(127,127,127,.14)"

_shown: dict[str, Any] = {}  # the box under the last check of each exercise


def view_of(box: Any) -> dict[str, Any]:
    """The part of a widget's mimebundle that makes a front end draw it; nothing where there is no widget."""
    if box is None:
        return {}
    bundle = box._repr_mimebundle_()
    return {key: value for key, value in bundle.items() if key.startswith("application/vnd.jupyter.widget")}


def strip_box(first: Callable[[], str], again: Callable[[], str]) -> Any:
    """The strip with a button that looks again; None without ipywidgets."""
    try:
        import ipywidgets as widgets
    except ImportError:
        return None
    shown = widgets.HTML(first())
    button = widgets.Button(description="Refresh", tooltip="Look again at what is passed")
    button.on_click(lambda _button: _safely(shown, again))
    return widgets.VBox([shown, button])


def _safely(place: Any, text: Callable[[], str]) -> None:
    """Shows a text; an error on the way becomes a sentence instead of a traceback in the server's log."""
    try:
        place.value = text()
    except Exception as error:
        place.value = status(f"This could not be shown ({type(error).__name__}: {error}).")


def status(text: str, *, code: bool = False) -> str:
    """A text as HTML that a screen reader announces when it changes."""
    style = _CODE if code else _SAYS
    return f'<div role="status" aria-live="polite" style="{style}">{html.escape(text)}</div>'
