"""The list of lessons for the start page: what course.toml says, how far this learner is, and what to do next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.course import table
from labkit.course.table import Course
from labkit.errors import LabkitError
from labkit.jupyter import pristine
from labkit.learn import lessons as contents
from labkit.learn import overview
from labkit.learn.records.entry import Entry

VARIABLE = "LABKIT_NOTEBOOKS"


def folder_of(root: Path, course: Course, environ: Mapping[str, str] | None = None) -> Path:
    """The learner's folder with the lessons: what LABKIT_NOTEBOOKS names, else ``root`` or its ``notebooks``, whichever has some.

    Raises LabkitError where the named folder is outside ``root``: the browser could not open what is in it.
    """
    environ = os.environ if environ is None else environ
    named = environ.get(VARIABLE, "").strip()
    if named:
        try:
            folder = (root / Path(named).expanduser()).resolve()
        except (RuntimeError, OSError):  # ~somebody who is not here, or links that go round in circles
            raise LabkitError(f"{VARIABLE} names {named}, which is no folder here.", "correct it.") from None
        if not folder.is_relative_to(root.resolve()):
            raise LabkitError(
                f"{VARIABLE} names {named}, which is outside of the folder that this Jupyter shows ({root}).",
                "name a folder inside of it, or start Jupyter one folder higher.",
            )
        return root / folder.relative_to(root.resolve())  # as the browser opens it, also where root is a link
    for folder in (root, root / "notebooks"):
        if any((folder / lesson.path.name).is_file() for lesson in course.lessons):
            return folder
    return root


def listing(root: Path, course: Course | None = None, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What ``GET labkit/lessons`` answers, as described in ``described``. Raises LabkitError where the table cannot be read."""
    course = table.load() if course is None else course
    folder = folder_of(root, course, environ)
    published = pristine.find([lesson.path.name for lesson in course.lessons], folder, environ)
    entries, note = overview.known()
    return described(course, folder, published, entries, root=root, note=note)


def described(
    course: Course,
    folder: Path,
    published: pristine.Published,
    entries: Mapping[str, Entry],
    *,
    root: Path,
    note: str = "",
) -> dict[str, Any]:
    """The list as a mapping for JSON.

    ``course``: its title; ``note``: a sentence about the progress file, mostly ""; ``no_reset``: why a lesson cannot be reset, mostly "";
    ``next``: {"lesson", "words"} of what to do next; ``passed``, ``of``: of the whole course; ``lessons``: in order, each with id, title,
    summary, minutes, level, needs, file (as the browser opens it), exists, copy ("as published", "run", "edited", "missing" or "unknown"),
    exercises and quizzes (each {"passed", "of"}), begun and done.
    """
    known = _items(folder, published)
    rows = []
    for lesson in course.lessons:
        path = folder / lesson.path.name
        copy = _copy(path, published.notebooks.get(path.name))
        items = known.get(lesson.id, ())
        counts = {kind: _counted(items, kind, entries) for kind in ("exercise", "quiz")}
        tried = [entries[item.name] for item in items if item.name in entries]
        passed, of = (sum(count[key] for count in counts.values()) for key in ("passed", "of"))
        begun = bool(tried) or copy in ("run", "edited")
        rows.append(
            {
                "id": lesson.id,
                "title": lesson.title,
                "summary": lesson.summary,
                "minutes": lesson.minutes,
                "level": lesson.level,
                "needs": list(lesson.needs),
                "file": path.relative_to(root).as_posix(),
                "exists": path.is_file(),
                "copy": copy,
                "exercises": counts["exercise"],
                "quizzes": counts["quiz"],
                "passed": passed,
                "of": of,
                "begun": begun,
                "done": passed == of if of else begun,
                "last_day": max((entry.day for entry in tried), default=""),
            }
        )
    return {
        "course": course.title,
        "note": note,
        "no_reset": published.why,
        "next": following(rows),
        "passed": sum(row["passed"] for row in rows),
        "of": sum(row["of"] for row in rows),
        "minutes": sum(row["minutes"] for row in rows),
        "lessons": rows,
    }


def following(rows: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
    """What to do next: begin, go on with what was worked on last, or the next lesson; None where all is done."""
    begun = [row for row in rows if row["begun"] and not row["done"]]
    if begun:
        last = max(begun, key=lambda row: (row["last_day"], row["id"]))
        return {"lesson": last["id"], "words": f"Go on with lesson {last['id']}"}
    fresh = next((row for row in rows if not row["done"]), None)
    if fresh is None:
        return None
    word = "Next" if any(row["begun"] for row in rows) else "Begin"
    return {"lesson": fresh["id"], "words": f"{word}: lesson {fresh['id']}"}


def _items(folder: Path, published: pristine.Published) -> dict[str, tuple[contents.Item, ...]]:
    """What each lesson holds, from its published notebook; from the learner's where there is none."""
    found: dict[str, tuple[contents.Item, ...]] = {}
    paths = {path.name: path for path in folder.glob("[0-9][0-9]_*.ipynb") if "." not in path.stem}
    for name in sorted({*paths, *published.notebooks}):
        try:
            content = published.notebooks[name] if name in published.notebooks else paths[name].read_bytes()
            found[name[:2]] = contents.items(content.decode("utf-8"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # a notebook that cannot be read has no exercises; the list still shows the lesson
    return found


def _counted(items: Sequence[contents.Item], kind: str, entries: Mapping[str, Entry]) -> dict[str, int]:
    names = [item.name for item in items if item.kind == kind]
    return {"passed": sum(name in entries and entries[name].passed for name in names), "of": len(names)}


def _copy(path: Path, published: bytes | None) -> str:
    if not path.is_file():
        return "missing"
    if published is None:
        return "unknown"
    try:
        return pristine.compared(path.read_bytes(), published)
    except OSError:
        return "unknown"
