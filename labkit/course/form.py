"""The canonical form of the committed notebooks: one notebook has one text, so that a diff shows what a person changed.

``canonical`` is a pure function from a notebook to its canonical notebook; what it cannot decide for the author (a wrong
title, a shell command, a golden cell that was never executed) is a complaint of ``content_complaints``.

nbformat is not needed for this, and not imported: with JupyterLab installed its import alone takes seconds.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course import files, table
from labkit.course.table import Lesson
from labkit.errors import LabkitError

GOLDEN_TAGS = ("golden", "nbval-check-output")
INJECTED, BANNER = "injected-parameters", "papermill-error-cell-tag"  # of the cells that papermill adds
_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIX = "run 'python3 -m labkit format --fix'"
_GOLDEN_AT_LEAST = 3
# Folders that are different on every computer. /dev, /proc, /sys and /opt/rocm are not: lesson 00 looks at them.
_ABSOLUTE = re.compile(
    r"^(/(home|Users|root|tmp|mnt|media|usr|var|data|srv|opt(?!/rocm)|workspace|content|kaggle)(/|$)"
    r"|[A-Za-z]:[\\/]|~[\\/])"
)
_NETWORK = {"urllib.request", "urllib3", "requests", "httpx", "aiohttp", "http.client", "ftplib", "wget"}
_SHELL_MAGIC = re.compile(r"^\s*(!|%%?(bash|sh|script|cmd|sx|system|writefile|pip|conda|mamba|uv)\b)")
_CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)


@dataclass(frozen=True)
class Complaint:
    """One deviation: where (``cell`` counts from 1; None is the whole file), what, and what to do about it."""

    file: str
    cell: int | None
    what: str
    remedy: str

    def __str__(self) -> str:
        where = self.file if self.cell is None else f"{self.file}: cell {self.cell}"
        return f"{where}: {self.what}\n    What to do: {self.remedy}."


def main(paths: Sequence[Path], fix: bool = False, golden: bool = False) -> int:
    """``labkit format``: checks, fixes, or fixes after storing the golden outputs anew.

    Args:
        paths: notebooks (default: every lesson of the table, and whatever else lies in notebooks/).
        fix: rewrite what has one right form.
        golden: execute each notebook with its own defaults first, and store the outputs of its golden cells.

    Returns:
        0 when nothing is left to complain about, else 1.
    """
    course = table.load()
    lessons = {lesson.path.resolve(): lesson for lesson in course.lessons}
    complaints: list[Complaint] = []
    if not paths:
        paths = [lesson.path for lesson in course.lessons]
        kept = set(table.NOTEBOOKS.glob("*.mine-*.ipynb"))  # by a reset: a learner's own
        strays = sorted(path for path in set(table.NOTEBOOKS.glob("*.ipynb")) - kept if path.resolve() not in lessons)
        complaints += [
            Complaint(
                _name(path),
                None,
                "is not in the table of lessons",
                "add it to notebooks/course.toml, or move it elsewhere",
            )
            for path in strays
        ]
    changed = 0
    for path in paths:
        lesson = lessons.get(path.resolve())
        try:
            text = read(path)
            notebook = parse(text, _name(path))
            if golden:
                notebook = with_golden_outputs(notebook, path)
            if fix or golden:
                fixed = as_text(canonical(notebook))
                if fixed != text:
                    files.write_text(path, fixed)
                    changed += 1
                    print(f"{_name(path)}: rewritten")
                text, notebook = fixed, parse(fixed, _name(path))
            complaints += check(text, _name(path), lesson)
        except LabkitError as error:
            complaints.append(Complaint(_name(path), None, error.problem, error.remedy.rstrip(".")))
    for complaint in complaints:
        print(complaint)
    done = f"{len(paths)} notebook{'s' if len(paths) != 1 else ''} looked at"
    if fix or golden:
        done += f", {changed} rewritten"
    print(
        f"{done}: {'canonical' if not complaints else '1 complaint' if len(complaints) == 1 else f'{len(complaints)} complaints'}."
    )
    return 1 if complaints else 0


# ------------------------------------------------------------------------------------------------------ reading


def read(path: Path) -> str:
    """The text of a notebook file.

    Raises:
        LabkitError: it is missing, cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise LabkitError(
            "the file does not exist",
            "restore it: git checkout -- notebooks (or write the lesson, or take it out of notebooks/course.toml)",
        ) from None
    except OSError as error:
        raise LabkitError(f"the file cannot be read: {error.strerror or error}", "check its permissions") from None
    except UnicodeDecodeError:
        raise LabkitError(
            "the file is not UTF-8 text, so it is no notebook", "restore it: git checkout -- notebooks"
        ) from None


