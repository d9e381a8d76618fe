"""A small clone, made for a test: three lessons, and what executing them would have left."""

from __future__ import annotations

import base64
import copy
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.course.table import Course, Lesson
from labkit.site.executed import Executed

MACHINE = {
    "system": "Linux",
    "architecture": "x86_64",
    "python": "3.11.7",
    "torch": {"version": "2.14.1+cpu", "build": "cpu", "hip": None, "device": "cpu", "product": None, "gfx": None},
}
WHEN = "2026-11-30T16:28:05Z"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = {
    "application/vnd.jupyter.widget-state+json": {
        "version_major": 2,
        "version_minor": 0,
        "state": {
            "a1": {
                "model_module": "@jupyter-widgets/controls",
                "model_module_version": "2.0.0",
                "model_name": "IntSliderModel",
                "state": {
                    "description": "batch", "value": 42, "min": 0, "max": 100, "layout": "IPY_MODEL_a2", "style": "IPY_MODEL_a3",
                },
            },
            "a2": {
                "model_module": "@jupyter-widgets/base", "model_module_version": "2.0.0", "model_name": "LayoutModel", "state": {},
            },
            "a3": {
                "model_module": "@jupyter-widgets/controls",
                "model_module_version": "2.0.0",
                "model_name": "SliderStyleModel",
                "state": {},
            },
        },
    }
}  # fmt: skip


def markdown(text: str, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": metadata, "source": text}


def code(text: str, *outputs: dict[str, Any], tags: Sequence[str] = ()) -> dict[str, Any]:
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "metadata": metadata, "source": text, "outputs": list(outputs), "execution_count": 1}


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def shown(data: Mapping[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": metadata, "data": dict(data)}


def figure(words: str = "a line that rises", **described: Any) -> dict[str, Any]:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")
    return shown({"image/png": base64.b64encode(png).decode(), "text/plain": words}, **{"image/png": described})


def slider() -> dict[str, Any]:
    return shown(
        {WIDGET: {"model_id": "a1", "version_major": 2, "version_minor": 0}, "text/plain": "IntSlider(value=42)"}
    )


def cells(title: str, *more: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        markdown(f"# {title}\n\nbeginner, 5 minutes. See [the words](pages/glossary.md)."),
        code('profile = "quick"  # quick or full\nepochs = 2', tags=["parameters"]),
        markdown("## 1 · Look"),
        *more,
        markdown("The end."),
    ]


def notebook(made: Sequence[dict[str, Any]], widgets: bool = False) -> dict[str, Any]:
    found = {
        "cells": [{"id": f"cell-{number}", **copy.deepcopy(cell)} for number, cell in enumerate(made)],
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
    }
    if widgets:
        found["metadata"]["widgets"] = STATE  # type: ignore[index]
    return found


def write_lesson(folder: Path, number: str, name: str, *more: dict[str, Any]) -> Lesson:
    """A committed notebook (no outputs) and its row of the table."""
    title = f"{number} · {name}"
    bare = notebook(cells(title, *more))
    for cell in bare["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number}_{name}.ipynb"
    path.write_text(json.dumps(bare), encoding="utf-8")
    return Lesson(
        id=number, name=name, title=name.title(), minutes=5, level="beginner", needs=(), summary="Made.", path=path
    )


def row(lesson: Lesson, **changes: Any) -> dict[str, Any]:
    """The lesson's row of report.json."""
    return {
        "id": lesson.id,
        "name": lesson.name,
        "title": lesson.title,
        "status": "passed",
        "seconds": 1.0,
        "cells": 3,
        "cells_total": 3,
        "parameters": {"profile": "quick", "epochs": 2},
        "stand_in": None,
        "notebook": lesson.path.name,
        "executed": WHEN,
        "error": None,
        **changes,
    }


def executed_notebook(
    lesson: Lesson, *, text: str = "", outputs: Mapping[int, list[dict[str, Any]]] | None = None
) -> dict[str, Any]:
    """What papermill makes of the lesson's notebook: the same cells, the injected one, and outputs by the index of the cell."""
    made = json.loads(lesson.path.read_text(encoding="utf-8"))
    for at, found in (outputs or {}).items():
        made["cells"][at]["outputs"] = found
    injected = code("# Parameters\nprofile = 'quick'", tags=["injected-parameters"])
    made["cells"].insert(2, {"id": "injected", **injected})
    made["metadata"]["papermill"] = {"version": "2.7.0"}
    if text:
        made["cells"][-1]["source"] = text
    return made


def executed(
    lesson: Lesson, *, machine: Mapping[str, Any] = MACHINE, widgets: bool = False, **changes: Any
) -> Executed:
    """The lesson as it ran whole, with the outputs that its cells were written with."""
    outputs = changes.pop("outputs", None)
    made = executed_notebook(lesson, outputs=outputs)
    if widgets:
        made["metadata"]["widgets"] = STATE
    return Executed(lesson, made, row(lesson, **changes), machine, "quick")


def write_run(folder: Path, executed_lessons: Sequence[Lesson], **changes: Any) -> None:
    """A folder as ``labkit run -o`` leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for lesson in executed_lessons:
        (folder / lesson.path.name).write_text(json.dumps(executed_notebook(lesson)), encoding="utf-8")
        rows.append(row(lesson))
    told = {
        "schema": "rocm-labs-report",
        "started": WHEN,
        "seconds": 1.0,
        "workers": 1,
        "version": 2,
        "profile": "quick",
        "machine": MACHINE,
        "lessons": rows,
        **changes,
    }
    (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")


def clone(root: Path, repository: str = "") -> Course:
    """The files of a clone that a site is made from, with three lessons; the second has a figure, the third math and a slider."""
    notebooks = root / "notebooks"
    lessons = (
        write_lesson(notebooks, "00", "first", code("print('hello')")),
        write_lesson(notebooks, "01", "second", code("draw()"), markdown("Back to [the first](00_first.ipynb).")),
        write_lesson(
            notebooks,
            "02",
            "third",
            markdown("Math: $E = m c^2$ and\n\n$$\n\\int_0^1 \\mathcal{L}(x)\\,dx\n$$"),
            code("slider"),
        ),
    )
    (notebooks / "pages").mkdir()
    (notebooks / "pages" / "glossary.md").write_text(
        "# Glossary\n\nHIP: see [lesson](../00_first.ipynb).\n", encoding="utf-8"
    )
    (root / "README.md").write_text(
        "# Made\n\nWhat it is. [Words](notebooks/pages/glossary.md).\n\n## Two commands\n\n```\npython3 -m labkit start\n```\n\n"
        "## The lessons\n\n[00](notebooks/00_first.ipynb)\n\n## More\n\n[how](CONTRIBUTING.md), [measured](benchmarks/README.md)\n",
        encoding="utf-8",
    )
    (root / "CONTRIBUTING.md").write_text("# Contributing\n\nWelcome.\n", encoding="utf-8")
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "README.md").write_text(
        "# Benchmarks\n\nAs in [the README](../README.md).\n", encoding="utf-8"
    )
    return Course(title="Made", lessons=lessons, repository=repository)


def all_executed(course: Course) -> list[Executed]:
    """The lessons of ``clone``, executed."""
    first, second, third = course.lessons
    drawn = figure(alt="A line that rises from left to right.", width=320)
    return [
        executed(first, outputs={3: [printed("hello\n")]}),
        executed(second, outputs={3: [drawn]}, stand_in=True),
        executed(third, widgets=True, outputs={4: [slider()]}),
    ]
