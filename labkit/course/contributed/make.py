"""``labkit report make``: the contributable file from a run of the course. It asks nothing and sends nothing."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping, Set
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.course import arguments, files, form, report, table
from labkit.course.contributed import REPORTS, check, fingerprint, name, personal, shape
from labkit.errors import LabkitError

_GIB = 2**30
_NEW_RUN = "leave --from away: the lessons are then executed now."


def main(options: argparse.Namespace) -> int:
    """Executes the lessons (or takes what was executed), writes the file, and says where it is.

    Raises:
        LabkitError: there is no run to take, it cannot be told from what it left, or the file would not be in order.
    """
    judge(options)
    note = _note(options)
    folder = Path(options.executed) if options.executed else _execute()
    made = of_run(folder, _snapshot(), note=note, now=datetime.now(timezone.utc))
    content = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    _refuse_what_is_not_in_order(made, content)
    path = write(made, content, Path(options.output) if options.output else None)
    failed = [row["id"] for row in made["lessons"] if row["status"] == "failed"]
    print(f"Written: {check.short(path)}")
    print(f"  {name.title(made)}: {len(made['lessons']) - len(failed)} of {len(made['lessons'])} lessons passed.")
    if failed:
        print(f"  Lessons that failed stand in it as failed ({', '.join(failed)}): that is worth knowing too.")
    print("It holds the kind of machine, versions, and what ran; no names, no paths, no addresses. Nothing was sent.")
    print("Read it. To contribute it, open a pull request that adds it to reports/ (reports/README.md says how).")
    return 0


def judge(options: argparse.Namespace) -> None:
    """Raises LabkitError for arguments that would come to nothing at the end: no lesson needs to run for that."""
    note = _note(options)
    kinds = personal.kinds(note)
    if len(note) > shape.NOTE_LENGTH:
        raise LabkitError(f"The note has {len(note)} characters.", f"shorten it to {shape.NOTE_LENGTH}.")
    if shape.note(note) is not None:
        raise LabkitError("The note holds signs that are no text.", "write it with letters, digits and punctuation.")
    if kinds:
        raise LabkitError(f"The note seems to hold {', '.join(kinds)}.", "leave that out: the file is for everybody.")
    if options.output:
        _refuse_taken(Path(options.output))
    if options.executed:
        _run(Path(options.executed))


def _note(options: argparse.Namespace) -> str:
    return " ".join(str(getattr(options, "note", None) or "").split())


def _refuse_taken(path: Path) -> None:
    if path.exists():
        raise LabkitError(f"{path} is there already.", "name another file, or move that one away first.")


def _execute() -> Path:
    from labkit.course import execute

    folder = execute.BUILD / "report"
    execute.run([], output=folder)
    return folder


def _snapshot() -> dict[str, Any]:
    from labkit.machine import snapshot

    return snapshot.collect(torch=False)


def of_run(folder: Path, snapshot: Mapping[str, Any], *, note: str = "", now: datetime) -> dict[str, Any]:
    """The report of the run that left ``report.json`` and the executed notebooks in ``folder``.

    Args:
        snapshot: of this machine (``labkit.machine.snapshot``); torch's facts are the run's own.
        note: a sentence of whoever makes it.
        now: with its time zone.

    Raises:
        LabkitError: there is no such run, or it was on another machine, or with parameters of its own.
    """
    run = _run(folder)
    machine = run["machine"]
    here = (snapshot["system"], snapshot["architecture"], snapshot["python"]["version"])
    if (machine.get("system"), machine.get("architecture"), machine.get("python")) != here:
        raise LabkitError("The run was made on another machine, or with another Python.", "make the report there.")
    torch = machine.get("torch")
    if not isinstance(torch, dict):
        raise LabkitError(
            f"The run does not know its torch. {machine.get('torch_error', '')}".strip(), "see 'labkit doctor'."
        )
    profile = run["profile"]
    allowed = {one.id: {"profile", *(one.full if profile == "full" else ())} for one in table.load().lessons}
    return {
        "schema": shape.SCHEMA,
        "version": shape.VERSION,
        "labkit": __version__,
        "made": report.utc(now),
        "note": note,
        **{key: run[key] for key in ("profile", "started", "seconds", "workers")},
        "machine": _machine(machine, torch, snapshot),
        "lessons": [_lesson(row, folder, allowed.get(row["id"], {"profile"})) for row in run["lessons"]],
    }


def _run(folder: Path) -> dict[str, Any]:
    run = report.read(folder, f"name the folder of 'labkit run -o DIR', or {_NEW_RUN}")
    if not run["lessons"]:
        raise LabkitError(f"{folder / report.FILE} holds no lesson.", _NEW_RUN)
    return run


def _lesson(row: Mapping[str, Any], folder: Path, allowed: Set[str]) -> dict[str, Any]:
    """allowed: parameters that the run may have set."""
    error = row["error"]
    text = None
    if row["notebook"]:
        notebook, text = _executed(folder / Path(str(row["notebook"])).name)
        _refuse_own_parameters(notebook, row["id"], allowed)
    return {
        **{
            key: row[key] for key in ("id", "name", "status", "seconds", "cells", "cells_total", "executed", "stand_in")
        },
        "error": {"kind": error["kind"], "cell": error["cell"]} if error else None,
        "fingerprint": text,
    }


def _executed(path: Path) -> tuple[Mapping[str, Any], str]:
    """A notebook that the run left, and the fingerprint of its text."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return notebook, fingerprint.of(notebook)
    except (OSError, ValueError, RecursionError):
        raise LabkitError(f"{path.name}, which the run executed, is not beside its report.json.", _NEW_RUN) from None


