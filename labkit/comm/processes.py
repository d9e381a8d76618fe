"""How ranks are started and ended, system by system."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# torch._dynamo: DistributedDataParallel imports it, which would cost every rank seconds
_PRELOADED = ("torch", "torch.distributed", "torch._dynamo", "numpy", "labkit.comm.rank")


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
        from multiprocessing.forkserver import ensure_running

        with unnamed_main():
            ensure_running()


def ended_how(status: int | None) -> str:
    """'was killed by SIGKILL', 'ended with status 3': a process's exit code in words."""
    if status is not None and status < 0:
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(-status).name}"
    return "ended" if status is None else f"ended with status {status}"


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


def where_it_is(output: str) -> str:
    """' in f (file.py, line n)' from the last dump of faulthandler, the innermost frame outside torch; '' without a dump."""
    _, mark, dump = output.rpartition("Timeout (")
    main = dump[dump.rfind("\nThread ") :] if mark else ""  # the thread that was started first is told last
    for line in main.splitlines():
        head, found, name = line.strip().rpartition(" in ")
        file, _, place = head.removeprefix('File "').partition('", line ')
        if found and place and "torch" not in Path(file).parts:
            return f" is in {name} ({Path(file).name}, line {place})"
    return ""
