"""What a run of the course leaves behind: report.json for programs and a table for people.

Neither holds a host name, a user name or a path, so both can be published as they are.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.course import files
from labkit.errors import LabkitError
from labkit.importable import ROOT

SCHEMA = "rocm-labs-report"
SCHEMA_VERSION = 2
FILE = "report.json"
_WORDS = ("id", "name", "title", "status")
_OF_A_LESSON = {*_WORDS, "seconds", "cells", "cells_total", "error", "stand_in", "notebook", "executed"}


@dataclass(frozen=True)
class LessonError:
    """Why a lesson failed.

    ``kind`` is one of: cell, timeout, dead kernel, pending, no cell, no time, parameter, notebook, kernel, stopped.
    ``cell`` counts all cells of the committed notebook from 1; None where no cell is to blame.
    """

    kind: str
    message: str
    cell: int | None = None
    source: str | None = None


@dataclass(frozen=True)
class LessonResult:
    """What executing one lesson gave.

    ``seconds`` is wall time with the start of the kernel; ``cells`` counts the code cells that completed, of
    ``cells_total`` that hold code; ``peak_memory_bytes`` is the largest resident memory seen of the kernel and its
    child processes together, sampled five times a second (None where it could not be read). ``parameters`` are the values
    that the lesson ran with: those of its parameters cell, and in their place what this run set. ``stand_in`` says
    whether a data set that it showed was a stand-in (None: it showed none). ``notebook`` is the name of the executed
    notebook in the folder of the report, ``executed`` when its execution began (None: there is none).
    """

    id: str
    name: str
    title: str
    status: str
    seconds: float
    cells: int
    cells_total: int
    peak_memory_bytes: int | None
    checks_passed: int
    checks_todo: int
    error: LessonError | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stand_in: bool | None = None
    notebook: str | None = None
    executed: datetime | None = None

    @property
    def passed(self) -> bool:
        return self.status == "passed"


def as_json(
    results: Sequence[LessonResult],
    profile: str,
    machine: dict[str, Any],
    started: datetime,
    seconds: float | None = None,
    workers: int = 1,
) -> dict[str, Any]:
    """The report as plain values.

    Args:
        results: one for each lesson that was asked for, in the order of the course.
        machine: what ``machine_facts`` gave.
        started: when the run began, with its time zone.
        seconds: how long the whole run took (None: the sum of its lessons).
        workers: how many lessons ran side by side.
    """
    lessons = []
    for result in results:
        row = asdict(result)
        row["seconds"] = round(result.seconds, 2)
        row["checks"] = {"passed": row.pop("checks_passed"), "todo": row.pop("checks_todo")}
        row["parameters"] = {name: shareable(value) for name, value in result.parameters.items()}
        row["executed"] = None if result.executed is None else utc(result.executed)
        lessons.append(row)
    return {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "labkit": __version__,
        "profile": profile,
        "started": utc(started),
        "seconds": round(sum(r.seconds for r in results) if seconds is None else seconds, 2),
        "workers": workers,
        "status": "passed" if results and all(result.passed for result in results) else "failed",
        "machine": machine,
        "lessons": lessons,
    }


def read(folder: Path, remedy: str) -> dict[str, Any]:
    """The report of the run that left one in ``folder``, as ``as_json`` makes it. That it passed is not asked.

    Args:
        remedy: what to do where there is none.

    Raises:
        LabkitError: there is no such file, or it is not a whole report of this version.
    """
    path = folder / FILE
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabkitError(f"There is no {path}.", remedy) from None
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or "it is no JSON"
        raise LabkitError(f"{path} cannot be read: {why}.", remedy) from None
    keys = {"profile", "started", "seconds", "workers", "machine", "lessons"}
    whole = isinstance(told, dict) and told.get("schema") == SCHEMA and keys <= set(told)
    if not whole or told.get("version") != SCHEMA_VERSION or not isinstance(told["lessons"], list):
        raise LabkitError(f"{path} is no report of this labkit's runs.", remedy)
    if not isinstance(told["machine"], dict):
        raise LabkitError(f"{path} names no machine.", remedy)
    rows = [row if isinstance(row, dict) else {} for row in told["lessons"]]
    if not all(set(row) >= _OF_A_LESSON and all(isinstance(row[key], str) for key in _WORDS) for row in rows):
        raise LabkitError(f"{path} has a lesson that is not whole.", remedy)
    return dict(told)


def shareable(value: Any) -> Any:
    """A parameter's value as a report may hold it: numbers and words as they are, no path of this computer."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = str(value)
    return "(a path, left out)" if re.search(r"[/\\]|^~", text) else text


