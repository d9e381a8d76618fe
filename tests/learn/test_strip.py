"""The strip at a lesson's end, what a lesson holds, the table and the export of ``labkit progress``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from labkit import cli, progress
from labkit.errors import LabkitError
from labkit.learn import lessons, overview, records
from labkit.learn.lessons import Item, Lesson
from labkit.learn.records.entry import Entry
from labkit.learn.strip import Strip
from tests import bare

ROOT = Path(__file__).resolve().parents[2]
DAY = "2027-03-01"
LESSON = Lesson(
    "02", "Your turn", "02_turn.ipynb", (Item("one", "exercise"), Item("two", "exercise"), Item("q", "quiz"))
)


def entry(name: str, passed: bool = True, tries: int = 1, kind: str = "exercise") -> Entry:
    return Entry(name, "02", kind, passed, tries, DAY)


def entries(*rows: Entry) -> dict[str, Entry]:
    return {row.name: row for row in rows}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "progress.jsonl"
    monkeypatch.setenv("LABKIT_PROGRESS", str(found))
    records.start_anew()
    return found


# ------------------------------------------------------------------------------------------------------- what a lesson holds


def notebook(folder: Path, name: str, *cells: tuple[str, str, list[str]]) -> Path:
    made = [
        {"cell_type": kind, "source": source.splitlines(True), "metadata": {"tags": tags}}
        for kind, source, tags in cells
    ]
    (folder / name).write_text(json.dumps({"cells": made}), encoding="utf-8")
    return folder / name


def test_a_lesson_holds_its_tagged_exercises_and_its_quizzes_in_order(tmp_path: Path) -> None:
    notebook(
        tmp_path,
        "07_seven.ipynb",
        ("markdown", "intro\n# 07 · Seven: things\ntext", []),
        ("code", 'quiz("first")', []),
        ("code", "def a(): ...", ["exercise", "exercise:a"]),
        ("code", "labkit.quiz( 'second', 3)\nquiz('first', 2)", []),
        ("markdown", 'Write `quiz("not_this", 1)`.', []),
    )
    (tmp_path / "scripts.ipynb").write_text("no lesson", encoding="utf-8")
    (found,) = lessons.lessons(tmp_path)
    assert found == Lesson(
        "07", "Seven: things", "07_seven.ipynb", (Item("first", "quiz"), Item("a", "exercise"), Item("second", "quiz"))
    )
    assert lessons.following(found, tmp_path) is None


def test_lessons_are_found_by_number() -> None:
    assert lessons.lesson("02") == lessons.lesson("2") == lessons.lesson(2)  # type: ignore[arg-type]
    with pytest.raises(LabkitError, match="no lesson '77'"):
        lessons.lesson("77")
    after = lessons.following(lessons.lesson("00"))
    assert after is not None and after.id == "01"


def test_a_missing_folder_and_a_broken_notebook_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="no notebooks"):
        lessons.lessons(tmp_path)
    (tmp_path / "01_x.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(LabkitError, match=r"01_x\.ipynb"):
        lessons.lessons(tmp_path)


@pytest.mark.parametrize("lesson", [one for one in lessons.lessons() if one.items], ids=lambda one: one.notebook)
def test_a_lesson_with_exercises_ends_with_its_strip(lesson: Lesson) -> None:
    cells = json.loads((lessons.NOTEBOOKS / lesson.notebook).read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells[-3:] if cell["cell_type"] == "code"]
    assert any(f'progress("{lesson.id}")' in source for source in code), "before the last cell"


# ------------------------------------------------------------------------------------------------------------------ the strip


def test_the_text_names_what_is_passed_open_and_next() -> None:
    strip = Strip(LESSON, entries(entry("two"), entry("q", passed=False, kind="quiz")), "03 · More")
    assert str(strip) == "Lesson 02: 1 of 3 passed.\n  passed: two\n  open:   one, q\n  Next: one."
    assert strip.passed == ("two",) and strip.open == ("one", "q")


def test_after_three_tries_the_advice_names_hint_and_solution() -> None:
    strip = Strip(LESSON, entries(entry("one", passed=False, tries=3)), "")
    assert 'hint("one")' in strip.advice() and 'solution("one")' in strip.advice() and "3 tries" in strip.advice()


def test_when_all_is_passed_the_next_lesson_is_named() -> None:
    done = entries(entry("one"), entry("two"), entry("q", kind="quiz"))
    assert "All done here. Next lesson: 03 · More." in str(Strip(LESSON, done, "03 · More"))
    assert Strip(LESSON, done).advice() == "All done here."
    assert "has no exercises" in str(Strip(Lesson("01", "x", "01_x.ipynb", ()), {}))


class Reader(HTMLParser):
    """Text as a screen reader has it, and whether every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.items: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.hidden += ("aria-hidden", "true") in attrs
        if tag == "li":
            self.items.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.hidden = 0

    def handle_data(self, data: str) -> None:
        if "li" in self.open and not self.hidden:
            self.items[-1] += data


