"""The course itself, executed: every lesson of the table, from its first cell to its last."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from labkit.course import execute, form, table
from labkit.course.table import Lesson

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(1500)]

LESSONS = table.load().lessons
BY_LESSON = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.label)
FASHION = Path("/usr/share/datasets/fashion-mnist")


def committed(lesson: Lesson) -> dict[str, Any]:
    return form.parse(form.read(lesson.path))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
        and "".join(cell["source"]).strip()
        and "injected-parameters" not in cell["metadata"].get("tags", [])
    ]


def exercises(lesson: Lesson) -> list[str]:
    return [
        tag
        for cell in committed(lesson)["cells"]
        for tag in cell["metadata"].get("tags", [])
        if tag.startswith("exercise:")
    ]


@BY_LESSON
def test_the_lesson_runs_whole(course_run: Any, lesson: Lesson) -> None:
    row = course_run.row(lesson.id)
    assert row["error"] is None, row["error"]["message"]
    assert row["status"] == "passed" and row["seconds"] > 0
    assert row["cells"] == row["cells_total"] == len(code_cells(committed(lesson))) > 0
    assert row["peak_memory_bytes"] > 20 * 2**20


@BY_LESSON
def test_every_code_cell_of_the_executed_notebook_is_completed(course_run: Any, lesson: Lesson) -> None:
    for cell in code_cells(course_run.notebook(lesson.path.name)):
        begins = "".join(cell["source"]).splitlines()[0]
        assert cell["metadata"]["papermill"]["status"] == "completed", begins
        assert cell["execution_count"], begins
        assert not [out for out in cell["outputs"] if out["output_type"] == "error"], begins


@BY_LESSON
def test_nothing_is_written_to_the_error_stream(course_run: Any, lesson: Lesson) -> None:
    for cell in code_cells(course_run.notebook(lesson.path.name)):
        noise = "".join("".join(out["text"]) for out in cell["outputs"] if out.get("name") == "stderr")
        assert not noise, f"a learner would see a warning after {''.join(cell['source']).splitlines()[0]!r}:\n{noise}"


@BY_LESSON
def test_golden_cells_print_what_is_committed(course_run: Any, lesson: Lesson) -> None:
    executed = {cell["id"]: cell for cell in code_cells(course_run.notebook(lesson.path.name))}
    golden = [cell for cell in committed(lesson)["cells"] if form.is_golden(cell)]
    assert len(golden) >= 3
    for cell in golden:
        assert plain(executed[cell["id"]]) == plain(cell) != "", "".join(cell["source"])


def plain(cell: dict[str, Any]) -> str:
    """The text of a cell's outputs; a stream that arrived in pieces, as it does on a busy machine, is one."""
    text, before = "", None
    for out in cell["outputs"]:
        part = "".join(out["text"] if "text" in out else out.get("data", {}).get("text/plain", ""))
        same = out["output_type"] == "stream" and out["name"] == before
        text += part if same or not text else "\n" + part
        before = out.get("name")
    return text


@pytest.mark.parametrize("lesson", [one for one in LESSONS if one.id != "10"], ids=lambda lesson: lesson.label)
def test_no_line_of_code_is_wider_than_a_cell_on_a_small_screen(lesson: Lesson) -> None:
    """Not yet true of lesson 10, which has seventeen such lines."""
    lines = [line for cell in code_cells(committed(lesson)) for line in "".join(cell["source"]).splitlines()]
    assert [line for line in lines if len(line) > 95] == []


@BY_LESSON
def test_every_exercise_has_one_open_check(course_run: Any, lesson: Lesson) -> None:
    """The stubs of the committed notebook run through, and none of them passes."""
    assert course_run.row(lesson.id)["checks"] == {"passed": 0, "todo": len(exercises(lesson))}


def test_the_exercise_lesson_has_at_least_eight_exercises() -> None:
    assert max(len(exercises(lesson)) for lesson in LESSONS) >= 8


@BY_LESSON
def test_there_is_something_to_look_at(course_run: Any, lesson: Lesson) -> None:
    outputs = [out for cell in course_run.notebook(lesson.path.name)["cells"] for out in cell.get("outputs", [])]
    kinds = {kind for out in outputs for kind in out.get("data", {})}
    assert kinds & {"image/png", "image/svg+xml", "text/html"}
    if lesson.id != "00":
        assert "image/png" in kinds, "a lesson has figures"


@BY_LESSON
def test_the_executed_notebook_says_nothing_of_this_computer(course_run: Any, lesson: Lesson) -> None:
    text = (course_run.folder / lesson.path.name).read_text(encoding="utf-8")
    assert str(table.NOTEBOOKS) not in text


def test_the_run_as_a_whole(course_run: Any) -> None:
    assert course_run.status == 0 and course_run.report["status"] == "passed"
    assert [row["id"] for row in course_run.report["lessons"]] == [lesson.id for lesson in LESSONS]
    assert course_run.report["machine"]["torch"]["version"]
    text = (course_run.folder / "report.txt").read_text(encoding="utf-8")
    assert all(lesson.title in text for lesson in LESSONS) and "peak memory" in text


@pytest.mark.skipif(
    not FASHION.is_dir() and not os.environ.get("CI"),
    reason=(
        "NOT CHECKED: lesson 01 on real pictures, because Debian's package dataset-fashion-mnist is not installed here"
    ),
)
def test_lesson_01_learns_from_sixty_thousand_real_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full profile on the real data, to 87 % or better; in CI the package has to be there."""
    assert FASHION.is_dir(), ".ci/run installs dataset-fashion-mnist, and it is not there"
    for name in ("LABKIT_DATA", "LABKIT_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))  # nobody's own copy: the system's package
    folder = execute.BUILD / "test" / "fashion"
    status = execute.run(["01"], profile="full", parameters={"dataset": "fashion_mnist"}, output=folder)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert status == 0, report["lessons"][0]["error"]
    notebook = json.loads((folder / table.find("01").path.name).read_text(encoding="utf-8"))
    said = "\n".join(words(cell) for cell in code_cells(notebook))
    assert "60,000" in said and "Fashion-MNIST" in said and "stand-in" not in said.lower()
    accuracy = re.search(r"right about \*\*([\d.]+)%\*\* of 10,000 test pictures", said)
    assert accuracy is not None, said
    assert float(accuracy[1]) >= 87


def words(cell: dict[str, Any]) -> str:
    """Everything that a cell prints or shows as text."""
    parts = [out.get("text", "") for out in cell["outputs"]]
    parts += [
        value for out in cell["outputs"] for kind, value in out.get("data", {}).items() if kind.startswith("text/")
    ]
    return "\n".join("".join(part) for part in parts)
