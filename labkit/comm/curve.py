"""Time over size as a straight line: t(n) = alpha + n / beta, with its interval, and a sentence where no line fits.

``alpha`` is the latency (what a message of no bytes would take), ``beta`` the rate that large messages approach, and
n_1/2 = alpha * beta the knee: the size that gets half of that rate (at it, alpha and n / beta are equal). Source of the
model and of n_1/2: R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel
Computing 20 (1994).

The fit minimises relative errors. Times over sizes span decades and their noise grows with them; an ordinary
least-squares line would be drawn by the largest message alone and give any latency at all. It starts from the line of
least absolute relative error, which always goes through two of the points and so can be found among all pairs; then a
weighted least-squares line is drawn through the points that are not outliers (Tukey's biweight). An outlier (a single
time that others disturbed) so moves nothing.

The interval is a bootstrap: each point's median is drawn anew from its own samples, and the deviations from the line
are put back with random signs (wild bootstrap: C. F. J. Wu, Annals of Statistics 14, 1986). It counts the noise of a
point twice where both see it, so it is rather too wide than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labkit.comm.results import Point
from labkit.comm.robust import LEAST_SCALE, TUKEY, Floats, robust_line, robust_lines
from labkit.errors import LabkitError
from labkit.timing.words import gigabytes, size

FEWEST = 4
"""Sizes that a line with an interval needs at least."""

BEND = 0.2
"""Two neighbouring sizes whose intervals the line passes by more than this, on the same side, are no noise: it does not fit."""

FAR = 0.5
"""The same for the largest size alone: it is as likely the end of a cache as a disturbance, and no size beyond it tells which."""

UNSEEN = 0.02
"""A latency whose interval begins under this share of the smallest size's time may as well be none."""

_RESAMPLES = 300
_GROWTH = 0.01  # of the latency: where the largest size adds less, the times tell no rate
_BETWEEN = 3  # at most so many sizes lie between two plateaus and belong to neither


@dataclass(frozen=True)
class Interval:
    """The bootstrap 95 % interval of a fitted number."""

    low: float
    high: float


@dataclass(frozen=True)
class Piece:
    """One of two lines where one does not fit: from ``first_bytes`` to ``last_bytes`` it approaches ``bytes_per_s``."""

    first_bytes: int
    last_bytes: int
    latency_s: float
    bytes_per_s: float


@dataclass(frozen=True)
class AlphaBeta:
    """A fitted line, or the word that there is none.

    ``one_line`` False: no single line describes these sizes, and ``latency_s``, ``bytes_per_s`` and ``knee_bytes`` are None with
    their intervals; ``pieces`` then holds two lines where two fit, else nothing. ``bytes_per_s`` and ``knee_bytes`` are
    also None where the time does not grow with the size. ``deviation``: the median relative distance from the line;
    ``residuals``: (fitted - measured) / measured at ``sizes``, ascending. ``note``: what a reader must know, in words.
    """

    latency_s: float | None
    bytes_per_s: float | None
    knee_bytes: float | None
    latency_interval: Interval | None
    rate_interval: Interval | None
    knee_interval: Interval | None
    one_line: bool
    sizes: tuple[int, ...]
    residuals: tuple[float, ...]
    deviation: float
    pieces: tuple[Piece, ...] = ()
    note: str = ""
    _draws: tuple[tuple[float, float], ...] = field(default=(), repr=False)

    @property
    def sees_latency(self) -> bool:
        """Whether the interval of the latency keeps clear of zero."""
        interval = self.latency_interval
        return interval is not None and interval.low > UNSEEN * float(self.seconds(self.sizes[0]))

    def seconds(self, bytes: Any) -> Any:
        """The line's seconds at ``bytes`` (a number or an array). Raises LabkitError where there is no line."""
        if self.latency_s is None:
            raise LabkitError("No single line describes these times, so it tells none.", self.note)
        return self.latency_s + np.asarray(bytes, dtype=np.float64) * (1 / self.bytes_per_s if self.bytes_per_s else 0)

    def rate(self, bytes: Any) -> Any:
        """Bytes per second that the line gives at ``bytes``."""
        return np.asarray(bytes, dtype=np.float64) / self.seconds(bytes)

    def rate_band(self, bytes: Any) -> tuple[Floats, Floats]:
        """(low, high) of ``rate`` at each of ``bytes`` (shape [n]): the middle 95 % of the bootstrap's lines."""
        n = np.asarray(bytes, dtype=np.float64)
        drawn = np.array(self._draws or [(self.seconds(0.0), 1 / self.bytes_per_s if self.bytes_per_s else 0.0)])
        rates = n / np.maximum(drawn[:, :1] + drawn[:, 1:] * n, 1e-300)
        low, high = np.quantile(rates, [0.025, 0.975], axis=0)
        return low, high


