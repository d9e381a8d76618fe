"""The program that JupyterHub puts in front: configurable-http-proxy, from PATH or installed into the hub's folder by npm."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from labkit.errors import LabkitError
from labkit.setup.words import say

NAME = "configurable-http-proxy"
VERSION = "5.3.0"
_INSTALL_S = 300


def find(folder: Path, which: Callable[[str], str | None] = shutil.which) -> str | None:
    """Its path: on PATH, else in ``folder``; None where it is in neither, or node, in which it runs, is missing."""
    if which("node") is None:
        return None
    mine = folder / "node_modules" / ".bin" / NAME
    return which(NAME) or (str(mine) if mine.exists() else None)


def ensure(folder: Path, which: Callable[[str], str | None] = shutil.which) -> str:
    """Its path; installs it with npm where it is missing. Raises LabkitError where that cannot be done."""
    found = find(folder, which)
    if found is not None:
        return found
    npm = which("npm")
    if which("node") is None or npm is None:
        raise LabkitError(
            f"JupyterHub needs the program {NAME}, and that needs node and npm, which are not here.",
            "Debian and Ubuntu: apt-get install --no-install-recommends nodejs npm; "
            "conda: conda install -c conda-forge configurable-http-proxy.",
        )
    say(f"{NAME} {VERSION} is installed with npm into {folder} (about 10 MB, once).")
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--no-fund", "--no-audit", "--prefix", str(folder), f"{NAME}@{VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
        problem = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    found = find(folder, which)
    if found is None:
        raise LabkitError(
            f"npm could not install {NAME}: {problem or 'it is not there afterwards'}.",
            f"is there a network? Or put {NAME} on PATH yourself: npm install -g {NAME}@{VERSION}.",
        )
    return found
