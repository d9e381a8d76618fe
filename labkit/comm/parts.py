"""The parts of ``labkit bench``, and what is wrong with what was asked for. Works on a bare Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labkit.errors import LabkitError

PARTS = ("copy", "memory", "gemm", "collectives")
SECONDS = 3.0
"""About so long each part measures, unless somebody says otherwise."""


def check(what: Sequence[str], seconds: float = SECONDS, output: str | None = None) -> None:
    """Raises LabkitError for a part that there is none of, a time that is not positive, or a file that has no folder."""
    for part in what:
        if part not in PARTS:
            raise LabkitError(f"There is nothing called '{part}' to measure.", f"Choose from: {', '.join(PARTS)}.")
    if not 0 < seconds <= 3600:
        raise LabkitError(f"{seconds:g} seconds is no time to measure in.", "Give --seconds from above 0 to 3600.")
    if output and not Path(output).resolve().parent.is_dir():
        raise LabkitError(f"{output} lies in a folder that is not there.", "Make the folder, or choose another place.")
    if output and Path(output).is_dir():
        raise LabkitError(f"{output} is a folder.", "Name a file, for example bench.json.")
