"""A deck of claims as a learner meets it in JupyterLab: a verdict by keyboard, one by mouse, both in the learner's dict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.recipe import opened, ours, picture, run_all, write

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

CELLS = (
    "from labkit.show.folklore import answers, deck\nguesses = {}",
    'deck("precision", guesses)',
    'answers("precision", guesses, {})',
)
RUN_AGAIN = """async () => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.deselectAll();
  notebook.activeCellIndex = 2;
  await window.jupyterapp.commands.execute('notebook:run-cell');
}"""


def test_verdicts_by_keyboard_and_by_mouse(browser: Any, lab: Any) -> None:
    write(lab.folder, "deck.ipynb", CELLS)
    with opened(browser, lab, "deck.ipynb") as (page, complaints):
        state = run_all(page)
        assert not state["errors"] and not state["stderr"]
        first = page.get_by_role("button", name="outdated", exact=True).first
        first.wait_for(state="visible")
        first.focus()
        page.keyboard.press("Space")
        page.get_by_text("2.27: outdated. 1 of 3 guessed.").wait_for(state="visible")
        page.keyboard.press("Space")  # once more takes it back
        page.get_by_text("2.27: withdrawn. 0 of 3 guessed.").wait_for(state="visible")
        page.keyboard.press("Enter")
        page.get_by_text("2.27: outdated. 1 of 3 guessed.").wait_for(state="visible")
        page.get_by_role("button", name="true", exact=True).nth(1).click()
        page.get_by_text("2.28: true. 2 of 3 guessed.").wait_for(state="visible")
        page.evaluate(RUN_AGAIN)
        page.get_by_text("You guessed 2 of 3, 1 as the ledger has it.").wait_for(state="visible")
        assert (
            page.get_by_text("MISLEADING").first.is_visible() and page.get_by_text("; you said TRUE").first.is_visible()
        )
        picture(page, "folklore_deck")
        assert not [line for line in complaints if ours(line)]
