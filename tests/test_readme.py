"""The README says what is true: its table of lessons is made from course.toml, its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

from labkit import cli
from labkit.course import table

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    """Cells of the table of lessons."""
    part = README.split("<!-- lessons -->")[1].split("<!-- /lessons -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.strip().splitlines()[2:]]


def test_every_lesson_stands_in_the_readme_as_in_the_course_table() -> None:
    expected = [
        (f"[{x.id} {x.title}](notebooks/{x.path.name})", f"{x.minutes} min", x.summary) for x in table.load().lessons
    ]
    assert [(row[0], row[1], row[3]) for row in rows()] == expected


def test_every_run_time_in_the_table_is_a_time_or_says_that_there_is_none() -> None:
    assert all(re.fullmatch(r"\d+ s|not measured", row[2]) for row in rows())


def test_every_command_in_the_readme_exists() -> None:
    named = set(re.findall(r"(?:python3|py) -m labkit (\w+)", README))
    known = set(cli.main.__globals__["_COMMANDS"])
    assert named and named <= known, named - known


def test_every_file_that_the_readme_links_exists() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
