"""What a lesson holds, read from its notebook: exercises by their cells' tags, quizzes by the calls that show them.

Standard library only, so that ``labkit progress`` works where nothing is installed yet.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.learn.solutions import NOTEBOOKS

_TAG = "exercise:"
QUIZ = re.compile(r"""\bquiz\(\s*["'](\w+)["']""")  # a cell that poses the quiz of this name
_HEADING = re.compile(r"^#\s+(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Item:
    """An exercise or a quiz of a lesson."""

    name: str
    kind: str


@dataclass(frozen=True)
class Lesson:
    """id: '02'. title: the notebook's first heading. items: in the order of the notebook."""

    id: str
    title: str
    notebook: str
    items: tuple[Item, ...]


def lessons(notebooks: Path | None = None) -> tuple[Lesson, ...]:
    """All lessons in order. Raises LabkitError where there is no notebook at all or one is no JSON."""
    folder = notebooks or NOTEBOOKS
    # A copy that a reset kept (01_mnist.mine-2026-11-30-1630.ipynb) is no lesson.
    paths = sorted(path for path in folder.glob("[0-9][0-9]_*.ipynb") if "." not in path.stem)
    if not paths:
        raise LabkitError(
            f"There are no notebooks in {folder}.",
            "Run it from a clone of the course; the folder notebooks comes with it.",
        )
    return tuple(_read(path) for path in paths)


def lesson(wanted: str, notebooks: Path | None = None) -> Lesson:
    """The lesson of an id such as '02' (also 2 or '2'). Raises LabkitError where there is none."""
    text = str(wanted).strip()
    found = lessons(notebooks)
    for one in found:
        if one.id == text.zfill(2):
            return one
    raise LabkitError(f"There is no lesson {text!r}.", f"There are: {', '.join(one.id for one in found)}.")


def following(one: Lesson, notebooks: Path | None = None) -> Lesson | None:
    """The lesson that comes after this one, if there is one."""
    later = [other for other in lessons(notebooks) if other.id > one.id]
    return later[0] if later else None


def items(notebook: str) -> tuple[Item, ...]:
    """The exercises and quizzes of a notebook's text, in order. Raises ValueError, KeyError or TypeError where it is no notebook."""
    return tuple(_parts(json.loads(notebook)["cells"])[1])


def _read(path: Path) -> Lesson:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise LabkitError(
            f"{path.name} is not a notebook that can be read.", f"Restore it: git checkout -- notebooks/{path.name}"
        ) from error
    heading, found = _parts(cells)
    number = path.name[:2]
    title = re.sub(rf"^{number}\s*[·:.-]\s*", "", heading) or path.stem[3:].replace("_", " ")
    return Lesson(number, title, path.name, tuple(found))


def _parts(cells: Any) -> tuple[str, list[Item]]:
    """The first heading of the cells, and what they hold."""
    found: dict[str, Item] = {}
    heading = ""
    for cell in cells:
        source = _source(cell)
        if cell.get("cell_type") == "markdown" and not heading:
            match = _HEADING.search(source)
            heading = match.group(1).strip() if match else ""
        if cell.get("cell_type") != "code":
            continue
        for tag in cell.get("metadata", {}).get("tags", []):
            if tag.startswith(_TAG):
                name = tag.removeprefix(_TAG)
                found.setdefault(name, Item(name, "exercise"))
        for name in QUIZ.findall(source):
            found.setdefault(name, Item(name, "quiz"))
    return heading, list(found.values())


def _source(cell: Any) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)
