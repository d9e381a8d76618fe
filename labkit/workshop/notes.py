"""``labkit workshop notes``: a lesson's notes for whoever teaches it, and whether they mention all that they must.

Notes are notebooks/notes/NN_name.md. ``missing`` compares one with the exercises, known mistakes and quizzes of the lesson,
so that a new mistake or a renamed exercise is noticed. Reading the exercises imports torch; printing notes needs nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from labkit import setup
from labkit.course import table
from labkit.errors import LabkitError
from labkit.importable import ROOT
from labkit.setup import environment

NOTES = table.NOTEBOOKS / "notes"
SECTIONS = (
    "Aim",
    "Before the lesson",
    "Usual questions",
    "Exercises",
    "Quizzes",
    "When late",
    "To discuss",
)  # fmt: skip
_ITEM = re.compile(r"^\s*[-*]\s+`([^`]+)`\s*(.*)$")
_NAMED = re.compile(r"^\s*(?:[-*]\s+|#{3,}\s+)?(?:\*\*)?`([^`]+)`")


def main(options: argparse.Namespace) -> int:
    """Prints the notes of the lessons that were named, or with ``check`` everything that is missing in them."""
    if options.check:
        return _elsewhere(options.lessons) if find_spec("torch") is None else _check(options.lessons)
    if not options.lessons:
        print("Notes for the teacher:\n")
        for lesson in table.load().lessons:
            there = "" if path_of(lesson).is_file() else "   (not written yet)"
            print(f"  {lesson.id}  {lesson.title}{there}")
        print("\nName one to read it, for example: labkit workshop notes 01. In a browser they are part of the site.")
        return 0
    width = min(shutil.get_terminal_size((100, 24)).columns, 100) if sys.stdout.isatty() else 100
    print("\n\n".join(as_text(read(lesson), width) for lesson in table.choose(options.lessons)))
    return 0


def _elsewhere(names: Sequence[str]) -> int:
    """The same check inside the course's environment, where there is one: only there is torch, which the exercises import."""
    place = environment.locate(ROOT, os.environ)
    if not place.has_python or environment.is_inside(place):
        raise _not_installed("there is no torch here")
    return setup.run_inside(place, ["workshop", "notes", "--check", *names])


def _check(names: Sequence[str]) -> int:
    lessons = table.choose(names)
    lacks = [line for lesson in lessons for line in missing(lesson)]
    for line in lacks:
        print(line)
    count = len(lacks)
    looked = f"Notes of {len(lessons)} {'lesson' if len(lessons) == 1 else 'lessons'} looked at"
    what = (
        "nothing is missing" if not count else f"{count} {'thing is' if count == 1 else 'things are'} missing or wrong"
    )
    print(f"{looked}: {what}.")
    return 1 if count else 0


def path_of(lesson: table.Lesson, folder: Path | None = None) -> Path:
    """Where the notes of a lesson are, or should be."""
    return (folder or NOTES) / f"{lesson.label}.md"


def read(lesson: table.Lesson, folder: Path | None = None) -> str:
    """The notes of a lesson, in Markdown. Raises LabkitError where there are none."""
    path = path_of(lesson, folder)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LabkitError(
            f"There are no notes for lesson {lesson.id}: {path} does not exist.",
            "run this from a complete clone of the repository.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise LabkitError(
            f"The notes {path.name} cannot be read: {error}.",
            f"restore them: git checkout -- notebooks/notes/{path.name}",
        ) from None


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it, up to the next heading of the same or a higher level."""

    title: str
    body: str


def sections(text: str, level: int = 2) -> tuple[Section, ...]:
    """The sections of one level. A ``#`` inside a fenced block is no heading."""
    mark = "#" * level
    found: list[tuple[str, list[str]]] = []
    fenced = False
    for line in text.splitlines():
        fenced = fenced != line.lstrip().startswith("```")
        if not fenced and line.startswith(f"{mark} "):
            found.append((line.removeprefix(mark).strip().strip("`"), []))
        elif not fenced and re.match(rf"#{{1,{level - 1}}} ", line) and level > 1:
            found.append(("", []))  # a higher heading ends the section; what follows belongs to none
        elif found:
            found[-1][1].append(line)
    return tuple(Section(title, "\n".join(lines).strip()) for title, lines in found if title)


# ------------------------------------------------------------------------------------------------------ checking


@dataclass(frozen=True)
class Named:
    """What notes must mention: each exercise with the names of its known mistakes, and the quizzes."""

    exercises: dict[str, tuple[str, ...]]
    quizzes: tuple[str, ...]


def named(lesson_id: str) -> Named:
    """The exercises, known mistakes and quizzes of one lesson as labkit.learn has them today."""
    try:
        from labkit.learn import exercises
    except ImportError as error:
        raise _not_installed(error) from error
    try:
        return Named(
            {
                one.name: tuple(mistake.name for mistake in one.mistakes)
                for one in exercises.everything().values()
                if one.lesson == lesson_id
            },
            tuple(one.name for one in exercises.quizzes().values() if one.lesson == lesson_id),
        )
    except ImportError as error:
        raise _not_installed(error) from error


