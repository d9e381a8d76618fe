"""What makes an executed lesson old, and what does not."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.course import table
from labkit.course.table import Lesson
from labkit.site import freshness
from tests.site.made import code, write_lesson

ROOT = Path(__file__).resolve().parent.parent.parent
INSTALLED = {"torch": "2.14.1", "python": "3.11.7"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A clone with two rooms, one of which no lesson reaches."""
    for name in (
        "learn/judge.py",
        "learn/exercises/__init__.py",
        "site/page.py",
        "cli.py",
        "course/form.py",
        "course/kernel.py",
    ):
        path = tmp_path / "labkit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one", encoding="utf-8")
    for name in ("first", "second"):
        (tmp_path / "labkit" / "learn" / "exercises" / name).mkdir()
        (tmp_path / "labkit" / "learn" / "exercises" / name / "quizzes.py").write_text("one", encoding="utf-8")
    (tmp_path / "notebooks" / "solutions").mkdir(parents=True)
    (tmp_path / "notebooks" / "scripts").mkdir()
    (tmp_path / "notebooks" / "solutions" / "00_first.py").write_text("one", encoding="utf-8")
    (tmp_path / "notebooks" / "scripts" / "train.py").write_text("one", encoding="utf-8")
    return tmp_path


def keys(root: Path, lessons: list[Lesson]) -> list[str]:
    return [freshness.key(lesson, "quick", INSTALLED, root) for lesson in lessons]


@pytest.fixture
def lessons(root: Path) -> list[Lesson]:
    notebooks = root / "notebooks"
    first = write_lesson(notebooks, "00", "first", code("print(1)"))
    second = write_lesson(notebooks, "01", "second", code("run('scripts/train.py')"))
    return [first, second]


@pytest.mark.parametrize(
    ("file", "old"),
    [
        ("notebooks/00_first.ipynb", [True, False]),
        ("notebooks/solutions/00_first.py", [True, False]),
        ("notebooks/scripts/train.py", [False, True]),
        ("labkit/learn/judge.py", [True, True]),
        ("labkit/learn/exercises/first/quizzes.py", [True, False]),
        ("labkit/learn/exercises/__init__.py", [True, True]),
        ("labkit/course/kernel.py", [True, True]),
        ("labkit/course/form.py", [False, False]),
        ("labkit/site/page.py", [False, False]),
        ("labkit/cli.py", [False, False]),
    ],
)
def test_a_change_makes_just_those_lessons_old_that_it_can_reach(
    root: Path, lessons: list[Lesson], file: str, old: list[bool]
) -> None:
    before = keys(root, lessons)
    assert keys(root, lessons) == before, "the same contents give the same key"
    path = root / file
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert [now != then for now, then in zip(keys(root, lessons), before, strict=True)] == old


def test_another_torch_another_profile_and_another_row_make_a_lesson_old(root: Path, lessons: list[Lesson]) -> None:
    first = lessons[0]
    before = freshness.key(first, "quick", INSTALLED, root)
    assert freshness.key(first, "full", INSTALLED, root) != before
    assert freshness.key(first, "quick", {**INSTALLED, "torch": "2.15.0"}, root) != before
    assert freshness.key(replace(first, full={"epochs": 9}), "quick", INSTALLED, root) != before


def test_a_file_that_is_new_or_gone_makes_lessons_old(root: Path, lessons: list[Lesson]) -> None:
    before = keys(root, lessons)
    new = root / "labkit" / "learn" / "new.py"
    new.write_text("", encoding="utf-8")
    assert all(now != then for now, then in zip(keys(root, lessons), before, strict=True))
    new.unlink()
    assert keys(root, lessons) == before


def test_versions_names_what_results_depend_on() -> None:
    assert re.match(r"\d+\.\d+", freshness.versions()["torch"]) and set(freshness.versions()) >= {"python", "machine"}


def test_no_lesson_reaches_what_the_key_leaves_out() -> None:
    """The rooms above the lessons, and the exercises of another lesson."""
    above = [name.removesuffix(".py") for name in freshness.ABOVE_LESSONS]
    for lesson in table.load().lessons:
        text = lesson.path.read_text(encoding="utf-8")
        assert not re.search(rf"labkit\.({'|'.join(above)})\b", text), lesson.label
        assert not re.search(rf"from labkit import [^\n]*\b({'|'.join(above)})\b", text), lesson.label
        others = set(re.findall(r"labkit\.learn\.exercises\.(\w+)", text)) - {lesson.name}
        assert not others, f"{lesson.label} imports the exercises of {others}"
    exercises = ROOT / "labkit" / "learn" / "exercises"
    for path in sorted((ROOT / "labkit").rglob("*.py")):
        parts = path.relative_to(exercises).parts if path.is_relative_to(exercises) else ()
        own = parts[0] if len(parts) > 1 else ""
        room = path.relative_to(ROOT / "labkit").parts[0]
        if room in freshness.ABOVE_LESSONS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            found = re.match(r"labkit\.learn\.exercises\.(\w+)", module)
            if found and (exercises / found[1]).is_dir():
                assert found[1] == own, f"{path.name} imports the exercises of {found[1]}"
