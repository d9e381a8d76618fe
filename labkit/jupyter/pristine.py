"""The lessons as they were published: what a reset puts back, and what a learner's copy is compared with."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.importable import ROOT

VARIABLE = "LABKIT_LESSONS"
_GIT_S = 20  # git reads a few files from the disk; more means that something is stuck


@dataclass(frozen=True)
class Published:
    """The published notebooks by file name. why: where one is missing from ``notebooks``, the reason as a sentence."""

    notebooks: Mapping[str, bytes]
    why: str = ""


def find(names: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None, root: Path = ROOT) -> Published:
    """Looks for the published notebooks.

    In the folder that LABKIT_LESSONS names, and nowhere else if it is set. Else, where the learner works on a copy (``folder`` is
    not the clone's own), in the clone's folder. Else in the commit that is checked out (git's HEAD), without a network.
    """
    environ = os.environ if environ is None else environ
    named = environ.get(VARIABLE, "").strip()
    try:
        named = str(Path(named).expanduser()) if named else ""
    except RuntimeError:
        return Published({}, f"{VARIABLE} names {named}, and there is nobody of that name here.")
    own = root / "notebooks"
    if named and _same(Path(named), folder):
        return Published(
            {}, f"{VARIABLE} names the very folder that you work in, so there is no published copy to take."
        )
    if named:
        return _from_folder(names, Path(named), f"The folder that {VARIABLE} names ({named})")
    if own.is_dir() and not _same(own, folder):
        return _from_folder(names, own, "The course's own folder notebooks")
    return _from_git(names, root, environ)


def compared(mine: bytes, published: bytes) -> str:
    """How a copy differs: "as published", "run" (outputs only) or "edited" (cells, or no notebook any more)."""
    if mine == published:
        return "as published"
    try:
        ours, theirs = _cells(mine), _cells(published)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "edited"
    if [cell[:2] for cell in ours] != [cell[:2] for cell in theirs]:
        return "edited"
    return "as published" if ours == theirs else "run"


def _cells(content: bytes) -> list[tuple[str, str, Any, Any]]:
    found = []
    for cell in json.loads(content)["cells"]:
        source = cell["source"]
        text = source if isinstance(source, str) else "".join(source)
        outputs = [_output(one) for one in cell.get("outputs", [])]
        found.append((cell["cell_type"], text, cell.get("execution_count"), outputs))
    return found


def _output(output: dict[str, Any]) -> dict[str, Any]:
    """An output with its texts as strings: editors write them whole or line by line."""
    return {
        key: "".join(content)
        if isinstance(content, list) and all(isinstance(part, str) for part in content)
        else content
        for key, content in {**output, **output.get("data", {})}.items()
        if key != "data"
    }


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _from_folder(names: Sequence[str], folder: Path, words: str) -> Published:
    found: dict[str, bytes] = {}
    why = ""
    for name in names:
        try:
            found[name] = (folder / name).read_bytes()
        except OSError as error:
            why = why or f"{words} has no {name} that can be read ({error.strerror or type(error).__name__})."
    return Published(found, why)


def _from_git(names: Sequence[str], root: Path, environ: Mapping[str, str]) -> Published:
    """From HEAD. ``root`` is where this very code comes from, so it is trusted whoever owns it (safe.directory)."""
    settings = {name: content for name, content in environ.items() if not name.startswith("GIT_")}
    settings |= {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        answer = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(root), "cat-file", "--batch"],
            input="".join(f"HEAD:./notebooks/{name}\n" for name in names).encode(),
            capture_output=True,
            timeout=_GIT_S,
            env=settings,
            check=False,
        )
    except FileNotFoundError:
        return Published(
            {}, f"There is no git here to read the published lessons from, and {VARIABLE} names no folder with them."
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Published({}, f"git could not be asked for the published lessons ({type(error).__name__}).")
    found = _batch(answer.stdout, names)
    if len(found) == len(names):
        return Published(found)
    if answer.returncode or not found:
        return Published(
            found, f"This folder is no clone with a commit, and {VARIABLE} names no folder with the published lessons."
        )
    missing = next(name for name in names if name not in found)
    return Published(found, f"The commit that is checked out has no notebooks/{missing}.")


def _batch(output: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """git's answer: for each name a line 'hash blob size' and the content, or a line that ends with 'missing'."""
    found: dict[str, bytes] = {}
    at = 0
    for name in names:
        end = output.find(b"\n", at)
        if end < 0:
            break
        head = output[at:end].split(b" ")
        at = end + 1
        if len(head) == 3 and head[1] == b"blob":
            size = int(head[2])
            if len(output) < at + size:
                break
            found[name] = output[at : at + size]
            at += size + 1
    return found
