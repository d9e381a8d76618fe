"""The strip at a lesson's end: which exercises and quizzes are passed, which are open, and what comes next."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.learn import lessons, records, stage
from labkit.learn.records.entry import Entry

_CHIP = (
    "display:inline-block;margin:2px 6px 2px 0;padding:1px 9px;border-radius:12px;color:inherit;"
    "background:transparent;font-size:.95em;line-height:1.6;"
)
_PASSED = _CHIP + "border:2px solid #0072B2;font-weight:600"  # the course's blue; shape and sign say it too
_OPEN = _CHIP + "border:2px dashed currentColor;opacity:.85"


@dataclass(frozen=True)
class Strip:
    """Where somebody stands in one lesson. ``str()`` is the text, in a notebook it is a row of marks.

    lesson: what it holds. entries: what is known, by name. next_title: the next lesson's title, '' after the last.
    saved: False where the progress lives in this kernel only, why: the reason.
    """

    lesson: lessons.Lesson
    entries: Mapping[str, Entry]
    next_title: str = ""
    saved: bool = True
    why: str = ""

    @property
    def passed(self) -> tuple[str, ...]:
        """The names of what is passed, in the order of the lesson."""
        return tuple(item.name for item in self.lesson.items if self._is_passed(item.name))

    @property
    def open(self) -> tuple[str, ...]:
        """The names of what is still open, in the order of the lesson."""
        return tuple(item.name for item in self.lesson.items if not self._is_passed(item.name))

    def _is_passed(self, name: str) -> bool:
        entry = self.entries.get(name)
        return entry is not None and entry.passed

    def _head(self) -> str:
        return f"Lesson {self.lesson.id}: {len(self.passed)} of {len(self.lesson.items)} passed."

    def advice(self) -> str:
        """What to do next, in one sentence."""
        if self.open:
            name = self.open[0]
            entry = self.entries.get(name)
            if entry is not None and entry.tries >= 3:
                return f'Next: {name}. {entry.tries} tries so far; hint("{name}") gives a push, solution("{name}") shows one way.'
            return f"Next: {name}."
        return f"All done here. Next lesson: {self.next_title}." if self.next_title else "All done here."

    def _note(self) -> str:
        return "" if self.saved else f"Kept in this kernel only: {self.why}."

    def __str__(self) -> str:
        if not self.lesson.items:
            return f"Lesson {self.lesson.id} has no exercises. {self.advice()}"
        rows = [self._head()]
        if self.passed:
            rows.append(f"  passed: {', '.join(self.passed)}")
        if self.open:
            rows.append(f"  open:   {', '.join(self.open)}")
        rows.append(f"  {self.advice()}")
        return "\n".join([*rows, *([f"  {self._note()}"] if self._note() else [])])

    __repr__ = __str__

    def as_html(self) -> str:
        """The strip as HTML. It takes the page's own colours, so that it reads on light and dark ground."""
        if not self.lesson.items:
            return f"<p>{html.escape(str(self))}</p>"
        marks = "".join(
            f'<li style="display:inline;list-style:none"><span style="{_PASSED if done else _OPEN}">'
            f'<span aria-hidden="true">{"✔" if done else "○"}</span> {html.escape(item.name)}'
            f"{' <small>(quiz)</small>' if item.kind == 'quiz' else ''}"
            f'<span style="position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)">'
            f"{', passed' if done else ', open'}</span></span></li>"
            for item in self.lesson.items
            for done in (self._is_passed(item.name),)
        )
        note = f'<div style="opacity:.75;font-size:.9em">{html.escape(self._note())}</div>' if self._note() else ""
        return (
            f'<div class="labkit-progress" role="group" aria-label="Progress in lesson {html.escape(self.lesson.id)}" '
            f'style="position:relative;color:inherit;max-width:66em">'
            f"<strong>{html.escape(self._head())}</strong>"
            f'<ul style="margin:.4em 0;padding:0">{marks}</ul>'
            f"<div>{html.escape(self.advice())}</div>{note}</div>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Marks and text; for somebody who watches also a button that looks again."""
        shown: dict[str, Any] = {"text/plain": str(self), "text/html": self.as_html()}
        if stage.watched():
            from labkit.learn import panel

            shown.update(panel.view_of(panel.strip_box(self.as_html, lambda: strip(self.lesson.id).as_html())))
        return shown


def strip(lesson: str) -> Strip:
    """The strip of a lesson, for example ``"02"``. Raises LabkitError for a lesson that does not exist."""
    one = lessons.lesson(lesson)
    after = lessons.following(one)
    place = records.where()
    return Strip(
        one, records.entries(), f"{after.id} · {after.title}" if after else "", place.path is not None, place.why
    )
