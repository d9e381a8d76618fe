"""Plans of courses, read from notebooks/syllabi.toml and checked.

A plan is refused where a block has less time than its cells need or clearly less than the lesson's own minutes allow for, where
a lesson comes without what it needs, or where people would sit too long. Standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course import table
from labkit.course.contributed import REPORTS
from labkit.course.table import Course, Lesson
from labkit.errors import LabkitError

SYLLABI = table.NOTEBOOKS / "syllabi.toml"

KINDS = ("set-up", "break", "lunch", "buffer", "talk")
# A room is slower than the machine that was measured: older laptops, and all of them at once.
SLOWER = 3
# Of the minutes that somebody alone sets aside for the same part. A teacher shows and shortens, but cannot think for others.
AT_LEAST = 0.8
SITTING = 110  # minutes without a break; the buffer does not count
BUFFER = 0.05  # of the day without lunch
_WORDS_A_MINUTE = 150  # technical text, read with care; only the proportion between the parts of a lesson matters
_MINUTES = {"code": 0.4, "exercise": 4.0, "quiz": 1.0}


@dataclass(frozen=True)
class Block:
    """One row of a timetable: a lesson (or parts of it, by the beginnings of their headings), or one of ``KINDS``."""

    minutes: int
    what: str
    kind: str = "lesson"
    lesson: Lesson | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Syllabus:
    """A plan. whom: for whom it is. aim: what people can do afterwards. instead: lesson id -> what is said in its place."""

    name: str
    title: str
    whom: str
    aim: str
    days: tuple[tuple[Block, ...], ...]
    instead: Mapping[str, str]

    def blocks(self) -> Iterator[Block]:
        for day in self.days:
            yield from day

    @property
    def minutes(self) -> int:
        """Of all days together, with breaks and lunch."""
        return sum(block.minutes for block in self.blocks())


@dataclass(frozen=True)
class Part:
    """What stands under one ## heading of a lesson. weight: how long it takes against the other parts."""

    title: str
    weight: float
    exercises: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------------ reading


def load(path: Path | None = None, course: Course | None = None) -> tuple[Syllabus, ...]:
    """Reads the plans. Raises LabkitError, in one sentence, for a file that is missing, damaged or names what is not there."""
    path = path or SYLLABI
    course = course or table.load()
    toml = table.toml_reader()
    repair = f"correct {path.name}, or take it back from git with 'git checkout notebooks/{path.name}'."
    try:
        rows = toml.loads(path.read_text(encoding="utf-8")).get("syllabus", [])
        found = tuple(_syllabus(row, course) for row in rows)
    except (OSError, UnicodeDecodeError, toml.TOMLDecodeError) as error:
        raise LabkitError(f"The plans cannot be read: {error}.", repair) from None
    except RecursionError:
        raise LabkitError(f"The plans in {path.name} are nested too deeply.", repair) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise LabkitError(f"A plan in {path.name} lacks something or has a wrong value: {error}.", repair) from None
    if not found:
        raise LabkitError(f"There is no [[syllabus]] in {path.name}.", repair)
    return found


def _syllabus(row: Mapping[str, Any], course: Course) -> Syllabus:
    return Syllabus(
        name=str(row["name"]),
        title=str(row["title"]),
        whom=str(row["whom"]),
        aim=str(row["aim"]),
        days=tuple(tuple(_block(block, course) for block in day) for day in row["days"]),
        instead={str(one["lesson"]): str(one["say"]) for one in row.get("instead", ())},
    )


def _block(row: Mapping[str, Any], course: Course) -> Block:
    unknown = set(row) - {"do", "lesson", "parts", "minutes", "what"}
    if unknown or ("do" in row) == ("lesson" in row):
        raise ValueError(f"a block needs 'do' or 'lesson', 'minutes' and 'what', nothing else: {dict(row)}")
    if "do" in row and row["do"] not in KINDS:
        raise ValueError(f"'{row['do']}' is none of {', '.join(KINDS)}")
    if "lesson" in row and str(row["lesson"]) not in {one.id for one in course.lessons}:
        raise ValueError(f"there is no lesson {row['lesson']}")
    lesson = next((one for one in course.lessons if one.id == row.get("lesson")), None)
    return Block(int(row["minutes"]), str(row["what"]), row.get("do", "lesson"), lesson, tuple(row.get("parts", ())))


def find(name: str, found: Sequence[Syllabus]) -> Syllabus:
    """The plan of this name. Raises LabkitError with all names for another."""
    for one in found:
        if one.name == name.strip().lower():
            return one
    raise LabkitError(f"There is no plan '{name}'.", f"name one of: {', '.join(one.name for one in found)}.")


def clock(text: str) -> int:
    """``09:00`` as minutes after midnight. Raises LabkitError for what is no time of day."""
    match = re.fullmatch(r"(\d{1,2})[:.]?(\d\d)?", text.strip())
    hour, minute = (int(match[1]), int(match[2] or 0)) if match else (99, 0)
    if hour > 23 or minute > 59:
        raise LabkitError(f"'{text}' is no time of day.", "write it as 09:00.")
    return 60 * hour + minute


