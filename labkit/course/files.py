"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from labkit.errors import LabkitError


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text with ``\\n`` line ends to a temporary name beside ``path``, then moves it into place.

    Raises:
        LabkitError: the folder or the file cannot be written, or is a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        # root may rename a file onto /dev/null, which is then gone for every program
        raise LabkitError(f"{path} is a device and no file.", "name a file.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path, text.encode("utf-8")) as temporary:
            temporary.replace(path)
    except OSError as error:
        raise LabkitError(
            f"{path} cannot be written: {error.strerror or error}.",
            "check that the disk has room and that the folder is yours to write to.",
        ) from None


@contextlib.contextmanager
def beside(path: Path, content: bytes, *, sync: bool = False) -> Iterator[Path]:
    """A temporary file in the folder of ``path`` with this content and the mode of what is at ``path``; gone at the end, unless renamed.

    sync: the content is safely on the disk before anything else happens. Raises OSError where it cannot be written.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        # mkstemp makes files private; give back what the old file had, or what a new file normally gets.
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
