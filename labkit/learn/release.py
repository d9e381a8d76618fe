"""Whether a solution may be shown now: a teacher's switch. Without one, solutions are always shown. Standard library only.

The environment variable LABKIT_SOLUTIONS holds ``on``, ``tried`` (only after a right answer or three wrong ones) or ``off``;
or the path of a file, which is read at each call, so that a teacher can release solutions to kernels that already run. The
file holds one of these words, and may hold further lines for single lessons, the last of which counts::

    off
    01 on
    02 tried

A switch that cannot be read withholds. It is a courtesy and no lock: who can read notebooks/solutions can read them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "LABKIT_SOLUTIONS"
WORDS = ("on", "tried", "off")
ENOUGH = 3  # wrong answers after which ``tried`` shows a solution
_LINE = re.compile(r"(?:(\d\d)\s+)?(on|tried|off)")


@dataclass(frozen=True)
class Switch:
    """What the teacher's switch says: a word for every lesson, and words for single ones (by id)."""

    word: str = "on"
    lessons: Mapping[str, str] | None = None
    problem: str = ""

    def of(self, lesson: str) -> str:
        """``on``, ``tried`` or ``off`` for the lesson of this id."""
        return (self.lessons or {}).get(lesson, self.word)


def switch(environ: Mapping[str, str] | None = None) -> Switch:
    """What LABKIT_SOLUTIONS says now; never raises. What cannot be understood is ``off``, with the problem in words."""
    value = _value(environ)
    if not value:
        return Switch()
    if value.lower() in WORDS:
        return Switch(value.lower())
    path = file(environ)
    if path is None:
        return Switch("off", problem=f"{VARIABLE} is '{value}'; it must be {', '.join(WORDS)} or the path of a file")
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return Switch("off", problem=f"the file that {VARIABLE} names cannot be read ({reason})")
    return parse(text)


def file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The file that LABKIT_SOLUTIONS names, which need not be there; None where it names none."""
    value = _value(environ)
    return Path(value) if re.search(r"[/\\.]", value) else None


def _value(environ: Mapping[str, str] | None) -> str:
    return (os.environ if environ is None else environ).get(VARIABLE, "").strip()


def parse(text: str) -> Switch:
    """The switch in the text of a file. A line that is none withholds everything, and is named."""
    word, lessons = "off", {}
    for line in text.splitlines():
        line = line.split("#")[0].strip().lower()
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            return Switch("off", problem=f"the teacher's file has the line '{line[:40]}', which is no switch")
        if match[1]:
            lessons[match[1]] = match[2]
        else:
            word = match[2]
    return Switch(word, lessons)


def withheld(now: Switch, name: str, lesson: str, *, passed: bool, tries: int) -> str:
    """'' where the solution of this exercise may be shown; else the sentence that stands in its place.

    now: what the switch says.
    passed, tries: whether it was answered right, and how many wrong answers there were.
    """
    word = now.of(lesson)
    if word == "on" or (word == "tried" and (passed or tries >= ENOUGH)):
        return ""
    push = f'hint("{name}") gives a push.'
    if now.problem:
        return f"Solutions are withheld here: {now.problem}. Tell your teacher. Until then {push}"
    if word == "tried":
        left = ENOUGH - tries
        return f"The solution is shown after {left} more {'try' if left == 1 else 'tries'}. Until then {push}"
    return f"Your teacher has not released the solutions of lesson {lesson} yet. Until then {push}"
