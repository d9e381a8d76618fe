"""What a pack's start script runs: set-up from the wheels that fit this machine, then the course. Standard library only.

python3 -m labkit.workshop.pack.use [labkit's command and its options]     # default: start
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from labkit import setup
from labkit.errors import LabkitError
from labkit.importable import ROOT, become
from labkit.machine.facts import Machine
from labkit.setup import environment, prepare, words
from labkit.workshop.pack import contents, sums
from labkit.workshop.pack.contents import Contents, WheelSet

_WITH_WHEELS = ("start", "run", "setup")


def main(argv: Sequence[str], *, root: Path = ROOT) -> int:
    """Runs one command of labkit from the pack; returns its exit status."""
    try:
        arguments = [*argv] if argv and not argv[0].startswith("-") else ["start", *argv]
        pack = contents.here(root)
        if pack is None:
            raise LabkitError(
                f"{root} belongs to no finished pack.", f"In a clone of the course: {words.labkit(*arguments)}"
            )
        table = contents.read(pack)
        status = _with_other_python(table, argv, root)
        if status is not None:
            return status
        os.environ.setdefault("LABKIT_DATA", str(root / "data"))
        os.environ.setdefault("LABKIT_LESSONS", str(pack / contents.LESSONS))
        place = environment.locate(root, os.environ)
        if (
            arguments[0] in _WITH_WHEELS
            and "--wheelhouse" not in arguments
            and table.wheels
            and not setup.is_ready(place, "course", None, os.environ, inside=False)
        ):
            arguments[1:1] = ["--wheelhouse", str(wheelhouse(pack, root, table, prepare.collect()))]
    except LabkitError as error:
        print(f"labkit: {error}", file=sys.stderr)
        return 1
    return _instead([sys.executable, "-m", "labkit", *arguments], root)


def _instead(command: Sequence[str], root: Path) -> int:
    """Runs a command in the course's folder in place of this one, so that Ctrl-C is for it alone; on Windows it is waited for."""
    os.chdir(root)
    return become(command, os.environ)


def wheelhouse(pack: Path, root: Path, table: Contents, machine: Machine) -> Path:
    """A folder with exactly the wheels for this machine: the pack's own, or links to those that fit.

    Raises LabkitError where none fit, some are missing, or the folder is not one to work in.
    """
    check_place(root)
    chosen, note = contents.fitting(table.wheels, machine)
    if chosen is None:
        raise LabkitError(note, _other_python_or_machine(table, machine))
    lacking = contents.missing(chosen, pack / contents.WHEELS)
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise LabkitError(
            f"The pack is not complete: {lacking[0]}{more} is missing or has another size.",
            f"Copy the whole folder once more from the stick. {sums.FILE} has the checksum of every file.",
        )
    words.say(f"From the pack: {chosen.words}.")
    if note:
        words.say(note)
    if len(table.wheels) == 1:
        return pack / contents.WHEELS
    return link(chosen, pack / contents.WHEELS, root / ".labkit" / "wheels")


def check_place(root: Path) -> None:
    """Raises LabkitError where nothing can be written: a pack on a read-only stick."""
    probe = root / ".labkit" / f"probe.{os.getpid()}"
    try:
        probe.parent.mkdir(exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise LabkitError(
            f"Nothing can be written in {root} ({error.strerror}): work in the lessons could not be saved.",
            "Copy the whole folder to the disk of this computer, and start it there.",
        ) from error


def link(chosen: WheelSet, wheels: Path, folder: Path) -> Path:
    """Makes ``folder`` anew with a link to each wheel of the set; takes no room."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, _ in chosen.files:
        try:
            os.link(wheels / name, folder / name)
        except OSError:
            try:
                (folder / name).symlink_to(wheels / name)
            except OSError as error:
                raise LabkitError(
                    f"{folder} can hold no links ({error.strerror}), as is usual on a stick.",
                    "Copy the whole folder to the disk of this computer, and start it there.",
                ) from error
    return folder


def _other_python_or_machine(table: Contents, machine: Machine) -> str:
    pythons = sorted({item.python for item in table.wheels if item.system == machine.system})
    if pythons and all(item.python != ".".join(map(str, machine.python)) for item in table.wheels):
        return f"Install Python {' or '.join(pythons)}, and start again."
    return (
        "Ask for a pack that was made for this kind of computer (workshop pack --for), or set up with a network: "
        + (words.labkit("start"))
    )


def _with_other_python(table: Contents, argv: Sequence[str], root: Path) -> int | None:
    """Runs this again with a Python that the pack has wheels for, if this is none and one is here; else None."""
    if not table.wheels or f"{sys.version_info[0]}.{sys.version_info[1]}" in table.pythons:
        return None
    for version in reversed(table.pythons):
        command = other_python(version)
        if command is not None:
            words.say(f"The pack has packages for Python {version}, which is here too: it is taken.")
            program = shutil.which(command[0]) or command[0]
            return _instead([program, *command[1:], "-m", "labkit.workshop.pack.use", *argv], root)
    return None


def other_python(version: str, which: Callable[[str], str | None] = shutil.which) -> list[str] | None:
    """How the Python of a version is called here, if it is here and starts."""
    candidates = [["py", f"-{version}"]] if os.name == "nt" else [[f"python{version}"]]
    for command in candidates:
        if which(command[0]) is None:
            continue
        try:
            asked = subprocess.run([*command, "-c", ""], capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if asked.returncode == 0:
            return command
    return None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
