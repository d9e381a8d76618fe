"""A Python that sees the standard library and the repository only, as before anything is installed."""

from __future__ import annotations

import os
import subprocess
import sys

from labkit.importable import ROOT


def python(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Its answer to these arguments, called in the repository; ``environ``: variables besides those of this process."""
    return subprocess.run(
        [sys.executable, "-S", "-E", *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        errors="replace",  # a bare Python on Windows writes in the console's encoding
        timeout=200,
        check=False,
        env={**os.environ, **environ},
    )


def labkit(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The answer of ``labkit`` to these arguments."""
    return python("-m", "labkit", *arguments, **environ)