def parts_of(lesson: Lesson) -> tuple[Part, ...]:
    """The parts of a lesson's notebook, one for each ## heading, in order. Raises LabkitError where it cannot be read."""
    try:
        return _parts(json.loads(lesson.path.read_text(encoding="utf-8"))["cells"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise LabkitError(
            f"The notebook {lesson.path.name} is missing or damaged.",
            f"take it back from git: git checkout -- notebooks/{lesson.path.name}",
        ) from None


def _parts(cells: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    found: list[tuple[str, list[float], list[str]]] = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for line in text.splitlines():
                if line.startswith("## "):
                    found.append((line.removeprefix("## ").strip(), [], []))
                elif found:
                    found[-1][1].append(len(line.split()) / _WORDS_A_MINUTE)
        elif found:
            names = [t.removeprefix("exercise:") for t in cell["metadata"].get("tags", []) if t.startswith("exercise:")]
            quizzes = len(re.findall(r"\bquiz\(", text))
            found[-1][1].append(_MINUTES["code"] + _MINUTES["exercise"] * len(names) + _MINUTES["quiz"] * quizzes)
            found[-1][2].extend(names)
    return tuple(Part(title, sum(weights), tuple(names)) for title, weights, names in found)


def chosen(block: Block) -> tuple[Part, ...]:
    """The parts of its lesson that a block teaches. Raises LabkitError for one that the lesson does not have."""
    if block.lesson is None:
        return ()
    every = parts_of(block.lesson)
    for wanted in block.parts:
        if sum(part.title.startswith(wanted) for part in every) != 1:
            raise LabkitError(
                f"Lesson {block.lesson.id} has no one part that begins with '{wanted}'.",
                f"its parts are: {'; '.join(part.title for part in every)}.",
            )
    return tuple(part for part in every if not block.parts or part.title.startswith(block.parts))


def alone(block: Block) -> float:
    """Minutes that somebody alone sets aside for the same parts: their share of the lesson's minutes in course.toml."""
    if block.lesson is None:
        return 0.0
    share = sum(part.weight for part in chosen(block)) / sum(part.weight for part in parts_of(block.lesson))
    return block.lesson.minutes * share


def measured(folder: Path | None = None) -> dict[str, float]:
    """Lesson id -> seconds that its cells took, the longest of all quick runs in reports/*.json that passed."""
    longest: dict[str, float] = {}
    for path in sorted((folder or REPORTS).glob("*.json")):
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            rows = report["lessons"] if report.get("profile") == "quick" else []
            for row in rows:
                if row["status"] == "passed":
                    longest[row["id"]] = max(longest.get(row["id"], 0.0), float(row["seconds"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # `labkit report check` says what is wrong with such a file
    return longest


# ------------------------------------------------------------------------------------------------------ checking


def complaints(plan: Syllabus, course: Course, seconds: Mapping[str, float]) -> list[str]:
    """Why a plan cannot work, a sentence each; empty for one that can."""
    said: list[str] = []
    for block in plan.blocks():
        if block.lesson is None:
            continue
        name = f"{plan.name}: lesson {block.lesson.id}"
        try:
            share = alone(block)
        except LabkitError as error:
            said.append(f"{plan.name}: {error.problem}")
            continue
        cells = SLOWER * seconds.get(block.lesson.id, 0.0) / 60
        if block.minutes < cells:
            said.append(
                f"{name} has {block.minutes} min, and its cells alone need about {cells:.0f} min in a room "
                f"({SLOWER} times the measured run)."
            )
        elif block.minutes < AT_LEAST * share:
            said.append(
                f"{name} has {block.minutes} min for parts for which a learner alone sets aside {share:.0f} min; give it "
                f"{AT_LEAST * share:.0f} min at least, or fewer parts."
            )
    return [*said, *_order(plan, course), *_day(plan)]


def _order(plan: Syllabus, course: Course) -> Iterator[str]:
    """Lessons that come without what they need, and words for lessons for which none are needed."""
    before: set[str] = set()
    used: set[str] = set()
    for block in plan.blocks():
        if block.lesson is None:
            continue
        for needed in block.lesson.needs:
            if needed in before:
                continue
            if plan.instead.get(needed, "").strip():
                used.add(needed)
                continue
            yield (
                f"{plan.name}: lesson {block.lesson.id} needs lesson {needed}, which does not come before it; teach it, or "
                "write under 'instead' what is said in its place."
            )
        before.add(block.lesson.id)
    for lesson in plan.instead:
        if lesson not in used:
            yield f"{plan.name}: 'instead' speaks of lesson {lesson}, and no lesson lacks it."


def _day(plan: Syllabus) -> Iterator[str]:
    for number, day in enumerate(plan.days, 1):
        name = plan.name if len(plan.days) == 1 else f"{plan.name}, day {number}"
        sitting = 0
        for block in day:
            if block.kind != "buffer":
                sitting = 0 if block.kind in ("break", "lunch") else sitting + block.minutes
            if sitting > SITTING:
                yield f"{name}: people sit {sitting} min without a break; {SITTING} is the most."
                break
        total = sum(block.minutes for block in day)
        spare = sum(block.minutes for block in day if block.kind == "buffer")
        if spare < BUFFER * sum(block.minutes for block in day if block.kind != "lunch"):
            yield f"{name}: {spare} min of buffer are too few; something always takes longer."
        if total > 300 and not any(block.kind == "lunch" for block in day):
            yield f"{name}: {total} min without lunch."
        if any(block.minutes <= 0 for block in day):
            yield f"{name}: a block without minutes."
    first = next(plan.blocks(), None)
    if first is None or first.kind != "set-up":
        yield f"{plan.name}: it must begin with set-up; on the day somebody's machine is not ready."
