"""Chromium on this computer, and a page of one in a thread of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from tests.apart import apart

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str | None:
    """A Chromium on this computer, or None."""
    return next((found for found in map(shutil.which, BROWSERS) if found), None)


def with_page(work: Callable[[Any], None], **context: Any) -> None:
    """Calls ``work`` with a page of a browser that is started for it; ``context``: as playwright's new_context takes it.

    In a thread of its own: playwright's event loop must not stay in this one.
    """
    program = find_browser()
    assert program, "NOT CHECKED: there is no Chromium on this computer."

    def look() -> None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=program, args=list(SWITCHES))
            try:
                work(browser.new_context(**context).new_page())
            finally:
                browser.close()

    apart(look)
