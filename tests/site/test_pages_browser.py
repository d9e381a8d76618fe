"""The tables in a real browser, opened as a file: narrowed down by words, selects, keys and address, and accessible."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.site import pages
from labkit.site.pages import failures
from tests.browser.chromium import with_page

pytestmark = pytest.mark.browser
SHOWN = "() => document.querySelectorAll('tbody tr:not([hidden])').length"
SEEN = "() => [...document.querySelectorAll('tbody tr')].filter(row => row.getClientRects().length).map(row => row.id)"
COUNT = "() => document.querySelector('.lk-count').textContent"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of failures without Sphinx: its table, the style and the script."""
    folder = tmp_path_factory.mktemp("page")
    block = re.search(r"```\{raw\} html\n(.*?)```", failures.page(), re.DOTALL)
    assert block
    files = {name: (pages.STATIC / name).read_text(encoding="utf-8") for name in (*pages.SCRIPTS, *pages.STYLES)}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "failures.html"
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Failures</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="tables.css">'
        f'<script src="filter.js" defer></script></head><body><main><h1>Failures</h1>{block[1]}</main></body></html>',
        encoding="utf-8",
    )
    return path


def checked(work: Callable[[Any], None], **context: Any) -> None:
    """Calls ``work`` with a browser's page, which may have no errors."""

    def look(page: Any) -> None:
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        work(page)
        assert not errors

    with_page(look, **context)


def test_words_selects_keys_and_the_address(page_file: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    address = page_file.as_uri()

    def work(page: Any) -> None:
        page.goto(address)
        assert page.evaluate(SHOWN) == 96 and page.evaluate(COUNT) == "96 of 96 shown"
        # by keyboard alone: the first field, words in any order
        page.keyboard.press("Tab")
        page.keyboard.type("PERMISSION kfd")
        page.wait_for_function("() => location.hash.includes('failures.q=PERMISSION+kfd')")
        words = page.evaluate(SHOWN)
        assert 0 < words < 20 and "kfd-permission" in page.evaluate(SEEN)
        assert page.evaluate(COUNT) == f"{words} of 96 shown"
        page.keyboard.press("Tab")
        page.keyboard.press("d")  # of the severity's options only 'degrades' begins so
        page.wait_for_function("() => location.hash.includes('failures.severity=degrades')")
        assert page.evaluate(SHOWN) < words
        # Enter in the field loads nothing anew, and what is narrowed stays
        page.fill("#lk-failures-q", "")
        page.press("#lk-failures-q", "Enter")
        degrades = page.evaluate(SHOWN)
        assert degrades == 11
        page.wait_for_function("() => !location.hash.includes('q=')")
        view = page.url
        page.click("text=Show all")
        assert page.evaluate(SHOWN) == 96
        page.wait_for_function("() => location.hash === ''")
        # the narrowed view has an address
        page.goto("about:blank")
        page.goto(view)
        assert page.evaluate(SHOWN) == degrades and page.input_value("#lk-failures-severity") == "degrades"
        # a link to a hidden row shows it
        page.evaluate("() => { location.hash = '#kfd-permission' }")
        page.wait_for_function("() => !document.getElementById('kfd-permission').hidden")
        # nonsense in the address does no harm
        for nonsense in ("#?failures.severity=%00nonsense&x&.=1", "#%E0%A4%A", "#?failures.__proto__=1"):
            page.goto("about:blank")
            page.goto(address + nonsense)
            assert page.evaluate(SHOWN) == 96
        found = Axe().run(page).response["violations"]
        assert [(one["id"], len(one["nodes"])) for one in found] == []

    checked(work, viewport={"width": 1200, "height": 800})


def test_on_a_phone_rows_are_cards_and_nothing_sticks_out(page_file: Path) -> None:
    def work(page: Any) -> None:
        page.goto(page_file.as_uri() + "#?failures.severity=info")
        assert (
            page.evaluate("() => getComputedStyle(document.querySelector('tbody tr:not([hidden])')).display") == "block"
        )
        assert (
            len(page.evaluate(SEEN)) == page.evaluate(SHOWN) == 13
        )  # what is hidden takes no place in this form either
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")

    checked(work, viewport={"width": 360, "height": 740})


def test_without_javascript_the_whole_table_is_there(page_file: Path) -> None:
    def work(page: Any) -> None:
        page.goto(page_file.as_uri())
        assert page.locator("tbody tr:visible").count() == 96
        assert page.locator(".lk-controls:visible, .lk-count:visible").count() == 0

    checked(work, java_script_enabled=False)
