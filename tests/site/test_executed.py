"""Which lessons are executed for the site, and whose outputs are refused. Nothing is executed here: a fake counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from labkit.course.table import Lesson
from labkit.errors import LabkitError
from labkit.site import executed
from tests.site import made


class Fake:
    """Executes nothing, but leaves what an execution leaves; lessons in ``failing`` fail."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.failing: set[str] = set()

    def __call__(self, lessons: Sequence[Lesson], output: Path) -> int:
        self.calls.append([lesson.id for lesson in lessons])
        error = {"kind": "cell", "message": "cell 3 raised ValueError: no", "cell": 3, "source": None}
        rows = [
            made.row(lesson, status="failed", error=error) if lesson.id in self.failing else made.row(lesson)
            for lesson in lessons
        ]
        made.write_run(output, lessons, lessons=rows)
        return 1 if self.failing else 0


@pytest.fixture
def lessons(tmp_path: Path) -> list[Lesson]:
    folder = tmp_path / "notebooks"
    return [
        made.write_lesson(folder, f"0{n}", name, made.code("x")) for n, name in enumerate(("first", "second", "third"))
    ]


@pytest.fixture
def fake() -> Fake:
    return Fake()


def key_of(lesson: Lesson) -> str:
    return lesson.path.read_text(encoding="utf-8")


def change(lesson: Lesson) -> None:
    notebook = json.loads(lesson.path.read_text(encoding="utf-8"))
    notebook["cells"][-1]["source"] = "Another end."
    lesson.path.write_text(json.dumps(notebook), encoding="utf-8")


def test_only_lessons_that_changed_are_executed_again(tmp_path: Path, lessons: list[Lesson], fake: Fake) -> None:
    cache = tmp_path / "cache"

    def now() -> list[executed.Executed]:
        return executed.up_to_date(lessons, cache, execute_lessons=fake, key_of=key_of)

    first = now()
    assert [one.lesson.id for one in first] == ["00", "01", "02"]
    assert first[0].row["executed"] == made.WHEN and first[0].machine["torch"]["version"] == "2.14.1+cpu"
    assert now() == first and fake.calls == [["00", "01", "02"]], "nothing changed, nothing is executed"
    change(lessons[1])
    again = now()
    assert fake.calls[1:] == [["01"]], "the text of one lesson changed"
    assert again[1].notebook["cells"][-1]["source"] == "Another end." and again[0] == first[0]
    (cache / "02_third.ipynb").unlink()
    (cache / "00_first.json").write_text("{", encoding="utf-8")
    now()
    assert fake.calls[2:] == [["00", "02"]], "what is missing or damaged in the cache is executed again"
    assert not list(cache.glob(".run.*")), "nothing is left over"


def test_a_failed_lesson_stops_the_site_in_one_sentence_and_the_others_are_kept(
    tmp_path: Path, lessons: list[Lesson], fake: Fake
) -> None:
    fake.failing = {"01"}
    with pytest.raises(
        LabkitError, match=r"Lesson 01 Second failed, so no new site was made: cell 3 raised ValueError: no"
    ):
        executed.up_to_date(lessons, tmp_path / "cache", execute_lessons=fake, key_of=key_of)
    fake.failing = set()
    executed.up_to_date(lessons, tmp_path / "cache", execute_lessons=fake, key_of=key_of)
    assert fake.calls == [["00", "01", "02"], ["01"]]


def test_a_run_is_taken_as_it_is(tmp_path: Path, lessons: list[Lesson]) -> None:
    made.write_run(tmp_path / "run", lessons)
    found = executed.taken(tmp_path / "run", lessons)
    assert [one.lesson for one in found] == lessons and found[2].profile == "quick"


def test_another_text_is_refused(tmp_path: Path, lessons: list[Lesson]) -> None:
    made.write_run(tmp_path / "run", lessons)
    change(lessons[2])
    with pytest.raises(LabkitError, match=r"02_third.ipynb is not an execution of .* as it is now"):
        executed.taken(tmp_path / "run", lessons)


def test_outputs_and_numbers_of_execution_are_no_difference(lessons: list[Lesson]) -> None:
    committed = json.loads(lessons[0].path.read_text(encoding="utf-8"))
    ran = made.executed_notebook(lessons[0], outputs={3: [made.printed("7\n")]})
    ran["cells"][1]["source"] = ran["cells"][1]["source"].splitlines(keepends=True)
    assert executed.same_text(committed, ran)
    ran["cells"][4]["source"] += " "
    assert not executed.same_text(committed, ran)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"schema": "other"}, "is no report of this"),
        ({"version": 1}, "is no report of this"),
        ({"lessons": []}, "lacks 00_first, 01_second and 02_third"),
        ({"lessons": [1, None]}, "not whole"),
        ({"lessons": [{"id": ["00"], "title": "First", "status": "passed"}]}, "not whole"),
        ({"lessons": [{"id": "00", "status": "failed"}]}, "not whole"),
        ({"machine": None}, "names no machine"),
    ],
)
def test_a_report_that_does_not_fit_is_refused(
    tmp_path: Path, lessons: list[Lesson], changes: dict, problem: str
) -> None:
    made.write_run(tmp_path, lessons, **changes)
    with pytest.raises(LabkitError, match=problem):
        executed.taken(tmp_path, lessons)


def test_a_folder_without_a_whole_run_is_refused(tmp_path: Path, lessons: list[Lesson]) -> None:
    with pytest.raises(LabkitError, match=r"There is no .*report\.json"):
        executed.taken(tmp_path / "nowhere", lessons)
    made.write_run(tmp_path, lessons, lessons=[made.row(lesson, status="failed") for lesson in lessons])
    with pytest.raises(LabkitError, match=r"Lesson 00 First failed.*So did 01 and 02"):
        executed.taken(tmp_path, lessons)
    made.write_run(tmp_path, lessons)
    (tmp_path / "01_second.ipynb").write_text("[]", encoding="utf-8")
    with pytest.raises(LabkitError, match=r"01_second\.ipynb cannot be read"):
        executed.taken(tmp_path, lessons)
    (tmp_path / "01_second.ipynb").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(LabkitError, match=r"01_second\.ipynb cannot be read"):
        executed.taken(tmp_path, lessons)
    for content in ("{", "[" * 100_000):
        (tmp_path / "report.json").write_text(content, encoding="utf-8")
        with pytest.raises(LabkitError, match="cannot be read"):
            executed.taken(tmp_path, lessons)
