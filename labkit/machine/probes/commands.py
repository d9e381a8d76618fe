"""Commands with a time limit and a limit on what they may print; several at once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TypeVar

TEXT_LIMIT = 64 * 1024  # bytes kept of one command's output
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What a command printed on both streams, how it ended (None: it was stopped or never started), and what went wrong."""

    text: str
    status: int | None = 0
    problem: str | None = None


def start(command: Sequence[str], settings: Mapping[str, str], folder: str | None = None) -> subprocess.Popen[bytes]:
    """Starts a command in a group of its own, which ``end`` ends as a whole: no input, both streams in one pipe, no window.

    settings: its whole environment. Raises OSError or ValueError where it cannot be started.
    """
    return subprocess.Popen(
        list(command), cwd=folder, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=os.name == "posix", creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )  # fmt: skip


def ask(
    command: Sequence[str], timeout_s: float, *, limit: int = TEXT_LIMIT, environment: Mapping[str, str] | None = None
) -> Answer:
    """Runs a command without a shell; never raises, never waits longer than ``timeout_s`` and a moment.

    It and everything that it started is ended when the time is over or when it prints more than ``limit`` bytes.
    """
    settings = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "utf-8", **(environment or {})}
    try:
        process = start(command, settings)
    except (OSError, ValueError) as error:
        return Answer("", None, f"could not be started: {error}")
    assert process.stdout is not None
    chunks: list[bytes] = []
    full = threading.Event()
    reader = threading.Thread(target=_read, args=(process.stdout, chunks, limit, full), daemon=True)
    reader.start()
    deadline = time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0 and reader.is_alive() and not full.is_set():
        reader.join(min(left, 0.25))
    problem, status = None, None
    with contextlib.suppress(subprocess.TimeoutExpired):
        status = process.wait(max(0.0, min(deadline - time.monotonic(), 1.0)) if not full.is_set() else 0.0)
    if full.is_set():
        problem = f"printed more than {limit >> 10} KB, the rest is left out"
    elif status is None:
        problem = f"no answer within {timeout_s:.3g} s"
    if status is None or reader.is_alive():
        end(process)
        reader.join(0.5)  # a grandchild may hold the pipe open: it is not waited for
    return Answer(b"".join(chunks)[:limit].decode("utf-8", errors="replace"), status, problem)


def _read(stream: IO[bytes], chunks: list[bytes], limit: int, full: threading.Event) -> None:
    size = 0
    with contextlib.suppress(OSError, ValueError):
        while chunk := os.read(stream.fileno(), 65536):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                full.set()
                return


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and what it started."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            with contextlib.suppress(subprocess.SubprocessError):
                subprocess.run(
                    ["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, timeout=3, check=False
                )
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.5)  # one that is stuck inside the driver does not even end then


def together(tasks: Mapping[str, Callable[[], T]], within_s: float) -> tuple[dict[str, T], dict[str, str]]:
    """Runs tasks at once, each in a thread; results by name, and for the others why there is none.

    What has not ended after ``within_s`` is left behind (its thread does not keep Python from ending).
    """
    results: dict[str, T] = {}
    problems: dict[str, str] = {}
    lock = threading.Lock()

    def work(name: str, task: Callable[[], T]) -> None:
        try:
            result = task()
        except Exception as error:  # one broken task must not take the others with it
            with lock:
                problems[name] = f"{type(error).__name__}: {error}"
        else:
            with lock:
                results[name] = result

    threads = {name: threading.Thread(target=work, args=(name, task), daemon=True) for name, task in tasks.items()}
    for thread in threads.values():
        thread.start()
    deadline = time.monotonic() + within_s
    for thread in threads.values():
        thread.join(max(0.0, deadline - time.monotonic()))
    with lock:
        for name in threads:
            if name not in results and name not in problems:
                problems[name] = f"no answer within {within_s:.3g} s"
        return dict(results), dict(problems)
