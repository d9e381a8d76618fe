"""Executed lessons, each with the facts of its execution: from the cache, executed just now, or from somebody's `labkit run -o`.

What is shown on the site is only ever an execution of exactly the notebook that is committed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course import execute, files, form, report
from labkit.course.table import Lesson
from labkit.errors import LabkitError
from labkit.site import freshness

CACHE = execute.BUILD / "site-executed"
PROFILE = "quick"

Execute = Callable[[Sequence[Lesson], Path], object]


@dataclass(frozen=True)
class Executed:
    """A lesson that ran whole: the notebook with its outputs, its row of the report, and the machine's facts."""

    lesson: Lesson
    notebook: dict[str, Any]
    row: Mapping[str, Any]
    machine: Mapping[str, Any]
    profile: str


def run_now(lessons: Sequence[Lesson], output: Path) -> object:
    """Executes the lessons one after another, so that their measurements do not disturb each other."""
    return execute.run_lessons(lessons, profile=PROFILE, output=output, kept=False)


def up_to_date(
    lessons: Sequence[Lesson],
    cache: Path = CACHE,
    *,
    execute_lessons: Execute = run_now,
    key_of: Callable[[Lesson], str] | None = None,
) -> list[Executed]:
    """All lessons, executed; only those are executed now whose notebook, code or PyTorch changed since the cache was filled.

    Args:
        cache: folder that this function keeps; what ran is in it also when another lesson failed.
        execute_lessons: executes lessons into a folder and leaves notebooks and report.json there.
        key_of: what a lesson depends on, as one word (default: ``freshness.key``).

    Raises:
        LabkitError: a lesson failed, or the cache cannot be written.
    """
    if key_of is None:
        installed = freshness.versions()

        def key_of(lesson: Lesson) -> str:
            return freshness.key(lesson, PROFILE, installed)

    keys = {lesson.id: key_of(lesson) for lesson in lessons}
    found = {lesson.id: _cached(lesson, cache, keys[lesson.id]) for lesson in lessons}
    changed = [lesson for lesson in lessons if found[lesson.id] is None]
    if changed:
        _say(changed, len(lessons))
        found.update(_execute(changed, cache, keys, execute_lessons))
    return [one for lesson in lessons if (one := found[lesson.id]) is not None]


def taken(folder: Path, lessons: Sequence[Lesson]) -> list[Executed]:
    """All lessons as ``labkit run -o folder`` left them; nothing is executed.

    Raises:
        LabkitError: a lesson is missing or failed there, or is not the committed one.
    """
    told = _report(folder)
    rows = {row.get("id"): row for row in told["lessons"]}
    missing = [lesson.label for lesson in lessons if lesson.id not in rows]
    if missing:
        raise LabkitError(
            f"{folder} lacks {_names(missing)}: the site shows every lesson.",
            f"execute all of them with 'python3 -m labkit run -o {folder}'.",
        )
    _refuse_failed([rows[lesson.id] for lesson in lessons])
    return [_read(lesson, folder / lesson.path.name, rows[lesson.id], told) for lesson in lessons]


def same_text(committed: Mapping[str, Any], executed: Mapping[str, Any]) -> bool:
    """Do both notebooks hold the same cells, apart from the one that papermill adds for the parameters?"""
    return _text(committed) == _text(executed)


# ------------------------------------------------------------------------------------------------------------- inside


def _cached(lesson: Lesson, cache: Path, key: str) -> Executed | None:
    """The lesson from the cache, or None where it is not there, not whole, or not of this key."""
    try:
        record = json.loads((cache / f"{lesson.label}.json").read_text(encoding="utf-8"))
        if record["key"] != key:
            return None
        return _read(lesson, cache / lesson.path.name, record["row"], record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, LabkitError):
        return None  # whatever is wrong with it, executing again mends it


def _execute(
    lessons: Sequence[Lesson], cache: Path, keys: Mapping[str, str], execute_lessons: Execute
) -> dict[str, Executed | None]:
    """Executes into a folder beside the cache, then moves in what ran whole; a failure is told after that."""
    done: dict[str, Executed | None] = {}
    try:
        cache.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=cache, prefix=".run."))
    except OSError as error:
        raise LabkitError(
            f"{cache} cannot be written: {error.strerror or error}.", "check that the disk has room and is yours."
        ) from None
    try:
        execute_lessons(lessons, folder)
        told = _report(folder)
        rows = {row["id"]: row for row in told["lessons"]}
        for lesson in lessons:
            if rows[lesson.id]["status"] == "passed":
                done[lesson.id] = _read(lesson, folder / lesson.path.name, rows[lesson.id], told)
                _keep(lesson, folder, cache, keys[lesson.id], rows[lesson.id], told)
        _refuse_failed([rows[lesson.id] for lesson in lessons])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return done


def _keep(lesson: Lesson, folder: Path, cache: Path, key: str, row: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Notebook first and record last: a record without its notebook never stands there."""
    record = {"key": key, "profile": told["profile"], "machine": told["machine"], "row": row}
    (cache / f"{lesson.label}.json").unlink(missing_ok=True)
    (folder / lesson.path.name).replace(cache / lesson.path.name)
    files.write_text(cache / f"{lesson.label}.json", json.dumps(record, indent=1) + "\n")


def _report(folder: Path) -> dict[str, Any]:
    return report.read(folder, f"make it with 'python3 -m labkit run -o {folder}'.")


def _read(lesson: Lesson, path: Path, row: Mapping[str, Any], told: Mapping[str, Any]) -> Executed:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        committed = json.loads(lesson.path.read_text(encoding="utf-8"))
        same = same_text(committed, notebook)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise LabkitError(f"{path} cannot be read as a notebook.", "execute the lesson again.") from None
    if not same:
        raise LabkitError(
            f"{path} is not an execution of {lesson.path.name} as it is now: the text of their cells differs.",
            f"execute it again: 'python3 -m labkit run -o {path.parent}'.",
        )
    return Executed(lesson, notebook, row, told.get("machine") or {}, str(told.get("profile", PROFILE)))


def _refuse_failed(rows: Sequence[Mapping[str, Any]]) -> None:
    failed = [row for row in rows if row.get("status") != "passed"]
    if failed:
        first = failed[0]
        error = first.get("error")
        why = error.get("message", "it did not run whole.") if isinstance(error, dict) else "it did not run whole."
        more = f" So did {_names([row['id'] for row in failed[1:]])}." if failed[1:] else ""
        raise LabkitError(
            f"Lesson {first['id']} {first['title']} failed, so no new site was made: {why}{more}",
            f"mend it, see it pass with 'python3 -m labkit run {first['id']}', then build the site again.",
        )


def _text(notebook: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"] if not form.is_injected(cell)]


def _say(changed: Sequence[Lesson], of: int) -> None:
    rest = f" The other {of - len(changed)} are as they were." if len(changed) < of else ""
    print(f"Executing {_names([lesson.id for lesson in changed])} of {of} lessons.{rest}", flush=True)


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
