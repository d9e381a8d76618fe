"""One run of the whole course for all tests that look at its results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.course import execute
from tests.notebooks.outputs import shown

BUILD = execute.BUILD / "test"


@dataclass(frozen=True)
class CourseRun:
    """What ``labkit run`` gave: its exit status, its report, and the executed notebooks by lesson."""

    status: int
    report: dict[str, Any]
    folder: Path

    def row(self, lesson_id: str) -> dict[str, Any]:
        return next(row for row in self.report["lessons"] if row["id"] == lesson_id)

    def notebook(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def course_run() -> CourseRun:
    """Every lesson of the table, quick profile, two at a time; the results stay in build/test for a look afterwards."""
    folder = BUILD / "quick"
    status = execute.run([], profile="quick", parameters={}, output=folder, workers=2)
    return CourseRun(status, json.loads((folder / "report.json").read_text(encoding="utf-8")), folder)


@pytest.fixture(scope="module")
def notebook(request: pytest.FixtureRequest, course_run: CourseRun) -> dict[str, Any]:
    """The executed notebook of the module's LESSON."""
    return course_run.notebook(request.module.LESSON.path.name)


@pytest.fixture(scope="module")
def text(notebook: dict[str, Any]) -> str:
    """Everything that its code cells printed or displayed."""
    return shown(notebook)
