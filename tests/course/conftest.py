"""Small lessons made for a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.course.table import Lesson

PARAMETERS = 'profile = "quick"  # quick or full\nepochs = 2  # passes over the data\nrate = 0.5  # step size'


def notebook(cells: list[tuple[str, str] | tuple[str, str, list[str]]]) -> dict:
    """A notebook from (kind, text, tags) triples."""
    made = []
    for number, (kind, text, *tags) in enumerate(cells):
        cell = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {"tags": tags[0]} if tags else {},
            "source": text.splitlines(keepends=True),
        }
        if kind == "code":
            cell.update(execution_count=None, outputs=[])
        made.append(cell)
    return {
        "cells": made,
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
    }


@pytest.fixture
def make_lesson(tmp_path: Path) -> Callable[..., Lesson]:
    """Writes a lesson: title, parameters, the given code cells, closing words; returns its row of the table."""

    def make(*code: str, id: str = "90", name: str = "made", parameters: str = PARAMETERS, **row: object) -> Lesson:
        cells: list = [("markdown", "# Made lesson\n\nbeginner, 5 minutes")]
        if parameters:
            cells.append(("code", parameters, ["parameters"]))
        cells += [("code", text) for text in code]
        cells.append(("markdown", "The end."))
        path = tmp_path / "lessons" / f"{id}_{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(notebook(cells)), encoding="utf-8")
        fields: dict = {
            "title": "Made lesson",
            "minutes": 5,
            "level": "beginner",
            "needs": (),
            "summary": "Made for a test.",
        }
        return Lesson(id=id, name=name, path=path, **{**fields, **row})

    return make
