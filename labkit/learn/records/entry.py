"""What is remembered of one exercise or quiz, and its form in a file: one JSON object per line.

The first line of a file is ``{"labkit_progress": 1, "entries": 12}``, the others are entries. Pure functions, no files
here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

VERSION = 1
MOST_TRIES = 9999  # where counting stops, so that a loop around a check writes no more
KINDS = ("exercise", "quiz")

_NAME = re.compile(r"\w{1,64}")
_LESSON = re.compile(r"[0-9A-Za-z]{1,8}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Event:
    """One judged answer. day: as 2027-03-01. No source text, no person's name and no path is part of it."""

    name: str
    lesson: str
    kind: str
    passed: bool
    day: str


@dataclass(frozen=True)
class Entry:
    """Where somebody stands with one exercise or quiz.

    tries: judged answers up to the first right one, that one included. day: of the first right one, else of the last
    try. Once passed, it stays as it is.
    """

    name: str
    lesson: str
    kind: str
    passed: bool
    tries: int
    day: str


@dataclass(frozen=True)
class Content:
    """What could be read of a file. damaged: lines that could not. newer: a later version of labkit wrote it."""

    entries: Mapping[str, Entry]
    damaged: int = 0
    newer: bool = False


def after(entries: Mapping[str, Entry], event: Event) -> Entry:
    """The entry of the event's exercise once the event has happened."""
    old = entries.get(event.name)
    if old is not None and old.passed:
        return old
    tries = min(MOST_TRIES, (old.tries if old is not None else 0) + 1)
    capped = old is not None and tries == old.tries and not event.passed
    day = old.day if capped and old is not None else event.day
    return Entry(event.name, event.lesson, event.kind, event.passed, tries, day)


def merged(entries: Mapping[str, Entry], events: list[Event]) -> dict[str, Entry]:
    """All entries once all events have happened, in order."""
    found = dict(entries)
    for event in events:
        found[event.name] = after(found, event)
    return found


def dump(entries: Mapping[str, Entry]) -> bytes:
    """The whole file."""
    lines = [json.dumps({"labkit_progress": VERSION, "entries": len(entries)})]
    lines += [json.dumps(asdict(entries[name]), sort_keys=True) for name in sorted(entries)]
    return ("\n".join(lines) + "\n").encode()


def parse(data: bytes) -> Content:
    """Reads a file, whole or damaged. An empty one holds nothing and is not damaged."""
    entries: dict[str, Entry] = {}
    damaged = 0
    announced: object = None
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for line in lines:
        if not line.strip():
            continue
        row = _row(line)
        if "labkit_progress" in row:
            version = row["labkit_progress"]
            if isinstance(version, int) and version > VERSION:
                return Content({}, newer=True)
            announced = row.get("entries")
            continue
        entry = _entry(row)
        if entry is None:
            damaged += 1
            continue
        old = entries.get(entry.name)
        if old is None or (entry.passed, entry.tries) > (old.passed, old.tries):
            entries[entry.name] = entry
    if data.strip() and not damaged and announced != len(entries):
        damaged = 1  # the head or whole lines are missing
    return Content(entries, damaged)


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _entry(row: Mapping[str, Any]) -> Entry | None:
    """An entry, where every field is of the right form: so nothing else can come into a teacher's file either."""
    name, lesson, kind = row.get("name"), row.get("lesson"), row.get("kind")
    passed, tries, day = row.get("passed"), row.get("tries"), row.get("day")
    if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(lesson, str) and _LESSON.fullmatch(lesson)):
        return None
    if kind not in KINDS or not isinstance(passed, bool) or not isinstance(day, str) or not _DAY.fullmatch(day):
        return None
    if isinstance(tries, bool) or not isinstance(tries, int) or not 1 <= tries <= MOST_TRIES:
        return None
    return Entry(name, lesson, str(kind), passed, tries, day)