def _refuse_own_parameters(notebook: Mapping[str, Any], lesson: str, allowed: Set[str]) -> None:
    """A report is about the lessons as they are: papermill's cell may set the profile, and what the profile sets."""
    for cell in notebook["cells"]:
        if form.is_injected(cell):
            own = sorted(set(arguments.assigned("".join(cell["source"]))) - allowed)
            if own:
                raise LabkitError(
                    f"Lesson {lesson} was run with parameters of your own ({', '.join(own)}).",
                    "run the lessons without -p for a report.",
                )


def _machine(machine: Mapping[str, Any], torch: Mapping[str, Any], snapshot: Mapping[str, Any]) -> dict[str, Any]:
    from labkit.machine import facts

    gfx = torch.get("gfx")
    ram = snapshot.get("ram_bytes")
    return {
        "system": machine["system"],
        "architecture": machine["architecture"],
        "distribution": _distribution(snapshot.get("os_release")),
        "kernel": numbers(snapshot.get("kernel")),
        "wsl": facts.is_wsl(snapshot),
        "container": facts.in_container(snapshot),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "ram_gib": round(ram / _GIB, 1) if isinstance(ram, int) else None,
        "python": machine["python"],
        "torch": {
            **{key: torch.get(key) for key in ("version", "build", "hip", "cuda", "device", "product")},
            "gfx": str(gfx).split(":")[0] if gfx else None,
            **{key: torch.get(key) for key in ("memory_bytes", "threads")},
        },
        "rocm": _rocm(snapshot),
        "driver": _driver(snapshot),
    }


def numbers(version: object) -> str | None:
    """The numbers that a version begins with; what follows them can be anybody's own word ('6.8.0-anna' is '6.8.0')."""
    found = re.match(r"\d{1,4}(?:\.\d{1,10}){0,4}", str(version or ""))
    return found.group() if found else None


def _distribution(os_release: object) -> str | None:
    """'ubuntu 24.04' from the text of /etc/os-release."""
    values = dict(re.findall(r"(?m)^(ID|VERSION_ID)=[\"']?([^\"'\n]*)", str(os_release or "")))
    words = [re.sub(r"[^a-z0-9._-]", "", values.get("ID", "").lower())[:30], numbers(values.get("VERSION_ID")) or ""]
    return " ".join(word for word in words if word) or None if words[0] else None


def _processor() -> str | None:
    from labkit.timing import conditions

    plain = re.sub(r"[^\w ()+@.,/®™\[\]-]", " ", conditions.processor(), flags=re.ASCII)
    shown = re.sub(r"\s+", " ", plain).strip()[:80]
    return shown if re.match(r"[A-Za-z0-9]", shown) and not personal.kinds(shown) else None


def _rocm(snapshot: Mapping[str, Any]) -> str | None:
    """The newest ROCm that is installed beside torch's own."""
    found = [numbers(row.get("version")) for row in snapshot.get("rocm") or [] if isinstance(row, dict)]
    known = [text for text in found if text]
    return max(known, key=lambda text: [int(part) for part in text.split(".")], default=None)


def _driver(snapshot: Mapping[str, Any]) -> str | None:
    """amdgpu's own version (Linux has one only for AMD's package), or the display driver's on Windows."""
    if snapshot.get("amdgpu_version"):
        return numbers(snapshot["amdgpu_version"])
    rows = [row for row in snapshot.get("windows_adapters") or [] if isinstance(row, dict)]
    amd = [row for row in rows if "VEN_1002" in str(row.get("device") or "").upper()]
    return numbers(amd[0].get("driver")) if amd else None


def _refuse_what_is_not_in_order(made: Mapping[str, Any], content: str) -> None:
    _, found = check.text(content)
    found += check.here(made)
    if found:
        raise LabkitError(
            "No file was written, because it would not be in order:\n  - "
            + "\n  - ".join(str(one.what) for one in found[:9]),
            "if the run itself is sound, tell us in an issue: the check is wrong then.",
        )


def write(made: Mapping[str, Any], content: str, path: Path | None) -> Path:
    """Writes the file whole or not at all: into reports/ under its own name, or at ``path``. It replaces nothing.

    Raises:
        LabkitError: there is a file at ``path`` already, or it cannot be written.
    """
    if path is not None:
        _refuse_taken(path)
        files.write_text(path, content)
        return path
    wanted = name.file_name(made)
    for number in range(1, 100):
        path = REPORTS / (wanted if number == 1 else f"{wanted.removesuffix('.json')}-{number}.json")
        if not path.exists():
            files.write_text(path, content)
            return path
    raise LabkitError(f"There are 99 reports named {wanted} already.", "give the file a place with -o.")
