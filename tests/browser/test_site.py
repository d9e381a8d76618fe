"""The site in a real browser, from a disk and with every request to elsewhere cut off: it loads, reads, searches, and leaves nobody out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.course import table
from labkit.site import command, links
from tests.browser.recipe import picture
from tests.site import made

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

# What Chromium's console says that no page of ours can change: the widget manager's own schema check.
KNOWN = ("strict mode: use allowUnionTypes",)
PHONE = {"width": 390, "height": 844}
AXE = """async () => {
  const found = await axe.run(document, {resultTypes: ['violations'], preload: false});
  return found.violations.filter(each => ['serious', 'critical'].includes(each.impact))
    .map(each => `${each.id}: ${each.nodes.length} × ${each.nodes[0].html.slice(0, 200)} ${each.nodes[0].failureSummary.slice(0, 200)}`);
}"""
# The words of code cells are thousands, and up to two minutes of work for axe a page; their colours are the same on each page,
# so this test leaves them out, and the one of the small site looks at them.
BUT_CODE = ("axe.run(document,", "axe.run({exclude: [['.highlight']]},")
# So it is with the rows of long tables: each is written by the same function, and a dozen holds every kind of cell.
FEWER_ROWS = "() => document.querySelectorAll('tbody > tr:nth-child(n+13)').forEach(row => row.remove())"
CONTRAST = AXE.replace("{resultTypes", "{runOnly: ['color-contrast', 'link-in-text-block'], resultTypes")
DARK = "() => { document.documentElement.dataset.theme = 'dark'; document.documentElement.dataset.mode = 'dark'; }"
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Reader:
    """A page of the browser that may only read files, and a list of what it asked for or complained about besides."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.outside: list[str] = []
        self.complaints: list[str] = []
        page.route("**/*", self._route)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("requestfailed", lambda request: self.complaints.append(f"not loaded: {request.url}"))

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri(), wait_until="load")

    def _route(self, route: Any) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self.outside.append(route.request.url)
            route.abort()

    def _hear(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith(KNOWN):
            self.complaints.append(message.text)


@pytest.fixture
def reader(browser: Any) -> Iterator[Reader]:
    context = browser.new_context(
        viewport={"width": 1300, "height": 900}, reduced_motion="reduce", color_scheme="light"
    )
    try:
        yield Reader(context.new_page())
    finally:
        context.close()


@pytest.fixture(scope="module")
def site(course_run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real site, from the lessons as they ran for all tests; Sphinx may not warn of anything."""
    assert course_run.status == 0
    return command.build(tmp_path_factory.mktemp("real") / "site", course_run.folder)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small site, with math and a slider."""
    base = tmp_path_factory.mktemp("small")
    return command.build(
        base / "site", course=made.clone(base / "clone"), root=base / "clone", lessons=made.all_executed
    )


def axe_source() -> str:
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_math_and_a_slider_are_drawn_from_the_disk_alone(small: Path, reader: Reader) -> None:
    reader.open(small / "02_third.html")
    page = reader.page
    page.wait_for_selector("mjx-container mjx-math")
    page.wait_for_selector(".widget-slider .noUi-handle")
    page.evaluate("() => document.fonts.ready")
    fonts = page.evaluate("() => Array.from(document.fonts).filter(f => f.status === 'loaded').map(f => f.family)")
    assert any("MJX" in family or "NCM" in family for family in fonts), fonts
    assert page.inner_text(".widget-readout") == "42"
    assert page.locator("mjx-assistive-mml math").count() == 2, "a screen reader hears the formulas"
    picture(page, "site_math_and_slider")
    page.evaluate(axe_source())
    assert page.evaluate(AXE) == [], "code cells included"
    page.evaluate(DARK)
    assert page.evaluate(CONTRAST) == []
    assert reader.outside == [] and reader.complaints == []


def test_search_works_from_the_disk(small: Path, reader: Reader) -> None:
    reader.open(small / "index.html")
    reader.page.keyboard.press("Control+k")
    reader.page.keyboard.type("HIP")
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_selector("#search-results li a")
    assert "Glossary" in reader.page.inner_text("#search-results")
    assert reader.outside == [] and reader.complaints == []


@pytest.mark.notebooks
def test_every_page_is_readable_for_everyone_in_light_and_dark_without_a_network(site: Path, reader: Reader) -> None:
    assert links.check(site) == []
    names = {path.name for path in pages(site)}
    assert {lesson.path.with_suffix(".html").name for lesson in table.load().lessons} < names
    axe = axe_source()
    told = []
    for path in pages(site):
        reader.open(path)
        reader.page.evaluate(FEWER_ROWS)
        reader.page.evaluate(axe)
        told += [f"{path.stem}, light: {wrong}" for wrong in reader.page.evaluate(AXE.replace(*BUT_CODE))]
        reader.page.evaluate(DARK)
        told += [f"{path.stem}, dark: {wrong}" for wrong in reader.page.evaluate(CONTRAST.replace(*BUT_CODE))]
    assert told == []
    assert reader.outside == [] and reader.complaints == []


@pytest.mark.notebooks
def test_on_a_phone_no_page_is_wider_than_the_screen_and_the_contents_open(site: Path, reader: Reader) -> None:
    reader.page.set_viewport_size(PHONE)
    wide = {}
    for path in pages(site):
        reader.open(path)
        wide[path.stem] = reader.page.evaluate(WIDER)
    assert {name: by for name, by in wide.items() if by > 0} == {}
    reader.open(site / "01_mnist.html")
    picture(reader.page, "site_phone")
    reader.page.locator(".primary-toggle:visible").first.click()
    link = reader.page.get_by_role("link", name="02 · CIFAR-10: your turn").first
    link.wait_for(state="visible")
    link.click()
    reader.page.wait_for_url("**/02_cifar10_exercise.html")


@pytest.mark.notebooks
def test_by_keyboard_one_skips_to_the_text_and_moves_wide_code(site: Path, reader: Reader) -> None:
    reader.open(site / "01_mnist.html")
    reader.page.keyboard.press("Tab")
    focused = "() => document.activeElement.textContent.trim()"
    assert "Skip to main content" in reader.page.evaluate(focused)
    reader.page.keyboard.press("Enter")
    assert reader.page.evaluate("() => location.hash") == "#main-content"
    reader.page.set_viewport_size(PHONE)
    reader.page.wait_for_function("() => document.querySelectorAll('.bd-article pre[tabindex=\"0\"]').length > 5")
    still = """() => Array.from(document.querySelectorAll('.bd-article pre'))
      .filter(place => place.scrollWidth > place.clientWidth && place.tabIndex < 0).length"""
    assert reader.page.evaluate(still) == 0
