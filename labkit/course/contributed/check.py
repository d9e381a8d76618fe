"""``labkit report check``: is a contributed file complete, plausible, and without personal data?"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from labkit.course.contributed import REPORTS, name, personal, plausible, shape
from labkit.course.contributed.shape import Problem
from labkit.errors import LabkitError
from labkit.machine import intake


@dataclass(frozen=True)
class Checked:
    """A file with what is wrong with it. ``report`` is None where it does not even have the form."""

    path: Path
    report: Mapping[str, Any] | None
    problems: tuple[Problem, ...]


def main(options: argparse.Namespace) -> int:
    """Prints a line for each file; 1 where one has a problem.

    Raises:
        LabkitError: there is no file to check.
    """
    paths = [Path(file) for file in options.files] or files(REPORTS)
    if not paths:
        raise LabkitError("There is no report in reports/ yet.", "name files, or make one with 'labkit report make'.")
    checked = [file(path) for path in paths]
    for one in checked:
        print(_line(one))
    wrong = sum(bool(one.problems) for one in checked)
    if len(checked) > 1:
        print(f"{len(checked) - wrong} of {len(checked)} files are in order.")
    return 1 if wrong else 0


def _line(one: Checked) -> str:
    if not one.problems and one.report is not None:
        lessons = one.report["lessons"]
        passed = sum(row["status"] == "passed" for row in lessons)
        return f"OK  {short(one.path)}  {name.title(one.report)}: {passed} of {len(lessons)} lessons passed"
    return "\n".join([f"NOT IN ORDER  {short(one.path)}", *(f"  - {problem}" for problem in one.problems)])


def short(path: Path) -> str:
    """The path as short as it can be said from where the person is."""
    with contextlib.suppress(ValueError, OSError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)


def files(folder: Path) -> list[Path]:
    """The contributed files of a folder, by name."""
    return sorted(path for path in folder.glob("*.json") if not path.name.startswith("."))


def file(path: Path, now: datetime | None = None) -> Checked:
    """Reads and checks one file. Never raises for what is in it, nor where it cannot be read."""
    try:
        content = intake.read(path, shape.LARGEST_BYTES + 1)
    except LabkitError as error:
        return Checked(path, None, (Problem(f"The file cannot be read: {error.problem}", error.remedy),))
    except ValueError:
        return Checked(path, None, (Problem("There is no such file.", "Name a file that is there."),))
    if len(content) > shape.LARGEST_BYTES:
        return Checked(
            path, None, (Problem(f"The file has more than {shape.LARGEST_BYTES} bytes; a report has a few thousand."),)
        )
    try:
        text_of_it = content.decode("utf-8")
    except UnicodeDecodeError:
        return Checked(path, None, (Problem("The file is not UTF-8 text."),))
    report, problems = text(text_of_it, now)
    # the folder of contributions has names of one form, so that none of them tells more than the file
    if report is not None and not problems and path.resolve().parent == REPORTS.resolve():
        problems = _misnamed(path, report)
    return Checked(path, report, tuple(problems))


def _misnamed(path: Path, report: Mapping[str, Any]) -> list[Problem]:
    wanted = name.file_name(report)
    if name.is_of(path.name, wanted):
        return []
    return [Problem("Its name is not that of its machine and day.", f"Rename it to {wanted}.")]


def text(content: str, now: datetime | None = None) -> tuple[Mapping[str, Any] | None, list[Problem]]:
    """(the report, or None where its form is wrong; the problems) of a file's text. Never raises."""
    data, problems = shape.parse(content)
    if problems:
        return None, [*problems, *_personal(content.splitlines())]
    private = [
        Problem(
            f"{place or 'The file'} seems to hold {kind}.",
            "Take it out: nothing in the file may name a person or a computer.",
        )
        for place, value in personal.strings(data)
        for kind in personal.kinds(value)
    ]
    formal = shape.problems(data)
    if formal:
        return None, [*formal, *private]
    return data, [*private, *plausible.problems(data, now)]


def _personal(lines: list[str]) -> list[Problem]:
    """What a text that is no JSON holds of a person: it was meant to be published all the same."""
    kinds = dict.fromkeys(kind for line in lines[:2000] for kind in personal.kinds(line[:2000]))
    return [Problem(f"The text seems to hold {kind}.", "Take it out before you give it to anybody.") for kind in kinds]


def here(report: Mapping[str, Any]) -> list[Problem]:
    """Whether the note names the user or the computer it is written on, which no pattern can know."""
    own = {"your user name": _users(), "this computer's name": {platform.node().split(".")[0].lower()}}
    words = set(re.findall(r"[\w-]+", str(report["note"]).lower()))
    return [
        Problem(f"The note holds {what}.", "Leave it out.")
        for what, names in own.items()
        if any(len(one) > 2 and one in words for one in names)
    ]


def _users() -> set[str]:
    names = (
        os.environ.get("USER", ""),
        os.environ.get("USERNAME", ""),
        os.environ.get("LOGNAME", ""),
        Path.home().name,
    )
    return {one.lower() for one in names}
