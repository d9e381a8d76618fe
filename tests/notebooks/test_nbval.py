"""nbval on every lesson: the golden cells print what is committed, and nbval would see it if they did not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from labkit.course import form, judge, table
from labkit.course.table import Lesson

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]


@pytest.mark.parametrize("lesson", table.load().lessons, ids=lambda lesson: lesson.label)
def test_nbval_finds_every_golden_cell_as_committed(lesson: Lesson) -> None:
    verdict = judge.judge([lesson.path])
    assert verdict.good, verdict.text
    notebook = form.parse(form.read(lesson.path))
    assert verdict.passed == sum(cell["cell_type"] == "code" for cell in notebook["cells"])
    golden = [cell for cell in notebook["cells"] if form.is_golden(cell)]
    assert len(golden) >= 3 and all(cell["execution_count"] for cell in golden), (
        "nbval compares no cell without a count"
    )


def test_nbval_sees_a_changed_golden_output(tmp_path: Path) -> None:
    """The first lesson with one letter of its first golden output changed, in a copy that ends there."""
    lesson = table.load().lessons[0]
    notebook = form.parse(form.read(lesson.path))
    position, cell = next((number, cell) for number, cell in enumerate(notebook["cells"]) if form.is_golden(cell))
    notebook["cells"] = notebook["cells"][: position + 1]
    copy = tmp_path / lesson.path.name
    if (table.NOTEBOOKS / "scripts").is_dir():
        shutil.copytree(table.NOTEBOOKS / "scripts", tmp_path / "scripts")
    copy.write_text(form.as_text(notebook), encoding="utf-8")
    verdict = judge.judge([copy])
    assert verdict.good, verdict.text
    stored = json.dumps(cell["outputs"])
    letter = next(letter for letter in "eaiotn" if any(letter in text for text in texts(cell)))
    for out in cell["outputs"]:
        for holder, key in ((out, "text"), (out.get("data", {}), "text/plain")):
            if key in holder:
                holder[key] = ["".join(holder[key]).replace(letter, "Q", 1)]
    assert json.dumps(cell["outputs"]) != stored
    copy.write_text(form.as_text(notebook), encoding="utf-8")
    verdict = judge.judge([copy])
    assert not verdict.good and verdict.failed == 1, verdict.text


def texts(cell: dict) -> list[str]:
    return ["".join(out.get("text", out.get("data", {}).get("text/plain", ""))) for out in cell["outputs"]]
