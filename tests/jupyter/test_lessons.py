"""The list behind the start page: how far a learner is, and what is next."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from labkit.course import table
from labkit.errors import LabkitError
from labkit.jupyter import lessons
from labkit.jupyter.pristine import Published
from labkit.learn import lessons as contents
from labkit.learn.records.entry import Entry

TOML = "\n".join(
    f'[[lesson]]\nid = "{number}"\nname = "{name}"\ntitle = "{name.title()}"\nminutes = 20\nlevel = "beginner"\nneeds = []\nsummary = "s"'
    for number, name in (("00", "look"), ("01", "train"), ("02", "tune"))
)


def notebook(*sources: str, tags: tuple[str, ...] = ()) -> bytes:
    cells = [
        {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": []} for source in sources
    ]
    return json.dumps({"cells": cells}).encode()


BOOKS = {
    "00_look.ipynb": notebook("1"),
    "01_train.ipynb": notebook('quiz("q")', tags=("exercise:a",)),
    "02_tune.ipynb": notebook("2", tags=("exercise:b",)),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (folder / "course.toml").write_text(TOML, encoding="utf-8")
    for name, content in BOOKS.items():
        (folder / name).write_bytes(content)
    return tmp_path


def entry(name: str, lesson: str, kind: str, passed: bool, day: str = "2026-11-30") -> dict[str, Entry]:
    return {name: Entry(name, lesson, kind, passed, 1, day)}


def described(
    root: Path, entries: dict[str, Entry] | None = None, published: Published | None = None
) -> dict[str, Any]:
    course = table.load(root / "notebooks" / "course.toml")
    return lessons.described(course, root / "notebooks", published or Published(BOOKS), entries or {}, root=root)


def test_a_newcomer_begins_at_the_beginning(root: Path) -> None:
    found = described(root)
    assert found["next"] == {"lesson": "00", "words": "Begin: lesson 00"}
    assert (found["passed"], found["of"], found["minutes"], found["no_reset"]) == (0, 3, 60, "")
    row = found["lessons"][1]
    assert row["file"] == "notebooks/01_train.ipynb" and row["exists"] and row["copy"] == "as published"
    assert (row["exercises"], row["quizzes"]) == ({"passed": 0, "of": 1}, {"passed": 0, "of": 1})
    json.dumps(found)


def test_it_goes_on_with_what_was_worked_on_last(root: Path) -> None:
    entries = {**entry("a", "01", "exercise", True, "2026-11-28"), **entry("b", "02", "exercise", False, "2026-11-27")}
    assert described(root, entries)["next"] == {"lesson": "01", "words": "Go on with lesson 01"}
    entries.update(entry("q", "01", "quiz", True))
    assert described(root, entries)["next"] == {"lesson": "02", "words": "Go on with lesson 02"}
    entries.update(entry("b", "02", "exercise", True))
    found = described(root, entries)
    assert found["next"] == {"lesson": "00", "words": "Next: lesson 00"}, "never opened"
    (root / "notebooks" / "00_look.ipynb").write_bytes(BOOKS["00_look.ipynb"].replace(b'"1"', b'"2"'))
    assert described(root, entries)["next"] is None
    assert all(row["done"] for row in described(root, entries)["lessons"])


def test_the_published_notebook_says_what_there_is_to_pass(root: Path) -> None:
    """A learner who deletes the cell of an exercise has not passed it."""
    (root / "notebooks" / "02_tune.ipynb").write_bytes(notebook("gone"))
    row = described(root)["lessons"][2]
    assert row["exercises"]["of"] == 1 and row["copy"] == "edited"


def test_missing_and_broken_notebooks_are_rows_all_the_same(root: Path) -> None:
    (root / "notebooks" / "01_train.ipynb").unlink()
    (root / "notebooks" / "02_tune.ipynb").write_bytes(b"{ broken")
    rows = described(root, published=Published({}, "There is no git."))["lessons"]
    assert [(row["exists"], row["copy"]) for row in rows] == [(True, "unknown"), (False, "missing"), (True, "unknown")]
    assert described(root, published=Published({}, "There is no git."))["no_reset"] == "There is no git."
    assert [row["copy"] for row in described(root)["lessons"]] == ["as published", "missing", "edited"]


def test_a_kept_copy_is_no_lesson(root: Path) -> None:
    kept = root / "notebooks" / "01_train.mine-2026-11-30-1630.ipynb"
    kept.write_bytes(notebook("x", tags=("exercise:other",)))
    assert [one.id for one in contents.lessons(root / "notebooks")] == ["00", "01", "02"]
    assert described(root, published=Published({}, "none"))["of"] == 3


def test_the_learners_folder(root: Path) -> None:
    course = table.load(root / "notebooks" / "course.toml")
    assert lessons.folder_of(root, course, {}) == root / "notebooks"
    assert lessons.folder_of(root / "notebooks", course, {}) == root / "notebooks"
    (root / "deep" / "er").mkdir(parents=True)
    assert lessons.folder_of(root, course, {"LABKIT_NOTEBOOKS": "deep/er"}) == (root / "deep" / "er").resolve()
    assert lessons.folder_of(root / "deep", course, {}) == root / "deep"
    with pytest.raises(LabkitError, match="outside"):
        lessons.folder_of(root / "deep", course, {"LABKIT_NOTEBOOKS": str(root)})


def test_the_real_course(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lessons.listing(table.NOTEBOOKS.parent, environ={"LABKIT_LESSONS": "/nowhere"})
    assert [row["id"] for row in found["lessons"]] == [lesson.id for lesson in table.load().lessons]
    assert found["of"] == sum(len(one.items) for one in contents.lessons()) > 50
    assert "LABKIT_LESSONS" in found["no_reset"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_root_that_is_a_link_is_no_hindrance(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    link = tmp_path_factory.mktemp("links") / "home"
    link.symlink_to(root)
    course = table.load(root / "notebooks" / "course.toml")
    environ = {lessons.VARIABLE: "notebooks", "LABKIT_LESSONS": str(root / "notebooks")}
    rows = lessons.listing(link, course, environ)["lessons"]
    assert rows[1]["file"] == "notebooks/01_train.ipynb"


def test_folders_of_somebody_who_is_not_here_are_told(root: Path) -> None:
    course = table.load(root / "notebooks" / "course.toml")
    with pytest.raises(LabkitError, match="no folder here"):
        lessons.folder_of(root, course, {lessons.VARIABLE: "~nobody-of-this-name/x"})
    found = lessons.listing(root, course, {"LABKIT_LESSONS": "~nobody-of-this-name/x"})
    assert "nobody of that name" in found["no_reset"]


def test_a_published_notebook_that_is_nested_without_end_has_no_exercises(root: Path) -> None:
    deep = {**BOOKS, "01_train.ipynb": b"[" * 100_000}
    assert described(root, published=Published(deep))["lessons"][1]["of"] == 0
