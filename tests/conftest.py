"""A test run is no learner: nothing here writes to the progress of whoever runs it. And it hears Ctrl-C, as a learner's terminal does.

The whole course is executed once for all tests that look at its results, in whatever folder they are.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("labkit", deadline=None)  # no test asserts how long something takes
hypothesis.settings.load_profile("labkit")
os.environ["LABKIT_PROGRESS"] = "off"

# A job in the background of a script begins by ignoring interrupts, and every process that it starts inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
    from labkit.course import execute

    folder = execute.BUILD / "test" / "quick"
    status = execute.run([], profile="quick", parameters={}, output=folder, workers=2)
    return CourseRun(status, json.loads((folder / "report.json").read_text(encoding="utf-8")), folder)
