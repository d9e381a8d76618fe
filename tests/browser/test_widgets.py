"""The widgets as a learner meets them: in JupyterLab, moved with mouse and keyboard, in the light theme and the dark one.

One notebook, one page for the whole module: a JupyterLab takes longer to start than all of these tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.recipe import IDLE, LOADED, PICTURES, READY, write

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

WAIT_MS = 30_000
CELLS = (
    "import labkit\nfrom labkit import show\nimport torch\nfrom torch import nn",
    "guess = labkit.predict('How many times faster is the resident loop?', low=1, high=100)\nguess",
    "guess.compare(9.3, 9.1, 9.5)",
    "play = show.Playground('moons', epochs=3)\nplay",
    "show.number_formats(0.1)",
    "torch.manual_seed(0)\n"
    "model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 6, 3))\n"
    "show.feature_maps(model, torch.rand(1, 12, 12))",
    "x = torch.randn(2, 3, 6, 6)\nx[0, 0, 0, 0] = float('nan')\nshow.tensor(x)",
    "slow = show.Playground('moons', epochs=200, batch_size=8)\nslow",
    "print(guess.value, len(play.trials), len(slow.trials))",
)
OUTPUT = """number => {
  const cell = window.jupyterapp.shell.currentWidget.content.model.cells.get(number).toJSON();
  return cell.outputs.map(out => out.text || (out.data && out.data['text/plain']) || out.evalue || '')
    .map(text => [].concat(text).join('')).join('');
}"""
RUN_ONE = """async number => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.deselectAll();
  notebook.activeCellIndex = number;
  await window.jupyterapp.commands.execute('notebook:run-cell');
}"""


class Book:
    """The open notebook: its page, and what goes wrong in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []

    def cell(self, number: int) -> Any:
        """The output of a cell, scrolled to: JupyterLab draws only what is near the window."""
        self.page.evaluate(
            "async number => { await window.jupyterapp.shell.currentWidget.content.scrollToItem(number, 'start'); }",
            number,
        )
        return self.page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{number}'] .jp-OutputArea").first

    def run(self, number: int) -> str:
        """Runs one cell again; its output as text."""
        self.page.evaluate(RUN_ONE, number)
        self.page.wait_for_function(IDLE, timeout=WAIT_MS, polling=100)
        shown: str = self.page.evaluate(OUTPUT, number)
        return shown

    def picture(self, number: int, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.cell(number).screenshot(path=str(PICTURES / f"widget_{name}.png"))


@pytest.fixture(scope="module")
def book(browser: Any, lab: Any) -> Iterator[Book]:
    write(lab.folder, "widgets.ipynb", CELLS)
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    try:
        page = context.new_page()
        opened = Book(page)
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.goto(lab.address("widgets.ipynb"))
        page.wait_for_function(LOADED, timeout=120_000, polling=200)
        page.evaluate(READY)
        page.evaluate("async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        page.wait_for_function(IDLE, timeout=120_000, polling=200)
        yield opened
    finally:
        context.close()


def test_a_guess_is_typed_and_slid_and_compared(book: Book) -> None:
    assert "The default guess was 3 times" in book.run(2)
    output = book.cell(1)
    field = output.get_by_label("Your guess (times)")  # found by its label, as a screen reader finds it
    field.click()
    field.press("Control+a")
    book.page.keyboard.type("20")
    output.get_by_text("Noted: 20 times.").wait_for(timeout=WAIT_MS)
    book.picture(1, "predict_light")
    assert "You guessed 20 times; measured 9.3 times (9.10 to 9.50): the guess was 2.15 times too high." in book.run(2)
    handle = book.cell(1).locator(".noUi-handle")
    handle.press("ArrowLeft")
    output.get_by_text("Noted: 20 times.").wait_for(state="detached", timeout=WAIT_MS)
    slid = float(book.run(8).split()[0])
    assert 18 < slid < 20 and float(field.input_value()) == slid
    bar = book.cell(1).locator(".noUi-base")
    box = bar.bounding_box()
    assert box is not None
    book.page.mouse.click(
        box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2
    )  # the middle of 1 to 100, by ratio
    output.get_by_text("Noted: 10 times.").wait_for(timeout=WAIT_MS)


def test_the_playground_trains_by_keyboard_and_by_mouse(book: Book) -> None:
    output = book.cell(3)
    output.get_by_text("No run yet").wait_for(timeout=WAIT_MS)
    train = output.get_by_role("button", name="Train")
    train.press("Enter")
    output.get_by_text("Run 1: lr 0.1, momentum 0.9").wait_for(timeout=WAIT_MS)
    handle = output.locator(".noUi-handle").first
    handle.press("End")  # the highest learning rate
    book.page.wait_for_timeout(200)
    for _ in range(4):  # an impatient person; the same settings are trained once
        train.click(force=True, no_wait_after=True)
    output.get_by_text("Run 2: lr 100").wait_for(timeout=WAIT_MS)
    assert "diverged" in output.inner_text() or "learned next to nothing" in output.inner_text()
    output.get_by_label("Batch size").select_option("256")
    train.click()
    output.get_by_text("batch 256").first.wait_for(timeout=WAIT_MS)
    book.picture(3, "playground_light")
    assert book.run(8).split()[1] == "3"


def test_an_interrupted_training_ends_and_the_widget_lives_on(book: Book) -> None:
    output = book.cell(7)
    train = output.get_by_role("button", name="Train")
    train.click()
    output.get_by_text("Training …").wait_for(timeout=WAIT_MS)
    book.page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt(); }"
    )
    output.get_by_text("interrupted", exact=False).first.wait_for(timeout=WAIT_MS)
    assert int(book.run(8).split()[2]) <= 1  # the kernel goes on; what was trained so far is kept, if anything was
    assert train.is_enabled()