def fit(points: Sequence[Point], *, seed: int = 0, resamples: int = _RESAMPLES) -> AlphaBeta:
    """The line through ``points`` (at least four different sizes), seconds over ``Point.bytes``.

    Raises LabkitError for fewer sizes.
    """
    ordered = sorted((p for p in points if p.bytes > 0), key=lambda p: p.bytes)
    n = np.array([p.bytes for p in ordered], dtype=np.float64)
    t = np.array([p.median_s for p in ordered], dtype=np.float64)
    if np.unique(n).size < FEWEST:
        raise LabkitError(
            f"A line over sizes needs at least {FEWEST} different sizes, not {np.unique(n).size}.",
            "Measure more sizes, for example each twice the one before.",
        )
    ends = np.array([(p.low_s, p.high_s) for p in ordered]).reshape(-1, 2)
    line = robust_line(n, t)
    residuals = _relative(line, n, t)
    sizes = tuple(p.bytes for p in ordered)
    told = tuple(float(r) for r in residuals)
    deviation = float(np.median(np.abs(residuals)))
    if bends(line, n, ends[:, 0], ends[:, 1]):
        pieces = _two_lines(n, t, ends)
        return AlphaBeta(
            None, None, None, None, None, None, False, sizes, told, deviation, pieces, _no_line(pieces, sizes)
        )
    draws = _bootstrap(ordered, line, residuals, n, t, seed, resamples)
    alpha, slope = line
    a_low, a_high = (float(q) for q in np.quantile(draws[:, 0], [0.025, 0.975]))
    latency = Interval(min(a_low, alpha), max(a_high, alpha))
    kept = tuple((float(a), float(b)) for a, b in draws)
    if slope * n[-1] < _GROWTH * alpha:
        note = "The time does not grow with the size: the sizes are too small to tell a rate."
        return AlphaBeta(alpha, None, None, latency, None, None, True, sizes, told, deviation, (), note, kept)
    beta = 1 / slope
    with np.errstate(divide="ignore"):
        rates, knees = 1 / draws[:, 1], draws[:, 0] / draws[:, 1]
    b_low, b_high = (float(q) for q in _quantiles(rates))
    k_low, k_high = (float(q) for q in _quantiles(knees))
    knee = alpha * beta
    return AlphaBeta(
        alpha,
        beta,
        knee,
        latency,
        Interval(min(b_low, beta), max(b_high, beta)),
        Interval(min(k_low, knee), max(k_high, knee)),
        True,
        sizes,
        told,
        deviation,
        (),
        _limits(alpha, latency, knee, float(t[0]), sizes),
        kept,
    )


def bends(line: tuple[float, float], n: Floats, low: Floats, high: Floats) -> bool:
    """Whether one line is wrong for points whose intervals are ``low`` to ``high`` (seconds at ``n`` bytes, ascending).

    It is where it passes two neighbours by ``BEND`` beyond their intervals on one side, a third of all points anyhow, or the
    largest size by ``FAR``. Any other single size may be off: that is a disturbance.
    """
    model = line[0] + line[1] * n
    above, below = model / high - 1, low / np.maximum(model, 1e-300) - 1
    side = np.where(above > BEND, 1, np.where(below > BEND, -1, 0))
    neighbours = (side[1:] != 0) & (side[1:] == side[:-1])
    largest = max(above[-1], below[-1])
    return bool(neighbours.any() or (side != 0).sum() > side.size / 3 or largest > FAR)


def _relative(line: tuple[float, float], n: Floats, t: Floats) -> Floats:
    return (line[0] + line[1] * n - t) / t


