"""What a lesson's cells hold, and what the executed lesson showed."""

from __future__ import annotations

import json
import re
from typing import Any

from labkit.course.table import Lesson


def cells(lesson: Lesson) -> list[dict[str, Any]]:
    """The cells of the committed notebook."""
    found: list[dict[str, Any]] = json.loads(lesson.path.read_text(encoding="utf-8"))["cells"]
    return found


def numbers(pattern: str, text: str) -> list[float]:
    """The groups of the first match, as numbers."""
    found = re.search(pattern, text)
    assert found, pattern
    return [float(number.replace(",", "")) for number in found.groups()]


def shown(notebook: dict[str, Any]) -> str:
    """Everything that the code cells printed or displayed, as text."""
    told = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            told.append("".join(output.get("text") or data.get("text/markdown") or data.get("text/plain") or ""))
    return "\n".join(told)
