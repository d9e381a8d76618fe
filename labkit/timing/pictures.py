"""Figures of times and ratios: dots for what was measured, bars for how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labkit.timing import words

if TYPE_CHECKING:
    from labkit.timing.contrast import Contrast
    from labkit.timing.measure import Measurement

# Blue, vermillion and grey of Okabe and Ito's palette, which colour-blind readers can tell apart.
_DOT, _BAR, _CLEAR, _QUIET = "#999999", "#0072B2", "#D55E00", "#555555"


def _axes(ax: Any, rows: int) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=(7.5, 1.3 + 0.55 * rows), layout="constrained")
    return made


def draw_times(measurements: Sequence[Measurement], footer: str, ax: Any = None) -> Any:
    """Every repetition as a dot, the quartiles as a thin bar, the median's 95 % interval as a thick one. Returns the axes."""
    ax = _axes(ax, len(measurements))
    size, unit = words.unit_for(min(m.median_s for m in measurements))
    for row, m in enumerate(measurements):
        step = max(1, len(m.samples) // 400)
        shown = [s / size for s in m.samples[::step]]
        spread = [row + 0.22 * ((i * 0.618034) % 1 - 0.5) * 2 for i in range(len(shown))]
        ax.plot(shown, spread, "o", color=_DOT, markersize=2.5, alpha=0.5, zorder=1)
        ax.plot([m.lower_quartile_s / size, m.upper_quartile_s / size], [row, row], color=_BAR, linewidth=2, zorder=2)
        ax.plot([m.low_s / size, m.high_s / size], [row, row], color=_BAR, linewidth=7, solid_capstyle="butt", zorder=3)
        ax.plot([m.median_s / size], [row], "|", color="white", markersize=9, markeredgewidth=1.5, zorder=4)
    ax.set_yticks(range(len(measurements)), [m.name for m in measurements])
    ax.set_ylim(len(measurements) - 0.5, -0.5)
    high = max(sorted(m.samples)[int(0.98 * (len(m.samples) - 1))] for m in measurements) / size
    ax.set_xlim(0, 1.1 * max(high, max(m.upper_quartile_s for m in measurements) / size))
    ax.set_xlabel(
        f"{unit} per call   (dots: repetitions · thin: quartiles · thick: 95 % interval of the median)\n{footer}",
        fontsize=8,
    )
    _plain(ax)
    return ax


def draw_ratios(contrasts: Sequence[Contrast], baseline: str, footer: str, ax: Any = None) -> Any:
    """Each ratio to the baseline with its 95 % interval, beside the line of no difference. Returns the axes."""
    ax = _axes(ax, len(contrasts))
    for row, c in enumerate(contrasts):
        called = c.decision in ("faster", "slower")
        colour = _CLEAR if called else _QUIET
        ax.plot([c.low, c.high], [row, row], color=colour, linewidth=3, solid_capstyle="butt")
        ax.plot([c.ratio], [row], "o", color=colour, markersize=8, markerfacecolor=colour if called else "white")
        ax.annotate(
            f"{words.digits(c.ratio)}  {c.decision}",
            (c.ratio, row),
            textcoords="offset points",
            xytext=(0, 9),
            ha="center",
            fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    ax.axvline(1, color="black", linewidth=1, linestyle="--")
    ends = [1.0, *(c.low for c in contrasts), *(c.high for c in contrasts)]
    low, high = min(ends), max(ends)
    if high / low > 4:
        ax.set_xscale("log")
        ax.set_xlim(low / 1.6, high * 1.6)
        ticks = [t for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low / 1.6 <= t <= high * 1.6]
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
        ax.minorticks_off()
    else:
        margin = max(0.05, 0.35 * (high - low))
        ax.set_xlim(low - margin, high + margin)
    ax.set_yticks(range(len(contrasts)), [c.name for c in contrasts])
    ax.set_ylim(len(contrasts) - 0.5, -0.7)
    ax.set_xlabel(
        f"time divided by that of {baseline}   (bar: 95 % interval; left of 1 is faster)\n{footer}", fontsize=8
    )
    _plain(ax)
    return ax


def _plain(ax: Any) -> None:
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
