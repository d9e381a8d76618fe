"""What a lesson's cells hold, and what the executed lesson showed."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Any

from labkit.course.table import Lesson


def cells(lesson: Lesson) -> list[dict[str, Any]]:
    """The cells of the committed notebook."""
    found: list[dict[str, Any]] = json.loads(lesson.path.read_text(encoding="utf-8"))["cells"]
    return found


def until(lesson: Lesson, marker: str | None = None, **parameters: Any) -> dict[str, Any]:
    """The names of the lesson after its code cells up to the one that holds ``marker`` (None: all), run in this process."""
    names: dict[str, Any] = {"__name__": "__lesson__"}
    for cell in cells(lesson):
        if cell["cell_type"] != "code":
            continue
        code = "".join(cell["source"])
        exec(compile(code, f"<lesson {lesson.id}>", "exec"), names)
        if "parameters" in cell["metadata"].get("tags", []):
            names.update(parameters)
        if marker is not None and marker in code:
            break
    return names


OWN = (
    ast.FunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)  # have names of their own


def assigned(node: ast.AST) -> set[str]:
    """The notebook's names that this code binds."""
    own = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    return own.union(*(assigned(child) for child in ast.iter_child_nodes(node) if not isinstance(child, OWN)))


def cells_that_bind(lesson: Lesson, names: Iterable[str]) -> dict[str, int]:
    """How many code cells bind each of these names, the parameters' cell left out.

    A name that a later cell takes for something else is gone when an earlier cell runs again.
    """
    code = [c for c in cells(lesson) if c["cell_type"] == "code" and "parameters" not in c["metadata"].get("tags", [])]
    bound = [assigned(ast.parse("".join(cell["source"]))) for cell in code]
    return {name: sum(name in each for each in bound) for name in names}


def numbers(pattern: str, text: str) -> list[float]:
    """The groups of the first match, as numbers."""
    found = re.search(pattern, text)
    assert found, pattern
    return [float(number.replace(",", "")) for number in found.groups()]


def words_of_figures(notebook: dict[str, Any]) -> list[str]:
    """The words of each figure that the executed lesson shows."""
    return [
        output["metadata"]["image/png"]["alt"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]


def said(cell: dict[str, Any]) -> list[str]:
    """What each output of an executed cell printed or displayed, as text."""
    told = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        told.append("".join(output.get("text") or data.get("text/markdown") or data.get("text/plain") or ""))
    return told


def shown(notebook: dict[str, Any]) -> str:
    """Everything that the code cells printed or displayed, as text."""
    return "\n".join(text for cell in notebook["cells"] for text in said(cell))