def test_a_number_is_typed_and_its_formats_follow(book: Book) -> None:
    output = book.cell(4)
    field = output.get_by_label("Number to store")
    field.click()
    field.press("Control+a")
    book.page.keyboard.type("65520")
    output.get_by_text("too large: infinity").first.wait_for(timeout=WAIT_MS)
    field.press("Control+a")
    book.page.keyboard.type("one half")
    output.get_by_text("is not a number that can be read").wait_for(timeout=WAIT_MS)
    output.get_by_label("Telling numbers").select_option(label="not a number")
    output.get_by_text("NaN stays NaN").first.wait_for(timeout=WAIT_MS)
    assert field.input_value() == "nan" and not output.get_by_text("Problem:").count()
    output.get_by_label("Telling numbers").select_option(label="0.1, which no binary format holds")
    output.get_by_text("0.100097656", exact=False).first.wait_for(timeout=WAIT_MS)
    book.picture(4, "formats_light")


def test_feature_maps_follow_the_menu_and_the_slider(book: Book) -> None:
    output = book.cell(5)
    output.get_by_label("Layer").select_option(index=2)
    output.get_by_text("layer 2: [1, 6, 8, 8]").first.wait_for(timeout=WAIT_MS)
    handle = output.locator(".noUi-handle").first
    for _ in range(3):
        handle.press("ArrowRight")
    output.get_by_text("channel 3: 64 values").first.wait_for(timeout=WAIT_MS)
    picture = output.locator("img").first
    before = picture.get_attribute("src")
    output.get_by_label("each map on its own scale").click()
    book.page.wait_for_function(
        "before => !Array.from(document.querySelectorAll('img')).some(image => image.src === before)",
        arg=before,
        timeout=WAIT_MS,
    )
    assert "channel 3" in (output.locator("img").first.get_attribute("alt") or "")
    book.picture(5, "features_light")
    assert "1 NaN" in book.cell(6).inner_text()


def test_they_read_in_the_dark_theme_and_on_a_narrow_screen_too(book: Book) -> None:
    page = book.page
    page.evaluate(
        "async () => { await window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'}); }"
    )
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'", timeout=WAIT_MS)
    names = {1: "predict", 3: "playground", 4: "formats", 5: "features", 6: "tensor"}
    for number, name in names.items():
        book.picture(number, f"{name}_dark")
    page.evaluate("async () => { await window.jupyterapp.commands.execute('application:toggle-left-area'); }")
    page.set_viewport_size({"width": 480, "height": 1000})
    page.wait_for_timeout(300)
    for number, name in names.items():
        output = book.cell(number)
        wide = output.evaluate(
            "node => [...node.querySelectorAll('.jupyter-widgets')].map(w => w.scrollWidth - w.clientWidth)"
        )
        book.picture(number, f"{name}_narrow")
        assert max(wide, default=0) <= 1, name
    assert book.complaints == []


def test_after_a_restart_old_widgets_harm_nothing_and_new_ones_work(book: Book) -> None:
    page = book.page
    page.set_viewport_size({"width": 1300, "height": 1000})
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.sessionContext.restartKernel(); }")
    page.wait_for_function(LOADED, timeout=WAIT_MS, polling=100)
    page.evaluate(READY)
    book.cell(3).get_by_role("button", name="Train").click()  # its kernel is gone
    book.run(0)
    book.run(3)
    book.cell(3).get_by_text("No run yet").wait_for(timeout=WAIT_MS)
    assert [text for text in book.complaints if text != "Cannot send"] == []  # JupyterLab's own word for a dead kernel
