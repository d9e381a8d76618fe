"""From an executed lesson to the notebook that becomes its page: pure functions on the notebook's JSON."""

from __future__ import annotations

import ast
import copy
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from labkit.course import form
from labkit.site import private
from labkit.site.executed import Executed

DOWNLOADS = "download"  # folder of the site with the committed notebooks
WIDGET = "application/vnd.jupyter.widget-view+json"
_HEADING = re.compile(r"\A\s*# [^\n]+\n?")
_NOT_IN_WORDS = re.compile(r"\A\s*(<[^>]*>|\w+\(\))\s*\Z")  # <Figure size 640x480 with 1 Axes>


@dataclass(frozen=True)
class Figure:
    """What a page needs of a figure beside its pixels: ``alt`` for who does not see it, ``width`` in CSS pixels or None."""

    alt: str
    width: int | None


def page(executed: Executed, binder: str = "", folders: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The notebook of a lesson's page: facts under the title, no cell of papermill's, each figure also in words.

    Args:
        binder: address that opens this lesson in Binder; "" leaves the link out.
        folders: what to write for folders of this machine in outputs, as ``private.folders`` gives it.
    """
    notebook = copy.deepcopy(executed.notebook)
    known = folders or {}
    notebook["cells"] = [_cell(cell, known) for cell in notebook["cells"] if not form.is_injected(cell)]
    notebook["metadata"] = private.hide(notebook["metadata"], known)  # it holds the state of widgets
    notebook["metadata"].pop("papermill", None)
    if not _has_widgets(notebook):
        notebook["metadata"].pop("widgets", None)
    first = notebook["cells"][0]
    text = "".join(first["source"])
    title = _HEADING.match(text)
    at = title.end() if title else 0
    first["source"] = f"{text[:at].rstrip()}\n\n{private.hide(facts(executed, binder), known)}\n\n{text[at:].lstrip()}"
    return notebook


def figures(notebook: Mapping[str, Any]) -> list[Figure]:
    """The figures of a notebook, in the order of its outputs."""
    found = []
    heading = str(notebook["cells"][0].get("id", ""))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            heading = headings[-1] if headings else heading
        for output in cell.get("outputs", []):
            if _is_figure(output):
                meta = output.get("metadata", {}).get("image/png", {})
                alt = meta.get("alt") or f"Figure of the section {heading.replace('`', '')}."
                found.append(Figure(str(alt), meta.get("width")))
    return found


def facts(executed: Executed, binder: str = "") -> str:
    """The lines under a lesson's title, as HTML: when and on what it was executed, what was no real data, and its copies."""
    return (
        '<div class="labkit-facts">\n'
        f"<p>{html.escape(when_and_where(executed))}</p>\n"
        f"<p>{_copies(executed.lesson.path.name, binder)}</p>\n"
        "</div>"
    )


def when_and_where(executed: Executed) -> str:
    """One or more sentences: 'Executed on 2026-11-30 16:20 UTC with torch 2.14.1 on …'."""
    torch = executed.machine.get("torch") or {}
    version = f"torch {torch['version']}" if torch.get("version") else "a torch that gave no facts"
    moment = re.sub(r"T(\d\d:\d\d):\d\dZ$", r" \1 UTC", str(executed.row.get("executed")))
    words = [
        f"Executed on {moment} with {version} on {device(executed.machine)}, {executed.profile} profile{_changed(executed)}."
    ]
    if executed.row.get("stand_in"):
        words.append("Its data set is a stand-in: accuracies say nothing about the real one.")
    if torch.get("build") != "rocm" or torch.get("product") is None:
        words.append("Not yet verified on ROCm.")
    return " ".join(words)


def device(machine: Mapping[str, Any]) -> str:
    """The device in words: a product's name with its target, or the CPU."""
    torch = machine.get("torch") or {}
    system = " ".join(str(machine[name]) for name in ("system", "architecture") if machine.get(name))
    name = torch.get("product") or ("the CPU" if torch.get("device", "cpu") == "cpu" else torch["device"])
    target = f" ({torch['gfx'].split(':')[0]})" if torch.get("gfx") else ""
    return f"{name}{target}" + (f" of a {system} machine" if system else "")


def binder_address(repository: str, notebook: str = "") -> str:
    """The address that opens the course in Binder, at a notebook where one is named; "" without a repository.

    Source: mybinder.org's form of addresses (gh/OWNER/NAME/REF for GitHub, git/URL/REF for any other), checked 2026-11-30.
    """
    if not repository:
        return ""
    address = repository.rstrip("/").removesuffix(".git")
    github = re.fullmatch(r"https://github\.com/([\w.-]+)/([\w.-]+)", address)
    where = f"gh/{github[1]}/{github[2]}" if github else f"git/{quote(address, safe='')}"
    tree = quote(f"lab/tree/notebooks/{notebook}" if notebook else "lab/tree/notebooks", safe="")
    return f"https://mybinder.org/v2/{where}/HEAD?urlpath={tree}"


# ------------------------------------------------------------------------------------------------------------- inside


def _copies(name: str, binder: str) -> str:
    links = [f'<a href="{DOWNLOADS}/{name}" download>Download this notebook</a>']
    if binder:
        links.append(f'<a href="{html.escape(binder)}">Open in Binder</a> (in a browser, on a CPU)')
    return " · ".join(links)


def _changed(executed: Executed) -> str:
    """The parameters that this run set otherwise than the notebook's own cell says, in words."""
    own = {}
    for cell in executed.notebook["cells"]:
        if "parameters" in cell.get("metadata", {}).get("tags", []):
            own = _assigned("".join(cell["source"]))
    ran = executed.row.get("parameters") or {}
    other = [
        f"{name} = {value!r}" for name, value in ran.items() if name != "profile" and own.get(name, value) != value
    ]
    return f" and {', '.join(other)}" if other else ""


def _assigned(source: str) -> dict[str, Any]:
    """name -> value of the plain assignments of a cell."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def _cell(cell: dict[str, Any], folders: Mapping[str, str]) -> dict[str, Any]:
    cell["metadata"].pop("papermill", None)
    if cell["cell_type"] == "code":
        outputs = private.hide(cell.get("outputs", []), folders)
        cell["outputs"] = [shown for output in outputs for shown in _output(output)]
    return cell


def _output(output: dict[str, Any]) -> list[dict[str, Any]]:
    """An output, and what a still page needs beside it."""
    if _is_figure(output):
        words = "".join(output["data"].get("text/plain", ""))
        return [output] if _NOT_IN_WORDS.match(words) or not words.strip() else [output, _in_words(words)]
    if WIDGET in output.get("data", {}):
        if "text/html" in output["data"]:  # the still form that labkit's own widgets bring
            output["data"].pop(WIDGET)
            return [output]
        return [
            output,
            _html(
                '<p class="labkit-still">A control of the notebook, as it stood there: it works where Python runs, not on this page.</p>'
            ),
        ]
    return [output]


def _in_words(words: str) -> dict[str, Any]:
    return _html(
        '<details class="labkit-words"><summary>The same in words</summary>'
        f"<pre>{html.escape(words.strip())}</pre></details>"
    )


def _html(text: str) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": text, "text/plain": ""}}


def _is_figure(output: Mapping[str, Any]) -> bool:
    data = output.get("data", {})
    return "image/png" in data and "text/html" not in data and WIDGET not in data


def _has_widgets(notebook: Mapping[str, Any]) -> bool:
    return any(WIDGET in output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", []))
