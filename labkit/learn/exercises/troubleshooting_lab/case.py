"""A case: what a person tells and sees, the evidence that can be asked for, and causes and fixes to choose from."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

from labkit.errors import LabkitError
from labkit.machine import simulate
from labkit.machine.probes.tools import TOOLS
from labkit.machine.report import command_in
from labkit.show import questions

_SIMULATED = "simulated: this machine exists only on paper"
_LIVE = "live: it happens here, in a process of its own"


@dataclass(frozen=True)
class Choice:
    """A cause or a fix on the list. ``why_not`` says why it is wrong for this very machine; it is empty for the right one."""

    key: str
    text: str
    why_not: str = ""


@dataclass(frozen=True, repr=False)
class Case:
    """One fault. ``str()`` and HTML show the story, what the person saw, and the two lists; never which choice is right.

    name: the exercise. seen: the text on the person's screen. pointer: where the decisive evidence lies (for hints).
    snapshot: the simulated machine; empty for a live fault.
    """

    name: str
    title: str
    story: str
    seen: str
    pointer: str
    causes: tuple[Choice, ...]
    fixes: tuple[Choice, ...]
    snapshot: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cause(self) -> str:
        """The key of the right cause."""
        return _right(self.causes)

    @property
    def fix(self) -> str:
        """The key of the right fix."""
        return _right(self.fixes)

    def ask(self, *topics: str) -> None:
        """Prints what this machine's snapshot holds on each topic; without a topic, what can be asked.

        A topic that other machines answer and this one does not (rocminfo on Windows) is an answer, too: it says so. Raises
        LabkitError for a live fault, which has no snapshot, and for a topic that no machine has.
        """
        if not self.snapshot:
            raise LabkitError("This fault is live: there is no snapshot to ask.", "Read what the cell above printed.")
        if not topics:
            print(questions.ask(self.snapshot))
        for topic in topics:
            missing = topic in _elsewhere() and topic not in questions.topics(self.snapshot)
            print(f"{topic}: no answer on this machine" if missing else questions.ask(self.snapshot, topic))

    @property
    def label(self) -> str:
        """The word of what this is: simulated, or live."""
        return _SIMULATED if self.snapshot else _LIVE

    def __str__(self) -> str:
        lines = [f"{self.title} ({self.label})", "", *textwrap.wrap(self.story, 100)]
        lines += ["", *(f"    {line}" for line in self.seen.splitlines())] if self.seen else []
        for head, choices in (("Causes", self.causes), ("Fixes", self.fixes)):
            lines += ["", f"{head} to choose from:"]
            width = max(len(choice.key) for choice in choices)
            lines += [f"  {choice.key:{width}}  {choice.text}" for choice in choices]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        seen = f"<pre style='{_PRE}'>{escape(self.seen)}</pre>" if self.seen else ""
        return (
            f"<div style='border:1px {'dashed' if self.snapshot else 'solid'} #999;border-radius:6px;padding:8px 14px;max-width:66em'>"
            f"<div><strong>{escape(self.title)}</strong> <span style='opacity:.75'>({escape(self.label)})</span></div>"
            f"<p style='margin:.5em 0'>{escape(self.story)}</p>{seen}"
            f"{_list('cause', self.causes)}{_list('fix', self.fixes)}</div>"
        )


_PRE = (
    "margin:.4em 0;padding:.4em .7em;border-radius:4px;background:rgba(127,127,127,.14);color:inherit;"
    "white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.35;font-family:monospace;font-size:.95em"
)
_CELL = (
    "text-align:left;vertical-align:top;padding:2px 14px 2px 0;color:inherit;background:transparent;white-space:normal"
)


_MEANS = {"cause": "what it means", "fix": "what would be done"}


@cache
def _elsewhere() -> frozenset[str]:
    """What some machine can be asked: tools and files of a full snapshot, and all that a simulated machine answers."""
    told = [questions.topics(simulate.snapshot(name)) for name in simulate.healthy()]
    return frozenset(
        ("modprobe", "gcc", *(tool.name for tool in TOOLS), *(topic for topics in told for topic in topics))
    )


def _list(word: str, choices: tuple[Choice, ...]) -> str:
    rows = "".join(
        f"<tr style='background:transparent'><td style='{_CELL}'><code style='white-space:nowrap;color:inherit;background:transparent'>"
        f"{escape(choice.key)}</code></td><td style='{_CELL}'>{_with_command(choice.text)}</td></tr>"
        for choice in choices
    )
    return (
        f"<table style='border-collapse:collapse;margin:.6em 0 0 0;color:inherit'><thead><tr style='background:transparent'>"
        f"<th scope='col' style='{_CELL}'>{word}</th><th scope='col' style='{_CELL}'>{_MEANS[word]}</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _with_command(text: str) -> str:
    words, command = command_in(text)
    code = "<code style='white-space:pre-wrap;overflow-wrap:anywhere;color:inherit;background:transparent'>{}</code>"
    return f"{escape(words)} {code.format(escape(command))}".strip() if command else escape(words)


def _right(choices: tuple[Choice, ...]) -> str:
    return next(choice.key for choice in choices if not choice.why_not)
