"""How the browser tests open a notebook in JupyterLab, run it, and look at it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labkit.course import execute

PICTURES = execute.BUILD / "test" / "browser"
READY_MS = 120_000
RUN_MS = 300_000

# Ready: the notebook is loaded and its kernel answers. Asked to run before that, JupyterLab does nothing and says nothing.
LOADED = """() => {
  const app = window.jupyterapp;
  if (!app || !app.commands.hasCommand('notebook:run-all-cells')) return false;
  const widget = app.shell.currentWidget;
  return Boolean(widget && widget.context && widget.context.isReady && widget.content && widget.content.model
    && widget.sessionContext.session && widget.sessionContext.session.kernel);
}"""
READY = """async () => {
  const widget = window.jupyterapp.shell.currentWidget;
  await widget.context.ready;
  await widget.sessionContext.ready;
  await widget.sessionContext.session.kernel.info;
}"""
RUN = "async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
# How many code cells with text have no execution count yet, and what went wrong.
STATE = """() => {
  const cells = Array.from(window.jupyterapp.shell.currentWidget.content.model.cells).map(cell => cell.toJSON());
  const code = cells.filter(cell => cell.cell_type === 'code' && [].concat(cell.source).join('').trim());
  const outputs = code.flatMap(cell => cell.outputs);
  return {
    cells: code.length,
    waiting: code.filter(cell => cell.execution_count === null).length,
    busy: window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status,
    errors: outputs.filter(out => out.output_type === 'error').map(out => out.ename + ': ' + out.evalue),
    stderr: outputs.filter(out => out.name === 'stderr').map(out => [].concat(out.text).join('')),
  };
}"""

IDLE = """() => {
  const widget = window.jupyterapp.shell.currentWidget;
  const cells = Array.from(widget.content.model.cells).map(cell => cell.toJSON());
  return widget.sessionContext.session.kernel.status === 'idle'
    && cells.every(cell => cell.cell_type !== 'code' || cell.execution_count !== null);
}"""


@contextmanager
def opened(browser: Any, lab: Any, notebook: str) -> Iterator[tuple[Any, list[str]]]:
    """A page with the notebook in JupyterLab, and the list that collects what its console calls an error."""
    context = browser.new_context(viewport={"width": 1400, "height": 1100})
    try:
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(lab.address(notebook))
        try:
            page.wait_for_function(LOADED, timeout=READY_MS, polling=200)
            page.evaluate(READY)
            yield page, complaints
        except BaseException:
            picture(page, f"{notebook.removesuffix('.ipynb')}_failed")
            raise
    finally:
        context.close()


def run_all(page: Any) -> dict[str, Any]:
    """Runs all cells and waits for the last one."""
    page.evaluate(RUN)
    over = f"() => {{ const state = ({STATE})(); return state.errors.length || (!state.waiting && state.busy === 'idle'); }}"
    page.wait_for_function(over, timeout=RUN_MS, polling=500)
    state: dict[str, Any] = page.evaluate(STATE)
    return state


def picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"{name}.png"))


def write(folder: Path, name: str, sources: Sequence[str]) -> None:
    """A notebook of these code cells."""
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for n, source in enumerate(sources)
    ]
    metadata = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}
    made = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (folder / name).write_text(json.dumps(made), encoding="utf-8")


def ours(text: str) -> bool:
    """Whether a console message can come from a lesson; JupyterLab itself asks for files that do not exist yet."""
    return not any(
        part in text for part in ("Failed to load resource", "favicon", "the server responded with a status of 404")
    )
