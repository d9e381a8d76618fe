"""A real JupyterLab with private folders, and a real Chromium that looks at it. Both are always ended."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.course import execute, kernel, table
from tests.browser.chromium import SWITCHES, find_browser
from tests.jupyter_server import free_port, private, running

PICTURES = execute.BUILD / "test" / "browser"
_TOKEN = "browser-test"


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
    variables = private(kernel.environment(base / "ipython"), base)
    variables.pop("JUPYTER_PATH", None)
    port = free_port()
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
    url = f"http://127.0.0.1:{port}"
    with running(command, folder=work, environ=variables, url=url, token=_TOKEN, log=base / "lab.log"):
        yield Lab(url, work)


def _write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
