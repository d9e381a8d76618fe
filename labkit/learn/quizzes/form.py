"""A quiz as a form of widgets: radio buttons, boxes to tick, a field for a number, or items to press in order.

Tab and Space or Enter do everything. There is no menu: in a notebook, JupyterLab takes the letters and arrow keys that a
menu needs for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from labkit.learn.quizzes.kinds import AllOf, Number, OneOf, Order, Question

_open: dict[str, Any] = {}  # the form of each quiz that is on the page
_WIDE = "48em"
_SETTLE_S = 0.2  # how long what stands in a field may be behind the press of a button
_LATE_S = 1.0  # and how much longer where the field still holds what was judged before


def show(quiz: Question) -> bool:
    """Displays the form; False where ipywidgets is missing."""
    try:
        import ipywidgets  # noqa: F401
        from IPython.display import display
    except ImportError:
        return False
    from labkit.learn import panel

    if quiz.name in _open:
        panel.close(_open.pop(quiz.name))
    _open[quiz.name] = build(quiz)
    display(_open[quiz.name])
    return True


def build(quiz: Question) -> Any:
    """The form: the question, the controls, a button to check, and the place where the verdict appears."""
    import ipywidgets as widgets

    from labkit.learn import panel, session

    controls, answer = _controls(quiz)
    verdict = widgets.HTML()
    button = widgets.Button(description="Check", tooltip=f"Judge this answer to {quiz.name}", button_style="primary")

    def judge() -> None:
        try:
            if answer() in (None, "", []):
                verdict.value = panel.status("○ Nothing is chosen or written yet.")
                return
            result, note = session.answer_quiz(quiz, answer())
            verdict.value = panel.status(f"{'✔' if result else '○'} {result.message}" + (f"\n{note}" if note else ""))
        except Exception as error:  # a traceback in a callback would be seen by nobody
            verdict.value = panel.status(f"This could not be judged ({type(error).__name__}: {error}).")

    if isinstance(quiz, Number):
        field = controls[0]
        press = _settled(field, judge)
        field.on_msg(lambda _widget, content, _buffers: press() if content.get("event") == "submit" else None)  # Enter
    else:
        press = judge
    button.on_click(lambda _button: press())
    row, said = panel.buttons(quiz.name, session.next_hint, session.solution_text)
    how = " Tick all that are right." if isinstance(quiz, AllOf) else ""
    question = widgets.HTML(
        f'<div style="color:inherit;max-width:66em;line-height:1.4"><strong>{panel.marked(quiz.question)}</strong>{how}</div>'
    )
    return widgets.VBox([question, *controls, widgets.HBox([button, *row.children]), verdict, said])


def _settled(field: Any, judge: Callable[[], None]) -> Callable[[], None]:
    """What a press does for a field: judges once the text has come that the learner sees.

    A browser tells of the press and of the text in messages that overtake each other. So a press waits a moment, and longer
    if the field still holds what was judged before.
    """
    judged = field.value

    def now() -> None:
        nonlocal judged
        judged = field.value
        judge()

    async def soon() -> None:
        await asyncio.sleep(_SETTLE_S)
        waited = 0.0
        while field.value == judged and waited < _LATE_S:
            await asyncio.sleep(_SETTLE_S / 4)
            waited += _SETTLE_S / 4
        now()

    task: asyncio.Task[None] | None = None

    def press() -> None:
        nonlocal task
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no front end, so nothing is on its way
            now()
            return
        if task is None or task.done():  # two presses in a row are one
            task = loop.create_task(soon())

    return press


def _controls(quiz: Question) -> tuple[list[Any], Callable[[], Any]]:
    """The controls, and a function that reads from them what ``quiz(name, …)`` would be given."""
    import ipywidgets as widgets

    from labkit.learn import panel

    wide = widgets.Layout(width="auto", max_width=_WIDE)
    if isinstance(quiz, OneOf):
        radio = widgets.RadioButtons(
            options=[(panel.plain(option.text), number) for number, option in enumerate(quiz.options, 1)],
            index=None,
            layout=widgets.Layout(width="max-content", max_width=_WIDE),
        )
        return [radio], lambda: radio.value
    if isinstance(quiz, AllOf):
        boxes = [
            widgets.Checkbox(description=panel.plain(option.text), indent=False, layout=wide) for option in quiz.options
        ]
        return list(boxes), lambda: [number for number, box in enumerate(boxes, 1) if box.value]
    if isinstance(quiz, Number):
        field = widgets.Text(
            description=f"Answer ({quiz.unit}):" if quiz.unit else "Answer:",
            placeholder=f"for example 1.5 {quiz.unit}".strip(),
            continuous_update=False,  # else a half-typed number could still be on its way when Check is pressed
            style={"description_width": "initial"},
        )
        return [field], lambda: field.value
    if isinstance(quiz, Order):
        return _items(quiz)
    raise TypeError(f"{type(quiz).__name__} is no kind of quiz")


def _items(quiz: Order) -> tuple[list[Any], Callable[[], Any]]:
    """A button for each item: pressed in order they get their numbers, pressed again they lose them."""
    import ipywidgets as widgets

    from labkit.learn import panel

    chosen: list[str] = []
    buttons = {
        item: widgets.Button(description=item, layout=widgets.Layout(width="auto", max_width=_WIDE))
        for item in quiz.shown
    }
    told = widgets.HTML(panel.status("Press them in order. Pressed again, an item is taken out."))

    def press(item: str) -> None:
        chosen.remove(item) if item in chosen else chosen.append(item)
        for other, button in buttons.items():
            button.description = f"{chosen.index(other) + 1}. {other}" if other in chosen else other
            button.icon = "check" if other in chosen else ""
        told.value = panel.status(
            f"Your order: {' → '.join(chosen)}" if chosen else "Nothing is chosen. Press them in order."
        )

    for item, button in buttons.items():
        button.on_click(lambda _button, item=item: press(item))
    return [*buttons.values(), told], lambda: list(chosen)