def parse(text: str, name: str = "the notebook") -> dict[str, Any]:
    """The notebook in a text, checked as far as the rest of this module relies on it.

    Raises:
        LabkitError: in one sentence, what is damaged.
    """
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        if _CONFLICT.search(text):
            raise LabkitError(
                "it holds the marks of an unresolved merge conflict", "resolve it, or take one side with git checkout"
            ) from None
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        what = "it is empty" if not text.strip() else f"its JSON is damaged{where}"
        raise LabkitError(
            f"{what}, so it cannot be read as a notebook", "take it back from git, or save it again in JupyterLab"
        ) from None
    remedy = "open it in JupyterLab and save it, or take it back from git"
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        if isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):
            raise LabkitError("it is in the notebook format of before 2015", remedy)
        raise LabkitError("its JSON is no notebook: it has no list of cells", remedy)
    if notebook.get("nbformat", 4) != 4:
        raise LabkitError(f"it is in notebook format {notebook.get('nbformat')!r}, not 4", remedy)
    for number, cell in enumerate(notebook["cells"], 1):
        if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
            raise LabkitError(f"cell {number} is no cell of a known kind", remedy)
        source = cell.get("source", "")
        if not isinstance(source, str) and not (
            isinstance(source, list) and all(isinstance(line, str) for line in source)
        ):
            raise LabkitError(f"cell {number} has a source that is no text", remedy)
        try:
            _source(cell).encode("utf-8")
        except UnicodeEncodeError:
            raise LabkitError(
                f"cell {number} holds half a character that no file can store", "type that place again"
            ) from None
        if not isinstance(cell.get("outputs", []), list) or not all(
            isinstance(out, dict) for out in cell.get("outputs", [])
        ):
            raise LabkitError(f"cell {number} has outputs that are no list", remedy)
    return notebook


# ------------------------------------------------------------------------------------------------------ the form


def canonical(notebook: dict[str, Any]) -> dict[str, Any]:
    """The same notebook in canonical form. Pure; ``canonical(canonical(n)) == canonical(n)``.

    Kept: the text of every cell (but trailing blanks and blank lines at its ends), valid cell ids, tags, attachments, and the
    outputs of golden cells. Dropped: empty cells, all other outputs, counts and metadata.
    """
    cells: list[dict[str, Any]] = []
    taken: set[str] = set()
    code_cells = 0
    for cell in notebook["cells"]:
        kind = cell["cell_type"]
        source = _clean_source(_source(cell), kind)
        if not source.strip():
            continue
        tags = _tags(cell)
        made: dict[str, Any] = {"cell_type": kind, "metadata": {"tags": tags} if tags else {}, "source": source}
        if kind != "code" and isinstance(cell.get("attachments"), dict) and cell["attachments"]:
            made["attachments"] = cell["attachments"]
        if kind == "code":
            code_cells += 1
            made["outputs"] = _golden_outputs(cell) if is_golden(cell) else []
            count = cell.get("execution_count")
            if not made["outputs"]:
                count = None
            elif not isinstance(count, int) or isinstance(count, bool) or count < 1:
                count = code_cells  # nbval compares no cell whose count is null
            made["execution_count"] = count
            for out in made["outputs"]:
                if out["output_type"] == "execute_result":
                    out["execution_count"] = count
        made["id"] = _cell_id(cell.get("id"), kind, source, taken)
        taken.add(made["id"])
        made["source"] = _lines(source)
        cells.append(made)
    return {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}


def as_text(notebook: dict[str, Any]) -> str:
    """The text of a notebook file as JupyterLab itself writes it: sorted keys, indented by one, one line end."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def is_golden(cell: dict[str, Any]) -> bool:
    """Whether a cell's output is committed and compared by nbval."""
    return cell.get("cell_type") == "code" and all(tag in _tags(cell) for tag in GOLDEN_TAGS)


def is_injected(cell: Mapping[str, Any]) -> bool:
    """Is it the cell that papermill adds for the parameters of a run?"""
    return INJECTED in cell.get("metadata", {}).get("tags", ())


