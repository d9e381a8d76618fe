"""Runs a command that ends when its starter ends: python lifeline.py SECONDS COMMAND...

The starter holds this process's standard input and writes nothing. When that closes (the starter closed it, was
interrupted, or was killed), or after SECONDS (0: no limit), the command and everything that it started is ended. The
command's exit status becomes this one's; 124 says that the time was over, 125 that the starter was gone, 127 that the
command could not be started.

Standard library only, and run as a file: it must be there within a moment, and psutil is used where it is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIME_OVER, STARTER_GONE, NOT_STARTED = 124, 125, 127
MARK = "LABKIT_LIFELINE"
_LOOK_S = 0.05
_END_S = 5.0
_PDEATHSIG, _SUBREAPER = 1, 36  # linux/prctl.h


def main(arguments: list[str]) -> int:
    seconds, command = float(arguments[0]), arguments[1:]
    starter = os.getppid()
    mark = f"{os.getpid()}-{time.time_ns()}"
    _prctl(_SUBREAPER, 1)  # Linux: orphans of the command become children of this process, and are found
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the starter decides
    gone = threading.Event()
    threading.Thread(target=_watch, args=(gone,), daemon=True).start()
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, MARK: mark},
            start_new_session=os.name == "posix",
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
    except (OSError, ValueError) as error:
        print(f"{command[0]} could not be started: {error}", file=sys.stderr, flush=True)
        return NOT_STARTED
    deadline = time.monotonic() + seconds if seconds > 0 else None
    status: int | None = None
    while status is None:
        try:
            status = child.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            if gone.is_set() or (os.name == "posix" and os.getppid() != starter):
                status = STARTER_GONE
            elif deadline is not None and time.monotonic() >= deadline:
                status = TIME_OVER
    end_tree(child, mark)
    return status if status >= 0 else 128 - status


def _watch(gone: threading.Event) -> None:
    with contextlib.suppress(OSError, ValueError):
        while os.read(0, 4096):
            pass
    gone.set()


def end_tree(child: subprocess.Popen[Any], mark: str) -> None:
    """Ends ``child`` first, so that it starts nothing anew, then all that came from it, until none is left."""
    found = set(_descendants(os.getpid(), mark))
    if os.name != "posix":
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(child.pid)], capture_output=True, timeout=10, check=False
            )
    with contextlib.suppress(OSError):
        child.kill()
    deadline = time.monotonic() + _END_S
    while time.monotonic() < deadline:
        for number in found:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        _reap()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0)
        found = set(_descendants(os.getpid(), mark))
        if not found:
            return
        time.sleep(_LOOK_S)


def _descendants(root: int, mark: str) -> Iterator[int]:
    """Process ids of what came from ``root``, itself left out: by their parents, and on Linux also by ``mark`` in their
    environment, which stays when a parent ends. Processes that have ended and were not waited for do not count."""
    if sys.platform == "linux":
        yield from _by_proc(root, mark)
        return
    with contextlib.suppress(Exception):
        import psutil

        for process in psutil.Process(root).children(recursive=True):
            yield process.pid


def _by_proc(root: int, mark: str) -> Iterator[int]:
    parents: dict[int, int] = {}
    marked = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] in ("Z", "X"):
                continue
            number = int(entry.name)
            parents[number] = int(fields[1])
            if number != root and marked in (entry / "environ").read_bytes().split(b"\0"):
                yield number
    for number in parents:
        above, seen = parents.get(number), {number}
        while above is not None and above not in seen:
            if above == root:
                yield number
                break
            seen.add(above)
            above = parents.get(above)


def _reap() -> None:
    """Waits for orphans that became children of this process."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def die_with_parent(number: int = 9) -> None:
    """Linux: this signal (SIGKILL, which Windows does not name) when the process that forked this one ends, even inside a C call."""
    _prctl(_PDEATHSIG, int(number))


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
