"""A real JupyterLab with private folders, and a real Chromium that looks at it. Both are always ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.course import execute, kernel, table
from tests.browser.chromium import SWITCHES, find_browser

PICTURES = execute.BUILD / "test" / "browser"
_TOKEN = "browser-test"
_START_S = 120


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    url: str
    folder: Path

    def address(self, notebook: str) -> str:
        """The notebook in a workspace of its own: in a shared one, JupyterLab would open the last test's notebook beside it."""
        return f"{self.url}/lab/workspaces/{notebook.removesuffix('.ipynb')}/tree/{notebook}?token={_TOKEN}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright. Missing, it fails in CI and is a loud skip elsewhere."""
    path = find_browser()
    if path is None:
        told = (
            "NOT CHECKED: the lessons in a real browser, because there is no Chromium on this computer. "
            "Install it (Debian, Ubuntu: apt install chromium) and run the tests again."
        )
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, headless=True, args=list(SWITCHES))
        try:
            yield chromium
        finally:
            chromium.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a free port, on a copy of the notebooks, with folders of its own for everything that it keeps."""
    base = tmp_path_factory.mktemp("lab")
    work = base / "notebooks"
    shutil.copytree(table.NOTEBOOKS, work, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    settings = base / "settings" / "@jupyterlab"
    _write(
        settings / "apputils-extension" / "notification.jupyterlab-settings",
        {"fetchNews": "false", "checkForUpdates": False},
    )
    _write(settings / "docmanager-extension" / "plugin.jupyterlab-settings", {"autosave": False})
    variables = kernel.environment(base / "ipython")
    for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        variables[f"JUPYTER_{name}"] = str(base / name.lower())
    variables.pop("JUPYTER_PATH", None)
    variables.pop("JUPYTER_TOKEN", None)
    port = _free_port()
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={_TOKEN}",
        f"--ServerApp.root_dir={work}",
        "--LabApp.expose_app_in_browser=True",
        f"--LabApp.user_settings_dir={base / 'settings'}",
        f"--LabApp.workspaces_dir={base / 'workspaces'}",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--log-level=WARN",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    log = base / "lab.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=work, env=variables, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, url, log)
        yield Lab(url, work)
    finally:
        _end(process)


def _write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], url: str, log: Path, token: str = _TOKEN) -> None:
    """Waits until the server answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    limit = time.monotonic() + _START_S
    while time.monotonic() < limit:
        if process.poll() is not None:
            break
        with (
            contextlib.suppress(urllib.error.URLError, OSError),
            opener.open(f"{url}/api/status?token={token}", timeout=5) as answer,
        ):
            if answer.status == 200:
                return
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the server with every kernel that it started."""
    import psutil

    family: list[Any] = []
    with contextlib.suppress(psutil.Error):
        family = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child in family:
        with contextlib.suppress(psutil.Error):
            child.kill()
