"""The file by which the owner of a machine says that the lessons ran there: made, named, checked, read.

Standard library only at import: a contributed file is checked on a bare Python. Its form stands in ``shape``, what makes it
plausible in ``plausible``, what must not be in it in ``personal``; ``make`` writes one from a run of the course.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from labkit.importable import ROOT

REPORTS = ROOT / "reports"
"""The folder of contributions."""


def main(options: argparse.Namespace) -> int:
    """``labkit report make`` and ``labkit report check``; returns the exit status."""
    return int(import_module(f"labkit.course.contributed.{options.subcommand}").main(options))
