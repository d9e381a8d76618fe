"""Rate over size, both logarithmic, with the fitted line, what it approaches, and its knee; or with two plateaus."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from labkit.comm.curve import AlphaBeta
from labkit.comm.results import Series
from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.charts import number
from labkit.show.comm.tables import fit_in_words, fitted, points_table
from labkit.show.picture import Picture, new_figure
from labkit.timing.words import duration, gigabytes, size


def curve(series: Series | Sequence[Series], *, title: str = "") -> Picture:
    """Rate over size of one series or of several of one unit.

    Points with their intervals; each series' fitted line (``labkit.comm.fit``), or its two plateaus where one line does not fit.
    Of a single series also the band of the line's interval, the rate that large sizes approach, the latency and the
    knee, in words. ``values``: {label: the fit, or None where it has too few sizes or counts FLOP}.
    Raises LabkitError for no series, or for series of different units.
    """
    found = (series,) if isinstance(series, Series) else tuple(series)
    if not found or len({s.unit for s in found}) > 1:
        raise LabkitError(
            "A curve needs at least one series, all of one unit.", "Pass results.of('copy'), for example."
        )
    names = _names(found)
    fits = {name: fitted(s) for name, s in zip(names, found, strict=True)}
    head = title or (found[0].label if len(found) == 1 else "Rate over size")
    products = found[0].unit != "B/s"
    with style.look():
        figure = new_figure(7.2, 4.2 + 0.2 * (len(found) > 4))
        axes = figure.add_subplot()
        axes.set(xscale="log", yscale="log")
        for k, (name, s) in enumerate(zip(names, found, strict=True)):
            _measured(axes, s, name, k, products)
        if products:
            _at_sizes(axes.xaxis, sorted({p.size or 1 for s in found for p in s.points}))
            axes.set_xlabel("n of an n × n product")
        else:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda value, _: size(value))
            axes.set_xlabel(f"size ({found[0].counted or 'bytes'})" if len(found) == 1 else "size")
        axes.set_ylabel(f"G{found[0].unit}")
        for k, name in enumerate(names):
            told = fits[name]
            if told is not None:
                _line(axes, told, k, alone=len(found) == 1)
        ends = [end / 1e9 for s in found for p in s.points for end in p.rate_interval]
        tops = [told.bytes_per_s / 1e9 for told in fits.values() if told is not None and told.bytes_per_s]
        top = max([*ends, *(tops if len(found) == 1 and tops[0] < 10 * max(ends) else [])] if tops else ends)
        axes.set_ylim(min(ends) / 1.5, top * (2.2 if len(found) == 1 else 1.5))  # a wide band does not set the scale
        _plain(axes.yaxis)
        only = fits[names[0]] if len(found) == 1 else None
        if only is not None:
            words = textwrap.fill(fit_in_words(only), 108)
            figure.supxlabel(words[0].upper() + words[1:], fontsize=9, x=0.01, ha="left")
        if len(found) > 1:
            figure.legend(loc="outside lower center", ncols=2)
        axes.set_title(head)
    sentences = [f"{name}: {fit_in_words(told)}" for name, told in fits.items() if told is not None]
    tables = [points_table(s) for s in found]
    text = "\n".join([head, *tables, *sentences])
    alt = f"{head}. " + " ".join(sentences or [_span(s, n) for s, n in zip(found, names, strict=True)])
    return Picture(figure, text, alt, fits, axes)


def _names(found: Sequence[Series]) -> list[str]:
    """One name for each series; the dtype or the device where labels are the same."""
    names = [s.label for s in found]
    if len(set(names)) < len(names):
        names = [f"{s.label} ({s.src} to {s.dst}, {s.dtype})" for s in found]
    return [name if names.count(name) == 1 else f"{name}, {k}" for k, name in enumerate(names, 1)]


def _span(s: Series, name: str) -> str:
    rates = [p.rate / 1e9 for p in s.points]
    return f"{name}: from {number(min(rates))} to {number(max(rates))} G{s.unit}."


def _measured(axes: Any, s: Series, name: str, k: int, products: bool) -> None:
    across = np.array([float(p.size or 0) if products else float(p.bytes) for p in s.points])
    rates = np.array([p.rate for p in s.points]) / 1e9
    ends = np.array([p.rate_interval for p in s.points]) / 1e9
    axes.errorbar(
        across,
        rates,
        yerr=np.clip([rates - ends[:, 0], ends[:, 1] - rates], 0, None),
        fmt=style.MARKERS[k % len(style.MARKERS)],
        color=style.PALETTE[k % len(style.PALETTE)],
        linestyle=style.DASHES[k % len(style.DASHES)] if products else "none",
        ecolor=style.PALETTE[k % len(style.PALETTE)],
        elinewidth=1.4,
        capsize=3,
        label=name,
        zorder=3,
    )


def _line(axes: Any, told: AlphaBeta, k: int, *, alone: bool) -> None:
    colour, dash = style.PALETTE[k % len(style.PALETTE)], style.DASHES[k % len(style.DASHES)]
    if not told.one_line:
        _plateaus(axes, told, colour, dash, alone=alone)
        return
    across = np.geomspace(told.sizes[0], told.sizes[-1], 200)
    low, high = told.rate_band(across)
    if alone:  # bands of several lie over each other and hide what they should show
        axes.fill_between(across, low / 1e9, high / 1e9, color=colour, alpha=0.18, linewidth=0)
    axes.plot(across, told.rate(across) / 1e9, color=colour, linestyle=dash, linewidth=1.6)
    if not alone or told.bytes_per_s is None or told.latency_s is None:
        return
    top = told.bytes_per_s / 1e9
    axes.axhline(top, color=style.BLACK, linestyle=(0, (4, 3)), linewidth=1.2)
    _said(axes, f"large sizes approach {gigabytes(told.bytes_per_s)}", told.sizes[0], top, above=True)
    knee = told.knee_bytes or 0.0
    if told.sees_latency and told.sizes[0] <= knee <= told.sizes[-1]:
        axes.plot([knee], [top / 2], marker="D", markersize=8, color=style.VERMILLION, zorder=4, linestyle="none")
        axes.axvline(knee, color=style.VERMILLION, linestyle=(0, (1, 1.5)), linewidth=1.2)
        right = knee < (told.sizes[0] * told.sizes[-1]) ** 0.5
        axes.annotate(
            f"knee: {size(knee)}, half of that rate\nlatency {duration(told.latency_s)}",
            (knee, top / 2),
            xytext=(10 if right else -10, -14),
            textcoords="offset points",
            ha="left" if right else "right",
            va="top",
            fontsize=9,
            bbox={"facecolor": style.BACKGROUND, "edgecolor": "none", "pad": 1, "alpha": 0.85},
        )


def _plateaus(axes: Any, told: AlphaBeta, colour: str, dash: Any, *, alone: bool) -> None:
    for at, piece in enumerate(told.pieces):
        across = np.geomspace(piece.first_bytes, piece.last_bytes, 100)
        rates = across / (piece.latency_s + across / piece.bytes_per_s) / 1e9
        axes.plot(across, rates, color=colour, linestyle=dash, linewidth=1.6)
        if alone:
            reached = piece.bytes_per_s / 1e9
            axes.plot(across[[0, -1]], [reached] * 2, color=style.BLACK, linestyle=(0, (4, 3)), linewidth=1.2)
            where = f"from {size(piece.first_bytes)} on" if at else f"up to {size(piece.last_bytes)}"
            words = f"{where}: towards {gigabytes(piece.bytes_per_s)}"
            _said(axes, words, piece.first_bytes if at == 0 else piece.last_bytes, reached, above=True, right=at == 1)


def _said(axes: Any, words: str, x: float, y: float, *, above: bool, right: bool = False) -> None:
    axes.annotate(
        words,
        (x, y),
        xytext=(0, 4 if above else -4),
        textcoords="offset points",
        ha="right" if right else "left",
        va="bottom" if above else "top",
        fontsize=9,
        bbox={"facecolor": style.BACKGROUND, "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
    )


def _at_sizes(axis: Any, sizes: Sequence[int]) -> None:
    """Ticks at the measured sizes, or at plain numbers where they are many."""
    from matplotlib.ticker import FixedLocator, NullLocator

    _plain(axis)
    if len(sizes) <= 8:
        axis.set_major_locator(FixedLocator(sizes))
        axis.set_minor_locator(NullLocator())


def _plain(axis: Any) -> None:
    """Plain numbers instead of powers of ten; 1, 2 and 5 where the axis is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    short = high / max(low, 1e-300) < 300
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9f}".rstrip("0").rstrip(".")))
    axis.set_minor_formatter(NullFormatter())
