"""The notes for teachers: each lesson's mention all that they must, and a hole in them is seen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from labkit import cli
from labkit.course import table
from labkit.workshop import notes

LESSONS = {lesson.label: lesson for lesson in table.load().lessons}


@pytest.mark.parametrize("label", LESSONS)
def test_notes_mention_every_exercise_mistake_and_quiz(label: str) -> None:
    assert notes.missing(LESSONS[label]) == []


def test_no_notes_of_a_lesson_that_is_not_in_the_table() -> None:
    assert {path.stem for path in notes.NOTES.glob("*.md")} == set(LESSONS)


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A copy of lesson 01's notes, to be broken."""
    return Path(shutil.copy(notes.path_of(LESSONS["01_mnist"]), tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("- `zero_grad forgotten`", "- `zero_grad forgot`", "training_step: the known mistake `zero_grad forgotten` is missing"),
        ("- `zero_grad forgotten`", "- `zero_grad forgot`", "training_step: there is no mistake `zero_grad forgot` any more"),
        ("### share_right\n", "### share_of_right\n", "exercise 'share_right' has no '### share_right'"),
        ("### share_right\n", "### share_of_right\n", "there is no exercise 'share_of_right' any more"),
        ("`who_waits`", "who waits", "the quiz `who_waits` is missing"),
        ("`who_waits`", "`who_waited`", "there is no quiz `who_waited` any more"),
        ("## When late\n", "## If late\n", "the '##' headings must be, in this order: Aim, Before the lesson"),
        ("# 01 MNIST", "# 1 MNIST", "the first line must be '# 01 MNIST: a first network: notes for the teacher'"),
    ],
)  # fmt: skip
def test_a_hole_is_seen(planted: Path, old: str, new: str, seen: str) -> None:
    text = planted.read_text(encoding="utf-8")
    assert old in text
    planted.write_text(text.replace(old, new), encoding="utf-8")
    assert any(seen in line for line in notes.missing("01", planted.parent)), notes.missing("01", planted.parent)


def test_a_mistake_mentioned_under_another_exercise_does_not_count(planted: Path) -> None:
    text = planted.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("- `zero_grad forgotten`"))
    moved = text.replace(f"{line}\n", "").replace("### read_losses\n", f"### read_losses\n\n{line}\n")
    planted.write_text(moved, encoding="utf-8")
    assert len(notes.missing("01", planted.parent)) == 2


def test_an_empty_section_and_a_mistake_with_nothing_said_are_seen(planted: Path) -> None:
    text = planted.read_text(encoding="utf-8")
    parts = {section.title: section.body for section in notes.sections(text)}
    text = text.replace(parts["To discuss"], "")
    said = next(line for line in text.splitlines() if line.startswith("- `zero_grad forgotten`"))
    planted.write_text(text.replace(said, "- `zero_grad forgotten`:"), encoding="utf-8")
    assert notes.missing("01", planted.parent) == [
        "01_mnist.md: 'To discuss' is empty",
        "01_mnist.md: training_step: nothing is said about `zero_grad forgotten`",
    ]


def test_no_file_is_one_line(tmp_path: Path) -> None:
    assert notes.missing("05", tmp_path) == ["05_memory.md: the file does not exist"]


def test_a_heading_in_a_fenced_block_is_none() -> None:
    text = "## One\n```\n## no heading\n```\n### deeper\nx\n## Two\ny"
    assert [part.title for part in notes.sections(text)] == ["One", "Two"]
    assert notes.sections(text, 3) == (notes.Section("deeper", "x"),)


def test_for_a_terminal_lines_are_wrapped_and_marks_are_gone() -> None:
    markdown = (
        "# 01 A\n\n## Aim\n\nSome **bold** and *other* words, `a*b*c`, [a page](x.md).\n\n"
        "- `one`: first\n- two is longer than the line\n"
    )
    text = notes.as_text(markdown, 24)
    assert "01 A\n====" in text and "Aim\n---" in text
    assert "Some bold and other" in text and "`a*b*c`" in text and "a page." in text and "x.md" not in text
    assert "- `one`: first\n- two is longer than the\n  line" in text


def test_the_command_prints_lists_and_checks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cli.main(["workshop", "notes", "mnist"]) == 0
    assert "MNIST: a first network: notes for the teacher\n====" in capsys.readouterr().out
    assert cli.main(["workshop", "notes"]) == 0
    assert "11  Folklore" in capsys.readouterr().out
    assert cli.main(["workshop", "notes", "--check", "01"]) == 0
    assert "1 lesson looked at: nothing is missing." in capsys.readouterr().out
    monkeypatch.setattr(notes, "NOTES", tmp_path)
    assert cli.main(["workshop", "notes", "--check", "01"]) == 1
    assert "01_mnist.md: the file does not exist" in capsys.readouterr().out
    assert cli.main(["workshop", "notes", "01"]) == 1
    assert "There are no notes for lesson 01" in capsys.readouterr().err