def test_the_html_says_the_same_without_colour_and_to_a_screen_reader() -> None:
    strip = Strip(LESSON, entries(entry("two")), "03 · More", saved=False, why="<off>")
    text = strip.as_html()
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert [" ".join(item.split()) for item in reader.items] == ["one, open", "two, passed", "q (quiz), open"]
    assert "✔" in text and "○" in text and "dashed" in text, "a sign and a line, not only a colour"
    assert 'aria-label="Progress in lesson 02"' in text and "&lt;off&gt;" in text
    assert not re.search(r"(?<!-)\bcolor:(?!inherit)", text) and "background:#" not in text, "the page's own colours"


def test_progress_gives_the_strip_of_what_was_checked(path: Path) -> None:
    from labkit import check

    check("output_size", lambda size, kernel, stride=1, padding=0: (size + 2 * padding - kernel) // stride + 1)
    strip = progress("02")
    assert strip.passed == ("output_size",) and strip.saved
    assert set(strip._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert "augment" in str(strip) and str(path) not in strip.as_html()


def test_where_nothing_is_saved_the_strip_says_so() -> None:
    records.start_anew()
    assert "Kept in this kernel only: LABKIT_PROGRESS is off." in str(progress("02"))


def test_a_watcher_gets_a_button_that_looks_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    widgets = pytest.importorskip("ipywidgets")
    from labkit.learn import panel

    monkeypatch.setenv("LABKIT_LIVE", "1")
    bundle = progress("02")._repr_mimebundle_()
    assert any(key.startswith("application/vnd.jupyter.widget") for key in bundle) and "text/html" in bundle
    box = panel.strip_box(lambda: progress("02").as_html(), lambda: progress("02").as_html())
    assert isinstance(box, widgets.VBox) and "0 of" in box.children[0].value
    records.note("augment", "02", "exercise", True)
    box.children[1].click()
    assert "1 of" in box.children[0].value


# ------------------------------------------------------------------------------------------------------- the command line


def test_the_command_shows_a_table(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records.note("augment", "02", "exercise", True)
    records.note("fit", "02", "exercise", False)
    assert cli.main(["progress"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^02  CIFAR-10.*\[#+\.+\]\s+1 of \d+$", text, re.MULTILINE)
    assert "fit (1 try)" in text and re.search(r"^1 of \d+ passed\.$", text, re.MULTILINE)
    assert max(map(len, text.splitlines()[:1])) < 80


def test_the_command_works_without_anything_installed(path: Path) -> None:
    answer = bare.labkit("progress")
    assert answer.returncode == 0 and "passed." in answer.stdout, answer.stderr


def test_learn_is_imported_without_torch() -> None:
    code = (
        "import sys, labkit; labkit.progress('02'); labkit.learn.check; labkit.quiz; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


def test_the_export_holds_what_it_says_and_nothing_else(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "ada_lovelace")
    records.note("augment", "02", "exercise", True)
    records.note("no_longer_there", "02", "exercise", True)
    target = tmp_path / "for teacher.json"
    assert cli.main(["progress", "--export", str(target)]) == 0
    assert "no names" in capsys.readouterr().out
    text = target.read_text(encoding="utf-8")
    found = json.loads(text)
    assert set(found) == {"labkit_progress_export", "course", "labkit", "exported", "passed", "of", "lessons"}
    assert found["labkit_progress_export"] == 1 and found["passed"] == 1
    rows = {row["lesson"]: row for row in found["lessons"]}
    assert set(rows["02"]) == {"lesson", "title", "passed", "of", "items"}
    items = {item["name"]: item for item in rows["02"]["items"]}
    assert items["augment"] == {
        "name": "augment", "kind": "exercise", "passed": True, "tries": 1, "day": items["augment"]["day"]
    }  # fmt: skip
    assert items["fit"] == {"name": "fit", "kind": "exercise", "passed": False, "tries": 0, "day": None}
    assert rows["02"]["of"] == len(items) and found["of"] == sum(row["of"] for row in found["lessons"])
    for private in ("ada_lovelace", "no_longer_there", str(tmp_path), str(Path.home())):
        assert private not in text
    for key in set(re.findall(r'"(\w+)":', text)):
        assert f"``{key}``" in (overview.__doc__ or ""), f"'{key}' is not described"


def test_an_export_that_cannot_be_written_is_a_sentence(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["progress", "--export", str(tmp_path / "no" / "where.json")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_forget_moves_the_record_aside_without_a_question(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records.note("augment", "02", "exercise", True)
    assert cli.main(["progress", "--forget"]) == 0
    (aside,) = path.parent.glob("progress-forgotten-*.jsonl")
    assert str(aside) in capsys.readouterr().out and not path.exists()
    assert cli.main(["progress", "--forget"]) == 0
    assert "nothing to forget" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [("junk\n", "is damaged"), ('{"labkit_progress": 9}\n', "newer labkit"), (None, "cannot be read")],
)
def test_a_record_that_cannot_be_read_is_a_sentence(
    path: Path, capsys: pytest.CaptureFixture[str], content: str | None, said: str
) -> None:
    path.mkdir() if content is None else path.write_text(content, encoding="utf-8")
    assert cli.main(["progress"]) == 0
    assert said in capsys.readouterr().out


def test_off_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    assert cli.main(["progress"]) == 0
    assert "No progress is kept here: LABKIT_PROGRESS is off." in capsys.readouterr().out
