"""A file of rccl-tests that measured collectives are compared with. Works on a bare Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.comm import formulas
from labkit.errors import LabkitError

_WANTED = (
    "Give what all_reduce_perf or its relatives printed, for example: all_reduce_perf -b 8 -e 128M -f 2 -g 8 > rccl.txt"
)


@dataclass(frozen=True)
class Reference:
    """What the file says. ``facts``: as ``labkit.machine.readers`` gives it. ``collective``: its name in
    ``formulas.COLLECTIVES``; '' where the file does not tell it. ``rows``: those with a time or a bandwidth."""

    name: str
    facts: Mapping[str, Any]
    collective: str
    rows: tuple[Mapping[str, Any], ...]

    @property
    def ranks(self) -> int | None:
        found = self.facts.get("ranks")
        return int(found) if found else None


def read(path: str | Path) -> Reference:
    """The reference in a file. Raises LabkitError for one that cannot be read, is no output of rccl-tests, has no row
    of numbers, or is about a collective that is not measured here."""
    from labkit.machine import intake
    from labkit.machine.readers import recognise

    return reference(recognise.read_bytes(intake.read(path, recognise.LARGEST)), Path(path).name)


def reference(facts: Mapping[str, Any], name: str) -> Reference:
    """The reference that a reader's facts give; raises LabkitError as ``read`` does."""
    if facts.get("kind") != "rccl-tests":
        what = "nothing that labkit knows" if facts.get("kind") in (None, "unknown") else f"'{facts['kind']}'"
        raise LabkitError(f"{name} is no output of rccl-tests but {what}.", _WANTED)
    rows = tuple(row for row in facts.get("rows") or () if row.get("busbw_gbps") is not None and row.get("bytes"))
    if not any(row["busbw_gbps"] > 0 for row in rows):  # of a few bytes it is 0.00 in the file's two decimals
        raise LabkitError(f"{name} is of rccl-tests, but there is no size with a bandwidth in it.", _WANTED)
    told = str(facts.get("collective") or "")
    try:
        collective = formulas.name_of(told) if told else ""
    except LabkitError:
        raise LabkitError(
            f"{name} is about {told}, which is not measured here.",
            f"Compare one of: {', '.join(formulas.COLLECTIVES)}.",
        ) from None
    return Reference(name, facts, collective, rows)


def matching(found: Sequence[Any], other: Reference) -> tuple[Any, ...]:
    """The measured series of the collective that the file is about; all where it does not tell. Raises LabkitError where
    there is none."""
    series = tuple(s for s in found if s.kind == "collective" and other.collective in ("", s.name))
    if not series:
        about = formulas.LABELS.get(other.collective, "collectives")
        raise LabkitError(
            f"{other.name} is about {about}, of which there is no measurement here.",
            "Measure with: python3 -m labkit bench collectives",
        )
    return series
