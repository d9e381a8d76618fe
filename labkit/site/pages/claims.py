"""The page of the ledger: what two guides say, and what is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from labkit.catalog.claims import GUIDES, THEMES, VERDICTS, Claim, chosen
from labkit.course import table
from labkit.folklore import registry
from labkit.folklore.observation import SEEN
from labkit.site.pages import markup
from labkit.site.pages.markup import Choice, Row

_INTRO = """\
{count} claims of two much copied guides to PyTorch on ROCm, in our own words, each with a verdict, what is right instead or
besides, and where that is written. {lesson} lets you guess first.

{verdicts}

Where a machine can show a claim there is a *probe*: a small program that looks. `python3 -m labkit claims 2.16 --run` runs it
on yours.{here}
"""
_HERE = " Where this site was built they ran {when}; what each saw there stands in its row."

_KIND = {"TRUE": "good", "OUTDATED": "warn", "WRONG": "bad", "MISLEADING": "warn", "UNVERIFIABLE": "plain"}
_NEEDS = {
    "torch": "PyTorch",
    "rocm-build": "PyTorch's ROCm build",
    "rocm-torch": "PyTorch's ROCm build on an AMD GPU",
    "amd-gpu": "an AMD GPU",
    "windows": "Windows",
}


def page(
    lesson_address: Callable[[str], str],
    observed: Mapping[str, Mapping[str, Any]] | None = None,
    observed_when: str = "",
) -> str:
    """The document, Markdown for MyST.

    Args:
        lesson_address: address of a lesson's page, relative to this one, from its label ('11_folklore').
        observed: by a claim's id what its probe saw where the site was built, as rows of ``labkit claims --run --json``.
        observed_when: when and with what it was seen, in words.
    """
    rows = chosen()
    labels = {lesson.id: lesson.label for lesson in table.load().lessons}
    counts = Counter(row.verdict for row in rows)
    verdicts = "\n".join(f"- **{name}** ({counts[name]}): {meaning}." for name, meaning in VERDICTS.items())
    shown = (("yes", "by a probe"), ("here", "where this site was built"), ("no", "by no probe"))
    ledger = markup.table(
        "claims",
        "The ledger of claims",
        ("Claim", "What the guide says", "What is right", "Shown by", "Source"),
        [_row(row, labels, lesson_address, (observed or {}).get(row.id)) for row in rows],
        (
            Choice("verdict", "Verdict", markup.options(VERDICTS)),
            Choice("theme", "Theme", tuple(THEMES.items())),
            Choice(
                "guide",
                "Guide",
                tuple((key, words.removeprefix("an ").removeprefix("a ")) for key, words in GUIDES.items()),
            ),
            Choice("shown", "Shown", shown if observed else (shown[0], shown[2])),
        ),
        widths=(14, 25, 29, 17, 15),
    )
    intro = _INTRO.format(
        count=len(rows),
        verdicts=verdicts,
        lesson=_lesson(lesson_address, labels, "11", "Lesson 11"),
        here=_HERE.format(when=observed_when) if observed else "",
    )
    return f"{markup.HEAD}# Claims\n\n{intro}\n{ledger}"


def _row(
    claim: Claim,
    labels: Mapping[str, str],
    lesson_address: Callable[[str], str],
    seen: Mapping[str, Any] | None,
) -> Row:
    lessons = ", ".join(_lesson(lesson_address, labels, one, f"lesson {one}") for one in claim.lessons)
    says = markup.text(claim.says) + (f"<br>{markup.code(claim.command)}" if claim.command else "")
    says += markup.labelled(
        (("in", f"{markup.text(GUIDES[claim.guide])}, {markup.text(THEMES[claim.theme])}"), ("treated in", lessons))
    )
    here = seen is not None and seen.get("agrees") is not None
    return Row(
        (
            f"{markup.text(claim.id)}<br>{markup.badge(claim.verdict.lower(), _KIND[claim.verdict])}",
            says,
            markup.text(claim.right),
            _shown(claim, seen),
            markup.sources(claim.sources, claim.checked),
        ),
        f"claim-{claim.id}",
        {
            "verdict": (claim.verdict,),
            "theme": (claim.theme,),
            "guide": (claim.guide,),
            "shown": (("yes", "here") if here else ("yes",)) if claim.probe else ("no",),
        },
    )


def _lesson(address: Callable[[str], str], labels: Mapping[str, str], lesson: str, words: str) -> str:
    return markup.link(address(labels[lesson]), words) if lesson in labels else markup.text(words)


def _shown(claim: Claim, seen: Mapping[str, Any] | None) -> str:
    probe = registry.find(claim)
    if probe is None:
        return markup.labelled((("no probe", markup.text(claim.why_no_probe)),))
    needs = ", ".join(_need(one) for one in probe.needs) or "nothing but Python"
    parts = [("probe", markup.code(probe.name)), ("needs", markup.text(needs))]
    if seen is not None:
        word = SEEN.get(str(seen.get("saw")), "not shown there")
        parts.append(("where this site was built", markup.text(f"{word}. {seen.get('evidence', '')}")))
    return markup.labelled(parts)


def _need(need: str) -> str:
    kind, _, name = need.partition(":")
    if kind in ("module", "tool"):
        return f"the {'package' if kind == 'module' else 'program'} {name}"
    return _NEEDS.get(kind, need)