def _not_installed(error: ImportError | str) -> LabkitError:
    return LabkitError(
        f"The exercises cannot be read: {error}.", "run 'python3 -m labkit setup' once, then use its environment."
    )


def missing(lesson: table.Lesson | str, folder: Path | None = None) -> list[str]:
    """Everything that the notes of a lesson lack, or mention although it no longer exists; one line each.

    folder: where the notes are (default: notebooks/notes).
    Raises LabkitError for an unknown lesson, or where the exercises cannot be imported.
    """
    lesson = table.find(lesson) if isinstance(lesson, str) else lesson
    path = path_of(lesson, folder)
    if not path.is_file():
        return [f"{path.name}: the file does not exist"]
    text = read(lesson, folder)
    title = f"# {lesson.id} {lesson.title}: notes for the teacher"
    lines = text.splitlines()
    lacks = [] if lines and lines[0].strip() == title else [f"the first line must be '{title}'"]
    found = sections(text)
    if tuple(section.title for section in found) != SECTIONS:
        lacks.append(f"the '##' headings must be, in this order: {', '.join(SECTIONS)}")
    lacks += [f"'{section.title}' is empty" for section in found if not section.body]
    bodies = {section.title: section.body for section in found}
    here = named(lesson.id)
    lacks += _exercises(bodies.get("Exercises", ""), here) + _quizzes(bodies.get("Quizzes", ""), here)
    return [f"{path.name}: {lack}" for lack in lacks]


def _exercises(body: str, here: Named) -> list[str]:
    parts = sections(body, 3)
    titles = [part.title for part in parts]
    lacks = [f"exercise '{name}' has no '### {name}'" for name in here.exercises if name not in titles]
    lacks += [f"there is no exercise '{title}' any more" for title in titles if title not in here.exercises]
    lacks += [f"exercise '{title}' is there twice" for title in sorted({t for t in titles if titles.count(t) > 1})]
    for part in parts:
        mistakes = here.exercises.get(part.title, ())
        items = _items(part.body)
        lacks += [f"{part.title}: the known mistake `{name}` is missing" for name in mistakes if name not in items]
        if part.title in here.exercises:
            lacks += [f"{part.title}: there is no mistake `{name}` any more" for name in items if name not in mistakes]
            lacks += [f"{part.title}: nothing is said about `{name}`" for name, said in items.items() if not said]
            before = [line for line in part.body.splitlines() if line.strip() and not _ITEM.match(line)]
            if not before:
                lacks.append(f"{part.title}: nothing is said about the exercise itself")
    return lacks


def _items(body: str) -> dict[str, str]:
    """Name in backticks -> what is said, for each list item that begins with one; an item may go on in further lines."""
    items: dict[str, str] = {}
    name = ""
    for line in body.splitlines():
        if match := _ITEM.match(line):
            name = match[1]
            items[name] = match[2].lstrip(": ")
        elif name and line.startswith(" ") and line.strip():
            items[name] += f" {line.strip()}"
        else:
            name = ""
    return items


def _quizzes(body: str, here: Named) -> list[str]:
    mentioned = [match[1] for match in map(_NAMED.match, body.splitlines()) if match is not None]
    lacks = [f"the quiz `{name}` is missing" for name in here.quizzes if name not in mentioned]
    return lacks + [f"there is no quiz `{name}` any more" for name in mentioned if name not in here.quizzes]


# ------------------------------------------------------------------------------------------------------ in a terminal


def as_text(markdown: str, width: int = 100) -> str:
    """Notes for a terminal: wrapped lines, underlined headings, no asterisks; fenced blocks and tables as they are."""
    out: list[str] = []
    paragraph: list[str] = []
    fenced = False

    def end() -> None:
        if paragraph:
            first = re.match(r"\s*(?:[-*]|\d+\.)\s+", paragraph[0])
            hang = " " * len(first.group()) if first else ""
            words = _plain(" ".join(line.strip() if n else line.rstrip() for n, line in enumerate(paragraph)))
            out.append(
                textwrap.fill(words, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
            )
            paragraph.clear()

    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            end()
            fenced = not fenced
        elif fenced or line.startswith("|"):
            end()
            out.append(f"    {line}" if fenced else line)
        elif heading := re.match(r"(#+)\s+(.*)", line):
            end()
            words = _plain(heading[2])
            under = {1: "=", 2: "-", 3: "~"}.get(len(heading[1]), "")
            out += [words, *([under * len(words)] if under else [])]
        elif not line.strip():
            end()
            out.append("")
        else:
            if re.match(r"\s*(?:[-*]|\d+\.)\s+", line):
                end()
            paragraph.append(line)
    end()
    return "\n".join(out).strip()


def _plain(text: str) -> str:
    """Without the marks of bold and italics, and a link as its words; names in backticks keep them."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", lambda m: m[1] or m[2], text)
