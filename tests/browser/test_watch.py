"""The watch over this machine's devices as a learner meets it: words that move while a cell works, then a still picture."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import recipe

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

CELLS = (
    "import pathlib, time\nfrom labkit.profile import watch\nfrom labkit.show import LiveWatch\ngo_on = pathlib.Path('go_on')",
    "with LiveWatch(watch(0.1)) as w:\n    while not go_on.exists():\n        time.sleep(0.05)",
)


def test_it_moves_while_a_cell_works_and_leaves_a_picture(browser: Any, lab: Any) -> None:
    recipe.write(lab.folder, "watch.ipynb", CELLS)
    with recipe.opened(browser, lab, "watch.ipynb") as (page, complaints):
        page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        page.locator(".jp-OutputArea meter").first.wait_for(timeout=60_000)
        assert "CPU (no GPU to watch): " in page.locator(".jp-OutputArea meter").first.get_attribute("aria-label")
        recipe.picture(page, "watch_live")
        (lab.folder / "go_on").touch()
        page.wait_for_function(recipe.IDLE, timeout=60_000, polling=100)
        page.get_by_role("img", name="Curves over time.").wait_for(timeout=60_000)
        assert page.locator(".jp-OutputArea meter").count() == 0, "what moved is gone"
        recipe.picture(page, "watch_end")
        state = page.evaluate(recipe.STATE)
        assert state["errors"] == [] and state["stderr"] == []
        assert [text for text in complaints if recipe.ours(text)] == []
