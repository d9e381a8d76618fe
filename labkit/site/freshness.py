"""When is an executed lesson still what executing it now would give? A key over all that it depends on says so.

The key holds contents, never times of files: a fresh clone and a checkout of another branch give the same keys.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from labkit.course.table import Lesson
from labkit.importable import ROOT

# Rooms of labkit that no lesson can reach: they stand above it. Of the room course, two modules take part in executing.
ABOVE_LESSONS = ("site", "jupyter", "workshop", "course", "cli.py", "__main__.py")
EXECUTING = ("course/execute.py", "course/kernel.py")


def versions() -> dict[str, str]:
    """The versions that results depend on; "not installed" for what is missing."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in ("torch", "torchvision", "numpy", "matplotlib"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def key(lesson: Lesson, profile: str, installed: Mapping[str, str], root: Path = ROOT) -> str:
    """One word for everything that the outputs of this lesson depend on.

    Args:
        installed: what ``versions`` gave.
        root: the clone, with its folders ``labkit`` and the one of the lesson.
    """
    row = {name: value for name, value in asdict(lesson).items() if name != "path"}
    return _digest([profile, dict(installed), row], sources(lesson, root), root)


def key_of_labkit(installed: Mapping[str, str], root: Path = ROOT) -> str:
    """One word for all that probes of claims depend on: the rooms of labkit below the lessons, without any lesson's own part."""
    return _digest(dict(installed), sorted(_of_labkit("", root / "labkit")), root)


def _digest(said: object, paths: Iterable[Path], root: Path) -> str:
    digest = hashlib.sha256(json.dumps(said, sort_keys=True, default=list).encode())
    for path in paths:
        name = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
        digest.update(f"\0{name.as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def sources(lesson: Lesson, root: Path = ROOT) -> list[Path]:
    """The files that the outputs of this lesson depend on, sorted."""
    folder = lesson.path.parent
    found = {lesson.path, folder / "solutions" / f"{lesson.label}.py"}
    if lesson.path.is_file() and "scripts" in lesson.path.read_text(encoding="utf-8"):
        found.update((folder / "scripts").glob("*.py"))  # they call each other
    found.update(_of_labkit(lesson.name, root / "labkit"))
    return sorted(path for path in found if path.is_file())


def _of_labkit(lesson: str, labkit: Path) -> Iterator[Path]:
    for path in _files(labkit):
        parts = path.relative_to(labkit).parts
        if parts[0] in ABOVE_LESSONS and "/".join(parts) not in EXECUTING:
            continue
        # exercises/NAME/ belongs to the lesson of that name alone
        if parts[:2] == ("learn", "exercises") and len(parts) > 3 and parts[2] != lesson:
            continue
        yield path


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
