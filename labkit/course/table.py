"""The table of lessons: notebooks/course.toml, read once and checked.

Standard library only, so that ``labkit list`` works before anything is installed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.importable import ROOT

NOTEBOOKS = ROOT / "notebooks"
TABLE = NOTEBOOKS / "course.toml"

_REPAIR = f"correct notebooks/{TABLE.name}, or take it back from git with 'git checkout notebooks/{TABLE.name}'."
_LIMITS = ("cell_s", "lesson_s")


@dataclass(frozen=True)
class Lesson:
    """One row of the table.

    ``minutes`` is what a learner should set aside; ``full`` holds the parameters that ``--profile full`` sets besides
    ``profile``; ``limits`` holds time limits in seconds (``cell_s``, ``lesson_s``) per profile where the defaults of
    ``labkit.course.execute`` do not fit.
    """

    id: str
    name: str
    title: str
    minutes: int
    level: str
    needs: tuple[str, ...]
    summary: str
    path: Path
    full: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The file name without its ending, for example ``01_mnist``."""
        return f"{self.id}_{self.name}"


@dataclass(frozen=True)
class Course:
    """The lessons, in the order in which they are taken.

    ``repository`` is the address of the course's repository, for links to Binder; "" where the table names none.
    """

    title: str
    lessons: tuple[Lesson, ...]
    repository: str = ""


