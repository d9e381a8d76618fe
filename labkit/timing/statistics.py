"""Medians with intervals, and the verdict on paired samples. Pure functions of numpy arrays: no clock, no torch.

Why these and not a mean with a standard error: times have a hard floor, a long tail and neighbours. A median ignores
the tail; pairs measured side by side share the neighbour; and because the order inside each pair is drawn at random,
two functions that are equally fast give ratios above and below 1 with equal chance, whatever the noise looks like.
The interval behind a verdict (``order_interval``) rests on that coin toss alone, so its false alarms stay bounded for
noise of any shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Decision = Literal["faster", "slower", "no difference shown", "inconclusive"]

BOOTSTRAP_RESAMPLES = 2000

LEVEL = 0.995
"""Level of the interval that a verdict needs; the interval that is printed is the usual 95 %."""

SMALLEST_EFFECT = 0.02
"""Differences under 2 % are not called: where the data happen to lie in memory makes one of that size between two copies of the
same work (python -m benchmarks.compare_verdicts: with 1 %, 10 of 300 such pairs were called different)."""

SMALLEST_EFFECT_DISTURBED = 0.03
"""The same where other processes took time from the measurement."""

TIGHT = 0.03
"""'No difference shown' needs an interval that excludes differences beyond this; a wider one is inconclusive."""

DISTURBED = 0.05
"""Share of stolen time from which a measurement counts as disturbed."""

SPOILT = 0.20
"""Share of stolen time from which 'no difference shown' is not said either."""


@dataclass(frozen=True)
class Judgement:
    """What paired samples allow to say.

    ``ratio``, ``low`` and ``high`` are candidate over baseline (2.0: takes twice as long) with the paired bootstrap 95 %
    interval; ``strict_low`` and ``strict_high`` are the ``LEVEL`` interval that the decision rests on.
    """

    decision: Decision
    reason: str
    ratio: float
    low: float
    high: float
    strict_low: float
    strict_high: float
    pairs: int


def bootstrap_interval(
    samples: npt.ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = BOOTSTRAP_RESAMPLES
) -> tuple[float, float]:
    """The percentile bootstrap interval of the median of ``samples`` (shape [n]); (nan, nan) for none at all.

    Source: B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979).
    """
    values = np.asarray(samples, dtype=np.float64)
    n = values.size
    if n == 0:
        return math.nan, math.nan
    generator = np.random.default_rng(seed)
    medians = np.empty(resamples)
    chunk = max(1, 1_000_000 // n)  # bounds the memory: 8 MB of drawn values at a time
    for start in range(0, resamples, chunk):
        drawn = values[generator.integers(0, n, size=(min(chunk, resamples - start), n))]
        medians[start : start + chunk] = np.median(drawn, axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def order_interval(samples: npt.ArrayLike, *, level: float = LEVEL) -> tuple[float, float]:
    """The distribution-free interval of the median from order statistics: (-inf, inf) where n is too small for it.

    The k-th smallest and k-th largest of n samples enclose the median unless fewer than k fall on one side of it, and
    that count is binomial(n, 1/2) for noise of any shape.
    """
    values = np.sort(np.asarray(samples, dtype=np.float64))
    n = values.size
    k = _order_rank(n, level)
    if k == 0:
        return -math.inf, math.inf
    return float(values[k - 1]), float(values[n - k])


def _order_rank(n: int, level: float) -> int:
    """The largest k with 2 P(binomial(n, 1/2) < k) <= 1 - level; 0 where even k = 1 fails."""
    if n < 1:
        return 0
    tail, k = 0.0, 0
    log_term = -n * math.log(2.0)  # log of C(n, 0) / 2^n
    while k < n // 2:
        tail += math.exp(log_term)
        if 2 * tail > 1 - level:
            break
        k += 1
        log_term += math.log((n - k + 1) / k)
    return k


def fewest_pairs(level: float = LEVEL) -> int:
    """The fewest pairs from which a verdict at ``level`` is possible at all (9 at 99.5 %)."""
    return math.ceil(math.log2(2 / (1 - level)) - 1e-9)


def stolen_share(wall_s: npt.ArrayLike, cpu_s: npt.ArrayLike) -> float:
    """The share of time that others took, 0 to 1, from wall and processor seconds of each repetition (shapes [n]).

    A function may use several cores, or wait by itself; so the yardstick is not 1 but what its own undisturbed
    repetitions reached (their 90th percentile).
    """
    wall = np.asarray(wall_s, dtype=np.float64)
    cpu = np.asarray(cpu_s, dtype=np.float64)
    usable = (wall > 0) & np.isfinite(cpu)
    if not usable.any():
        return 0.0
    usual = float(np.quantile(cpu[usable] / wall[usable], 0.9))
    if usual <= 0.05:  # it hardly computes (it sleeps, or a device works): nothing can be said
        return 0.0
    return float(np.clip(1 - cpu[usable].sum() / (usual * wall[usable].sum()), 0.0, 1.0))


@dataclass(frozen=True)
class Ruling:
    """A decision with its reason, and the strict interval of the log ratio that it rests on."""

    decision: Decision
    reason: str
    low: float
    high: float


def judge(
    baseline_s: npt.ArrayLike,
    candidate_s: npt.ArrayLike,
    *,
    stolen: float = 0.0,
    level: float = LEVEL,
    contrasts: int = 1,
    seed: int = 0,
) -> Judgement:
    """The verdict on paired seconds (both shape [n], measured pair by pair in random order); see ``decide``.

    Raises ValueError for arrays of different shape, none at all, or times that are not positive.
    """
    base = np.asarray(baseline_s, dtype=np.float64)
    candidate = np.asarray(candidate_s, dtype=np.float64)
    if base.shape != candidate.shape or base.ndim != 1:
        raise ValueError(f"paired samples need two arrays of one shape [n], not {base.shape} and {candidate.shape}")
    if base.size == 0 or not (np.all(base > 0) and np.all(candidate > 0)):
        raise ValueError("paired samples must be there and positive")
    logs: Floats = np.log(candidate) - np.log(base)
    ruling = decide(logs, stolen=stolen, level=level, contrasts=contrasts)
    low, high = bootstrap_interval(logs, seed=seed)
    return Judgement(
        ruling.decision,
        ruling.reason,
        math.exp(float(np.median(logs))),
        math.exp(low),
        math.exp(high),
        math.exp(ruling.low),
        math.exp(min(ruling.high, 700.0)),
        int(logs.size),
    )


def decide(log_ratios: Floats, *, stolen: float = 0.0, level: float = LEVEL, contrasts: int = 1) -> Ruling:
    """The decision on logarithms of pair ratios (shape [n], in the order they were measured).

    A difference is called only if all of this holds: the interval at ``level`` (made stricter for several ``contrasts``
    at once) lies wholly beyond the smallest effect; and the first and the second half of the pairs, each by its own
    median, say the same. Everything else is 'no difference shown' where the interval is tight and little time was
    stolen, or 'inconclusive'. The decision is taken once, at the end: there is no peeking that could inflate alarms.
    """
    n = int(log_ratios.size)
    strict = 1 - (1 - level) / max(1, contrasts)
    low, high = order_interval(log_ratios, level=strict)
    smallest = math.log1p(SMALLEST_EFFECT_DISTURBED if stolen >= DISTURBED else SMALLEST_EFFECT)
    disturbed = f"; other processes took {stolen:.0%} of the time" if stolen >= DISTURBED else ""
    if n < fewest_pairs(strict):
        return Ruling(
            "inconclusive", f"{n} pairs are too few, {fewest_pairs(strict)} are needed: give it more seconds", low, high
        )
    side = 1 if low > smallest else -1 if high < -smallest else 0
    if side:
        halves = (float(np.median(log_ratios[: n // 2])), float(np.median(log_ratios[n // 2 :])))
        if min(side * half for half in halves) <= smallest / 2:
            return Ruling("inconclusive", "the two halves of the measurement disagree" + disturbed, low, high)
        return Ruling("slower" if side > 0 else "faster", "", low, high)
    widest = max(abs(low), abs(high))
    if stolen >= SPOILT:
        return Ruling("inconclusive", f"other processes took {stolen:.0%} of the time", low, high)
    if widest > math.log1p(TIGHT):
        ends = f"{math.exp(low):.3g} to {math.exp(min(high, 700.0)):.3g}"
        told = f"the spread is too wide (the verdict's own, stricter interval is {ends})"
        return Ruling("inconclusive", told + disturbed, low, high)
    return Ruling(
        "no difference shown", f"a difference, if there is one, is under {_percent(math.expm1(widest))}", low, high
    )


def _percent(share: float) -> str:
    return f"{max(share, SMALLEST_EFFECT) * 100:.1f} %"


def summary(samples: npt.ArrayLike, *, seed: int = 0) -> dict[str, Any]:
    """Median, quartiles and the bootstrap 95 % interval of the median, in the samples' own unit (shape [n], n >= 1)."""
    values = np.asarray(samples, dtype=np.float64)
    lower, middle, upper = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    low, high = bootstrap_interval(values, seed=seed)
    return {
        "median": middle,
        "lower_quartile": lower,
        "upper_quartile": upper,
        "iqr": upper - lower,
        "low": low,
        "high": high,
    }
