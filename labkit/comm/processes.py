"""How ranks are started and ended, system by system."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# torch._dynamo: DistributedDataParallel imports it, which would cost every rank seconds
_PRELOADED = ("torch", "torch.distributed", "torch._dynamo", "numpy", "labkit.comm.rank", "labkit.comm.preloaded")
_LOOK_S = 0.02
_servers: dict[int, int] = {}  # by the process that started it


def context_for_ranks() -> Any:
    """How ranks are started: on Linux from a server that has torch loaded, elsewhere as fresh interpreters.

    macOS has the server too, but its system libraries do not bear a fork after they were used.
    """
    if sys.platform != "linux" or "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


def prepare() -> None:
    """Starts loading torch for later teams, and returns at once (Linux; elsewhere it does nothing)."""
    if context_for_ranks().get_start_method() == "forkserver":
        _run_server()


def server_ready(seconds: float) -> bool:
    """Waits until the fork server has loaded everything, at most ``seconds``; True where it has, and where there is none.

    An interrupt gets through at once. Without this the start of the first rank would be the wait, and an interrupt in
    it would leave half a rank."""
    if context_for_ranks().get_start_method() != "forkserver":
        return True
    number = _run_server()
    deadline = time.monotonic() + seconds
    while number and _loads(number):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_S)
    return True


def _run_server() -> int | None:
    """Starts the fork server, where it does not run yet, with interrupts held back in it until it has loaded all
    (``preloaded``). Its process id; None in a process that got it from its parent."""
    from multiprocessing import forkserver, resource_tracker

    with unnamed_main():
        resource_tracker.ensure_running()  # first: it lets interrupts through again in this thread
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
    number: int | None = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if number:
        _servers[os.getpid()] = number
    return number


def _loads(server: int) -> bool:
    """Whether the server lives and does not listen yet: as soon as it does, it catches the ends of its children
    (multiprocessing/forkserver.py, main; Python 3.10 to 3.14)."""
    try:
        lines = Path(f"/proc/{server}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    said = dict(line.split(":", 1) for line in lines if ":" in line)
    if said.get("State", "").strip()[:1] in ("Z", "X", "") or "SigCgt" not in said:
        return False
    return not int(said["SigCgt"], 16) >> (signal.SIGCHLD - 1) & 1


@atexit.register
def _end_a_server_that_loads() -> None:
    """One that listens ends with this process; one that still loads would notice only afterwards."""
    number = _servers.get(os.getpid())
    if number and _loads(number):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)


@contextlib.contextmanager
def interrupt_later() -> Iterator[None]:
    """An interrupt within this block comes at its end: for what takes a moment and must not stop half-way."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    came: list[tuple[int, types.FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(*came[0])


def cannot_start(error: BaseException) -> tuple[str, str]:
    """Why no rank could be started, and what to do."""
    try:
        Path.cwd()
    except OSError:
        return (
            "The ranks cannot be started: the folder in which this process runs is gone.",
            "Change to one that is there.",
        )
    if isinstance(error, (EOFError, ConnectionError)):
        return (
            "The ranks cannot be started: the process that starts them ended.",
            "Its last words are in the terminal. Often there is too little memory; then use fewer ranks.",
        )
    where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
    return (
        f"The ranks cannot be started: {getattr(error, 'strerror', None) or error}{where}.",
        "They need a folder for temporary files that can be written (TMPDIR), free processes and free memory.",
    )


@contextlib.contextmanager
def unnamed_main() -> Iterator[None]:
    """Ranks do not run the caller's script or notebook again: multiprocessing would, to find functions that we send by place."""
    real = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = real


def kill(process: Any) -> None:
    """Ends a rank and what it started."""
    if not process.is_alive():
        return
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg") and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
            return
    with contextlib.suppress(Exception):
        import psutil

        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    with contextlib.suppress(OSError):
        process.kill()
