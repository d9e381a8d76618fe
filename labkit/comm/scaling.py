"""How much faster several processes are, with intervals, and a plain model of why it is less than hoped.

One reading is worthless: on two shared cores the same small network gave efficiencies of 1.02, 0.65 and 0.99 in three
repeats. So every number of ranks is measured several times in turns, and each efficiency carries the interval of its
pairs."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.errors import LabkitError
from labkit.timing.statistics import bootstrap_interval

FEWEST = 3
_KINDS = ("strong", "weak")


@dataclass(frozen=True)
class Efficiency:
    """``ranks`` against one. Strong: the same work in all, speed-up t1 / tn, efficiency speed-up / n. Weak: the same work
    for each rank, efficiency t1 / tn. ``low`` to ``high``: bootstrap 95 % interval over the pairs. ``repeats``: how
    many."""

    ranks: int
    speedup: float
    efficiency: float
    low: float
    high: float
    repeats: int
    smallest: float
    largest: float

    @property
    def told(self) -> str:
        return f"{self.efficiency:.2f} (95 % interval {self.low:.2f} to {self.high:.2f}, {self.repeats} repeats)"


@dataclass(frozen=True)
class Scaling:
    """``kind``: 'strong' or 'weak'. ``times``: {ranks: seconds, one for each round}; a round is one turn of all.
    ``points``: one for each number of ranks, one rank included."""

    kind: str
    times: Mapping[int, tuple[float, ...]]
    points: tuple[Efficiency, ...]

    def at(self, ranks: int) -> Efficiency:
        """Raises LabkitError for a number of ranks that was not measured."""
        for one in self.points:
            if one.ranks == ranks:
                return one
        measured = ", ".join(str(one.ranks) for one in self.points)
        raise LabkitError(f"{ranks} ranks were not measured.", f"Measured: {measured}.")


def interleaved(
    work: Mapping[int, Callable[[], float]], *, rounds: int = 5, seed: int = 0
) -> dict[int, tuple[float, ...]]:
    """Calls each of ``work`` ({ranks: function that gives its own seconds}) once a round, in random order; {ranks:
    seconds by round}."""
    if rounds < 1 or not work:
        raise LabkitError("There is nothing to measure.", "Give at least one function and one round.")
    shuffler, found = random.Random(seed), {ranks: [0.0] * rounds for ranks in work}
    turn = list(work)
    for number in range(rounds):
        shuffler.shuffle(turn)
        for ranks in turn:
            found[ranks][number] = float(work[ranks]())
    return {ranks: tuple(seconds) for ranks, seconds in found.items()}


def efficiency(times: Mapping[int, Sequence[float]], kind: str = "strong") -> Scaling:
    """Efficiencies from {ranks: seconds by round}; entry k of each comes from the same round.

    Raises LabkitError without one rank to compare with, for rounds that differ in number or are fewer than three (an
    interval of one reading says nothing), and for times that are not positive."""
    if kind not in _KINDS:
        raise LabkitError(
            f"Scaling of kind '{kind}' is not known.", "Choose 'strong' (same work) or 'weak' (same work per rank)."
        )
    rows = {int(ranks): tuple(map(float, seconds)) for ranks, seconds in sorted(times.items())}
    if 1 not in rows:
        raise LabkitError("Nothing was measured with one rank, to compare with.", "Measure 1 rank in the same rounds.")
    rounds = {len(row) for row in rows.values()}
    if len(rounds) != 1 or min(rounds) < FEWEST:
        raise LabkitError(
            f"Scaling needs the same number of rounds for each, {FEWEST} at least; one reading is worthless.",
            "Measure all of them in turns, several times.",
        )
    if any(not t > 0 or math.isinf(t) for row in rows.values() for t in row):
        raise LabkitError("A time is not positive.", "Look at the measurement.")
    points = []
    for ranks, row in rows.items():
        ratios = [one / other for one, other in zip(rows[1], row, strict=True)]
        share = [ratio / ranks for ratio in ratios] if kind == "strong" else ratios
        low, high = bootstrap_interval(share)
        middle = statistics.median(share)
        speedup = middle * ranks
        points.append(Efficiency(ranks, speedup, middle, low, high, len(row), min(share), max(share)))
    return Scaling(kind, rows, tuple(points))


@dataclass(frozen=True)
class Amdahl:
    """``serial``: the share (0 to 1) of one rank's time that more ranks do not shorten, with its 95 % interval;
    ``limit``: the speed-up that no number of ranks passes, infinite for a share of 0.

    Source: G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities",
    AFIPS Spring Joint Computer Conference (1967).
    """

    serial: float
    low: float
    high: float

    @property
    def limit(self) -> float:
        return 1 / self.serial if self.serial > 0 else math.inf

    def speedup(self, ranks: float) -> float:
        return 1 / (self.serial + (1 - self.serial) / ranks)


def amdahl(scaling: Scaling, *, seed: int = 0, resamples: int = 1000) -> Amdahl:
    """The share that fits best: least squares of tn / t1 = s + (1 - s) / n over the numbers of ranks, each ratio the median
    of its rounds, s held within 0 and 1; rounds are resampled for the interval. Raises LabkitError for weak scaling, or
    with one rank only."""
    import numpy as np

    if scaling.kind != "strong" or len(scaling.points) < 2:
        raise LabkitError("Amdahl's law needs strong scaling over two numbers of ranks or more.", "Measure 1 and 2.")
    ranks = np.array([n for n in scaling.times if n > 1], dtype=float)
    ratios = np.array(
        [np.array(scaling.times[int(n)]) / np.array(scaling.times[1]) for n in ranks]
    )  # [numbers, rounds]
    gain = 1 - 1 / ranks  # tn/t1 - 1/n = s (1 - 1/n)

    def fitted(chosen: Any) -> float:
        return float(np.clip(gain @ np.median(chosen - 1 / ranks[:, None], axis=1) / (gain @ gain), 0, 1))

    draw = np.random.default_rng(seed)
    rounds = ratios.shape[1]
    again = [fitted(ratios[:, draw.integers(0, rounds, rounds)]) for _ in range(resamples)]
    low, high = np.quantile(again, [0.025, 0.975])
    return Amdahl(fitted(ratios), float(low), float(high))


@dataclass(frozen=True)
class Step:
    """A training step in parts. Seconds: ``compute_s`` forward, backward and update of one rank's share;
    ``communication_s`` all collectives together; ``exposed_s`` the part of those during which the rank computes
    nothing else."""

    compute_s: float
    communication_s: float
    exposed_s: float

    @property
    def seconds(self) -> float:
        return self.compute_s + self.exposed_s

    @property
    def efficiency(self) -> float:
        """Of weak scaling: what the step would take alone over what it takes."""
        return self.compute_s / self.seconds


def step_model(compute_s: float, communication_s: float, overlap_s: float = 0.0) -> Step:
    """A step whose communication can hide behind at most ``overlap_s`` seconds of computing (the backward pass after the
    first bucket is full): what does not fit is exposed. Raises LabkitError for negative times or no computing at
    all."""
    if not compute_s > 0 or communication_s < 0 or not 0 <= overlap_s <= compute_s:
        raise LabkitError(
            "A step needs computing above 0 s, communication of 0 s or more, and an overlap within the computing.",
            "Check the units: all three are seconds.",
        )
    return Step(compute_s, communication_s, max(0.0, communication_s - overlap_s))


def all_reduce_s(size_bytes: float, ranks: int, latency_s: float, busbw: float) -> float:
    """Seconds of a ring all-reduce: 2(n-1) messages' latency and 2(n-1)/n of the bytes at ``busbw`` bytes per second; 0
    for one rank."""
    if ranks < 1 or latency_s < 0 or not busbw > 0 or size_bytes < 0:
        raise LabkitError("These numbers give no time.", "ranks from 1, busbw above 0, the others 0 or more.")
    return 2 * (ranks - 1) * (latency_s + size_bytes / ranks / busbw)
