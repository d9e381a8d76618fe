"""The course's room in a real JupyterLab: start page, gauge and reset, as a learner meets them, by keyboard and without a mouse."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.course import execute, lab, table
from labkit.jupyter import pristine
from labkit.learn.records import file
from labkit.learn.records.entry import Event
from tests.browser import recipe
from tests.jupyter_server import free_port, private, running

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WAIT_MS = 60_000
TOKEN = "room-test"
MINE = "print('this is mine')"
THEME = "async name => { await window.jupyterapp.commands.execute('apputils:change-theme', {theme: name}); }"
ADD_CELL = """source => {
  const model = window.jupyterapp.shell.currentWidget.content.model;
  model.sharedModel.insertCell(0, {cell_type: 'code', source});
}"""
SOURCES = "() => Array.from(window.jupyterapp.shell.currentWidget.content.model.cells).map(cell => cell.sharedModel.getSource())"


class Room:
    """A JupyterLab as ``labkit start`` starts it, on a copy of the notebooks, and a page that looks at it."""

    def __init__(self, page: Any, folder: Path, url: str) -> None:
        self.page, self.folder, self.url = page, folder, url
        self.complaints: list[str] = []
        self.outside: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def _asked(self, address: str) -> None:
        if not address.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.outside.append(address)

    def start_page(self) -> Any:
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('rocm-labs:start'); }")
        return self.page.locator(".rl-start")

    def kept(self) -> list[Path]:
        return sorted(self.folder.glob("*.mine-*.ipynb"))


@pytest.fixture(scope="module")
def room(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    base = tmp_path_factory.mktemp("room")
    folder = base / "notebooks"
    shutil.copytree(table.NOTEBOOKS, folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "*.mine-*"))
    progress = base / "progress.jsonl"
    file.save(progress, [Event("output_size", "02", "exercise", True, "2026-11-29")])
    kernels = lab.kernels_folder(lab.ROOT)
    theirs = {**os.environ, "JUPYTER_PATH": "", "JUPYTER_CONFIG_PATH": ""}
    variables = private(lab.environment(theirs, lab.ROOT, kernels), base)
    variables.update({"LABKIT_PROGRESS": str(progress), "LABKIT_LESSONS": str(table.NOTEBOOKS)})
    port = free_port()
    command = [
        *lab.command(
            folder / lab.FIRST_LESSON, port, browser=False, as_root=hasattr(os, "geteuid") and os.geteuid() == 0
        ),
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        "--LabApp.expose_app_in_browser=True",
        f"--LabApp.user_settings_dir={base / 'settings'}",
        f"--LabApp.workspaces_dir={base / 'workspaces'}",
    ]
    log, url = base / "lab.log", f"http://127.0.0.1:{port}"
    with (
        running(command, folder=folder, environ=variables, url=url, token=TOKEN, log=log),
        contextlib.closing(browser.new_context(viewport={"width": 1280, "height": 900})) as context,
    ):
        made = Room(context.new_page(), folder, url)
        made.page.goto(f"{url}{re.search(r'default_url=(.*)', ' '.join(command)).group(1).split()[0]}?token={TOKEN}")  # type: ignore[union-attr]
        try:
            made.page.locator(".rl-start").get_by_role("heading", name="Lessons").wait_for(timeout=120_000)
        except BaseException:
            recipe.picture(made.page, "room_failed")
            print(log.read_text(encoding="utf-8", errors="replace")[-4000:], file=sys.stderr)
            raise
        yield made


def axe(page: Any, place: str) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, context=place).response["violations"]
    return [f"{one['id']}: {one['help']} {[node['html'][:200] for node in one['nodes']]}" for one in found]


def test_the_start_page_is_in_front_and_lists_the_lessons(room: Room) -> None:
    assert room.page.evaluate("() => window.jupyterapp.shell.currentWidget.id") == "rocm-labs-start"
    page = room.page.locator(".rl-start")
    rows = page.locator(".rl-lesson")
    lessons = table.load().lessons
    assert rows.count() == len(lessons)
    for number, lesson in enumerate(lessons):
        words = rows.nth(number).inner_text()
        assert lesson.title in words and f"{lesson.minutes} min" in words and lesson.level in words, lesson.label
    bar = page.get_by_role("progressbar", name="Progress of lesson 02")
    assert bar.get_attribute("aria-valuenow") == "1" and "1 of 11 exercises" in bar.get_attribute("aria-valuetext")
    assert page.get_by_role("button", name="Go on with lesson 02").is_visible(), (
        "begun yesterday, says the progress file"
    )
    recipe.picture(room.page, "room_start_light")


def test_the_gauge_shows_numbers_and_rests_when_nobody_looks(room: Room) -> None:
    page = room.page
    status = page.locator(".rl-status button")
    status.get_by_text(re.compile(r"(CPU|GPU \d|GPUs).*\d+ %")).wait_for(timeout=WAIT_MS)
    status.press("Enter")
    large = page.locator(".rl-gauge")
    large.get_by_text(re.compile(r"^\d+ %$")).first.wait_for(timeout=WAIT_MS)
    assert re.search(r"\d of \d+(\.\d)? GiB", large.inner_text()) and "source: " in large.inner_text()
    large.locator("polyline").first.wait_for(state="attached", timeout=WAIT_MS)
    assert axe(page, ".rl-gauge") == []
    recipe.picture(page, "room_gauge_light")

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "labkit/gauge" in request.url else None)
    page.evaluate("""() => {
      Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});
      document.dispatchEvent(new Event('visibilitychange'));
    }""")
    page.wait_for_timeout(500)
    before = len(asked)
    page.wait_for_timeout(5000)
    assert len(asked) == before, "a page that nobody sees asks for nothing"
    with page.expect_request(lambda request: "labkit/gauge" in request.url, timeout=WAIT_MS):
        page.evaluate("() => { delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); }")


def simulated(number: int) -> dict[str, Any]:
    """A GPU as the server tells of it; the last of four sleeps and tells nearly nothing."""
    told = {
        "use_percent": 12.0 * number + 1,
        "memory_used_bytes": number << 34,
        "memory_total_bytes": 192 << 30,
        "power_w": 90.0 + 80 * number,
        "temperature_c": 41.0 + number,
    }
    if number % 4 == 3:
        told |= dict.fromkeys(("use_percent", "power_w", "temperature_c"), None)  # type: ignore[arg-type]
    sourced = {
        key: {"value": one, "source": "not available" if one is None else "simulated"} for key, one in told.items()
    }
    return {"name": f"GPU {number}", "kind": "gpu", **sourced}


def test_eight_simulated_gpus_fit_a_projector(room: Room) -> None:
    page = room.page
    answer = {"devices": [simulated(number) for number in range(8)], "note": "Simulated."}
    page.route("**/labkit/gauge*", lambda route: route.fulfill(json=answer))
    try:
        page.evaluate("async () => { await window.jupyterapp.commands.execute('rocm-labs:gauge'); }")
        large = page.locator(".rl-gauge")
        large.get_by_role("heading", name="GPU 7").wait_for(timeout=WAIT_MS)
        assert large.locator(".rl-card").count() == 8
        words = large.locator(".rl-card").nth(3).inner_text()
        assert words.count("not available") == 3 and "48.0/192 GiB" in words and "0 W" not in words
        assert "8 GPUs · busiest: GPU 6, 73 %" in page.locator(".rl-status button").inner_text()
        page.wait_for_timeout(4000)
        assert axe(page, ".rl-gauge") == []
        recipe.picture(page, "room_gauge_eight")
        over = large.evaluate("node => [node.scrollWidth - node.clientWidth, node.scrollHeight - node.clientHeight]")
        assert max(over) <= 1, "all of them are seen at once"
    finally:
        page.unroute("**/labkit/gauge*")


def test_a_server_that_is_gone_is_a_sentence(room: Room) -> None:
    page = room.page
    page.route("**/labkit/**", lambda route: route.abort())
    try:
        page.locator(".rl-gauge").get_by_text("The Jupyter server does not answer.").wait_for(timeout=WAIT_MS)
        room.start_page().get_by_role("alert").get_by_text("The Jupyter server does not answer.").wait_for(
            timeout=WAIT_MS
        )
        recipe.picture(page, "room_start_gone")
    finally:
        page.unroute("**/labkit/**")
    page.locator(".rl-start").get_by_role("button", name="Try again").press("Enter")
    page.locator(".rl-start").get_by_role("heading", name="Lessons").wait_for(timeout=WAIT_MS)


def test_it_is_accessible_in_both_themes_and_fits_a_phone(room: Room) -> None:
    page = room.page
    room.start_page()
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        page.evaluate(THEME, theme)
        page.wait_for_function("dark => (document.body.dataset.jpThemeLight === 'false') === dark", arg="Dark" in theme)
        page.wait_for_timeout(500)
        recipe.picture(page, f"room_start_{theme.split()[-1].lower()}")
        assert axe(page, ".rl-start") == [], theme
    page.set_viewport_size({"width": 480, "height": 900})
    page.evaluate("() => { window.jupyterapp.shell.collapseLeft(); }")
    page.wait_for_timeout(500)
    recipe.picture(page, "room_start_narrow")
    wide = page.locator(".rl-start").evaluate("node => node.scrollWidth - node.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert wide <= 1


def test_a_lesson_is_opened_by_the_keyboard_and_reset_keeps_the_copy(room: Room) -> None:
    page, name = room.page, "01_mnist.ipynb"
    published = (table.NOTEBOOKS / name).read_bytes()
    start = room.start_page()
    start.get_by_role("button", name="Open lesson 01, MNIST: a first network").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(recipe.LOADED, timeout=120_000, polling=200)
    page.evaluate(recipe.READY)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path") == name

    page.evaluate(ADD_CELL, MINE)  # not saved yet: the reset has to
    button = page.locator(".jp-NotebookPanel-toolbar").get_by_role("button", name="Reset lesson")
    button.wait_for(timeout=WAIT_MS)
    button.press("Enter")
    dialog = page.get_by_role("dialog")
    assert "Your notebook is kept" in dialog.inner_text() and "What you have passed stays passed" in dialog.inner_text()
    recipe.picture(page, "room_reset_dialog")
    page.keyboard.press("Enter")  # the first choice is to leave everything as it is
    dialog.wait_for(state="detached", timeout=WAIT_MS)
    assert room.kept() == [] and MINE in page.evaluate(SOURCES)

    button.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Reset lesson").press("Enter")
    page.get_by_text("Your copy is kept as 01_mnist.mine-").first.wait_for(timeout=WAIT_MS)
    (kept,) = room.kept()
    assert MINE in json.dumps(json.loads(kept.read_text(encoding="utf-8"))["cells"][0]).replace('\\"', '"')
    assert (room.folder / name).read_bytes() == published
    page.wait_for_function(f"mine => !({SOURCES})().includes(mine)", arg=MINE, timeout=WAIT_MS)
    page.evaluate(recipe.READY)
    recipe.picture(page, "room_after_reset")
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.context.save(); }")
    assert pristine.compared((room.folder / name).read_bytes(), published) == "as published", (
        "JupyterLab adds metadata of its own"
    )


def test_a_closed_lesson_is_reset_from_the_start_page(room: Room) -> None:
    target = room.folder / "03_mixed_precision.ipynb"
    mine = target.read_bytes().replace(b'"# 03', b'"# My own 03', 1)
    assert mine != target.read_bytes()
    target.write_bytes(mine)
    room.page.evaluate("async () => { await window.jupyterapp.commands.execute('rocm-labs:gauge'); }")
    start = room.start_page()  # shown anew, it reads the folder anew
    start.get_by_text("You have changed this notebook.").first.wait_for(timeout=WAIT_MS)
    recipe.picture(room.page, "room_start_changed")
    start.get_by_role("button", name="Reset lesson 03, Mixed precision").press("Enter")
    room.page.get_by_role("dialog").get_by_role("button", name="Reset lesson").press("Enter")
    start.get_by_role("status").filter(has_text="Your copy is kept as 03_mixed_precision.mine-").wait_for(
        timeout=WAIT_MS
    )
    (kept,) = [path for path in room.kept() if path.name.startswith("03")]
    assert kept.read_bytes() == mine
    assert target.read_bytes() == (table.NOTEBOOKS / target.name).read_bytes()


def test_a_page_that_is_loaded_again_leaves_the_lesson_in_front(room: Room) -> None:
    page = room.page
    page.evaluate(
        "async () => { await window.jupyterapp.commands.execute('docmanager:open', {path: '01_mnist.ipynb'}); }"
    )
    page.wait_for_timeout(3000)  # JupyterLab saves its layout a moment later
    page.reload()
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.shell.currentWidget", timeout=120_000)
    page.wait_for_function(recipe.LOADED, timeout=120_000, polling=200)
    page.wait_for_timeout(1000)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path") == "01_mnist.ipynb"
    assert page.locator(".lm-TabBar-tab", has_text="ROCm Labs").count() == 1, "restored beside it"


def test_nothing_was_asked_outside_and_nothing_complained(room: Room) -> None:
    assert room.outside == []
    assert [text for text in room.complaints if recipe.ours(text)] == []
    assert execute.BUILD in recipe.PICTURES.parents