def is_banner(cell: Mapping[str, Any]) -> bool:
    """Is it the cell with which papermill points to the one that failed?"""
    return BANNER in cell.get("metadata", {}).get("tags", ())


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _lines(text: str) -> list[str]:
    """A text as the list of lines that notebooks store, each with its line end but the last."""
    return [part for part in re.split(r"(?<=\n)", text) if part]


def _tags(cell: dict[str, Any]) -> list[str]:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    if not isinstance(tags, list):
        return []
    return list(dict.fromkeys(tag.strip() for tag in tags if isinstance(tag, str) and tag.strip()))


def _cell_id(given: Any, kind: str, source: str, taken: set[str]) -> str:
    """A valid id that is not taken: the given one, else one made from the text alone, so that it is the same every time."""
    if isinstance(given, str) and _ID.fullmatch(given) and given not in taken:
        return given
    for number in range(len(taken) + 1):
        made = hashlib.sha256(f"{kind}\n{source}\n{number}".encode()).hexdigest()[:12]
        if made not in taken:
            return made
    raise AssertionError("a new id exists among one more than are taken")


def _clean_source(source: str, kind: str) -> str:
    """The text without blanks at the ends of lines and without blank lines at its ends, where neither means anything."""
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    while (cleaner := _clean_once(text, kind)) != text:  # taking a line away can show Python's tokenizer another text
        text = cleaner
    return text


def _clean_once(text: str, kind: str) -> str:
    lines = text.split("\n")
    while lines and not lines[0].strip(" \t"):
        lines.pop(0)
    while lines and not lines[-1].strip(" \t"):
        lines.pop()
    if kind == "code":
        # A blank at the end of a line inside a string is part of the program.
        keep = _inside_strings("\n".join(lines))
        if keep is not None:
            lines = [line if number in keep else line.rstrip(" \t") for number, line in enumerate(lines, 1)]
    elif kind == "markdown" and lines:
        # Two blanks before a line of text are Markdown's line break.
        following = [*lines[1:], ""]
        lines = [
            line.rstrip(" \t") + ("  " if line.endswith("  ") and line.strip() and after.strip() else "")
            for line, after in zip(lines, following, strict=True)
        ]
    return "\n".join(lines)


def _inside_strings(source: str) -> set[int] | None:
    """The numbers of the lines whose end lies inside a string; None where the text is no Python (then nothing is stripped)."""
    inside: set[int] = set()
    starts: list[int] = []
    names = {
        value: key
        for key, value in vars(tokenize).items()
        if key in ("FSTRING_START", "FSTRING_END", "TSTRING_START", "TSTRING_END")
    }
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            name = names.get(token.type, "")
            if name.endswith("_START"):
                starts.append(token.start[0])
            elif name.endswith("_END") and starts:
                inside.update(range(starts.pop(), token.end[0]))
            elif token.type == tokenize.STRING:
                inside.update(range(token.start[0], token.end[0]))
            elif token.type == tokenize.ERRORTOKEN:
                return None
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    return inside


