"""What a rank prints: two files in the team's folder, written by the rank and read by its parent."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def new_text(folder: Path | None, rank: int, start: int, end: str = "out") -> tuple[str, int]:
    """What stands in ``rank``'s file from byte ``start`` on (negative: so many bytes before its end), and the file's size.
    ('', start) where there is no file."""
    if folder is None:
        return "", start
    try:
        with (folder / f"rank-{rank}.{end}").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(min(size, start) if start >= 0 else max(0, size + start))
            return file.read().decode("utf-8", errors="replace").replace("\r\n", "\n"), size
    except OSError:
        return "", start


def into_files(folder: Path, rank: int) -> None:
    """In a rank, before each call: file descriptors 1 and 2 and ``sys.stdout`` and ``sys.stderr`` go to its files, also where
    a call before has closed or replaced them."""
    for number, end in ((1, "out"), (2, "err")):
        target = os.open(folder / f"rank-{rank}.{end}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if target == number:  # it was closed
            os.set_inheritable(number, True)
        else:
            os.dup2(target, number)
            os.close(target)
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
