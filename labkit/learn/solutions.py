"""The solutions file of a lesson: where it is, and the source of one answer in it."""

from __future__ import annotations

import ast
from pathlib import Path

from labkit.errors import LabkitError
from labkit.importable import ROOT

NOTEBOOKS = ROOT / "notebooks"


def path_of(lesson: str, notebooks: Path | None = None) -> Path:
    """The solutions file of a lesson id such as '02'. Raises LabkitError where there is none."""
    folder = (notebooks or NOTEBOOKS) / "solutions"
    found = sorted(folder.glob(f"{lesson}_*.py"))
    if not found:
        raise LabkitError(
            f"There is no solutions file for lesson {lesson} in {folder}",
            "Open the notebook from a clone of the course; the folder notebooks/solutions comes with it.",
        )
    return found[0]


def source_of(lesson: str, name: str, notebooks: Path | None = None) -> str:
    """The source of the function, class or value of this name in the lesson's solutions file."""
    path = path_of(lesson, notebooks)
    text = path.read_text(encoding="utf-8")
    found = blocks(text).get(name)
    if found is None:
        raise LabkitError(
            f"{path.name} holds no solution named '{name}'", "Please report this: it is a mistake in the course."
        )
    return found


def blocks(text: str) -> dict[str, str]:
    """Name -> source of every top-level function, class and plain assignment of a Python text."""
    lines = text.splitlines()
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        names: list[str] = []
        first = node.lineno
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [node.name]
            first = min([first, *(d.lineno for d in node.decorator_list)])
        elif isinstance(node, ast.Assign):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        for name in names:
            found[name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found