def _golden_outputs(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of a golden cell in one form: text only, neighbouring pieces of a stream joined, no metadata."""
    made: list[dict[str, Any]] = []
    for out in cell.get("outputs", []):
        kind = out.get("output_type")
        if kind == "stream":
            text, name = _text(out.get("text")), "stderr" if out.get("name") == "stderr" else "stdout"
            if made and made[-1]["output_type"] == "stream" and made[-1]["name"] == name:
                made[-1]["text"] = _lines("".join(made[-1]["text"]) + text)
            elif text:
                made.append({"output_type": "stream", "name": name, "text": _lines(text)})
        elif kind in ("execute_result", "display_data"):
            data = out.get("data") if isinstance(out.get("data"), dict) else {}
            kept: dict[str, Any] = {
                str(mime): _lines(_text(value)) for mime, value in data.items() if str(mime).startswith("text/")
            }
            if kept:
                made.append({"output_type": kind, "data": kept, "metadata": {}})
    return made


def _text(value: Any) -> str:
    text = (
        value
        if isinstance(value, str)
        else "".join(part for part in value if isinstance(part, str))
        if isinstance(value, list)
        else ""
    )
    return text.encode("utf-8", "replace").decode("utf-8")


# ------------------------------------------------------------------------------------------------------ checking


def check(text: str, name: str, lesson: Lesson | None = None) -> list[Complaint]:
    """Every deviation of a notebook's text, of the form and of the content.

    Raises:
        LabkitError: the text is no notebook.
    """
    notebook = parse(text, name)
    return [*form_complaints(text, notebook, name), *content_complaints(notebook, name, lesson)]


def form_complaints(text: str, notebook: dict[str, Any], name: str) -> list[Complaint]:
    """What ``--fix`` would change, said cell by cell."""
    right = canonical(notebook)
    if as_text(right) == text:
        return []
    found = list(_differences(notebook, right, name))
    if not found:
        what = "the layout of the file differs (indentation, order of keys, line ends or the newline at the end)"
        found = [Complaint(name, None, what, _FIX)]
    return found


def _differences(notebook: dict[str, Any], right: dict[str, Any], name: str) -> Iterator[Complaint]:
    if notebook.get("nbformat_minor") != 5:
        yield Complaint(name, None, f"is in notebook format 4.{notebook.get('nbformat_minor')}, not 4.5", _FIX)
    if notebook.get("metadata") != right["metadata"]:
        yield Complaint(name, None, "its metadata hold more or less than the kernel's name and the language", _FIX)
    extra = sorted(set(notebook) - set(right))
    if extra:
        yield Complaint(name, None, f"has unknown parts: {', '.join(extra)}", _FIX)
    remaining = iter(right["cells"])
    for number, cell in enumerate(notebook["cells"], 1):
        if not _clean_source(_source(cell), cell["cell_type"]).strip():
            yield Complaint(name, number, "is empty", _FIX)
            continue
        want = next(remaining)
        if cell.get("id") != want["id"]:
            what = "has no id" if not cell.get("id") else "has an id that is not valid or is another cell's"
            yield Complaint(name, number, what, _FIX)
        if _source(cell) != "".join(want["source"]):
            yield Complaint(name, number, "has blanks at the ends of lines, or blank lines at its ends", _FIX)
        if cell.get("metadata") != want["metadata"]:
            more = sorted(set(cell["metadata"]) - {"tags"}) if isinstance(cell.get("metadata"), dict) else []
            what = f"has metadata besides tags: {', '.join(more)}" if more else "has tags that are not in order"
            yield Complaint(name, number, what, _FIX)
        if cell["cell_type"] == "code":
            if cell.get("outputs") != want["outputs"]:
                what = (
                    "its golden output is not in canonical form"
                    if want["outputs"]
                    else "has stored outputs and is not golden"
                )
                yield Complaint(name, number, what, _FIX)
            if "execution_count" not in cell or cell["execution_count"] != want["execution_count"]:
                yield Complaint(name, number, "has an execution count that does not belong there", _FIX)
        extra = sorted(set(cell) - set(want))
        if extra:
            yield Complaint(name, number, f"has unknown parts: {', '.join(extra)}", _FIX)


def content_complaints(notebook: dict[str, Any], name: str, lesson: Lesson | None = None) -> list[Complaint]:
    """What only the author can put right. With a ``lesson``, the rules for lessons of the course are checked too."""
    cells = [cell for cell in notebook["cells"] if _source(cell).strip()]
    numbers = {id(cell): number for number, cell in enumerate(notebook["cells"], 1)}
    complaints = [
        Complaint(name, numbers[id(cell)], what, remedy) for cell in cells for what, remedy in _cell_content(cell)
    ]
    complaints += _exercises(cells, numbers, name)
    if lesson is not None:
        complaints += _lesson_content(cells, numbers, name, lesson)
    return complaints


def _cell_content(cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    tags = _tags(cell)
    if cell["cell_type"] == "raw":
        yield "is a raw cell, which learners see as plain text", "make it a Markdown cell"
    if cell.get("attachments"):
        yield "holds an attached file", "draw the picture in a code cell, or leave it out"
    if cell["cell_type"] != "code":
        if re.search(r"^\s*(`{3,}|:{3,})\{\w", _source(cell), re.MULTILINE):
            yield (
                "uses a directive, which JupyterLab shows raw",
                "write plain Markdown, for example a quote that begins with a bold word",
            )
        if any(tag in tags for tag in (*GOLDEN_TAGS, "parameters")):
            yield "is no code cell, and has a tag that only a code cell can have", "take the tag away"
        return
    golden = [tag for tag in GOLDEN_TAGS if tag in tags]
    if len(golden) == 1:
        yield f"has the tag {golden[0]} without its partner", f"give it both of {' and '.join(GOLDEN_TAGS)}, or neither"
    if len(golden) == 2:
        yield from _golden_content(cell)
    if "raises-exception" in tags:
        yield (
            "is tagged raises-exception, which papermill reports as a failure",
            "catch the error in the cell and print it",
        )
    yield from _code_content(_source(cell))


def _golden_content(cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    remedy = "run 'python3 -m labkit format --golden'"
    outputs = cell.get("outputs", [])
    if not outputs or not isinstance(cell.get("execution_count"), int):
        yield "is golden and has no stored output, so nothing would be compared", remedy
    for out in outputs:
        if out.get("output_type") == "error":
            yield "is golden and its stored output is an error", f"correct the cell, then {remedy}"
        elif out.get("output_type") == "stream" and out.get("name") == "stderr":
            yield (
                "is golden and its stored output is a warning or an error message",
                f"print to the normal output, then {remedy}",
            )
        elif any(mime != "text/plain" for mime in out.get("data", {})):
            yield "is golden and its stored output is more than plain text", f"print text, then {remedy}"


def _code_content(source: str) -> Iterator[tuple[str, str]]:
    lines = source.splitlines()
    shell = next((line for line in lines if _SHELL_MAGIC.match(line)), None)
    if shell is not None:
        yield f"runs a shell command: '{shell.strip()}'", "do it in Python, which works on Windows too"
    elif re.search(r"\bpip3?[^\w\n=]+install\b", source):
        yield "installs a package", "add what the lesson needs to pyproject.toml"
    try:
        tree = ast.parse("\n".join("pass" if line.lstrip().startswith(("%", "!")) else line for line in lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield "is not valid Python", "correct it"
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if isinstance(node, ast.ImportFrom):
                modules += [f"{node.module}.{alias.name}" for alias in node.names]
            models = isinstance(node, ast.ImportFrom) and node.module == "torchvision.models"
            if any(module.split(".")[0] == "torchvision" for module in modules) and not models:
                yield (
                    "imports torchvision, which costs seconds and which no lesson needs for data",
                    "use plain torch, or labkit.data; 'from torchvision.models import ...' is allowed",
                )
            if any(module in _NETWORK or module.split(".")[0] in _NETWORK for module in modules):
                yield (
                    "imports a module that fetches from the network",
                    "fetch data with labkit.data, which works without a network",
                )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _ABSOLUTE.match(node.value):
            yield f"names an absolute path: '{node.value}'", "use a path relative to the notebook, or tempfile"
        elif (
            isinstance(node, ast.Call)
            and _name_of(node.func) not in ("print", "Markdown", "HTML", "display")
            and any(
                isinstance(value, ast.Constant)
                and isinstance(value.value, str)
                and re.match(r"(https?|ftp)://", value.value)
                for value in [*node.args, *(keyword.value for keyword in node.keywords)]
            )
        ):
            yield (
                "hands an address of the network to a function",
                "fetch data with labkit.data, which works without a network",
            )


def _name_of(function: ast.expr) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _exercises(cells: Sequence[dict[str, Any]], numbers: dict[int, int], name: str) -> list[Complaint]:
    found: list[tuple[int, str, str]] = []
    seen: set[str] = set()
    for cell in cells:
        tags = _tags(cell)
        named = [tag.removeprefix("exercise:") for tag in tags if tag.startswith("exercise:")]
        number = numbers[id(cell)]
        if len(named) > 1 or ("exercise" in tags) != bool(named):
            found.append(
                (
                    number,
                    "has the tags of an exercise, and not as a pair",
                    "give it exactly 'exercise' and 'exercise:NAME'",
                )
            )
        if named and cell["cell_type"] != "code":
            found.append(
                (number, "is tagged as an exercise and is no code cell", "tag the code cell that the learner fills in")
            )
        for exercise in named:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", exercise):
                found.append(
                    (
                        number,
                        f"'exercise:{exercise}' is no name of a Python function",
                        "use lower-case letters, digits and '_'",
                    )
                )
            if exercise in seen:
                found.append((number, f"is the second cell of exercise '{exercise}'", "give each exercise one cell"))
            seen.add(exercise)
    return [Complaint(name, number, what, remedy) for number, what, remedy in found]


def _lesson_content(
    cells: Sequence[dict[str, Any]], numbers: dict[int, int], name: str, lesson: Lesson
) -> list[Complaint]:
    complaints: list[Complaint] = []

    def complain(cell: dict[str, Any] | None, what: str, remedy: str) -> None:
        complaints.append(Complaint(name, None if cell is None else numbers[id(cell)], what, remedy))

    if len(cells) < 3:
        complain(None, "has fewer than three cells", "a lesson has a title, parameters, and an end")
        return complaints
    first, second, last = cells[0], cells[1], cells[-1]
    heading = _source(first).lstrip().splitlines()[0]
    if first["cell_type"] != "markdown" or not heading.startswith("# ") or lesson.title not in heading:
        complain(
            first,
            f"is not a Markdown heading with the title of course.toml, '{lesson.title}'",
            f"begin it with '# {lesson.title}'",
        )
    if lesson.level not in _source(first).lower():
        complain(first, f"does not say the level of course.toml, '{lesson.level}'", "say it under the title")
    if not re.search(rf"\b{lesson.minutes}\W{{0,3}}min", _source(first)):
        complain(
            first, f"does not say the minutes of course.toml, '{lesson.minutes} minutes'", "say them under the title"
        )
    tagged = [cell for cell in cells if "parameters" in _tags(cell)]
    if second["cell_type"] != "code" or tagged != [second]:
        complain(
            second,
            "is not the one code cell tagged 'parameters'",
            "make the second cell the parameters cell, and tag no other",
        )
    else:
        declared = _parameters(_source(second))
        if declared is None:
            complain(
                second,
                "holds more than parameters",
                "one 'name = value' a line, with a number, a text, True, False or None",
            )
        else:
            if declared.get("profile") != "quick":
                complain(second, 'does not begin with profile = "quick"', 'add profile = "quick"')
            missing = sorted(set(lesson.full) - set(declared))
            if missing:
                complain(
                    second,
                    f"does not declare {', '.join(missing)}, which course.toml sets for the full profile",
                    "declare them, or change course.toml",
                )
    if last["cell_type"] != "markdown":
        complain(
            last,
            "is the last cell and is not Markdown",
            "close with what was done, what to try next, and the next lesson",
        )
    golden = sum(is_golden(cell) for cell in cells)
    if golden < _GOLDEN_AT_LEAST:
        complain(
            None,
            f"has {golden} golden cells; a lesson has at least {_GOLDEN_AT_LEAST}",
            f"tag cells with device-independent text: {', '.join(GOLDEN_TAGS)}",
        )
    return complaints


def _parameters(source: str) -> dict[str, Any] | None:
    """The names and values of a parameters cell; None where it does more than assign plain values."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return None
    values: dict[str, Any] = {}
    for statement in body:
        if (
            not isinstance(statement, ast.Assign)
            or len(statement.targets) != 1
            or not isinstance(statement.targets[0], ast.Name)
        ):
            return None
        try:
            value = ast.literal_eval(statement.value)
        except ValueError:
            return None
        if not isinstance(value, (str, int, float, type(None))):
            return None
        values[statement.targets[0].id] = value
    return values


# ------------------------------------------------------------------------------------------------------ golden


def with_golden_outputs(notebook: dict[str, Any], path: Path) -> dict[str, Any]:
    """The canonical notebook with the golden cells' outputs of a fresh run of the file.

    Raises:
        LabkitError: the run did not reach its end; nothing is stored then.
    """
    from labkit.course import execute

    limits = execute.LIMITS["quick"]
    result = execute.execute(path, {}, limits["cell_s"], limits["lesson_s"])
    if result.error is not None:
        raise LabkitError(
            f"no golden output was stored, because the lesson did not run: {result.error.message}",
            "correct the cell first",
        )
    ran = [
        cell
        for cell in result.notebook.cells
        if cell.cell_type == "code" and _clean_source(cell.source, "code").strip()
    ]
    stored = canonical(notebook)
    mine = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    for cell, done in zip(mine, ran, strict=True):
        if is_golden(cell):
            cell["outputs"] = json.loads(json.dumps(done.outputs))
            cell["execution_count"] = done.execution_count
    return canonical(stored)


def _name(path: Path) -> str:
    try:
        return path.resolve().relative_to(table.NOTEBOOKS.parent).as_posix()
    except ValueError:
        return path.as_posix()
