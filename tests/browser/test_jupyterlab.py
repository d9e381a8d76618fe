"""Lessons 00 and 01 as a learner meets them: in JupyterLab, all cells run, a widget moved, and no error to be seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from labkit.course import execute, table

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PICTURES = execute.BUILD / "test" / "browser"
READY_MS = 120_000
RUN_MS = 300_000
WIDGET_MS = 30_000
LESSONS = [lesson for lesson in table.load().lessons if lesson.id in ("00", "01")]

# Ready: the notebook is loaded and its kernel answers. Asked to run before that, JupyterLab does nothing and says nothing.
LOADED = """() => {
  const app = window.jupyterapp;
  if (!app || !app.commands.hasCommand('notebook:run-all-cells')) return false;
  const widget = app.shell.currentWidget;
  return Boolean(widget && widget.context && widget.context.isReady && widget.content && widget.content.model
    && widget.sessionContext.session && widget.sessionContext.session.kernel);
}"""
READY = """async () => {
  const widget = window.jupyterapp.shell.currentWidget;
  await widget.context.ready;
  await widget.sessionContext.ready;
  await widget.sessionContext.session.kernel.info;
}"""
RUN = "async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
# How many code cells with text have no execution count yet, and what went wrong.
STATE = """() => {
  const cells = Array.from(window.jupyterapp.shell.currentWidget.content.model.cells).map(cell => cell.toJSON());
  const code = cells.filter(cell => cell.cell_type === 'code' && [].concat(cell.source).join('').trim());
  const outputs = code.flatMap(cell => cell.outputs);
  return {
    cells: code.length,
    waiting: code.filter(cell => cell.execution_count === null).length,
    busy: window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status,
    errors: outputs.filter(out => out.output_type === 'error').map(out => out.ename + ': ' + out.evalue),
    stderr: outputs.filter(out => out.name === 'stderr').map(out => [].concat(out.text).join('')),
  };
}"""


@contextmanager
def opened(browser: Any, lab: Any, notebook: str) -> Iterator[tuple[Any, list[str]]]:
    """A page with the notebook in JupyterLab, and the list that collects what its console calls an error."""
    context = browser.new_context(viewport={"width": 1400, "height": 1100})
    try:
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(lab.address(notebook))
        try:
            page.wait_for_function(LOADED, timeout=READY_MS, polling=200)
            page.evaluate(READY)
            yield page, complaints
        except BaseException:
            picture(page, f"{notebook.removesuffix('.ipynb')}_failed")
            raise
    finally:
        context.close()


def run_all(page: Any) -> dict[str, Any]:
    """Runs all cells and waits for the last one."""
    page.evaluate(RUN)
    over = f"() => {{ const state = ({STATE})(); return state.errors.length || (!state.waiting && state.busy === 'idle'); }}"
    page.wait_for_function(over, timeout=RUN_MS, polling=500)
    state: dict[str, Any] = page.evaluate(STATE)
    return state


def picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"{name}.png"))


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


def ours(text: str) -> bool:
    """Whether a console message can come from a lesson; JupyterLab itself asks for files that do not exist yet."""
    return not any(
        part in text for part in ("Failed to load resource", "favicon", "the server responded with a status of 404")
    )


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
