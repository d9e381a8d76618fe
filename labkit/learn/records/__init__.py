"""Progress: which exercises and quizzes somebody has passed, in one small file on their own machine.

``note`` is called after each judged answer and never raises for a file that cannot be written: what is not saved yet is
kept in this kernel and saved with the next answer. Under ``labkit run``, in tests, in CI and in a kernel that nobody
watches nothing is written; then the progress is that of this kernel alone.
"""

from __future__ import annotations

import datetime
import threading

from labkit.learn.records import file, place
from labkit.learn.records.entry import Entry, Event, after, merged

__all__ = ["Entry", "entries", "note", "where"]

_MOST_WAITING = 2000

_guard = threading.Lock()
_here: dict[str, Entry] = {}  # what this kernel has seen
_waiting: list[Event] = []  # what could not be saved yet
_told: set[str] = set()
_person = False  # somebody watched this kernel once; a widget's own messages do not say so


def where() -> place.Place:
    """The file to which this process writes, or none and why."""
    global _person
    headless = False
    if not _person:
        from labkit.learn import stage

        if stage.in_kernel():
            _person = stage.watched()
            headless = not _person
    return place.writable(headless=headless)


def note(name: str, lesson: str, kind: str, passed: bool) -> str:
    """Remembers one judged answer; gives back a sentence for the learner where there is something to say, mostly ''."""
    with _guard:
        event = Event(name, lesson, kind, passed, datetime.date.today().isoformat())
        _here[name] = after(_here, event)
        path = where().path
        if path is None:
            return ""
        if len(_waiting) < _MOST_WAITING or passed:
            _waiting.append(event)
        try:
            saved = file.save(path, list(_waiting))
        except file.CannotSave as problem:
            return _once("save", f"NOTE: your progress is not saved ({problem}). The check itself works.")
        _waiting.clear()
        _told.discard("save")
        if saved.aside is None:
            return ""
        return (
            f"NOTE: the file with your progress was damaged. What could be read is kept ({len(saved.entries)} entries); "
            f"the old file lies beside it as {saved.aside.name}."
        )


def entries() -> dict[str, Entry]:
    """What is known: the file, where there is one, and what this kernel has not saved yet; else this kernel's own."""
    with _guard:
        path = where().path
        if path is None:
            return dict(_here)
        try:
            return merged(file.load(path).entries, _waiting)
        except file.CannotSave:
            return dict(_here)


def start_anew() -> None:
    """Forgets what this process holds in memory; the file stays as it is."""
    global _person
    with _guard:
        _here.clear()
        _waiting.clear()
        _told.clear()
        _person = False


def _once(topic: str, sentence: str) -> str:
    if topic in _told:
        return ""
    _told.add(topic)
    return sentence
