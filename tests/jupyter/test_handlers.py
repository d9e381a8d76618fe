"""The three addresses on a real Jupyter server: who may ask, what is answered, and what a learner is told where it cannot be done."""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import os
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.course import lab, table
from tests.jupyter_server import free_port, private, running

TOKEN = "handlers-test"


class Server:
    def __init__(self, url: str, root: Path) -> None:
        self.url, self.root = url, root
        self.cookies = http.cookiejar.CookieJar()

    def ask(
        self, path: str, body: Any = None, *, token: str | None = TOKEN, cookies: bool = False, **headers: str
    ) -> tuple[int, Any]:
        """(status, JSON) of one request; a body makes it a POST."""
        handlers: list[Any] = [urllib.request.ProxyHandler({})]
        if cookies:
            handlers.append(urllib.request.HTTPCookieProcessor(self.cookies))
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, headers)
        if token:
            request.add_header("Authorization", f"token {token}")
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, None

    def xsrf(self) -> str:
        return next(str(cookie.value) for cookie in self.cookies if cookie.name == "_xsrf")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Jupyter server as a hub starts one: the three variables of ``lab.room``, a shared folder, the learner's own below the root."""
    base = tmp_path_factory.mktemp("server")
    root = base / "home"
    shutil.copytree(table.NOTEBOOKS, root / "course", ignore=shutil.ignore_patterns(".ipynb_checkpoints", "*.mine-*"))
    environ = private(lab.room({**os.environ, "JUPYTER_CONFIG_PATH": "", "JUPYTER_PATH": ""}), base)
    environ |= {
        "LABKIT_LESSONS": str(table.NOTEBOOKS),
        "LABKIT_NOTEBOOKS": "course",
        "LABKIT_PROGRESS": str(base / "progress"),
    }
    port = free_port()
    command = [sys.executable, "-m", "jupyter_server", f"--ServerApp.root_dir={root}", f"--ServerApp.port={port}"]
    command += [
        "--ServerApp.base_url=/user/me/",
        f"--IdentityProvider.token={TOKEN}",
        "--ServerApp.open_browser=False",
        "--allow-root",
    ]
    url = f"http://127.0.0.1:{port}/user/me"
    with running(command, folder=root, environ=environ, url=url, token=TOKEN, log=base / "log"):
        yield Server(url, root)


def test_nobody_is_answered_without_logging_in(server: Server) -> None:
    for path, body in (("labkit/lessons", None), ("labkit/gauge", None), ("labkit/reset", {"lesson": "01"})):
        assert server.ask(path, body, token=None)[0] == 403, path
        assert server.ask(path, body, token="wrong")[0] == 403, path


def test_a_page_of_another_site_cannot_reset_by_the_learners_cookie(server: Server) -> None:
    """A browser that is logged in by cookie has to send the token that only the page itself can read."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(server.cookies)
    )
    opener.open(f"{server.url}/login", timeout=60).close()
    with contextlib.suppress(
        urllib.error.HTTPError
    ):  # the page after the login is JupyterLab's, which does not run here
        opener.open(f"{server.url}/login", f"password={TOKEN}&_xsrf={server.xsrf()}".encode(), timeout=60).close()
    assert server.ask("labkit/lessons", token=None, cookies=True, Referer=f"{server.url}/lab")[0] == 200, "logged in"
    assert server.ask("labkit/reset", {"lesson": "04"}, token=None, cookies=True)[0] == 403
    headers = {"X-XSRFToken": server.xsrf(), "Referer": f"{server.url}/lab"}
    status, found = server.ask("labkit/reset", {"lesson": "04"}, token=None, cookies=True, **headers)
    assert status == 200 and found["kept"] is None


def test_the_lessons(server: Server) -> None:
    status, found = server.ask("labkit/lessons")
    assert status == 200 and found["no_reset"] == "" and found["next"]["lesson"] == "00"
    assert [row["file"] for row in found["lessons"]] == [
        f"course/{lesson.path.name}" for lesson in table.load().lessons
    ]
    assert {row["copy"] for row in found["lessons"]} == {"as published"}


def test_the_gauge(server: Server) -> None:
    status, found = server.ask("labkit/gauge")
    assert status == 200 and found["devices"]
    assert set(found["devices"][0]["memory_total_bytes"]) == {"value", "source"}


def test_a_reset_keeps_the_copy_and_the_progress(server: Server) -> None:
    path = server.root / "course" / "01_mnist.ipynb"
    published = path.read_bytes()
    path.write_bytes(b"mine")
    assert server.ask("labkit/lessons")[1]["lessons"][1]["copy"] == "edited"
    status, found = server.ask("labkit/reset", {"lesson": "01"})
    assert (
        status == 200
        and found["kept"].startswith("course/01_mnist.mine-")
        and "is kept as 01_mnist.mine-" in found["words"]
    )
    assert (server.root / found["kept"]).read_bytes() == b"mine" and path.read_bytes() == published
    status, found = server.ask("labkit/reset", {"lesson": "01"})
    assert status == 200 and found["kept"] is None and "nothing to reset" in found["words"]
    path.unlink()
    assert "is back" in server.ask("labkit/reset", {"lesson": "01"})[1]["words"] and path.read_bytes() == published


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"", b"[]", b"{", b'{"lesson": 1}', b'{"lesson": null}', b'"01"', b"\xff"]
)
def test_a_request_that_names_no_lesson_is_turned_down(server: Server, body: bytes) -> None:
    status, found = server.ask("labkit/reset", body)
    assert status == 400 and "lesson" in found["message"]


@pytest.mark.parametrize("lesson", ["99", "1", "mnist", "../01", "course/01_mnist.ipynb", ""])
def test_only_a_lesson_of_the_table_can_be_reset(server: Server, lesson: str) -> None:
    status, found = server.ask("labkit/reset", {"lesson": lesson})
    assert status == 404 and "There is no lesson" in found["message"]


def test_a_folder_in_the_place_of_a_lesson_is_a_sentence(server: Server) -> None:
    path = server.root / "course" / "06_transfer_learning.ipynb"
    path.unlink()
    path.mkdir()
    status, found = server.ask("labkit/reset", {"lesson": "06"})
    assert status == 409 and "is a folder" in found["message"]
    path.rmdir()
    assert server.ask("labkit/reset", {"lesson": "06"})[0] == 200


def test_two_resets_at_once_keep_both_copies(server: Server) -> None:
    from concurrent.futures import ThreadPoolExecutor

    path = server.root / "course" / "07_bandwidth_roofline.ipynb"
    path.write_bytes(b"mine")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.ask("labkit/reset", {"lesson": "07"}), range(8)))
    assert [status for status, _ in answers] == [200] * 8
    kept = [found["kept"] for _, found in answers if found["kept"]]
    assert len(kept) == 1 and (server.root / kept[0]).read_bytes() == b"mine"
