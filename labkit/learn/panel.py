"""The few widgets of this room: buttons under a check, the form of a quiz, the strip that can be looked at again.

Each is made only where somebody watches and ipywidgets is there; everything that they say exists as plain text too.
Every control is one that a browser knows (button, radio, checkbox, select, text field), so the keyboard works: Tab goes
on, Space or Enter presses. What changes is announced to screen readers (``role="status"``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

_SAYS = "white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0;color:inherit;line-height:1.4;max-width:66em;"
_WORD = "font-family:monospace;padding:0 .2em;border-radius:3px;color:inherit;background:rgba(127,127,127,.18)"
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
    shown = html.escape(text) if code else marked(text)
    return f'<div role="status" aria-live="polite" style="{style}">{shown}</div>'


def marked(text: str) -> str:
    """A sentence as HTML: what stands between backticks becomes code."""
    return re.sub(r"`([^`\n]+)`", rf'<code style="{_WORD}">\1</code>', html.escape(text))


def plain(text: str) -> str:
    """A sentence for a label that knows no HTML: without the backticks around code."""
    return re.sub(r"`([^`\n]+)`", r"\1", text)


def offer(name: str, hint: Callable[[str], str], solution: Callable[[str], str]) -> None:
    """Shows buttons for a hint and the solution under a check; those of an earlier check of the same name go away."""
    clear(name)
    try:
        import ipywidgets as widgets
        from IPython.display import display
    except ImportError:
        return
    box = widgets.VBox(list(buttons(name, hint, solution)))
    _shown[name] = box
    display(box)


def clear(name: str) -> None:
    """Takes the buttons of this exercise away."""
    box = _shown.pop(name, None)
    if box is not None:
        close(box)


def close(box: Any) -> None:
    """Ends a widget with all that it holds, so that a kernel does not keep those of cells that ran again."""
    for child in getattr(box, "children", ()):
        close(child)
    for part in (getattr(box, "layout", None), getattr(box, "style", None)):
        if part is not None:
            part.close()
    box.close()


def buttons(name: str, hint: Callable[[str], str], solution: Callable[[str], str]) -> tuple[Any, Any]:
    """A row with the two buttons, and the place where their texts appear."""
    import ipywidgets as widgets

    said = widgets.HTML()
    ask = widgets.Button(description="Hint", tooltip=f"A push for {name}, more concrete each time")
    tell = widgets.Button(description="Solution", tooltip=f"Show one right answer to {name}")
    ask.on_click(lambda _button: _safely(said, lambda: status(hint(name))))
    tell.on_click(lambda _button: _safely(said, lambda: status(solution(name), code=True)))
    return widgets.HBox([ask, tell]), said
