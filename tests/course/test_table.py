"""The table of lessons: read, searched, and refused in words where it is damaged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from labkit.course import table
from labkit.errors import LabkitError
from tests import bare

ROW = '[[lesson]]\nid = "00"\nname = "first"\ntitle = "First"\nminutes = 5\nlevel = "beginner"\nneeds = []\nsummary = "One."\n'


def load(tmp_path: Path, text: str) -> table.Course:
    path = tmp_path / "course.toml"
    path.write_text(text, encoding="utf-8")
    return table.load(path)


def test_the_course_is_read_and_every_lesson_has_its_notebook() -> None:
    course = table.load()
    assert [lesson.id for lesson in course.lessons] == sorted(lesson.id for lesson in course.lessons)
    for lesson in course.lessons:
        assert lesson.path.is_file(), f"{lesson.path.name} is in the table and not in notebooks/"
        assert lesson.title and lesson.summary and lesson.level


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "01",
        "mnist",
        "MNIST",
        "01_mnist",
        "01-mnist",
        "notebooks/01_mnist.ipynb",
        "notebooks\\01_mnist.ipynb",
        "mnis",
        "first network",
    ],
)
def test_a_lesson_is_found_by_number_name_part_and_file(text: str) -> None:
    assert table.find(text).label == "01_mnist"


@pytest.mark.parametrize(
    ("text", "part"), [("77", "no lesson '77'"), ("", "no lesson"), ("nothing", "no lesson"), ("m", "several")]
)
def test_what_is_not_found_is_told_with_what_there_is(text: str, part: str) -> None:
    with pytest.raises(LabkitError, match=part) as caught:
        table.find(text)
    assert "01_mnist" in caught.value.remedy


def test_lessons_come_once_and_in_order() -> None:
    assert [lesson.id for lesson in table.choose(["03", "mnist", "1"])] == ["01", "03"]
    assert table.choose([]) == table.load().lessons


def test_the_text_names_every_lesson_with_its_minutes() -> None:
    course = table.load()
    text = table.as_text(course)
    for lesson in course.lessons:
        line = next(line for line in text.splitlines() if line.startswith(f"  {lesson.id}"))
        assert lesson.title in line and f"{lesson.minutes} min" in line


def test_full_and_limits_are_read(tmp_path: Path) -> None:
    text = ROW + "[lesson.full]\nepochs = 5\n[lesson.limits.quick]\ncell_s = 3.5\n"
    lesson = load(tmp_path, text).lessons[0]
    assert lesson.full == {"epochs": 5} and lesson.limits == {"quick": {"cell_s": 3.5}}
    assert lesson.path == tmp_path / "00_first.ipynb"


@pytest.mark.parametrize("address", ["https://github.com/you/labs", "https://git.example.org/a/b~c/labs.git", ""])
def test_the_address_of_the_repository_is_read_and_may_be_left_out(tmp_path: Path, address: str) -> None:
    about = f'[course]\nrepository = "{address}"\n' if address else ""
    assert load(tmp_path, about + ROW).repository == address


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[[lesson]\n", "not valid TOML"),
        ("", r"holds no \[\[lesson\]\]"),
        ("lesson = 3", "holds no"),
        ("lesson = [3]", "not a table"),
        (ROW.replace('title = "First"\n', ""), "lacks 'title'"),
        (ROW.replace("minutes = 5", 'minutes = "5"'), "wrong kind of value for 'minutes'"),
        (ROW.replace("minutes = 5", "minutes = true"), "wrong kind"),
        (ROW.replace("minutes = 5", "minutes = 0"), "above 0"),
        (ROW + ROW, "twice"),
        (ROW.replace("needs = []", 'needs = ["07"]'), "needs 07"),
        (ROW + 'colour = "red"\n', "unknown key: colour"),
        (ROW.replace('"00"', '"0"'), "two digits"),
        (ROW.replace('"first"', '"../first"'), "lower-case"),
        (ROW + "[lesson.full]\nsizes = [1, 2]\n", "plain numbers"),
        (ROW + "[lesson.limits.quick]\ncell_s = -1\n", "above 0"),
        (ROW + "[lesson.limits.fast]\ncell_s = 1\n", "quick or full"),
        (ROW + "[lesson.limits]\nquick = 3\n", "quick or full"),
        ("course = 3\n" + ROW, "'course' in course.toml is not a table"),
        ("[course]\nrepository = 3\n" + ROW, "no address of a repository"),
        ('[course]\nrepository = "git@github.com:you/labs.git"\n' + ROW, "no address of a repository"),
        ('[course]\nrepository = "http://github.com/you/labs"\n' + ROW, "no address of a repository"),
    ],
)
def test_a_damaged_table_is_one_sentence_with_a_remedy(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(LabkitError, match=part) as caught:
        load(tmp_path, text)
    assert caught.value.remedy and "\n" not in caught.value.problem


def test_a_missing_table_and_one_that_is_no_text_are_told(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="does not exist"):
        table.load(tmp_path / "none.toml")
    (tmp_path / "course.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(LabkitError, match="cannot be read"):
        table.load(tmp_path / "course.toml")


def test_a_python_without_any_toml_reader_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(table, "import_module", nothing)
    with pytest.raises(LabkitError, match="no reader"):
        table.load()


def test_labkit_list_needs_nothing_installed() -> None:
    answer = bare.labkit("list")
    if sys.version_info < (3, 11):
        assert answer.returncode in (0, 1) and "Traceback" not in answer.stderr
    else:
        assert answer.returncode == 0 and "01  MNIST" in answer.stdout, answer.stderr


def test_a_table_that_is_nested_without_end_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "course.toml"
    path.write_text("x=" + "[" * 100_000, encoding="utf-8")
    with pytest.raises(LabkitError, match="nested too deeply"):
        table.load(path)
