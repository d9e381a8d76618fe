"""The progress file on the disk: written whole or not at all, shared by many kernels, never thrown away.

A change is made under a lock that dies with its process: read, add, write a temporary file, fsync, rename. Whoever reads
sees the old file or the new one. A kernel that is killed at any point leaves a whole file behind.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.learn.records.entry import Content, Entry, Event, dump, merged, parse

MOST_BYTES = 4 * 2**20
"""More than this is not read: a whole course fits in a hundredth of it."""
_LOCK_WAIT_S = 5.0


class CannotSave(Exception):
    """The file cannot be changed now; the text is the reason, as part of a sentence."""


@dataclass(frozen=True)
class Saved:
    """What is in the file now; aside: where a damaged file was put, and how many lines of it could not be read."""

    entries: dict[str, Entry]
    aside: Path | None = None
    damaged: int = 0


def load(path: Path) -> Content:
    """What the file holds; nothing where there is none. Raises CannotSave where it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a device or a pipe could be read for ever
            raise CannotSave(f"{path} is not a file")
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Content({})
    except OSError as error:
        raise CannotSave(_reason(path, error)) from error
    if len(data) > MOST_BYTES:
        kept = parse(data[:MOST_BYTES])
        return Content(kept.entries, max(1, kept.damaged), kept.newer)
    return parse(data)


def save(path: Path, events: list[Event], wait_s: float = _LOCK_WAIT_S) -> Saved:
    """Adds events to the file. Writes nothing where they change nothing. Raises CannotSave; then the file is as it was."""
    path = Path(os.path.realpath(path))  # where a link leads, so that the rename does not replace the link
    before = load(path)
    if before.newer:
        raise CannotSave(f"a newer labkit wrote {path}")
    if not before.damaged and merged(before.entries, events) == before.entries:
        return Saved(dict(before.entries))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path, wait_s) as alone:
            before = load(path)  # again: another kernel may have been quicker
            if before.newer:
                raise CannotSave(f"a newer labkit wrote {path}")
            aside = _copy_aside(path) if before.damaged else None
            after = merged(before.entries, events)
            if aside is not None or after != before.entries:
                _write(path, dump(after), ".tmp" if alone else f".{os.getpid()}.tmp")
            return Saved(after, aside, before.damaged)
    except OSError as error:
        raise CannotSave(_reason(path, error)) from error


def move_aside(path: Path, word: str = "forgotten") -> Path | None:
    """Renames the file beside itself and gives back its new place; None where there is none. Raises CannotSave."""
    path = Path(os.path.realpath(path))
    if not path.exists():
        return None
    try:
        with locked(path, _LOCK_WAIT_S):
            target = _free_name(path, word)
            _patiently(lambda: path.rename(target))
            return target
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotSave(_reason(path, error)) from error


@contextlib.contextmanager
def locked(path: Path, wait_s: float = _LOCK_WAIT_S) -> Iterator[bool]:
    """Holds the lock beside the file. True: held. False: this file system has no locks, and the change is made without.

    Raises CannotSave where another process keeps it for longer than ``wait_s``.
    """
    lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _wait_for(lock, path, wait_s)
    finally:
        os.close(lock)  # and with it the lock


def _wait_for(lock: int, path: Path, wait_s: float) -> bool:
    limit = time.monotonic() + wait_s
    while True:
        try:
            _take(lock)
            return True
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK):
                return False
            if time.monotonic() >= limit:
                raise CannotSave(f"another program keeps {path} locked") from error
        time.sleep(0.01)


def _take(lock: int) -> None:
    """Takes the lock, or raises OSError at once. It is let go when the descriptor is closed, also by a kill."""
    if os.name == "nt":
        import msvcrt

        os.lseek(lock, 0, os.SEEK_SET)
        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write(path: Path, data: bytes, ending: str) -> None:
    temporary = path.with_name(path.name + ending)
    try:
        stream = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(stream, left) :]
            os.fsync(stream)
        finally:
            os.close(stream)
        _patiently(lambda: temporary.replace(path))
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    with contextlib.suppress(OSError, AttributeError):  # the new name itself; not every system can do that
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _copy_aside(path: Path) -> Path:
    """A second name, or else a copy, for the damaged file; the file itself stays until the new one takes its place."""
    target = _free_name(path, "damaged")
    try:
        os.link(path, target)
    except OSError:
        shutil.copy2(path, target)
    return target


def _free_name(path: Path, word: str) -> Path:
    day = datetime.date.today().isoformat()
    names = (path.with_name(f"{path.stem}-{word}-{day}{f'-{n}' if n else ''}{path.suffix}") for n in range(10_000))
    return next(name for name in names if not os.path.lexists(name))


def _patiently(action: Callable[[], object]) -> None:
    """On Windows a file that somebody is just reading cannot be renamed: tries again for a second."""
    for attempt in range(50):
        try:
            action()
            return
        except PermissionError:
            if os.name != "nt" or attempt == 49:
                raise
            time.sleep(0.02)


def _reason(path: Path, error: OSError) -> str:
    return f"{path}: {error.strerror or type(error).__name__}"
