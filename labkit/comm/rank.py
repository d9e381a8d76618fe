"""What runs inside a process of a ``Team``: wait for a function, call it within a fresh process group, send back what
it gave.

A rank ends when its parent ends, however that ends: a thread watches a pipe whose other end only the parent holds,
and Linux kills the process with the one that started it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from labkit.comm import sources
from labkit.comm.lifeline import die_with_parent
from labkit.comm.outputs import into_files
from labkit.errors import LabkitError

WATCH_S = 0.5


@dataclass(frozen=True)
class Order:
    """One call: the function's place, where the ranks meet (a file; empty: no process group), and how long it may
    take."""

    place: sources.Place
    meeting: str
    backend: str
    seconds: float


@dataclass(frozen=True)
class Failure:
    """An exception in words. ``spot``: 'file, line n, in function' of the last frame outside torch. ``at``: when, by the
    machine's monotonic clock: of several the first is the cause."""

    kind: str
    message: str
    remedy: str
    spot: str = ""
    trace: str = ""
    at: float = field(default_factory=time.monotonic)

    @property
    def peer_lost(self) -> bool:
        """Gloo's or NCCL's word for another rank that is gone: a consequence, not a cause."""
        return bool(re.search(r"(closed|reset) by peer|remote process exited|Broken pipe", self.message))


def serve(
    rank: int, ranks: int, orders: Connection, life: Connection, parent: int, folder: str, settings: Mapping[str, str]
) -> None:
    """The rank's whole life. ``folder``: where its output goes (``rank-N.out``, ``rank-N.err``)."""
    _settle(rank, ranks, folder, settings)
    threading.Thread(target=_watch, args=(life, parent), daemon=True).start()
    import torch

    torch.set_num_threads(1)
    with contextlib.suppress(EOFError, OSError):
        orders.send_bytes(pickle.dumps(("done", None)))
        while (order := orders.recv()) is not None:
            into_files(Path(folder), rank)
            _obey(order, orders, rank, ranks)
    _leave(0)


def _settle(rank: int, ranks: int, folder: str, settings: Mapping[str, str]) -> None:
    if hasattr(os, "setsid"):
        with contextlib.suppress(OSError):
            os.setsid()  # Ctrl-C and a notebook's interrupt go to the parent alone, which ends the ranks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # held back where the fork server could not load ``preloaded``
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    die_with_parent()
    own = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": ranks}
    os.environ.update({"OMP_NUM_THREADS": "1", **settings, **{name: str(value) for name, value in own.items()}})
    into_files(Path(folder), rank)
    faulthandler.enable(sys.stderr)


def _watch(life: Connection, parent: int) -> None:
    while not wait([life], WATCH_S):
        if os.name == "posix":  # somebody else may hold the pipe's other end: a process that the parent forked
            try:
                os.kill(parent, 0)
            except ProcessLookupError:
                break
            except OSError:
                pass
    _leave(1)


def _leave(status: int) -> None:
    """Ends this process, and on POSIX what it started."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(status)


def _obey(order: Order, orders: Connection, rank: int, ranks: int) -> None:
    """Answers one order with ('done', result) or ('failed', Failure).

    The process group is kept until the parent says that every rank has answered: ended sooner, it would look to a
    rank that is still inside a collective like a broken connection, and hide which rank left early or failed first.
    """
    answered = False
    answer: tuple[str, Any]

    def send(answer: tuple[str, Any]) -> None:
        nonlocal answered
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        try:
            content = pickle.dumps(answer)
        except Exception as error:
            content = pickle.dumps(("failed", _unsendable(error, answer)))
        orders.send_bytes(content)
        answered = True
        orders.recv()

    timer = max(order.seconds * 0.9, order.seconds - 0.5)
    try:
        function = sources.find(order.place)
        args, kwargs = orders.recv()  # after the function's module is there: what was sent may be of its classes
        # where it hangs, for the parent's sentence
        faulthandler.dump_traceback_later(timer, exit=False, file=sys.stderr)
        with _group(order, rank, ranks):
            try:
                answer = "done", function(*args, **kwargs)
            except BaseException as error:
                answer = "failed", failure_of(error)
            faulthandler.cancel_dump_traceback_later()
            send(answer)
    except BaseException as error:
        if answered:  # the parent is gone, or the group could not be ended: this process has to end
            raise EOFError from error
        send(("failed", failure_of(error)))


@contextlib.contextmanager
def _group(order: Order, rank: int, ranks: int) -> Iterator[None]:
    """A process group of its own for one call. The ranks find each other through a file, so no port can be taken."""
    if not order.meeting:
        yield
        return
    from datetime import timedelta

    import torch
    import torch.distributed as distributed

    if order.backend == "nccl":
        torch.cuda.set_device(rank)
    store = distributed.FileStore(order.meeting, ranks)
    distributed.init_process_group(
        order.backend,
        store=store,
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=order.seconds + 60),  # the parent's limit comes first and says more
    )
    try:
        yield
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def failure_of(error: BaseException) -> Failure:
    """An exception as words that can be sent."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _internal(frame.filename)] or list(frames)
    spot = f"{Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name}" if own else ""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if isinstance(error, LabkitError):
        return Failure("", error.problem, error.remedy, spot, trace)
    first = next((line for line in str(error).strip().splitlines() if line.strip()), "")
    return Failure(type(error).__name__, first, "", spot, trace)


def _internal(file: str) -> bool:
    """A frame of torch, of this module or of Python's own machinery: not where a person's mistake is."""
    parts = Path(file).parts
    return "torch" in parts or file.startswith("<frozen") or Path(file) in (Path(__file__), Path(sources.__file__))


def _unsendable(error: Exception, answer: tuple[str, Any]) -> Failure:
    kind = type(answer[1]).__name__
    return Failure(
        "", f"what the function returned ({kind}) cannot be sent: {error}", "Return plain values or tensors."
    )
