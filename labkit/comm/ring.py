"""An all-reduce written with nothing but send and receive: a ring, with a log of the messages that really went round.

The array is cut into as many chunks as there are ranks. In each of 2(n-1) steps every rank sends one chunk to the
next rank and receives one from the rank before: for n-1 steps it adds what came to its own, then for n-1 steps it
takes it over. Source: P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations", J. Parallel Distrib. Comput. 69 (2009)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from labkit.comm.team import Team
from labkit.errors import LabkitError

Schedule = Sequence[Sequence[int]]
"""[2(n-1) steps][n ranks]: the chunk that the rank sends in this step."""


@dataclass(frozen=True)
class Message:
    """A message as the receiving rank saw it. ``added``: it was added to the rank's own chunk, else it replaced it.
    ``at_s``: seconds after the first rank began."""

    step: int
    src: int
    dst: int
    chunk: int
    added: bool
    values: tuple[float, ...]
    bytes: int
    at_s: float


@dataclass(frozen=True)
class RingRun:
    """What was recorded. ``states[k][rank][chunk]``: the chunk's values after ``k`` steps (0: before the first).
    ``sums``: what every rank should hold at the end, by chunk. ``messages``: by step, then by receiving rank."""

    ranks: int
    backend: str
    states: tuple[tuple[tuple[tuple[float, ...], ...], ...], ...]
    messages: tuple[Message, ...]
    sums: tuple[tuple[float, ...], ...]

    @property
    def steps(self) -> int:
        return len(self.states) - 1

    @property
    def wrong(self) -> tuple[tuple[int, int], ...]:
        """(rank, chunk) of what does not hold the sum at the end."""
        last = self.states[-1]
        return tuple((r, c) for r in range(self.ranks) for c in range(self.ranks) if last[r][c] != self.sums[c])

    def bytes_sent(self, rank: int) -> int:
        """Bytes that ``rank`` sent in all: 2(n-1)/n of the array where the chunks are of one size."""
        return sum(message.bytes for message in self.messages if message.src == rank)

    def __str__(self) -> str:
        end = "every rank holds the sum" if not self.wrong else f"{len(self.wrong)} chunks do not hold the sum"
        return (
            f"Ring all-reduce recorded from {len(self.messages)} real messages between {self.ranks} processes "
            f"({self.backend}), {self.steps} steps: {end}."
        )

    __repr__ = __str__


def ring_schedule(ranks: int) -> list[list[int]]:
    """The chunk that each rank sends in each step: rank r begins with chunk r and goes one back every step."""
    return [[(rank - step) % ranks for rank in range(ranks)] for step in range(2 * (ranks - 1))]


def telling_values(ranks: int) -> list[list[float]]:
    """[ranks][ranks]: rank r holds 10^r in every chunk, so that a partial sum shows who is in it (2^r beyond six
    ranks)."""
    base = 10.0 if ranks <= 6 else 2.0
    return [[base**rank] * ranks for rank in range(ranks)]


def ring(
    team: Team | int = 4,
    values: Sequence[Sequence[float]] | None = None,
    *,
    schedule: Schedule | Callable[[int, int, int], int] | None = None,
    seconds: float = 60.0,
) -> RingRun:
    """Runs the ring between real processes and gives what went round.

    team: a Team, or how many processes (2 or more). values: [ranks][count], what each rank begins with, count at
    least the number of ranks (default: ``telling_values``). schedule: another order of chunks, as a table or as a
    function (step, rank, ranks) -> chunk that is called here; one that makes no all-reduce gives a run whose
    ``wrong`` is not empty. Raises LabkitError for values or a schedule that do not fit."""
    ranks = team.ranks if isinstance(team, Team) else int(team)
    if ranks < 2:
        raise LabkitError("A ring needs two processes or more.", "Use Team(2) or larger.")
    given = [list(map(float, row)) for row in (telling_values(ranks) if values is None else values)]
    if len(given) != ranks or len({len(row) for row in given}) != 1 or len(given[0]) < ranks:
        raise LabkitError(
            f"The values must be {ranks} rows of one length, at least {ranks} numbers each.",
            "One row for each rank, one chunk or more for each rank.",
        )
    table = _table(schedule, ranks)
    with nullcontext(team) if isinstance(team, Team) else Team(ranks) as ready:
        told = ready.run(take_part, given, table, seconds=seconds, echo=False)
    begun = min(one["begun"] for one in told)
    messages = tuple(
        replace(one["got"][step], at_s=one["got"][step].at_s - begun) for step in range(len(table)) for one in told
    )
    states = tuple(tuple(one["states"][k] for one in told) for k in range(len(table) + 1))
    sums = tuple(
        tuple(sum(column) for column in zip(*(states[0][r][c] for r in range(ranks)), strict=True))
        for c in range(ranks)
    )
    return RingRun(ranks, ready.backend, states, messages, sums)


def _table(schedule: Schedule | Callable[[int, int, int], int] | None, ranks: int) -> list[list[int]]:
    steps = 2 * (ranks - 1)
    if schedule is None:
        return ring_schedule(ranks)
    if callable(schedule):
        schedule = [[schedule(step, rank, ranks) for rank in range(ranks)] for step in range(steps)]
    table = [list(row) for row in schedule]
    if len(table) != steps or any(len(row) != ranks for row in table):
        raise LabkitError(f"The schedule must have {steps} steps for {ranks} ranks each.", "One row for each step.")
    for step, row in enumerate(table):
        for rank, chunk in enumerate(row):
            if isinstance(chunk, bool) or not hasattr(chunk, "__index__") or not 0 <= chunk < ranks:
                raise LabkitError(
                    f"Step {step}: rank {rank} cannot send chunk {chunk!r}.",
                    f"Chunks are the numbers 0 to {ranks - 1}.",
                )
    return [[int(chunk) for chunk in row] for row in table]


def take_part(values: list[list[float]], schedule: list[list[int]]) -> dict[str, Any]:
    """One rank's part, within a process group."""
    import time

    import torch
    import torch.distributed as dist

    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else torch.device("cpu")
    chunks = [c.clone() for c in torch.tensor(values[rank], dtype=torch.float64, device=device).tensor_split(ranks)]
    after, before = (rank + 1) % ranks, (rank - 1) % ranks

    def state() -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(chunk.tolist()) for chunk in chunks)

    states, got = [state()], []
    dist.barrier()
    begun = time.monotonic()
    for step, row in enumerate(schedule):
        chunk, adds = row[before], step < ranks - 1
        sent, came = chunks[row[rank]].clone(), torch.empty_like(chunks[chunk])
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, after), dist.P2POp(dist.irecv, came, before)]):
            work.wait()
        size = came.numel() * came.element_size()
        got.append(Message(step, before, rank, chunk, adds, tuple(came.tolist()), size, time.monotonic()))
        chunks[chunk] = chunks[chunk] + came if adds else came
        states.append(state())
    return {"begun": begun, "got": got, "states": states}
