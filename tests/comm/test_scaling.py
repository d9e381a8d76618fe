"""Scaling: what the intervals hold, that one reading is refused, and the two models against counting."""

from __future__ import annotations

import random

import pytest

from labkit.comm import scaling
from labkit.errors import LabkitError


def noisy(truth: dict[int, float], rounds: int, noise: float, seed: int) -> dict[int, list[float]]:
    draw = random.Random(seed)
    return {n: [t * draw.uniform(1 - noise, 1 + noise) for _ in range(rounds)] for n, t in truth.items()}


def test_strong_and_weak_efficiency_of_exact_times() -> None:
    times = {1: [8.0, 8.0, 8.0], 4: [4.0, 4.0, 4.0]}
    strong = scaling.efficiency(times).at(4)
    assert (strong.speedup, strong.efficiency, strong.low, strong.high) == (2.0, 0.5, 0.5, 0.5)
    assert scaling.efficiency(times, "weak").at(4).efficiency == 2.0
    assert scaling.efficiency(times).at(1).efficiency == 1.0


def test_rounds_are_paired_so_that_a_busy_minute_cancels() -> None:
    """Every second round is three times as slow, for all numbers of ranks alike."""
    slow = [1.0, 3.0] * 5
    found = scaling.efficiency({1: [2 * s for s in slow], 2: [1.25 * s for s in slow]}).at(2)
    assert (found.low, found.efficiency, found.high) == (0.8, 0.8, 0.8)


def test_the_interval_holds_the_truth_nearly_always() -> None:
    truth = {1: 1.0, 2: 0.6}
    held = 0
    for seed in range(100):
        found = scaling.efficiency(noisy(truth, 15, 0.2, seed)).at(2)
        held += found.low <= 1.0 / 0.6 / 2 * 1.02 and found.high >= 1.0 / 0.6 / 2 * 0.98
    assert held >= 90


def test_one_reading_is_worthless_and_is_refused() -> None:
    for words, times in (
        ("one reading is worthless", {1: [1.0], 2: [0.5]}),
        ("same number of rounds", {1: [1.0] * 3, 2: [0.5] * 4}),
        ("one rank", {2: [1.0] * 3}),
        ("not positive", {1: [1.0, 0.0, 1.0], 2: [1.0] * 3}),
    ):
        with pytest.raises(LabkitError, match=words):
            scaling.efficiency(times)
    with pytest.raises(LabkitError, match="'linear' is not known"):
        scaling.efficiency({1: [1.0] * 3}, "linear")
    with pytest.raises(LabkitError, match="8 ranks were not measured"):
        scaling.efficiency({1: [1.0] * 3}).at(8)


def test_the_turns_are_interleaved_and_every_round_has_each() -> None:
    order: list[int] = []

    def work(n: int):  # type: ignore[no-untyped-def]
        def once() -> float:
            order.append(n)
            return float(len(order))

        return once

    found = scaling.interleaved({n: work(n) for n in (1, 2, 4)}, rounds=6)
    turns = [order[k : k + 3] for k in range(0, 18, 3)]
    assert all(sorted(turn) == [1, 2, 4] for turn in turns) and len({tuple(turn) for turn in turns}) > 1
    assert {len(seconds) for seconds in found.values()} == {6}
    with pytest.raises(LabkitError):
        scaling.interleaved({}, rounds=1)


def test_amdahl_finds_the_share_it_was_given() -> None:
    for serial in (0.0, 0.1, 0.4, 1.0):
        times = {n: [serial + (1 - serial) / n] * 4 for n in (1, 2, 4, 8)}
        law = scaling.amdahl(scaling.efficiency(times))
        assert law.serial == pytest.approx(serial, abs=1e-9) and law.low <= law.serial + 1e-9
        assert law.speedup(8) == pytest.approx(1 / times[8][0])
    law = scaling.amdahl(scaling.efficiency(noisy({n: 0.2 + 0.8 / n for n in (1, 2, 4)}, 15, 0.1, 1)))
    assert law.low <= 0.2 <= law.high and law.limit == pytest.approx(1 / law.serial)
    with pytest.raises(LabkitError, match="strong scaling"):
        scaling.amdahl(scaling.efficiency({1: [1.0] * 3, 2: [1.0] * 3}, "weak"))


def test_only_what_does_not_hide_is_exposed() -> None:
    assert scaling.step_model(1.0, 0.4).exposed_s == 0.4
    hidden = scaling.step_model(1.0, 0.4, overlap_s=0.6)
    assert (hidden.exposed_s, hidden.efficiency) == (0.0, 1.0)
    partly = scaling.step_model(1.0, 1.0, overlap_s=0.6)
    assert partly.seconds == pytest.approx(1.4) and partly.efficiency == pytest.approx(1 / 1.4)
    for bad in ((0.0, 1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 2.0)):
        with pytest.raises(LabkitError, match="computing above 0"):
            scaling.step_model(*bad)


def test_a_ring_s_time_is_its_steps() -> None:
    """Added up step by step: each of 2(n-1) waits once and carries one part."""
    by_steps = sum(1e-4 + 1e6 / 4 / 1e9 for _ in range(6))
    assert scaling.all_reduce_s(1e6, 4, 1e-4, 1e9) == pytest.approx(by_steps)
    assert scaling.all_reduce_s(1e6, 1, 1e-4, 1e9) == 0
    with pytest.raises(LabkitError):
        scaling.all_reduce_s(1e6, 2, 1e-4, 0)
