"""Exercise, quiz and progress strip as a learner meets them: JupyterLab in a real browser, by keyboard and by mouse."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from labkit.learn.records import file
from tests.browser import recipe as jupyter

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WAIT_MS = 30_000

START = """import labkit, os
os.environ["LABKIT_PROGRESS"] = "learn_progress.jsonl"
from labkit import check, hint, progress, quiz, solution
from labkit.learn import exercises
from labkit.learn.quizzes import AllOf, Number, OneOf, Option, Slip
made = [
    AllOf("b_all", "10", "Which of these stay dark?", ("Look up.",), options=(
        Option("the floor above", "r.", True), Option("the floor beneath", "it stands without it."), Option("the roof", "r2.", True))),
    Number("b_number", "10", "How long is one step?", ("100 steps took 0.3 s.",), value=3, unit="ms",
        slips=(Slip(30, "that is ten steps."), Slip(0.3, "that is a tenth.")), why="0.3 s / 100."),
]
exercises._all().update({one.name: one for one in made})"""
RIGHT = "lambda size, kernel, stride=1, padding=0: (size + 2 * padding - kernel) // stride + 1"
CELLS = [
    START,
    'check("output_size", lambda *a: 3)',
    'quiz("first_dark_floor")',
    'quiz("ask_order")',
    'quiz("b_all")',
    'quiz("b_number")',
    'progress("10")',
]


def cell(page: Any, number: int) -> Any:
    """A cell, scrolled to, so that JupyterLab draws it."""
    page.evaluate(
        "async n => { await window.jupyterapp.shell.currentWidget.content.scrollToItem(n, 'start'); }", number
    )
    found = page.locator(f".jp-Notebook [data-windowed-list-index='{number}']")
    found.wait_for(state="visible", timeout=WAIT_MS)
    return found


def press(page: Any, place: Any, name: str, *, keyboard: bool) -> None:
    """Presses a button that is found by the name that a screen reader says."""
    button = place.get_by_role("button", name=name, exact=True)
    button.wait_for(state="visible", timeout=WAIT_MS)
    if keyboard:
        button.focus()
        page.keyboard.press("Enter")
    else:
        button.click()


def says(place: Any, text: str) -> None:
    """Waits until the place that is announced to screen readers says a text."""
    place.locator("[role=status]").filter(has_text=text).first.wait_for(state="visible", timeout=WAIT_MS)


@pytest.mark.parametrize("keyboard", [True, False], ids=["keyboard", "mouse"])
def test_an_exercise_a_quiz_of_each_kind_and_the_strip(browser: Any, lab: Any, keyboard: bool) -> None:
    record = lab.folder / "learn_progress.jsonl"
    record.unlink(missing_ok=True)
    name = f"learn_{'keys' if keyboard else 'mouse'}.ipynb"
    jupyter.write(lab.folder, name, CELLS)
    with jupyter.opened(browser, lab, name) as (page, complaints):
        state = jupyter.run_all(page)
        assert state["errors"] == [] and state["stderr"] == []

        exercise = cell(page, 1)
        exercise.get_by_text("TODO output_size").first.wait_for(state="visible", timeout=WAIT_MS)
        press(page, exercise, "Hint", keyboard=keyboard)
        says(exercise, "HINT output_size")
        press(page, exercise, "Solution", keyboard=keyboard)
        says(exercise, "def output_size")
        jupyter.picture(page, f"{name[:-6]}_exercise")

        one = cell(page, 2)
        choose(page, one, "PyTorch", keyboard=keyboard)
        press(page, one, "Check", keyboard=keyboard)
        says(one, "TODO first_dark_floor: not 4")
        choose(page, one, "the permission", keyboard=keyboard)
        press(page, one, "Check", keyboard=keyboard)
        says(one, "PASS first_dark_floor")
        jupyter.picture(page, f"{name[:-6]}_choice")

        order = cell(page, 3)
        right = ["Is a card on the bus?", "Is amdgpu loaded?", "Are /dev/kfd and /dev/dri there?"]
        right += ["May this user open them?", "Which build of PyTorch is it?"]
        for place, item in enumerate(right, 1):
            press(page, order, item, keyboard=keyboard)
            says(order, f"→ {item}" if place > 1 else f"Your order: {item}")
        press(page, order, "Check", keyboard=keyboard)
        says(order, "PASS ask_order")
        jupyter.picture(page, f"{name[:-6]}_order")

        several = cell(page, 4)
        for text in ("the floor above", "the roof"):
            box = several.get_by_role("checkbox", name=text)
            if keyboard:
                box.focus()
                page.keyboard.press("Space")
            else:
                box.click()
            press(page, several, "Check", keyboard=keyboard)
            says(several, "it is not all" if text == "the floor above" else "PASS b_all")

        number = cell(page, 5)
        field = number.get_by_label("Answer (ms):")
        for text, expected in (
            ("30", "that is ten steps"),
            ("3 GB", "give a time in ms"),
            ("0.003 s", "PASS b_number"),
        ):
            field.fill(text)
            if keyboard:
                field.press("Enter")
            else:
                press(page, number, "Check", keyboard=False)
            says(number, expected)
        jupyter.picture(page, f"{name[:-6]}_number")

        strip = cell(page, 6)
        group = strip.get_by_role("group", name="Progress in lesson 10").first
        group.wait_for(state="visible", timeout=WAIT_MS)
        assert "0 of" in group.inner_text(), "as it was when the cell ran"
        press(page, strip, "Refresh", keyboard=keyboard)
        strip.get_by_text("2 of").first.wait_for(state="visible", timeout=WAIT_MS)
        jupyter.picture(page, f"{name[:-6]}_strip")

        assert [text for text in complaints if jupyter.ours(text)] == []
        assert page.evaluate(jupyter.STATE)["errors"] == []
    kept = file.load(record).entries
    assert kept["first_dark_floor"].passed and kept["first_dark_floor"].tries == 2
    assert kept["ask_order"].passed and kept["b_number"].passed and not kept["output_size"].passed


def choose(page: Any, place: Any, text: str, *, keyboard: bool) -> None:
    """Chooses a radio button by its label; by keyboard with Tab and Space."""
    radios = place.get_by_role("radio")
    radios.first.wait_for(state="visible", timeout=WAIT_MS)
    wanted = place.get_by_role("radio", name=text)
    if not keyboard:
        wanted.click()
        return
    radios.first.focus()
    for _ in range(radios.count()):
        if wanted.evaluate("node => node === document.activeElement"):
            page.keyboard.press("Space")
            assert wanted.is_checked()
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach '{text}'")


def test_the_strip_reads_in_the_dark(browser: Any, lab: Any) -> None:
    """In JupyterLab's dark theme the text of the strip is light: contrast of 4.5 to 1, as WCAG asks."""
    jupyter.write(lab.folder, "learn_dark.ipynb", [START, f'check("output_size", {RIGHT})', 'progress("02")'])
    with jupyter.opened(browser, lab, "learn_dark.ipynb") as (page, _):
        jupyter.run_all(page)
        ratios = {}
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            page.evaluate(
                "async theme => { await window.jupyterapp.commands.execute('apputils:change-theme', { theme }); }",
                theme,
            )
            page.wait_for_timeout(1500)
            strip = cell(page, 2)
            ratios[theme] = strip.locator(".labkit-progress").first.evaluate(CONTRAST)
            jupyter.picture(page, f"learn_{theme.split()[-1].lower()}")
        page.evaluate(
            "async () => { await window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' }); }"
        )
    assert all(ratio >= 4.5 for ratio in ratios.values()), ratios


