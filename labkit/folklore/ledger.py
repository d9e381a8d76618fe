"""The ledger as text for a terminal, and as data."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from labkit.catalog.claims import GUIDES, THEMES, VERDICTS, Claim
from labkit.folklore.observation import SEEN, Outcome

_INDENT = 6


def as_text(claims: Sequence[Claim], outcomes: Mapping[str, Outcome] | None = None, *, width: int = 96) -> str:
    """The claims, grouped by theme, with verdict and what is right; with ``outcomes`` (by id) also what this machine saw."""
    parts = []
    for theme, title in THEMES.items():
        rows = [claim for claim in claims if claim.theme == theme]
        if rows:
            parts.append(f"{title}\n{'=' * len(title)}")
            parts.extend(_entry(claim, outcomes, width) for claim in rows)
    parts.append(_summary(claims, outcomes, width))
    return "\n\n".join(parts)


def _entry(claim: Claim, outcomes: Mapping[str, Outcome] | None, width: int) -> str:
    lines = _wrapped(f"{claim.id:<{_INDENT}}", f"{claim.verdict}: {claim.says}", width)
    if claim.command:
        lines.append(f"{'':{_INDENT}}    {claim.command}")
    lines += _wrapped(" " * _INDENT, f"{'' if claim.verdict == 'TRUE' else 'What is right: '}{claim.right}", width)
    if outcomes is not None:
        lines += _wrapped(" " * _INDENT, _seen(outcomes[claim.id]), width)
    lessons = f"lesson {claim.lessons[0]}" if len(claim.lessons) == 1 else f"lessons {', '.join(claim.lessons)}"
    lines += _wrapped(
        " " * _INDENT, f"({GUIDES[claim.guide]}; {lessons}; {'; '.join(claim.sources)}; {claim.checked})", width
    )
    return "\n".join(lines)


def _wrapped(first: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _seen(outcome: Outcome) -> str:
    what = outcome.observation
    if what.saw == "broken":
        return f"The probe came to no end: {what.evidence}"
    if outcome.agrees is None:
        return f"Not shown here: {what.evidence}" if outcome.claim.probe else f"No probe: {what.evidence}"
    fits = "as the verdict says" if outcome.agrees else "NOT AS THE VERDICT SAYS"
    return f"Seen here, {fits}: {SEEN[what.saw]}. {what.evidence}"


def _summary(claims: Sequence[Claim], outcomes: Mapping[str, Outcome] | None, width: int) -> str:
    if not claims:
        return "None of these claims is of that theme."
    counts = Counter(claim.verdict for claim in claims)
    verdicts = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    told = f"{len(claims)} claim{'' if len(claims) == 1 else 's'}: {verdicts}."
    if outcomes is None:
        told += " With --run the probes show on this machine what can be shown."
    else:
        mine = [outcomes[claim.id] for claim in claims]
        apart = [outcome.claim.id for outcome in mine if outcome.agrees is False]
        broken = [outcome.claim.id for outcome in mine if outcome.observation.saw == "broken"]
        unmet = sum(outcome.agrees is None and bool(outcome.claim.probe) for outcome in mine) - len(broken)
        told += (
            f" Shown here as the verdict says: {sum(outcome.agrees is True for outcome in mine)}. Not as it says: {_counted(apart)}. "
            f"Not shown, this machine lacks something: {unmet}. Came to no end: {_counted(broken)}. "
            f"Without a probe: {sum(not outcome.claim.probe for outcome in mine)}."
        )
    return "\n".join(textwrap.wrap(told, width))


def _counted(ids: Sequence[str]) -> str:
    return f"{len(ids)} ({','.join(ids)})" if ids else "0"


def as_json(claims: Sequence[Claim], outcomes: Mapping[str, Outcome] | None = None) -> list[dict[str, Any]]:
    """The claims as rows of JSON; with ``outcomes`` each has 'saw', 'holds', 'evidence', 'agrees' and 'seconds' besides."""
    rows = []
    for claim in claims:
        row = asdict(claim)
        if outcomes is not None:
            outcome = outcomes[claim.id]
            what = outcome.observation
            row |= {"saw": what.saw, "holds": what.holds, "evidence": what.evidence, "agrees": outcome.agrees}
            row["seconds"] = round(outcome.seconds, 3)
        rows.append(row)
    return rows
