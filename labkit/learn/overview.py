"""What ``labkit progress`` says and exports: each lesson with what is passed in it. Standard library only.

The export is one JSON object for a teacher; it holds no name of a person, no path, no source text and no time of day:

- ``labkit_progress_export``: 1, the version of this form;
- ``course``: "ROCm Labs"; ``labkit``: its version; ``exported``: the day, as 2027-03-01;
- ``passed``, ``of``: how many exercises and quizzes of the whole course are passed, and how many there are;
- ``lessons``: in order, each with ``lesson`` ("02"), ``title``, ``passed``, ``of`` and ``items``; an item has ``name``,
  ``kind`` ("exercise" or "quiz"), ``passed`` (true or false), ``tries`` (judged answers up to the first right one; 0: not
  begun) and ``day`` (of the first right answer, else of the last try; null: not begun).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.learn import lessons as course
from labkit.learn.records import file, place
from labkit.learn.records.entry import Entry
from labkit.machine import intake

EXPORT_VERSION = 1
NO_EXPORT = "ask for the file that 'python3 -m labkit progress --export FILE' wrote."
"""What to do about a file that is no export."""
_MOST_BYTES = 2_000_000  # an export of the whole course has some 30 kB
_WIDTH = 20


def known() -> tuple[dict[str, Entry], str]:
    """What the progress file holds, and a sentence about it where something is to be said about it, else ''."""
    where = place.chosen()
    if where.path is None:
        return {}, f"No progress is kept here: {where.why}."
    try:
        content = file.load(where.path)
    except file.CannotSave as problem:
        return {}, f"The progress cannot be read ({problem})."
    if content.newer:
        return {}, f"A newer labkit wrote {where.path}: update the course (git pull) to read it."
    if content.damaged:
        return dict(
            content.entries
        ), f"{where.path} is damaged; {len(content.entries)} entries could be read. The next check mends it."
    return dict(content.entries), ""


def as_text(entries: Mapping[str, Entry], notebooks: Path | None = None) -> str:
    """A table of the lessons that have exercises, and under it what is open where something is begun."""
    rows: list[str] = []
    passed = total = 0
    found = [one for one in course.lessons(notebooks) if one.items]
    width = max((len(one.title) for one in found), default=0)
    for one in found:
        done = [item.name for item in one.items if _passed(entries, item.name)]
        begun = [item.name for item in one.items if item.name in entries]
        passed, total = passed + len(done), total + len(one.items)
        bar = "#" * round(_WIDTH * len(done) / len(one.items))
        rows.append(f"{one.id}  {one.title:{width}}  [{bar:.<{_WIDTH}}]  {len(done):2} of {len(one.items):2}")
        left = [item.name for item in one.items if item.name not in done]
        if begun and left:
            rows.append(f"    open: {', '.join(_with_tries(name, entries) for name in left)}")
    rows.append(f"{passed} of {total} passed.")
    return "\n".join(rows)


def export(entries: Mapping[str, Entry], notebooks: Path | None = None) -> dict[str, Any]:
    """What a teacher gets, as described above. Entries of exercises that the course no longer has are left out."""
    import labkit

    rows = [_lesson(one, entries) for one in course.lessons(notebooks) if one.items]
    return {
        "labkit_progress_export": EXPORT_VERSION,
        "course": "ROCm Labs",
        "labkit": labkit.__version__,
        "exported": datetime.date.today().isoformat(),
        "passed": sum(row["passed"] for row in rows),
        "of": sum(row["of"] for row in rows),
        "lessons": rows,
    }


def read(path: Path) -> dict[str, Any]:
    """An export that somebody handed in: ``passed``, ``of``, ``lessons``; of each lesson and item only what a table needs.

    What it sums up is counted anew, and of names only the first characters are taken. Raises LabkitError for a file that
    is none.
    """
    content = intake.read(path, _MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise LabkitError(f"{path.name} is far too large for a progress file.", NO_EXPORT)
    try:
        told = json.loads(content.decode("utf-8-sig"))
        if told["labkit_progress_export"] != EXPORT_VERSION:
            raise LabkitError(f"{path.name} is of another version of labkit.", "update the course (git pull).")
        rows = [_told(lesson) for lesson in told["lessons"]]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise LabkitError(f"{path.name} is no progress file of this course.", NO_EXPORT) from None
    return {"passed": sum(row["passed"] for row in rows), "of": sum(row["of"] for row in rows), "lessons": rows}


def _told(lesson: Mapping[str, Any]) -> dict[str, Any]:
    items = [
        {"name": str(item["name"])[:80], "passed": item["passed"] is True, "tries": max(0, int(item["tries"]))}
        for item in lesson["items"]
    ]
    done = sum(bool(item["passed"]) for item in items)
    return {"lesson": str(lesson["lesson"])[:20], "passed": done, "of": len(items), "items": items}


def _lesson(one: course.Lesson, entries: Mapping[str, Entry]) -> dict[str, Any]:
    items = [
        {
            "name": item.name,
            "kind": item.kind,
            "passed": _passed(entries, item.name),
            "tries": entries[item.name].tries if item.name in entries else 0,
            "day": entries[item.name].day if item.name in entries else None,
        }
        for item in one.items
    ]
    done = sum(bool(item["passed"]) for item in items)
    return {"lesson": one.id, "title": one.title, "passed": done, "of": len(items), "items": items}


def _passed(entries: Mapping[str, Entry], name: str) -> bool:
    return name in entries and entries[name].passed


def _with_tries(name: str, entries: Mapping[str, Entry]) -> str:
    tries = entries[name].tries if name in entries else 0
    return f"{name} ({tries} {'try' if tries == 1 else 'tries'})" if tries else name