CONTRAST = """node => {
  const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = rgb => {
    const [r, g, b] = rgb.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let ground = node;
  let behind = null;
  while (ground && !behind) {
    const found = parts(getComputedStyle(ground).backgroundColor);
    if (found.length === 3 || found[3] > 0.99) behind = found;
    ground = ground.parentElement;
  }
  const ratios = Array.from(node.querySelectorAll('strong, li span, div')).map(part => {
    const a = light(parts(getComputedStyle(part).color)), b = light(behind || [255, 255, 255]);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
  return Math.min(...ratios);
}"""


def test_without_a_watcher_the_same_cells_are_text(tmp_path: Path) -> None:
    """The control: executed headless, the same notebook holds no widget and all of its text."""
    import nbformat
    from nbclient import NotebookClient

    from labkit.course import kernel

    jupyter.write(tmp_path, "headless.ipynb", CELLS)
    notebook = nbformat.read(tmp_path / "headless.ipynb", as_version=4)
    variables = kernel.environment(tmp_path / "ipython")
    variables.pop("LABKIT_LIVE", None)
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    outputs = [out for one in notebook.cells for out in one.outputs]
    assert not [key for out in outputs for key in out.get("data", {}) if "widget" in key]
    text = "".join(out.get("text", "") for out in outputs)
    for part in ("TODO output_size", "QUIZ first_dark_floor", "QUIZ ask_order", "QUIZ b_all", "QUIZ b_number"):
        assert part in text
