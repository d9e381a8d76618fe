"""How a process that is started from here finds labkit, and how one takes the place of this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def python_path(environ: Mapping[str, str], root: Path = ROOT) -> str:
    """PYTHONPATH with ``root`` first, then what ``environ`` has there; no empty entry, which would mean the current folder."""
    return os.pathsep.join([str(root), *others(environ, "PYTHONPATH", root)])


def others(environ: Mapping[str, str], name: str, ours: Path) -> list[str]:
    """The folders that a variable of ``environ`` lists, without empty entries and without ``ours``."""
    return [entry for entry in environ.get(name, "").split(os.pathsep) if entry and entry != str(ours)]


def become(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Runs ``command`` in place of this process, so that signals reach it; Windows cannot, so there it is waited for.

    Returns its exit status, on Windows only. Raises OSError where it cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":
        os.execve(command[0], list(command), dict(environ))
    with subprocess.Popen(command, env=environ) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the child got it too, and ends in its own way
                continue
