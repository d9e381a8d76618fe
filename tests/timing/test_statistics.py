"""The estimator and the verdict on simulated pairs, where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labkit.timing import statistics as st

Array = np.ndarray


def heavy_tail(generator: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Two equally fast functions: a floor, lognormal jitter and one repetition in twelve up to ten times too long."""

    def one() -> Array:
        times = 1e-3 * np.exp(0.02 * np.abs(generator.standard_normal(n)))
        return times * np.where(generator.random(n) < 1 / 12, 1 + 9 * generator.random(n), 1.0)

    return one(), one()


def busy_neighbour(generator: np.random.Generator, n: int, truth: float) -> tuple[Array, Array]:
    """Preempted for milliseconds, in bursts, while the machine drifts by 40 %; the second takes ``truth`` times as long."""
    drift = 1 + 0.4 * np.sin(np.linspace(0, 2 * math.pi * generator.random(), n))
    burst = np.repeat(generator.random(n // 10 + 1) < 0.5, 10)[:n]

    def one(scale: float) -> Array:
        own = 1e-3 * scale * drift * np.exp(0.05 * generator.standard_normal(n))
        waits = generator.poisson(0.3 + 0.9 * burst)
        return own + waits * 3.5e-3 * (0.7 + 0.6 * generator.random(n))

    return one(1.0), one(truth)


def decision(pairs: tuple[Array, Array], stolen: float = 0.0) -> str:
    return st.decide(np.log(pairs[1] / pairs[0]), stolen=stolen).decision


@pytest.mark.parametrize("n", [9, 40, 300])
def test_equally_fast_functions_raise_at_most_one_alarm_in_a_hundred(n: int) -> None:
    generator = np.random.default_rng(n)
    alarms = sum(decision(heavy_tail(generator, n)) in ("faster", "slower") for _ in range(1000))
    assert alarms <= 10


@pytest.mark.parametrize("n", [12, 60, 250])
def test_equally_fast_functions_beside_a_busy_neighbour_raise_no_more_alarms(n: int) -> None:
    generator = np.random.default_rng(n)
    alarms = sum(decision(busy_neighbour(generator, n, 1.0), stolen=0.6) in ("faster", "slower") for _ in range(1000))
    assert alarms <= 10


@pytest.mark.parametrize("truth", [1.02, 1.05, 1.3, 0.95])
def test_a_busy_neighbour_never_turns_the_sign(truth: float) -> None:
    wrong = "faster" if truth > 1 else "slower"
    generator = np.random.default_rng(7)
    decisions = [decision(busy_neighbour(generator, 100, truth), stolen=0.6) for _ in range(1000)]
    assert wrong not in decisions


def test_five_percent_are_found_on_a_quiet_machine() -> None:
    generator = np.random.default_rng(11)
    found = 0
    for _ in range(200):
        a, b = heavy_tail(generator, 300)
        found += decision((a, 1.05 * b)) == "slower"
    assert found >= 190


def test_a_difference_that_only_one_half_shows_is_not_called() -> None:
    generator = np.random.default_rng(1)
    a, b = (1e-3 * np.exp(0.001 * generator.standard_normal(200)) for _ in range(2))
    b[:150] *= 1.10  # an alarm by the interval alone
    b[100:] = a[100:] * np.exp(0.001 * generator.standard_normal(100))
    b[100:112] *= 1.10
    told = st.judge(a, b)
    assert told.strict_low <= 1.02 or told.decision == "inconclusive"
    b[100:149] = 1.10 * a[100:149]
    told = st.judge(a, b)
    assert told.strict_low > 1.02 and told.decision == "inconclusive" and "halves" in told.reason


def test_the_bootstrap_interval_covers_the_median() -> None:
    generator = np.random.default_rng(5)
    hits = 0
    for seed in range(300):
        a, b = heavy_tail(generator, 60)
        told = st.judge(a, 1.1 * b, seed=seed)
        hits += told.low <= 1.1 <= told.high
    assert 0.90 <= hits / 300 <= 0.995


@pytest.mark.parametrize(("n", "level"), [(5, 0.9), (9, 0.995), (20, 0.95), (101, 0.99), (1500, 0.995)])
def test_the_order_interval_has_the_level_that_it_claims(n: int, level: float) -> None:
    k = st._order_rank(n, level)
    outside = [sum(math.comb(n, i) for i in range(j)) * 2 / 2**n for j in (k, k + 1)]
    assert k >= 1 and outside[0] <= 1 - level < outside[1]
    low, high = st.order_interval(np.arange(n), level=level)
    assert (low, high) == (k - 1, n - k)


def test_too_few_samples_give_no_bounds_and_no_verdict() -> None:
    assert st.fewest_pairs() == 9 and st._order_rank(9, st.LEVEL) == 1 and st._order_rank(8, st.LEVEL) == 0
    assert st.order_interval([1.0] * 8) == (-math.inf, math.inf)
    told = st.judge([1.0] * 8, [2.0] * 8)
    assert told.decision == "inconclusive" and "too few" in told.reason
    assert st.judge([1.0] * 9, [2.0] * 9).decision == "slower"


def test_verdicts_of_the_plain_cases() -> None:
    a = 1e-3 * np.exp(0.003 * np.random.default_rng(0).standard_normal(200))
    b = 1e-3 * np.exp(0.003 * np.random.default_rng(1).standard_normal(200))
    assert st.judge(a, 0.5 * b).decision == "faster"
    assert st.judge(a, b).decision == "no difference shown"
    assert st.judge(a, 1.005 * b).decision == "no difference shown"  # too small to be called
    assert st.judge(a, b, stolen=0.5).decision == "inconclusive"
    wide = b * np.exp(0.5 * np.random.default_rng(2).standard_normal(200))
    assert st.judge(a, wide).decision == "inconclusive"


def test_judging_is_even_handed() -> None:
    generator = np.random.default_rng(3)
    a, b = heavy_tail(generator, 150)
    forth, back = st.judge(a, 1.07 * b), st.judge(1.07 * b, a)
    assert (forth.decision, back.decision) == ("slower", "faster")
    assert forth.ratio == pytest.approx(1 / back.ratio) and forth.strict_low == pytest.approx(1 / back.strict_high)


def test_several_contrasts_need_a_stricter_interval() -> None:
    generator = np.random.default_rng(4)
    a, b = heavy_tail(generator, 60)
    one, many = st.judge(a, b), st.judge(a, b, contrasts=20)
    assert many.strict_low < one.strict_low and many.strict_high > one.strict_high


def test_stolen_time_is_told_from_waiting_and_from_several_cores() -> None:
    wall = np.ones(100)
    assert st.stolen_share(wall, wall) == 0
    assert st.stolen_share(wall, 2 * wall) == 0  # two busy threads of its own
    assert st.stolen_share(wall, 0.01 * wall) == 0  # sleeps by itself
    disturbed = np.where(np.arange(100) % 2 == 0, 1.0, 0.5)
    assert st.stolen_share(wall, disturbed) == pytest.approx(0.25)
    assert st.stolen_share(wall, np.full(100, math.nan)) == 0  # a device's events know no processor time


@pytest.mark.parametrize(("a", "b"), [([1.0, 2.0], [1.0]), ([], []), ([1.0], [0.0])])
def test_unusable_samples_are_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="paired samples"):
        st.judge(a, b)


def test_the_bootstrap_of_nothing_and_of_one() -> None:
    assert all(math.isnan(bound) for bound in st.bootstrap_interval([]))
    assert st.bootstrap_interval([2.0]) == (2.0, 2.0)
