"""What two widely read guides say about PyTorch on ROCm, and what is true: every claim with its verdict and its source.

The rows stand in ``claims.json``. One guide is about Windows, the other about Ubuntu; both are only paraphrased, in our
own words, and a command stands there because it is a fact. What a machine can show of a claim is a probe in
:mod:`labkit.folklore`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

from labkit.errors import LabkitError

VERDICTS: Mapping[str, str] = {
    "TRUE": "right, as it stands",
    "OUTDATED": "was right once; today there is something else, or it is on its way out",
    "WRONG": "not so",
    "MISLEADING": "something in it is right, and what a reader takes from it is not",
    "UNVERIFIABLE": "names no conditions under which it could be checked, or no source for it exists",
}

# In the order in which the guides go.
THEMES: Mapping[str, str] = {
    "windows": "Windows set-up",
    "ubuntu": "Ubuntu set-up",
    "wheels": "Wheels and versions",
    "variables": "Environment variables",
    "verification": "Verification",
    "training": "Training code",
    "memory": "Memory",
    "precision": "Mixed precision",
    "multi_gpu": "Several GPUs",
    "bandwidth": "Bandwidth",
    "monitoring": "Monitoring and profiling",
    "misconceptions": "Misconceptions",
}

GUIDES: Mapping[str, str] = {"1": "a Windows guide", "2": "an Ubuntu guide"}


@dataclass(frozen=True)
class Claim:
    """One claim. ``id`` is the guide's number and a running one, ``says`` our paraphrase, ``command`` what is typed ('' if
    nothing is), ``right`` what a learner should know instead or besides, ``lessons`` the ids of the lessons that treat it.

    ``probe`` names the function of :mod:`labkit.folklore.probes` that shows the claim on a machine; where there is none,
    ``why_no_probe`` says why, in one sentence.
    """

    id: str
    guide: str
    theme: str
    says: str
    command: str
    verdict: str
    right: str
    sources: tuple[str, ...]
    checked: str
    lessons: tuple[str, ...]
    probe: str
    why_no_probe: str


@lru_cache(maxsize=1)
def claims() -> Mapping[str, Claim]:
    """All claims by id, in the guides' order. ValueError for a row that is not whole: a fault of the table, not of its reader."""
    rows = json.loads((Path(__file__).parent / "claims.json").read_text(encoding="utf-8"))
    names = {field.name for field in fields(Claim)}
    table: dict[str, Claim] = {}
    for row in rows:
        if set(row) != names:
            raise ValueError(f"claims.json, {row.get('id')}: {sorted(set(row) ^ names)} missing or unknown")
        claim = Claim(**{**row, "sources": tuple(row["sources"]), "lessons": tuple(row["lessons"])})
        if claim.verdict not in VERDICTS or claim.theme not in THEMES or claim.guide not in GUIDES:
            raise ValueError(f"claims.json, {claim.id}: unknown verdict, theme or guide")
        if claim.id in table:
            raise ValueError(f"claims.json, {claim.id}: there twice")
        table[claim.id] = claim
    return table


def chosen(ids: Iterable[str] = (), theme: str | None = None) -> tuple[Claim, ...]:
    """The claims with these ids (none: all), of one theme if one is named, grouped by theme.

    LabkitError for an id or a theme that does not exist.
    """
    table = claims()
    wanted = list(ids) or list(table)
    unknown = [name for name in wanted if name not in table]
    if unknown:
        raise LabkitError(
            f"There is no claim {', '.join(unknown)}.",
            "Claims are numbered 1.1 to 1.56 and 2.1 to 2.37; without an id all are meant.",
        )
    if theme is not None and theme not in THEMES:
        raise LabkitError(f"There is no theme '{theme}'.", f"Themes are: {', '.join(THEMES)}.")
    order = list(THEMES)
    found = [claim for claim in table.values() if claim.id in wanted and theme in (None, claim.theme)]
    return tuple(sorted(found, key=lambda claim: order.index(claim.theme)))
