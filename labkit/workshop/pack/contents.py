"""What a pack holds, as ``pack.json`` says, and which of its wheels fit a machine. Standard library only.

A pack is one folder::

    START_HERE.txt  start.sh  start.bat  check.sh  check.bat
    course/         the repository as learners need it; course/data/ holds the data sets, course/.venv the environment
    lessons/        the lessons as they were published: JupyterLab's reset takes them from here
    wheels/         the wheels of all systems and Pythons that were asked for, each once
    site/           the course as pages, with its results (index.html)
    pack.json       this table
    SHA256SUMS      a checksum of every file
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from labkit.catalog import gfx as targets
from labkit.catalog import wheels
from labkit.errors import LabkitError
from labkit.machine.facts import Machine

SCHEMA = 1
FILE = "pack.json"
COURSE, LESSONS, WHEELS, SITE = "course", "lessons", "wheels", "site"
BUILDS = ("cpu", "default", "cuda", "rocm")
SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}


@dataclass(frozen=True)
class WheelSet:
    """All wheels that one kind of machine needs: system, processor, Python, and which build of PyTorch.

    ``index`` is the last part of torch's index ('rocm7.2', 'cpu', 'amd'), or 'default' for pip's own. ``gfx`` are the
    targets that it was made for; ``carries`` says what else it serves. ``files`` are names in ``wheels/`` with their bytes.
    """

    system: str
    wsl: bool
    architecture: str
    python: str  # '3.11'
    build: str  # 'rocm', 'cuda', 'cpu' or 'default'
    index: str
    gfx: tuple[str, ...]
    torch: str  # the exact version: '2.14.1+rocm7.2'
    files: tuple[tuple[str, int], ...]
    asked: str = ""  # a key of what was asked for: the same wish need not be downloaded again

    @property
    def words(self) -> str:
        """For people: 'Linux x86_64, Python 3.11, torch 2.14.1+rocm7.2 for gfx1100'."""
        system = "WSL" if self.wsl else SYSTEMS.get(self.system, self.system)
        made_for = f" for {', '.join(self.gfx)}" if self.gfx else ""
        return f"{system} {self.architecture}, Python {self.python}, torch {self.torch}{made_for}"

    def carries(self, gfx: str | None, wsl: bool) -> bool:
        """Do these wheels have kernels for a target, as far as the catalog says?"""
        if self.build != "rocm" or gfx is None:
            return False
        if self.index.startswith("rocm"):  # PyTorch's own: the runtime inside does not know WSL's /dev/dxg
            row = targets.target(gfx)
            return not wsl and (gfx in self.gfx or (row is not None and self.index in row.pytorch_indexes))
        return gfx in self.gfx


@dataclass(frozen=True)
class DataSet:
    """A data set of the lessons: what lies in the pack, under which licence, or why it does not."""

    name: str
    title: str
    present: bool
    licence: str
    note: str


@dataclass(frozen=True)
class Contents:
    """The whole table. ``made`` is a day, ``commit`` the course's version where git knows it."""

    made: str
    commit: str
    wheels: tuple[WheelSet, ...]
    data: tuple[DataSet, ...]
    site: bool

    @property
    def pythons(self) -> tuple[str, ...]:
        """Versions of Python, newest last."""
        return tuple(sorted({item.python for item in self.wheels}, key=wheels.version))

    def as_json(self) -> str:
        value = {"labkit_pack": SCHEMA, **asdict(self)}
        return json.dumps(value, indent=1, ensure_ascii=True) + "\n"


def read(folder: Path) -> Contents:
    """Reads ``pack.json``; raises LabkitError where there is none, or it is not one."""
    path = folder / FILE
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabkitError(
            f"{folder} is no finished pack: {FILE} cannot be read ({error.strerror}).",
            "Name the folder that `workshop pack` made. If it was interrupted, call it again: it goes on.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise LabkitError(f"{path} is damaged.", "Copy the pack once more.") from error
    try:
        return _contents(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LabkitError(f"{path} is damaged, or of another version of labkit.", "Copy the pack once more.") from error


def _contents(value: Mapping[str, Any]) -> Contents:
    if value["labkit_pack"] != SCHEMA:
        raise ValueError(value["labkit_pack"])
    sets = tuple(
        WheelSet(
            **{
                **item,
                "gfx": tuple(item["gfx"]),
                "files": tuple((str(name), int(size)) for name, size in item["files"]),
            }
        )
        for item in value["wheels"]
    )
    for item in sets:
        words_ = (item.system, item.architecture, item.index, item.torch, item.asked, *item.gfx)
        if not all(isinstance(word, str) for word in words_) or item.build not in BUILDS:
            raise ValueError("a set of wheels")
        if not re.fullmatch(r"3\.\d{1,2}", item.python, re.ASCII) or any(
            re.search(r"[/\\\0]", name) for name, _ in item.files
        ):
            raise ValueError("a set of wheels")
    data = tuple(DataSet(**item) for item in value["data"])
    datetime.strptime(value["made"], "%Y-%m-%d")  # an unfinished pack has its day, too
    return Contents(str(value["made"]), str(value["commit"]), sets, data, bool(value["site"]))


def is_pack(folder: Path) -> bool:
    """Is the ``pack.json`` there one of ours, whole or of another version? Other programs have files of that name."""
    try:
        value = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "labkit_pack" in value


def here(root: Path) -> Path | None:
    """The pack that this copy of the course belongs to; None where it is a clone."""
    return root.parent if root.name == COURSE and (root.parent / FILE).is_file() else None


def missing(done: WheelSet, folder: Path) -> list[str]:
    """Files of a set that the folder lacks, or that have another size there."""
    found = []
    for name, size in done.files:
        try:
            if (folder / name).stat().st_size != size:
                found.append(name)
        except OSError:
            found.append(name)
    return found


def fitting(sets: Sequence[WheelSet], machine: Machine) -> tuple[WheelSet | None, str]:
    """The wheels for a machine, and a sentence where they are not the ones that one would wish; None where none fit."""
    same = [item for item in sets if item.system == machine.system and item.architecture == machine.architecture]
    python = ".".join(map(str, machine.python))
    usable = [item for item in same if item.python == python]
    if not usable:
        others = ", ".join(sorted({item.python for item in same}, key=wheels.version))
        if others:
            return None, f"The pack has wheels for Python {others}; this is Python {python}."
        system = f"{SYSTEMS.get(machine.system, machine.system)} on {machine.architecture}"
        return None, f"The pack has no wheels for {system}."
    for gpu in machine.gpus:
        for item in sorted(usable, key=lambda item: gpu.gfx not in item.gfx):  # those made for it come first
            if item.carries(gpu.gfx, machine.wsl):
                return item, ""
    order = (
        ("cuda", "default", "cpu", "rocm")
        if machine.nvidia and not machine.gpus
        else ("cpu", "default", "cuda", "rocm")
    )
    chosen = min(usable, key=lambda item: order.index(item.build))
    note = ""
    if machine.gpus:
        note = f"The pack has no build of PyTorch for {machine.gpus[0].label}: the lessons compute on the CPU."
    return chosen, note