def load(path: Path | None = None) -> Course:
    """Reads and checks the table.

    Args:
        path: the TOML file; the notebooks are looked for beside it (default: notebooks/course.toml).

    Raises:
        LabkitError: the file is missing or damaged, or a row lacks something, in one sentence.
    """
    path = TABLE if path is None else path
    toml = toml_reader()
    try:
        raw = toml.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabkitError(
            f"The table of lessons is missing: {path} does not exist.",
            "run this from a complete clone of the repository.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise LabkitError(f"The table of lessons, {path.name}, cannot be read: {error}.", _REPAIR) from None
    except RecursionError:
        raise LabkitError(f"The table of lessons, {path.name}, is nested too deeply.", _REPAIR) from None
    except toml.TOMLDecodeError as error:
        raise LabkitError(f"The table of lessons, {path.name}, is not valid TOML: {error}.", _REPAIR) from None
    rows = raw.get("lesson", [])
    if not isinstance(rows, list) or not rows:
        raise LabkitError(f"The table of lessons, {path.name}, holds no [[lesson]].", _REPAIR)
    lessons: list[Lesson] = []
    for row in rows:
        lesson = _lesson(row, path.parent)
        known = {earlier.id for earlier in lessons}
        if lesson.id in known or lesson.name in {earlier.name for earlier in lessons}:
            raise LabkitError(f"Lesson {lesson.label} is in the table twice.", _REPAIR)
        missing = [other for other in lesson.needs if other not in known]
        if missing:
            raise LabkitError(f"Lesson {lesson.label} needs {', '.join(missing)}, which no earlier row has.", _REPAIR)
        lessons.append(lesson)
    about = raw.get("course", {})
    if not isinstance(about, dict):
        raise LabkitError(f"'course' in {path.name} is not a table.", _REPAIR)
    repository = str(about.get("repository", ""))
    if repository and not re.fullmatch(r"https://[\w.-]+(/[\w.~-]+)+/?", repository):
        raise LabkitError(
            f"'{repository}' is no address of a repository.",
            "write it as https://github.com/OWNER/NAME, or leave it out.",
        )
    return Course(title=str(about.get("title", "ROCm Labs")), lessons=tuple(lessons), repository=repository)


def find(text: str, course: Course | None = None) -> Lesson:
    """The lesson that a person means: a number (``1``, ``01``), a name or a clear part of one, or a file name.

    Raises:
        LabkitError: nothing fits, or several lessons do.
    """
    course = load() if course is None else course
    asked = re.split(r"[/\\]", text.strip())[-1].removesuffix(".ipynb").lower().replace("-", "_")
    for lesson in course.lessons:
        if asked in (lesson.label, lesson.name) or (asked.isdigit() and int(asked) == int(lesson.id)):
            return lesson
    fits = [
        lesson
        for lesson in course.lessons
        if asked and not asked.isdigit() and (asked in lesson.label or asked in lesson.title.lower())
    ]
    if len(fits) == 1:
        return fits[0]
    names = ", ".join(lesson.label for lesson in fits or course.lessons)
    problem = f"'{text}' fits several lessons." if fits else f"There is no lesson '{text}'."
    raise LabkitError(problem, f"name one of: {names}.")


def choose(texts: Sequence[str], course: Course | None = None) -> tuple[Lesson, ...]:
    """The lessons that were asked for, each once and in the order of the course; all of them where none was named."""
    course = load() if course is None else course
    if not texts:
        return course.lessons
    wanted = {find(text, course).id for text in texts}
    return tuple(lesson for lesson in course.lessons if lesson.id in wanted)


def as_text(course: Course) -> str:
    """The table for a terminal: one lesson a line, with its summary beneath."""
    width = max(len(lesson.title) for lesson in course.lessons)
    level = max(len(lesson.level) for lesson in course.lessons)
    lines = [course.title, ""]
    for lesson in course.lessons:
        needs = f"  after {', '.join(lesson.needs)}" if lesson.needs else ""
        lines.append(f"  {lesson.id}  {lesson.title:<{width}}  {lesson.level:<{level}}  {lesson.minutes:>3} min{needs}")
        lines.append(f"      {lesson.summary}")
    total = sum(lesson.minutes for lesson in course.lessons)
    lines += [
        "",
        f"  {len(course.lessons)} lessons, about {total / 60:.1f} hours with reading and exercises.",
        "  'python3 -m labkit start' opens them, 'python3 -m labkit run 01' executes one without a browser.",
    ]
    return "\n".join(lines)


def toml_reader() -> Any:
    """tomllib where Python has it (3.11), else tomli, else the copy inside pip."""
    for name in ("tomllib", "tomli", "pip._vendor.tomli"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise LabkitError(
        "The tables of the course are TOML files, and this Python 3.10 has no reader for them.",
        "run 'python3 -m labkit setup' once, or use Python 3.11 or later.",
    )


def _lesson(row: Any, folder: Path) -> Lesson:
    if not isinstance(row, dict):
        raise LabkitError("A [[lesson]] of the table is not a table itself.", _REPAIR)
    name = str(row.get("id", row.get("name", "?")))
    kinds: dict[str, type] = {
        "id": str,
        "name": str,
        "title": str,
        "minutes": int,
        "level": str,
        "needs": list,
        "summary": str,
    }
    for key, kind in kinds.items():
        if not isinstance(row.get(key), kind) or isinstance(row.get(key), bool):
            what = "lacks" if key not in row else "has a wrong kind of value for"
            raise LabkitError(f"Lesson {name} of the table {what} '{key}'.", _REPAIR)
    unknown = sorted(set(row) - set(kinds) - {"full", "limits"})
    if unknown:
        raise LabkitError(f"Lesson {name} of the table has an unknown key: {', '.join(unknown)}.", _REPAIR)
    if not re.fullmatch(r"\d\d", row["id"]) or not re.fullmatch(r"[a-z0-9_]+", row["name"]):
        raise LabkitError(
            f"Lesson {name}: 'id' must be two digits, and 'name' lower-case letters, digits and '_'.", _REPAIR
        )
    if row["minutes"] <= 0:
        raise LabkitError(f"Lesson {name}: 'minutes' must be above 0.", _REPAIR)
    full, limits = row.get("full", {}), row.get("limits", {})
    if not isinstance(full, dict) or any(isinstance(value, (list, dict)) for value in full.values()):
        raise LabkitError(f"Lesson {name}: [lesson.full] must hold plain numbers, words and true or false.", _REPAIR)
    if not isinstance(limits, dict) or any(
        profile not in ("quick", "full")
        or not isinstance(values, dict)
        or set(values) - set(_LIMITS)
        or any(
            isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0 for value in values.values()
        )
        for profile, values in limits.items()
    ):
        raise LabkitError(
            f"Lesson {name}: [lesson.limits] must hold quick or full, each with {' or '.join(_LIMITS)} above 0.",
            _REPAIR,
        )
    return Lesson(
        id=row["id"],
        name=row["name"],
        title=row["title"],
        minutes=row["minutes"],
        level=row["level"],
        needs=tuple(map(str, row["needs"])),
        summary=row["summary"],
        path=folder / f"{row['id']}_{row['name']}.ipynb",
        full=dict(full),
        limits=dict(limits),
    )
