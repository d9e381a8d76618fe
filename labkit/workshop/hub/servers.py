"""Learners' servers as processes of this machine: whether one still runs, and the end of what it left."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from labkit.workshop.hub.accounts import Account, Folder
from labkit.workshop.hub.leases import Book, Lease, Table

MARK = "LABKIT_HUB_HOME"
"""Which learner's a process is, where all learners have one user id."""


def started_at(pid: int) -> float:
    """When a process began (seconds since 1970), 0 where there is none or it is dead and only not fetched yet."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return float(process.create_time())
    return 0.0


def runs(pid: int, started: float) -> bool:
    """Does the process still run that had this number and began then? Another may have the number by now."""
    return pid != 0 and abs(started_at(pid) - started) < 1


def is_alive(lease: Lease) -> bool:
    """Does the lease's server still run?"""
    return runs(lease.pid, lease.started)


def end_leftovers(account: Account) -> int:
    """Ends what a learner's server left running, so that nothing of theirs is on a GPU that somebody else gets; how many."""
    import psutil

    ended = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid == os.getpid():
                continue
            if account.uid is not None:
                theirs = process.uids().real == account.uid
            else:
                theirs = process.uids().real == os.getuid() and process.environ().get(MARK) == str(account.home)
            if theirs:
                process.kill()
                ended += 1
    return ended


def take_back(place: Folder, first_uid: int | None) -> None:
    """Frees the GPUs of servers that died and were not noticed yet, once nothing of theirs runs any more."""
    book = Book(place.leases)
    for lease in book.read().leases:
        if lease.pid and not is_alive(lease):
            end_leftovers(place.account(lease.learner, first_uid))
    book.change(lambda table: table.reclaim(lambda lease: lease.pid == 0 or is_alive(lease)))


def reclaim(place: Folder, gpus: Sequence[str], share: int) -> Table:
    """At the hub's start: the table for these GPUs, without the leases whose server died while no hub was there."""
    return Book(place.leases).change(lambda table: table.on(gpus, share).reclaim(is_alive))
