"""Arguments that can be judged on a bare Python are judged before set-up begins: a slip must not cost a download."""

from __future__ import annotations

import ast
import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labkit.course import table
from labkit.errors import LabkitError

DATA_SETS = ("mnist", "fashion_mnist", "cifar10")  # as labkit.data has them, which needs numpy


def check(options: Namespace) -> None:
    """Raises LabkitError for an argument of ``run``, ``data``, ``bench``, ``format``, ``start`` or ``report make`` that names nothing."""
    judges = {"run": _run, "data": _data, "bench": _bench, "format": _format, "start": _start, "report": _report}
    judges.get(options.command, lambda _: None)(options)


def _start(options: Namespace) -> None:
    if options.port is not None and not 1024 <= options.port <= 65535:
        raise LabkitError(f"{options.port} is not a port that JupyterLab can have.", "name one from 1024 to 65535.")


def _data(options: Namespace) -> None:
    for name in options.names:
        if name not in DATA_SETS:
            raise LabkitError(f"There is no data set '{name}'.", f"Use one of: {', '.join(DATA_SETS)}.")


def _bench(options: Namespace) -> None:
    from labkit.comm.parts import check

    further = {name: getattr(options, name, None) for name in ("against", "figure", "earlier")}
    check(options.what, options.seconds, options.output, **further)


def _format(options: Namespace) -> None:
    for name in options.notebooks:
        if not Path(name).is_file():
            raise LabkitError(f"There is no notebook {name}.", "name files, or none to take all lessons.")


def _report(options: Namespace) -> None:
    if options.subcommand == "make":
        from labkit.course.contributed import make

        make.judge(options)


def _run(options: Namespace) -> None:
    for name, _ in options.parameter:
        if not name.isidentifier():
            raise LabkitError(
                f"'{name}' cannot be a parameter's name.", "write -p NAME VALUE, for example -p dataset mnist"
            )
        if name == "profile":
            raise LabkitError("The profile is not set with -p.", "use --profile quick or --profile full.")
    if options.output and Path(options.output).exists() and not Path(options.output).is_dir():
        raise LabkitError(f"{options.output} is a file.", "name a folder for the results.")
    try:
        course = table.load()
    except LabkitError as error:
        if "no reader" in error.problem:
            return  # Python 3.10 without pip: judged once the environment is there
        raise
    lessons = table.choose(options.lessons, course)
    declared = [_declared(lesson.path) for lesson in lessons]
    if None in declared:
        return  # a notebook that cannot be read is told of by the run itself
    known = sorted(set().union(*(names or () for names in declared)) - {"profile"})
    for name, _ in options.parameter:
        if name not in known:
            which = "The lesson does not declare" if len(lessons) == 1 else "None of the lessons declares"
            raise LabkitError(
                f"{which} a parameter '{name}'.", f"choose from: {', '.join(known) or 'none are declared'}."
            )


def _declared(notebook: Path) -> Sequence[str] | None:
    """The names that the parameters cell of a lesson sets; None where it cannot be read."""
    try:
        cells: list[Any] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        cell = next(cell for cell in cells if "parameters" in cell.get("metadata", {}).get("tags", ()))
        return assigned("".join(cell["source"]))
    except (OSError, ValueError, SyntaxError, KeyError, TypeError, AttributeError, StopIteration):
        return None


def assigned(source: str) -> list[str]:
    """The names that a cell of plain assignments sets. Raises SyntaxError."""
    lines = ast.parse(source).body
    targets = [target for line in lines if isinstance(line, ast.Assign) for target in line.targets]
    targets += [line.target for line in lines if isinstance(line, ast.AnnAssign)]
    return [target.id for target in targets if isinstance(target, ast.Name)]
