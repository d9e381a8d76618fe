"""Several processes of this machine that work together, for a notebook: started quickly, told what to run, surely
ended.

    with Team(2) as team:
        sums = team.run(work.add_up, 100)      # a list, one result for each rank

Each ``run`` gives its function a fresh process group of torch.distributed. The ranks end with the block, with the
notebook's kernel, and with any failure: then the next ``run`` starts new ones."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import pickle
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from labkit.comm import rank as ranks_side
from labkit.comm.available import backend_for, distributed_missing, loopback_settings
from labkit.comm.outputs import new_text
from labkit.comm.processes import (
    cannot_start,
    context_for_ranks,
    interrupt_later,
    kill,
    server_ready,
    unnamed_main,
)
from labkit.comm.rank import Failure, Order
from labkit.comm.rank_errors import died, failed, hung
from labkit.comm.sources import Place, place_of
from labkit.errors import LabkitError

START_S = 120.0  # two imports of torch on a busy machine, without a server that has it
GRACE_S = 2.0
PEER_S = 0.5  # a rank that lost its peer tells so before the peer's own end is known
_MOST = 64
_MOST_LINES = 1000  # of one rank's output in one run; more would stop a notebook
_TOLD_BYTES = 1_000_000  # of a rank's output, in an error
_teams: weakref.WeakSet[Team] = weakref.WeakSet()


class Interrupted(KeyboardInterrupt):
    """An interrupt that ended all ranks; a notebook shows its sentence without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass
class _Rank:
    process: Any
    orders: Connection
    life: Connection