def utc(time: datetime) -> str:
    """A time as reports have it: ``2026-11-30T12:00:00Z``."""
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_text(results: Sequence[LessonResult], profile: str, seconds: float | None = None) -> str:
    """The table: lesson, cells, seconds, peak memory, checks passed, data, result; then each failure, and the notebooks.

    seconds: of the whole run, which are fewer than the lessons' sum where they ran side by side.
    """
    rows = [("lesson", "cells", "seconds", "peak memory", "checks", "data", "result")]
    for result in results:
        checks = result.checks_passed + result.checks_todo
        rows.append(
            (
                f"{result.id} {result.title}",
                f"{result.cells}/{result.cells_total}",
                f"{result.seconds:.1f}",
                "-" if result.peak_memory_bytes is None else f"{result.peak_memory_bytes / 2**20:.0f} MiB",
                f"{result.checks_passed}/{checks}" if checks else "-",
                "-" if result.stand_in is None else "stand-in" if result.stand_in else "real",
                "passed" if result.passed else f"FAILED ({result.error.kind})" if result.error else "FAILED",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:6], widths[1:6], strict=True)),
            row[6],
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    failed = [result for result in results if not result.passed]
    lines.append("")
    if failed:
        for result in failed:
            lines += [f"{result.id} {result.title}: {result.error.message if result.error else 'failed.'}", ""]
        lines.append(f"{len(failed)} of {len(results)} lessons failed ({profile} profile).")
    else:
        lines.append(
            f"All {len(results)} lessons ran ({profile} profile, {sum(r.seconds for r in results) if seconds is None else seconds:.0f} s)."
            if len(results) > 1
            else f"The lesson ran ({profile} profile)."
        )
    if any(result.checks_todo for result in results):
        lines.append("Checks that are not passed belong to exercises: they wait for the learner, and fail nothing.")
    if any(result.stand_in for result in results):
        lines.append(
            "Stand-in: the real data set was not there, something else took its place. Accuracies say nothing about the real one."
        )
    written = [
        f"  {result.notebook}  {utc(result.executed)}" for result in results if result.notebook and result.executed
    ]
    if written:
        lines += ["", "Executed notebooks, and when each began:", *written]
    return "\n".join(lines)


def write(
    folder: Path,
    results: Sequence[LessonResult],
    profile: str,
    machine: dict[str, Any],
    started: datetime,
    seconds: float | None = None,
    workers: int = 1,
) -> None:
    """Writes report.json and report.txt into ``folder``.

    Raises:
        LabkitError: they cannot be written.
    """
    content = json.dumps(as_json(results, profile, machine, started, seconds, workers), indent=2, ensure_ascii=False)
    files.write_text(folder / FILE, content + "\n")
    files.write_text(folder / "report.txt", as_text(results, profile, seconds) + "\n")


def machine_facts(timeout_s: float = 120) -> dict[str, Any]:
    """Facts of the system, torch and its device that a report needs to be understood elsewhere.

    torch is asked in a process of its own, so that a build that crashes costs the report one line and not the run.
    """
    facts: dict[str, Any] = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "torch": None,
    }
    try:
        answer = subprocess.run(
            [sys.executable, "-c", "from labkit.course import report; report.print_torch_facts()"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        facts["torch_error"] = f"torch gave no answer within {timeout_s:.0f} s."
        return facts
    except OSError as error:
        facts["torch_error"] = f"No second Python could be started: {error.strerror}."
        return facts
    try:
        facts["torch"] = json.loads(answer.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        facts["torch_error"] = f"The process that imports torch ended with status {answer.returncode}."
    return facts


def print_torch_facts() -> None:
    """Prints torch's facts as one line of JSON (run by ``machine_facts`` in a process of its own)."""
    import torch

    from labkit import devices

    build = "rocm" if torch.version.hip else "cuda" if torch.version.cuda else "cpu"
    facts: dict[str, Any] = {
        "version": torch.__version__,
        "build": build,
        "hip": torch.version.hip,
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "device": None,
        "product": None,
        "gfx": None,
        "memory_bytes": None,
    }
    device = devices.device()
    facts["device"] = str(device)
    if device.type == "cuda":
        properties: Any = torch.cuda.get_device_properties(device)
        facts.update(
            product=properties.name, memory_bytes=properties.total_memory, gfx=getattr(properties, "gcnArchName", None)
        )
    print(json.dumps(facts))
