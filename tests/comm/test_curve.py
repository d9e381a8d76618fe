"""The line through times over sizes: planted parameters come back, outliers move nothing, a cache is no line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.comm.curve import AlphaBeta, bends, fit
from labkit.comm.results import Point, point
from labkit.comm.robust import robust_line, robust_lines
from labkit.errors import LabkitError

SIZES = [2**k for k in range(10, 28)]


def measured(seconds, noise: float = 0.0, seed: int = 0, sizes=SIZES) -> list[Point]:
    """Points of ``seconds(bytes)`` with nine samples each; ``noise``: relative."""
    draw = np.random.default_rng(seed)
    return [point(n, seconds(n) * np.exp(draw.normal(0, noise, 9))) for n in sizes]


def line(alpha: float, beta: float):
    return lambda n: alpha + n / beta


@settings(max_examples=25, deadline=None)
@given(
    st.floats(-6, -3).map(lambda e: 10.0**e),
    st.floats(8.3, 11).map(lambda e: 10.0**e),
    st.sampled_from([0.0, 0.01, 0.03]),
    st.integers(0, 1000),
)
def test_planted_parameters_come_back(alpha: float, beta: float, noise: float, seed: int) -> None:
    found = fit(measured(line(alpha, beta), noise, seed), resamples=60)
    assert found.one_line and found.latency_s is not None
    assert found.latency_s == pytest.approx(alpha, rel=0.001 + 3 * noise, abs=3 * noise * 2**10 / beta)
    if 2**27 / beta > 0.5 * alpha:  # the rate is in the data
        assert found.bytes_per_s == pytest.approx(beta, rel=0.001 + 5 * noise)
        assert found.knee_bytes == pytest.approx(found.latency_s * found.bytes_per_s)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 16), min_size=1, max_size=3, unique=True), st.floats(2, 50), st.integers(0, 99))
def test_outliers_move_nothing(where: list[int], factor: float, seed: int) -> None:
    where = [k for k in where if not {k - 1, k + 1} & set(where)]
    clean = measured(line(2e-5, 1e10), 0.01, seed)
    dirty = [point(p.bytes, [s * factor for s in p.samples]) if k in where else p for k, p in enumerate(clean)]
    found = fit(dirty, resamples=40)
    assert found.one_line
    assert found.latency_s == pytest.approx(2e-5, rel=0.05)
    assert found.bytes_per_s == pytest.approx(1e10, rel=0.05)


def test_the_interval_holds_what_was_planted_most_times() -> None:
    inside = 0
    for seed in range(25):
        found = fit(measured(line(2e-5, 1e10), 0.05, seed), seed=seed, resamples=150)
        assert found.rate_interval is not None and found.latency_interval is not None
        inside += found.rate_interval.low <= 1e10 <= found.rate_interval.high
        inside += found.latency_interval.low <= 2e-5 <= found.latency_interval.high
    assert inside >= 43  # of 50: 95 % less what a bootstrap of few points and the luck of 25 seeds lose


@settings(max_examples=20, deadline=None)
@given(st.floats(2.0, 8.0), st.integers(6, 11), st.integers(0, 99))
def test_a_cache_is_two_plateaus_and_no_line(ratio: float, end: int, seed: int) -> None:
    fast, slow = 4e10, 4e10 / ratio
    found = fit(measured(lambda n: 1e-7 + n / (fast if n <= SIZES[end] else slow), 0.02, seed))
    assert not found.one_line
    assert found.latency_s is None and found.bytes_per_s is None and found.knee_bytes is None
    first, second = found.pieces
    assert first.last_bytes == SIZES[end] and second.first_bytes == SIZES[end + 1]
    assert first.bytes_per_s == pytest.approx(fast, rel=0.1)
    assert second.bytes_per_s == pytest.approx(slow, rel=0.1)
    assert "One line does not fit" in found.note and "cache" in found.note
    with pytest.raises(LabkitError, match="No single line"):
        found.seconds(1)


def test_a_staircase_gets_no_line_at_all() -> None:
    found = fit(measured(lambda n: 10.0 ** (1 + (n.bit_length() % 3)) * 1e-6 * n**0.5))
    assert not found.one_line and found.pieces == () and "two do not either" in found.note


def test_time_that_does_not_grow_has_a_latency_and_no_rate() -> None:
    found = fit(measured(lambda n: 3e-4, sizes=SIZES[:6]))
    assert found.one_line and found.latency_s == pytest.approx(3e-4)
    assert found.bytes_per_s is None and found.knee_bytes is None and "does not grow" in found.note
    assert found.rate(1024) == pytest.approx(1024 / 3e-4)


def test_what_the_sizes_do_not_reach_is_said() -> None:
    assert "too short to be seen" in fit(measured(line(1e-9, 1e10), 0.02)).note
    assert "below the knee" in fit(measured(line(1e-3, 1e10), sizes=[2**k for k in range(12, 20)])).note
    assert "above the knee" in fit(measured(line(1e-5, 1e10), sizes=[2**k for k in range(18, 24)])).note
    assert fit(measured(line(2e-5, 1e10), 0.01)).note == ""
    noisy = [Point(p.bytes, p.median_s, p.median_s / 30, p.median_s * 30, 3) for p in measured(line(2e-5, 1e10))]
    assert "too noisy to tell the latency" in fit(noisy).note and not fit(noisy).sees_latency


def test_the_knee_gets_half_of_the_rate() -> None:
    found = fit(measured(line(2e-5, 1e10)))
    assert found.rate(found.knee_bytes) == pytest.approx(found.bytes_per_s / 2)
    low, high = found.rate_band(np.array(SIZES))
    assert (low <= found.rate(SIZES) * 1.0001).all() and (found.rate(SIZES) <= high * 1.0001).all()


def test_points_without_samples_use_their_interval() -> None:
    points = [Point(n, 2e-5 + n / 1e10, 0.9 * (2e-5 + n / 1e10), 1.1 * (2e-5 + n / 1e10), 5) for n in SIZES]
    found = fit(points)
    assert found.rate_interval is not None and found.rate_interval.low < 0.99e10 < 1.01e10 < found.rate_interval.high


def test_too_few_sizes_are_refused() -> None:
    points = measured(line(1e-5, 1e10), sizes=[1024, 1024, 2048, 4096])
    with pytest.raises(LabkitError, match="at least 4 different sizes, not 3"):
        fit(points)


def test_the_same_points_give_the_same_interval_in_any_order() -> None:
    points = measured(line(2e-5, 1e10), 0.02)
    assert fit(points) == fit(points[::-1])


def test_one_size_off_the_line_is_a_disturbance_two_are_not() -> None:
    n = np.arange(1.0, 8.0)

    def judged(times: dict[int, float], spread: float = 0.0) -> bool:
        t = n.copy()
        for at, factor in times.items():
            t[at] *= factor
        return bends((0.0, 1.0), n, t * (1 - spread), t * (1 + spread))

    assert not judged({})
    assert not judged({2: 3.0})
    assert judged({2: 1.4, 3: 1.4})
    assert not judged({2: 1.4, 3: 0.6})
    assert judged({1: 1.4, 3: 0.6, 5: 1.4})
    assert not judged({2: 1.4, 3: 1.4}, spread=0.2)  # points with wide intervals say less
    assert judged({2: 9.0, 3: 9.0}, spread=0.5)
    assert judged({6: 9.0}, spread=0.3) and not judged({0: 9.0}) and not judged({6: 1.3})


def test_many_lines_at_once_are_each_the_line_alone() -> None:
    draw = np.random.default_rng(3)
    n = np.array(SIZES, dtype=float)
    times = (1e-5 + n / 1e10) * np.exp(draw.normal(0, 0.2, (40, n.size)))
    alone = np.array([robust_line(n, row) for row in times])
    assert np.allclose(robust_lines(n, times), alone, rtol=1e-6)
    assert (alone >= 0).all()


def test_times_that_fall_give_a_level_line_and_none_below_zero() -> None:
    n = np.array(SIZES[:8], dtype=float)
    alpha, slope = robust_line(n, 1e-5 * (1 - n / n.max() / 2))
    assert slope == 0 and 0.5e-5 < alpha < 1e-5
    alpha, slope = robust_line(n, n**1.2 / 1e10)
    assert alpha == 0 and slope > 0


def test_a_fit_is_an_alpha_beta() -> None:
    assert isinstance(fit(measured(line(1e-5, 1e10))), AlphaBeta)
