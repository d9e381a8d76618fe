"""The checksums of a pack: written once, checked anywhere. Standard library only; ``sha256sum -c`` reads the file too."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from labkit.course.files import write_text
from labkit.errors import LabkitError

FILE = "SHA256SUMS"
# What a learner's work adds to the course's folder.
_ADDED = {".venv", ".labkit", "build", "__pycache__", ".ipynb_checkpoints", ".virtual_documents"}
LOCK = ".pack.lock"  # while a pack is made
_CHUNK_BYTES = 1 << 22


def files(folder: Path) -> Iterator[Path]:
    """Every file of the pack, in a stable order, without the sums themselves and without what work adds."""
    for path in sorted(folder.iterdir()):
        if path.name in _ADDED or path.name in (FILE, LOCK):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from files(path)
        else:
            yield path


def of(path: Path) -> str:
    """A file's SHA-256, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def write(folder: Path) -> int:
    """Writes ``SHA256SUMS``; gives the number of files."""
    rows = [f"{of(path)}  {path.relative_to(folder).as_posix()}\n" for path in files(folder)]
    write_text(folder / FILE, "".join(rows))
    return len(rows)


def read(folder: Path) -> dict[str, str]:
    """Path (with forward slashes) to sum; raises LabkitError where the file is missing or holds something else."""
    path = folder / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LabkitError(
            f"{path} cannot be read.", "Name the folder of a finished pack; copy it once more if the file is damaged."
        ) from error
    known: dict[str, str] = {}
    for line in lines:
        value, _, name = line.partition("  ")
        if (
            len(value) != 64
            or not name
            or "\0" in name
            or PurePosixPath(name).is_absolute()
            or ".." in PurePosixPath(name).parts
        ):
            raise LabkitError(f"{path} is damaged: {line[:80]!r}.", "Copy the pack once more.")
        known[name] = value
    return known


def problems(folder: Path, say: Callable[[str], None] | None = None) -> list[str]:
    """What differs from the sums, one sentence for each file; empty where the pack is whole.

    A notebook that a learner has worked in differs, too: check a pack before work begins. Files that were added are no
    problem. ``say`` is told before the long reading begins.
    """
    known = read(folder)
    if not known:
        return [f"{FILE} is empty."]
    if say is not None:
        say(f"Reading {len(known)} files ...")
    found = []
    for name, value in known.items():
        path = folder / name
        try:
            same = of(path) == value
        except FileNotFoundError:
            found.append(f"{name} is missing.")
            continue
        except OSError as error:
            found.append(f"{name} cannot be read ({error.strerror}).")
            continue
        if not same:
            found.append(f"{name} is damaged: its checksum differs.")
    return found
