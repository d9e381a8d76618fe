"""The timeline of a profile as a learner meets it: in JupyterLab, by buttons, sliders and the keyboard; and its page, narrow
and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.recipe import PICTURES, opened, run_all, write

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

WAIT_MS = 30_000
CELLS = (
    "from labkit.profile import simulate\nfrom labkit.show import profiles\n"
    "run = simulate.training('cnn', 'Radeon RX 7900 XTX', 'loader', steps=6)",
    "line = profiles.Timeline(run)\nline",
    "print(*line.window, line.lanes.low, line.lanes.high, *line.lanes.steps[0])",
)
OUTPUT = """async number => {
  const app = window.jupyterapp, widget = app.shell.currentWidget, notebook = widget.content;
  notebook.deselectAll();
  notebook.activeCellIndex = number;
  await app.commands.execute('notebook:run-cell');
  const outputs = notebook.model.cells.get(number).toJSON().outputs;
  return outputs.map(out => [].concat(out.text || out.evalue || '').join('')).join('');
}"""


@pytest.fixture(scope="module")
def page(browser: Any, lab: Any) -> Iterator[Any]:
    write(lab.folder, "timeline.ipynb", CELLS)
    with opened(browser, lab, "timeline.ipynb") as (page, _):
        run_all(page)
        yield page


def window(page: Any) -> tuple[list[int], list[int], list[int]]:
    """(window, whole run, starts of the steps) as the kernel has them."""
    numbers = [int(word) for word in page.evaluate(OUTPUT, 2).split()]
    return numbers[:2], numbers[2:4], numbers[4:]


def output(page: Any) -> Any:
    page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget.content.scrollToItem(1, 'start'); }",
    )
    return page.locator(".jp-Notebook .jp-Cell[data-windowed-list-index='1'] .jp-OutputArea").first


def picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    output(page).screenshot(path=str(PICTURES / f"timeline_{name}.png"))


def test_buttons_zoom_and_move_and_say_so(page: Any) -> None:
    area = output(page)
    area.get_by_role("img", name="SIMULATED: Timeline").wait_for(timeout=WAIT_MS)
    picture(page, "light")
    area.get_by_role("button", name="Zoom in").click()
    area.get_by_role("status").get_by_text("Shown: ").wait_for(timeout=WAIT_MS)
    shown, whole, _ = window(page)
    assert shown[1] - shown[0] == pytest.approx((whole[1] - whole[0]) / 2, rel=1e-6)
    first = area.get_by_role("status").inner_text()
    area.get_by_role("button", name="Later").press("Enter")  # by the keyboard
    area.get_by_text(first, exact=True).wait_for(state="detached", timeout=WAIT_MS)
    assert window(page)[0][1] == whole[1]
    area.get_by_role("button", name="Whole run").press("Space")
    area.get_by_text("from 0.000 ms after").wait_for(timeout=WAIT_MS)
    assert window(page)[0] == whole


def after(area: Any, act: Any) -> None:
    """Acts, and waits until the widget says something else than before."""
    status = area.get_by_role("status")
    before = status.inner_text()
    act()
    status.filter(has_not_text=before).filter(has_text="Shown: ").wait_for(timeout=WAIT_MS)


def test_steps_and_sliders_by_the_keyboard(page: Any) -> None:
    area = output(page)
    step = area.get_by_role("button", name="Next step")
    after(area, lambda: step.press("Enter"))
    after(area, lambda: step.press("Enter"))
    shown, _, steps = window(page)
    assert shown == steps[1:3]
    area = output(page)
    assert area.get_by_role("region", name="Longest events in view").get_by_text("load", exact=True).first.is_visible()
    picture(page, "step")
    after(area, lambda: area.locator(".noUi-handle").first.press("ArrowRight"))  # closer by the square root of two
    closer = window(page)[0]
    assert closer[1] - closer[0] == pytest.approx((shown[1] - shown[0]) / 2**0.5, rel=0.3)


def test_in_the_dark_theme_it_keeps_its_ground(page: Any) -> None:
    theme = "async name => { await window.jupyterapp.commands.execute('apputils:change-theme', {theme: name}); }"
    page.evaluate(theme, "JupyterLab Dark")
    page.wait_for_timeout(800)
    picture(page, "dark")
    ground = output(page).locator("img").first.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
    page.evaluate(theme, "JupyterLab Light")
    assert ground == "rgb(252, 252, 252)"


@pytest.mark.parametrize(("width", "scheme"), [(480, "dark"), (1000, "light")])
def test_the_page_fits_a_narrow_window(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    from labkit.profile import diagnose, simulate
    from labkit.show.profiles import page as pages

    run = simulate.training("cnn", "Radeon RX 7900 XTX", "loader", steps=6)
    path = pages.write(run, diagnose(run), tmp_path / "page.html")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    asked: list[str] = []
    try:
        opened = context.new_page()
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(path.as_uri())
        assert opened.evaluate("document.documentElement.scrollWidth") <= width, "nothing scrolls but what is made to"
        dark = opened.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark")
        assert opened.evaluate("Array.from(document.images).every(i => i.complete && i.naturalWidth > 0 && i.alt)")
        PICTURES.mkdir(parents=True, exist_ok=True)
        opened.screenshot(path=str(PICTURES / f"profile_page_{scheme}.png"), full_page=True)
    finally:
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
