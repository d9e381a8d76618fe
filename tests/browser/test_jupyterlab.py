"""Lessons 00 and 01 as a learner meets them: in JupyterLab, all cells run, a widget moved, and no error to be seen."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.course import table
from tests.browser.recipe import STATE, opened, ours, picture, run_all

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WIDGET_MS = 30_000
LESSONS = [lesson for lesson in table.load().lessons if lesson.id in ("00", "01")]


def widget_values(page: Any) -> list[str]:
    """What every widget shows: text, the chosen row of a menu, the place of a slider, a picture."""
    values: list[str] = page.evaluate("""() => Array.from(document.querySelectorAll('.jupyter-widgets')).map(node => {
      const chosen = Array.from(node.querySelectorAll('select, input')).map(field => field.value);
      const sliders = Array.from(node.querySelectorAll('.noUi-handle')).map(handle => handle.getAttribute('aria-valuenow'));
      const pictures = Array.from(node.querySelectorAll('img')).map(image => String(image.src.length) + image.src.slice(-40));
      return [node.innerText, ...chosen, ...sliders, ...pictures].join('|');
    })""")
    return values


def move_a_widget(page: Any) -> None:
    """Moves the first menu or slider of the lesson, and waits until something that the widgets show has followed."""
    control = page.locator(
        ".jupyter-widgets select, .jupyter-widgets .noUi-handle, .jupyter-widgets input[type=range]"
    ).first
    scroll_to(page, control)
    place = "node => node.value ?? node.getAttribute('aria-valuenow')"
    start, before = control.evaluate(place), widget_values(page)
    if control.evaluate("node => node.tagName") == "SELECT":
        rows = control.locator("option").count()
        assert rows > 1, "a menu with one row has nothing to choose"
        control.select_option(index=(control.evaluate("node => node.selectedIndex") + 1) % rows)
    else:
        at_end = control.get_attribute("aria-valuenow") == control.get_attribute("aria-valuemax")
        control.focus()
        page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    page.wait_for_timeout(200)
    assert control.evaluate(place) != start, "the widget did not move"
    shown = [value.replace(str(control.evaluate(place)), str(start)) for value in before]
    for _ in range(WIDGET_MS // 250):
        after = widget_values(page)
        if [value.replace(str(control.evaluate(place)), str(start)) for value in after] != shown:
            return
        page.wait_for_timeout(250)
    pytest.fail("a widget was moved, and nothing that it should change has changed")


def scroll_to(page: Any, control: Any) -> None:
    """Goes through the notebook until the control is drawn: JupyterLab draws only the cells near the window."""
    total = page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")
    for number in range(total):
        if control.count():
            break
        page.evaluate(
            "async number => { await window.jupyterapp.shell.currentWidget.content.scrollToItem(number, 'start'); }",
            number,
        )
        page.wait_for_timeout(100)
    control.wait_for(state="attached", timeout=WIDGET_MS)
    control.scroll_into_view_if_needed()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.label)
def test_the_lesson_runs_in_jupyterlab_and_its_widget_moves(browser: Any, lab: Any, lesson: Any) -> None:
    with opened(browser, lab, lesson.path.name) as (page, complaints):
        state = run_all(page)
        assert state["errors"] == []
        assert state["cells"] > 3 and state["waiting"] == 0
        assert state["stderr"] == []
        move_a_widget(page)
        page.wait_for_function(f"() => ({STATE})().busy === 'idle'", timeout=WIDGET_MS)
        picture(page, lesson.label)
        assert page.evaluate(STATE)["errors"] == []
        assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
        assert [text for text in complaints if ours(text)] == []


def test_an_error_in_a_cell_would_be_seen(browser: Any, lab: Any) -> None:
    """The proof that the test above can fail: a notebook whose last cell raises."""
    import json

    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(["x = 1", "import sys; print('w', file=sys.stderr)", "1 / 0"])
    ]
    metadata = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}
    made = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (lab.folder / "made.ipynb").write_text(json.dumps(made), encoding="utf-8")
    with opened(browser, lab, "made.ipynb") as (page, _):
        state = run_all(page)
    assert state["errors"] == ["ZeroDivisionError: division by zero"] and state["stderr"] == ["w\n"]
