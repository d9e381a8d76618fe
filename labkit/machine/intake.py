"""Bytes that somebody names on the command line (a file, '-' for standard input) and the text in them.

Never more than asked for, never a silent wait.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from labkit.errors import LabkitError


def read(named: str | Path, largest: int) -> bytes:
    """At most ``largest`` bytes of a file, or of standard input for '-'.

    Says on standard error when it waits for somebody to write (a terminal, a named pipe). Raises LabkitError for what
    cannot be read and for devices, which have no end.
    """
    if str(named) == "-":
        if sys.stdin is None:
            raise LabkitError("There is no standard input to read.", "Name a file.")
        if sys.stdin.isatty():
            _say("paste the text here, then end it with Ctrl-D (Windows: Ctrl-Z and Enter).")
        return sys.stdin.buffer.read(largest)
    path = Path(named)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise LabkitError(f"{path} is a folder.", "Name one file, for example a snapshot that labkit wrote.")
        if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and not _is_terminal(path)):
            raise LabkitError(f"{path} is a device and no file.", "Name a file with the text, or - for standard input.")
        if stat.S_ISFIFO(mode):
            _say(f"waiting for what is written into {path} (Ctrl-C stops).")
        with path.open("rb") as file:
            return file.read(largest)
    except OSError as error:
        raise LabkitError(
            f"{path} cannot be read: {error.strerror or error}.", "Check the name and its permissions."
        ) from error
    except MemoryError:
        raise LabkitError(f"{path} does not fit into this machine's memory.", "Give the part that matters.") from None


def decode(content: bytes) -> str | None:
    """Text of bytes in UTF-8 or, as PowerShell writes it, UTF-16; None for binary data."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    probe = content[:65536]
    odd = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in probe[:8192])
    if odd * 20 > len(probe[:8192]):
        return None
    text = content.decode("utf-8", errors="replace")
    return None if text[:8192].count("\ufffd") * 5 > len(text[:8192]) else text


def _is_terminal(path: Path) -> bool:
    """Whether a character device is a terminal: somebody types there, and it ends."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        return os.isatty(handle)
    finally:
        os.close(handle)


def _say(text: str) -> None:
    print(f"labkit: {text}", file=sys.stderr, flush=True)
