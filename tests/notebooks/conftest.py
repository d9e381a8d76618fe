"""The executed notebook of the lesson that a module is about, and its text."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks.outputs import shown


@pytest.fixture(scope="module")
def notebook(request: pytest.FixtureRequest, course_run: Any) -> dict[str, Any]:
    """The executed notebook of the module's LESSON."""
    return course_run.notebook(request.module.LESSON.path.name)


@pytest.fixture(scope="module")
def text(notebook: dict[str, Any]) -> str:
    """Everything that its code cells printed or displayed."""
    return shown(notebook)
