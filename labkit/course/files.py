"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from labkit.errors import LabkitError


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text with ``\\n`` line ends to a temporary name beside ``path``, then moves it into place.

    Raises:
        LabkitError: the folder or the file cannot be written, or is a device.
    """
    temporary = ""
    if path.exists() and not path.is_file() and not path.is_dir():
        # root may rename a file onto /dev/null, which is then gone for every program
        raise LabkitError(f"{path} is a device and no file.", "name a file.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # mkstemp makes files private; give back what the old file had, or what a new file normally gets.
        Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        Path(temporary).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            if temporary:
                Path(temporary).unlink()
        raise LabkitError(
            f"{path} cannot be written: {error.strerror or error}.",
            "check that the disk has room and that the folder is yours to write to.",
        ) from None
