"""The parts of ``labkit bench``, and what is wrong with what was asked for. Works on a bare Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labkit.errors import LabkitError

PARTS = ("copy", "memory", "gemm", "collectives")
SECONDS = 3.0
"""About so long each part measures, unless somebody says otherwise."""


def check(
    what: Sequence[str],
    seconds: float = SECONDS,
    output: str | None = None,
    *,
    against: str | None = None,
    figure: str | None = None,
    earlier: str | None = None,
) -> None:
    """Raises LabkitError for a part that there is none of, a time that is not positive, a file that has no folder, or one
    that is not there to read."""
    for part in what:
        if part not in PARTS:
            raise LabkitError(f"There is nothing called '{part}' to measure.", f"Choose from: {', '.join(PARTS)}.")
    if not 0 < seconds <= 3600:
        raise LabkitError(f"{seconds:g} seconds is no time to measure in.", "Give --seconds from above 0 to 3600.")
    for target, example in ((output, "bench.json"), (figure, "collectives.png")):
        if target and not Path(target).resolve().parent.is_dir():
            raise LabkitError(
                f"{target} lies in a folder that is not there.", "Make the folder, or choose another place."
            )
        if target and Path(target).is_dir():
            raise LabkitError(f"{target} is a folder.", f"Name a file, for example {example}.")
    if figure and Path(figure).suffix.lower() != ".png":
        raise LabkitError(
            f"{figure} does not end in .png, and the figure is a PNG.", "Name it collectives.png, for example."
        )
    if (against or figure) and what and "collectives" not in what:
        option = "--against" if against else "--figure"
        raise LabkitError(
            f"{option} is about collectives, and only {', '.join(what)} was asked for.", "Name collectives as well."
        )
    for source in (against, earlier):
        if source and not Path(source).exists():
            raise LabkitError(f"There is no file {source}.", "Check the name.")