class Team:
    """``ranks`` processes, each with one CPU thread, started by the first ``run`` or ``start``.

    backend: ``gloo``, ``nccl`` (RCCL on AMD), or None: nccl where torch sees a GPU for each rank, else gloo.
    settings: environment variables of the ranks. Linux starts them from a server that has torch loaded, in a fraction
    of a second each time but the first; other systems start fresh interpreters. Raises LabkitError for a torch
    without distributed, or a number of ranks that is not 1 to 64."""

    def __init__(self, ranks: int, *, backend: str | None = None, settings: Mapping[str, str] | None = None) -> None:
        if not 1 <= int(ranks) <= _MOST:
            raise LabkitError(f"A team of {ranks} processes cannot be made.", f"Use 1 to {_MOST}.")
        missing = distributed_missing()
        if missing:
            raise LabkitError(missing)
        self.ranks = int(ranks)
        self.backend = backend or backend_for(self.ranks)
        self._settings = {**loopback_settings(), "TORCH_CPP_LOG_LEVEL": "ERROR", **(settings or {})}
        self._members: list[_Rank] = []
        self._folder: Path | None = None
        self._calls = 0
        self._owner = os.getpid()
        self._read: dict[int, int] = {}
        self._turn = threading.RLock()
        _teams.add(self)

    def __repr__(self) -> str:
        state = f"processes {', '.join(map(str, self.pids))}" if self._members else "not started"
        return f"<Team of {self.ranks} over {self.backend}, {state}>"

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids, by rank; empty before the start and after the end."""
        return tuple(member.process.pid for member in self._members)

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Team:
        """Starts the ranks where they are not there yet, and waits until each is ready. Raises RankError if not."""
        if self._members and all(member.process.is_alive() for member in self._members):
            return self
        self._end()
        context = context_for_ranks()
        try:
            if not server_ready(START_S):
                raise LabkitError(
                    f"The server that starts ranks did not load torch within {START_S:g} s.", "Try again."
                )
            self._folder = Path(tempfile.mkdtemp(prefix="labkit-team-"))
            self._read = {}
            for number in range(self.ranks):
                with unnamed_main(), interrupt_later():
                    self._members.append(self._launch(context, number))
            self._collect(time.monotonic() + START_S, START_S, "to start")
        except KeyboardInterrupt:
            self._end()
            raise Interrupted(f"Interrupted: all {self.ranks} ranks were ended.") from None
        except (OSError, EOFError) as error:
            self._end()
            raise LabkitError(*cannot_start(error)) from error
        except BaseException:
            self._end()
            raise
        return self

    def _launch(self, context: Any, number: int) -> _Rank:
        ours, theirs = context.Pipe()
        their_life, life = context.Pipe(duplex=False)
        process = context.Process(
            target=ranks_side.serve,
            args=(number, self.ranks, theirs, their_life, os.getpid(), str(self._folder), self._settings),
            name=f"labkit rank {number}",
        )
        process.start()
        theirs.close()
        their_life.close()
        return _Rank(process, ours, life)

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        seconds: float = 120.0,
        group: bool = True,
        echo: bool = True,
        **kwargs: Any,
    ) -> list[Any]:
        """Calls ``function(*args, **kwargs)`` in every rank and returns what each gave, by rank.

        Within it ``torch.distributed`` is initialised; RANK, WORLD_SIZE and LOCAL_RANK are set as torchrun sets them.
        function: from a module or a file (``module_from``), since a notebook's cells exist in the notebook only. seconds: longer
        than that is a hang. group: False starts no process group. echo: prints afterwards what the ranks printed, each line
        with its rank.

        Raises RankError, after ending all ranks, where one raises, hangs or dies; LabkitError for a function or an
        argument that cannot be sent; ``Interrupted`` (a KeyboardInterrupt) where somebody interrupts.
        """
        place = place_of(function)
        try:
            content = pickle.dumps((args, kwargs))
        except Exception as error:
            raise LabkitError(
                f"An argument cannot be sent to the ranks: {error}.", "Pass plain values or tensors."
            ) from None
        with self._turn:  # of several threads one after the other
            return self._run(place, content, seconds, group, echo)

    def _run(self, place: Place, content: bytes, seconds: float, group: bool, echo: bool) -> list[Any]:
        self.start()
        self._calls += 1
        meeting = str(self._folder / f"meeting-{self._calls}") if group and self._folder else ""
        order = Order(place, meeting, self.backend, seconds)
        try:
            for member in self._members:
                with contextlib.suppress(OSError):  # one that died meanwhile is told about below
                    member.orders.send(order)
                    member.orders.send_bytes(content)
            results = self._collect(time.monotonic() + seconds, seconds, f"in {place.name}")
            self._tell("all have answered")
        except KeyboardInterrupt:
            self._end()
            raise Interrupted(f"Interrupted: all {self.ranks} ranks were ended.") from None
        except BaseException:
            self._echo(echo)
            self._end()
            raise
        self._echo(echo)
        return results

    def _collect(self, deadline: float, seconds: float, doing: str) -> list[Any]:
        """One answer of each rank. Raises RankError for the first that fails or dies, or when the time is over."""
        answers: dict[int, Any] = {}
        failures: dict[int, Failure] = {}
        gone: list[int] = []
        grace = math.inf
        while len(answers) < self.ranks:
            left = [n for n in range(self.ranks) if n not in answers and n not in failures and n not in gone]
            ends = [end for n in left for end in (self._members[n].orders, self._members[n].process.sentinel)]
            until = min(deadline, grace)
            if not wait(ends, max(0.0, until - time.monotonic())) and until == deadline:
                raise hung(
                    doing, seconds, {n: self._output(n) for n in range(self.ranks) if n not in answers}, sorted(answers)
                )
            for number in left:
                kind, content = self._answer(number)
                if kind == "done":
                    answers[number] = content
                elif kind == "failed":
                    failures[number] = content
                elif kind == "gone":
                    gone.append(number)
            causes = {n: failure for n, failure in failures.items() if not failure.peer_lost}
            if not causes and gone:
                process = self._members[gone[0]].process
                process.join(GRACE_S)
                raise died(gone[0], self.ranks, process.exitcode, doing, self._output(gone[0]))
            late = time.monotonic() >= grace
            if causes or (failures and late):  # of several the first is the cause
                number = min(causes or failures, key=lambda n: failures[n].at)
                raise failed(number, self.ranks, failures[number], self._output(number))
            if failures:  # a rank lost another one; whose end that was is about to be known
                grace = min(grace, time.monotonic() + PEER_S)
        return [answers[number] for number in range(self.ranks)]

    def _answer(self, number: int) -> tuple[str, Any]:
        """What the rank sent; ('', None) where it is still at work, ('gone', None) where its process ended."""
        member = self._members[number]
        try:
            if member.orders.poll(0):
                answer: tuple[str, Any] = member.orders.recv()
                return answer
        except (EOFError, OSError):
            return "gone", None
        except Exception as error:  # of a class, for example, that only the rank can make
            what = f"what the function returned cannot be read here: {type(error).__name__}: {error}"
            return "failed", Failure("", what, "Return plain values or tensors.")
        return ("", None) if member.process.is_alive() else ("gone", None)

    # -- what the ranks print -----------------------------------------------------------------------------------------

    def _output(self, number: int) -> str:
        return "".join(new_text(self._folder, number, -_TOLD_BYTES, end)[0] for end in ("out", "err"))

    def _echo(self, show: bool = True) -> None:
        """Prints what came since the last time, each line with its rank; of very much the last lines. ``show`` False: passes
        over it."""
        for number in range(self.ranks):
            new, self._read[number] = new_text(self._folder, number, self._read.get(number, 0))
            lines = new.splitlines() if show else []
            if len(lines) > _MOST_LINES:
                print(f"rank {number}: ({len(lines) - _MOST_LINES} more lines before these)")
            for line in lines[-_MOST_LINES:]:
                print(f"rank {number}: {line}")

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the ranks: by word where they wait, else by force."""
        if os.getpid() != self._owner:
            return
        self._tell(None)
        deadline = time.monotonic() + GRACE_S
        for member in self._members:
            member.process.join(max(0.0, deadline - time.monotonic()))
        self._end()

    def _tell(self, word: str | None) -> None:
        for member in self._members:
            with contextlib.suppress(OSError, ValueError):
                member.orders.send(word)

    def _end(self) -> None:
        if os.getpid() != self._owner:  # a forked copy of this object: the ranks are not its own
            return
        for member in self._members:
            kill(member.process)
        for member in self._members:
            member.process.join(GRACE_S)
            for end in (member.orders, member.life):
                end.close()
        self._members = []
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


@atexit.register
def _end_all() -> None:
    for team in list(_teams):
        team._end()
