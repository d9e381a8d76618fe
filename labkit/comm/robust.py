"""Straight lines through times over sizes, by relative errors and not moved by outliers. Pure functions of arrays.

First the line of least absolute relative error, which goes through two of the points and so is found among all pairs;
then weighted least squares over the points that are no outliers (Tukey's biweight, J. W. Tukey 1977).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TUKEY = 4.685  # the usual constant: 95 % as efficient as least squares where the noise is normal
LEAST_SCALE = 0.005  # points that agree to half a percent are not sorted into better and worse ones
_AT_ONCE = 4_000_000  # numbers held at a time: 32 MB


def robust_line(n: Floats, t: Floats) -> tuple[float, float]:
    """(alpha in seconds, slope in seconds per byte), neither negative, of ``t`` (seconds) over ``n`` (bytes), shapes [k]."""
    alpha, slope = robust_lines(n, t[None])[0]
    return float(alpha), float(slope)


def robust_lines(n: Floats, times: Floats) -> Floats:
    """The line of each row of ``times`` (shape [rows, k]) over ``n`` (shape [k]): alpha and slope, shape [rows, 2]."""
    candidates = n.size * (n.size + 3) // 2
    rows = max(1, _AT_ONCE // (candidates * n.size))
    return np.concatenate([_some_lines(n, times[k : k + rows]) for k in range(0, len(times), rows)])


def _some_lines(n: Floats, t: Floats) -> Floats:
    line = _least_absolute(n, t)
    for _ in range(12):
        r = (line[:, :1] + line[:, 1:] * n - t) / t
        scale = np.maximum(1.4826 * np.median(np.abs(r), axis=1, keepdims=True), LEAST_SCALE)
        weight = np.clip(1 - (r / (TUKEY * scale)) ** 2, 0, None) ** 2
        before, line = line, _weighted(n, t, weight)
        if np.allclose(before, line, rtol=1e-9, atol=0):
            break
    return line


def _least_absolute(n: Floats, t: Floats) -> Floats:
    """The lines [rows, 2] of the least sum of absolute relative errors: through two points, through zero, or level."""
    i, j = np.triu_indices(n.size, 1)
    apart = n[j] > n[i]
    i, j = i[apart], j[apart]
    slope = (t[:, j] - t[:, i]) / (n[j] - n[i])
    alphas = np.concatenate([t[:, i] - slope * n[i], np.zeros_like(t), t], axis=1)
    slopes = np.concatenate([slope, t / n, np.zeros_like(t)], axis=1)
    loss = np.abs((alphas[:, :, None] + slopes[:, :, None] * n - t[:, None]) / t[:, None]).sum(axis=2)
    loss[(alphas < 0) | (slopes < 0)] = np.inf
    best = np.argmin(loss, axis=1)[:, None]
    return np.concatenate([np.take_along_axis(alphas, best, 1), np.take_along_axis(slopes, best, 1)], axis=1)


def _weighted(n: Floats, t: Floats, weight: Floats) -> Floats:
    """Least squares of the relative errors, alpha and slope not negative. Both unknowns are scaled near one first."""
    scale_n = float(np.exp(np.mean(np.log(n))))
    scale_t = np.exp(np.mean(np.log(t), axis=1, keepdims=True))
    one = scale_t / t
    grow = n / scale_n * one
    s11, s1g, sgg, s1, sg = (
        (weight * column).sum(axis=1) for column in (one * one, one * grow, grow * grow, one, grow)
    )
    determinant = s11 * sgg - s1g * s1g
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (s1 * sgg - sg * s1g) / determinant, (sg * s11 - s1 * s1g) / determinant
        level, through_zero = s1 / s11, sg / sgg
    level_only = (b < 0) | ~(determinant > 1e-12 * s11 * sgg)
    zero_only = (a < 0) & ~level_only
    a = np.where(level_only, level, np.where(zero_only, 0.0, a))
    b = np.where(level_only, 0.0, np.where(zero_only, through_zero, b))
    return np.stack([a * scale_t[:, 0], b * scale_t[:, 0] / scale_n], axis=1)
