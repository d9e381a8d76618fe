"""Runs the whole test-suite in this environment; ``labkit test`` and CI are this and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from labkit.importable import ROOT

LIGHT = "not notebooks and not browser"


def command(light: bool, pytest_arguments: Sequence[str]) -> list[str]:
    """The pytest command line. ``-ra`` names every skipped test with its reason, so that none passes for a success unseen."""
    selected = ["-m", LIGHT] if light else []
    return [sys.executable, "-m", "pytest", "-ra", *selected, *pytest_arguments]


def run(light: bool = False, pytest_arguments: Sequence[str] = ()) -> int:
    """Runs pytest from the root of the repository.

    Args:
        light: leave out what executes lessons and what needs a browser.
        pytest_arguments: handed on, for example ``-k`` and a word, or a file.

    Returns:
        pytest's exit status: 0 when all passed, 5 when no test ran.
    """
    sys.stdout.flush()
    variables = {**os.environ, "PYTHONUTF8": "1"}
    # A process of its own: pytest then imports labkit from the clone, as a learner's notebook does, and its last line is the last line.
    return subprocess.run(command(light, pytest_arguments), cwd=ROOT, env=variables, check=False).returncode