def _bootstrap(
    points: Sequence[Point], line: tuple[float, float], residuals: Floats, n: Floats, t: Floats, seed: int, count: int
) -> Floats:
    """(alpha, slope) of ``count`` lines drawn anew, shape [count, 2]."""
    generator = np.random.default_rng(seed)
    model = line[0] + line[1] * n
    # where the line is far from a point, that point was an outlier: it must not come back at another place's cost
    limit = TUKEY * max(1.4826 * float(np.median(np.abs(residuals))), LEAST_SCALE)
    spread = np.clip(residuals, -min(limit, 0.9), min(limit, 0.9)) * math.sqrt(n.size / max(1, n.size - 2))
    factors = np.ones((count, n.size))
    for k, p in enumerate(points):
        if len(p.samples) >= 3:
            drawn = generator.choice(np.asarray(p.samples), size=(count, len(p.samples)))
            factors[:, k] = np.median(drawn, axis=1) / np.median(p.samples)
        else:
            sigma = max(0.0, math.log(p.high_s / p.low_s)) / (2 * 1.96)
            factors[:, k] = np.exp(generator.normal(0, sigma, count))
    signs = generator.choice([-1.0, 1.0], size=(count, n.size))
    drawn_t = np.maximum(model * factors * (1 + signs * np.clip(spread, -0.95, 0.95)), 1e-12 * t)
    return robust_lines(n, drawn_t)


def _quantiles(values: Floats) -> tuple[float, float]:
    """The middle 95 %, where some of the values may be infinite."""
    ordered = np.sort(np.where(np.isnan(values), np.inf, values))
    return float(ordered[int(0.025 * (len(ordered) - 1))]), float(ordered[math.ceil(0.975 * (len(ordered) - 1))])


def _two_lines(n: Floats, t: Floats, ends: Floats) -> tuple[Piece, ...]:
    """Two pieces that each fit by themselves, with at most ``_BETWEEN`` sizes between them; () where none do."""
    best: tuple[float, tuple[Piece, ...]] = (math.inf, ())
    for end in range(FEWEST - 1, n.size - FEWEST + 2):
        for start in range(end, min(end + _BETWEEN, n.size - FEWEST + 1) + 1):
            loss, pieces = (start - end) * BEND, list[Piece]()
            for part in (slice(0, end), slice(start, n.size)):
                line = robust_line(n[part], t[part])
                r = _relative(line, n[part], t[part])
                if line[1] <= 0 or bends(line, n[part], ends[part, 0], ends[part, 1]):
                    break
                loss += float(np.minimum(np.abs(r), BEND).sum())
                pieces.append(Piece(int(n[part][0]), int(n[part][-1]), line[0], 1 / line[1]))
            if len(pieces) == 2 and loss < best[0]:
                best = loss, tuple(pieces)
    return best[1]


def _no_line(pieces: tuple[Piece, ...], sizes: tuple[int, ...]) -> str:
    if not pieces:
        return (
            f"No straight line describes the times from {size(sizes[0])} to {size(sizes[-1])}, and two do not either: "
            "read the points themselves."
        )
    first, second = pieces
    why = (
        " That is what the end of a cache looks like."
        if first.bytes_per_s > second.bytes_per_s
        else " Large sizes go another, faster way."
    )
    return (
        f"One line does not fit: up to {size(first.last_bytes)} the times approach {gigabytes(first.bytes_per_s)}, "
        f"from {size(second.first_bytes)} on {gigabytes(second.bytes_per_s)}.{why}"
    )


def _limits(alpha: float, interval: Interval, knee: float, smallest_s: float, sizes: tuple[int, ...]) -> str:
    """What the sizes do not reach, in words; '' where they reach all."""
    if interval.low <= UNSEEN * smallest_s and alpha > 0.5 * smallest_s:
        return "The times are too noisy to tell the latency: measure longer, on a quiet machine."
    if interval.low <= UNSEEN * smallest_s:
        return f"The latency is too short to be seen from {size(sizes[0])} on: take smaller sizes to see it."
    if knee > sizes[-1]:
        return f"All sizes are below the knee of {size(knee)}: the rate of large ones is extrapolated."
    if knee < sizes[0]:
        return f"All sizes are above the knee of {size(knee)}: the latency is extrapolated."
    return ""
