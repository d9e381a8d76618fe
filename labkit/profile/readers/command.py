"""What ``labkit read`` answers: a profile's facts, or a machine's. Only standard library until a profile is really read."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.machine import intake
from labkit.machine.readers import recognise
from labkit.profile.readers import look

NEEDED = ("polars", "msgspec")


def run(named: str, *, as_json: bool, root: Path) -> int:
    """Prints what the file, folder or standard input ('-') says; 0, or 2 where nothing known is in it.

    A profile is read with the course's packages: where this Python lacks them and the environment exists, the command runs itself there.
    Raises LabkitError for what cannot be opened, and where the packages are nowhere.
    """
    content, is_profile = _look(named)
    if is_profile and not _has_packages():
        status = _in_environment(root, ["read", named, *(["--json"] if as_json else [])], content)
        if status is not None:
            return status
    facts = _facts(named, content, is_profile)
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        from labkit.machine.readers import printing as machine
        from labkit.profile.readers import printing

        print(printing.as_text(facts) if "dispatches" in facts else machine.as_text(facts))
        # what the figures mean, and what they cannot mean
        from labkit.comm import verdicts

        for verdict in verdicts.judge(facts):
            print(f"  {'-' if verdict.is_note else '!'} {verdict.sentence}")
    return 2 if facts["kind"] == "unknown" else 0


def _look(named: str) -> tuple[bytes | None, bool]:
    """Standard input's content, if that is meant, and whether there is a profile that begins before any report of a machine."""
    path = Path(named)
    if named != "-" and path.is_dir():
        return None, not any(path.rglob("properties")) and look.is_profile_folder(path)
    if named == "-" or not _is_plain_file(path):
        content = intake.read(named, recognise.LARGEST)
        return content, _begins_first(content)
    try:
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                return None, False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                return None, _begins_first(mapped)
    except OSError as error:
        raise LabkitError(
            f"{path} cannot be read: {error.strerror or error}.", "Check the name and its permissions."
        ) from error


def _is_plain_file(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.is_file()
    return False


def _begins_first(content: bytes | mmap.mmap) -> bool:
    at = look.begins(content)
    if at is None:
        return False
    return at == 0 or recognise.read_bytes(bytes(content[:at]))["kind"] == "unknown"


def _has_packages() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in NEEDED)


def _in_environment(root: Path, argv: Sequence[str], content: bytes | None) -> int | None:
    """The status of the same command in the course's environment; raises LabkitError where there is none."""
    from labkit import setup
    from labkit.setup import environment, words

    with contextlib.suppress(LabkitError):
        place = environment.locate(root, os.environ)
        if place.has_python and not environment.is_inside(place):
            if content is None:
                return setup.run_inside(place, argv)
            sys.stdout.flush()
            return subprocess.run([str(place.python), "-m", "labkit", *argv], input=content, check=False).returncode
    raise LabkitError(
        "This is a profile, and profiles are read with packages that are not installed yet.",
        f"{words.labkit('setup')} installs them.",
    )


def _facts(named: str, content: bytes | None, is_profile: bool) -> dict[str, Any]:
    problem = None
    if is_profile:
        from labkit.profile import readers
        from labkit.profile.facts import facts

        try:
            return facts(readers.read(Path(named)) if content is None else readers.read_bytes(content, named))
        except LabkitError as error:
            problem = error.problem
    found = recognise.read_path(Path(named)) if content is None else recognise.read_bytes(content)
    if found["kind"] == "unknown" and problem is not None:
        return recognise.unknown(problem.rstrip("."))
    return found
