"""Charts of numbers: values with their spread, parts of a whole, histograms, lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.picture import Picture, array, new_figure, same_length, table


def number(value: float) -> str:
    """A number for people: three significant digits, thousands separated ('0.0123', '4.56', '12,300')."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9 or size < 1e-4:
        return f"{value:.2e}"
    if size >= 100:
        from math import floor, log10

        return f"{round(value, 2 - floor(log10(size))):,.0f}"
    digits = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4 if size >= 0.01 else 5
    return f"{value:.{digits}f}"


def intervals(
    names: Sequence[str],
    medians: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    unit: str = "",
    *,
    title: str = "",
    log: bool = False,
    reference: float | None = None,
    reference_label: str = "",
) -> Picture:
    """One row per name: a point at the median and a bar from low to high, with the numbers beside it.

    ``log``: a logarithmic axis (all values above 0). ``reference``: a vertical line, for example 1 for ratios.
    ``values`` is an array [n, 3] of (median, low, high).
    """
    import numpy as np

    count = same_length("intervals", names=names, medians=medians, lows=lows, highs=highs)
    values = np.array([medians, lows, highs], dtype=float).T.reshape(count, 3)
    if count == 0:
        raise LabkitError("There is nothing to draw.", "Pass at least one name with its median, low and high.")
    if not ((values[:, 1] <= values[:, 0]) & (values[:, 0] <= values[:, 2])).all():
        raise LabkitError("In an interval low <= median <= high must hold.", "Check the order: medians, lows, highs.")
    if log and (values <= 0).any():
        raise LabkitError("A logarithmic axis needs values above 0.", "Use log=False.")
    unit_ = f" {unit}" if unit else ""
    with style.look():
        figure = new_figure(7.2, 0.8 + 0.42 * count + (0.3 if title else 0))
        axes = figure.add_subplot()
        y = np.arange(count)[::-1]
        low_high = np.abs(values[:, 1:].T - values[:, 0])
        for i in range(count):
            colour = style.PALETTE[i % len(style.PALETTE)]
            axes.errorbar(
                values[i, 0],
                y[i],
                xerr=low_high[:, i : i + 1],
                fmt=style.MARKERS[i % len(style.MARKERS)],
                color=colour,
                ecolor=colour,
                elinewidth=2.4,
                capsize=5,
                capthick=2,
                markersize=7,
                linestyle="none",
            )
        if log:
            axes.set_xscale("log")
            _plain_ticks(axes.xaxis)
        elif values.min() >= 0:
            axes.set_xlim(0, values.max() * 1.12 or 1)
        for i in range(count):
            label = f"{number(values[i, 0])}{unit_}"
            axes.annotate(
                label,
                (values[i, 0], y[i]),
                xytext=(0, 8),
                textcoords="offset points",
                ha=_towards_the_middle(axes, values[i, 0], label, log),
                fontsize=9.5,
                bbox={"facecolor": style.BACKGROUND, "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
            )
        if reference is not None:
            axes.axvline(reference, color=style.BLACK, linestyle=(0, (4, 3)), linewidth=1.3)
            if reference_label:
                axes.annotate(
                    reference_label,
                    (reference, count - 0.42),
                    xytext=(4, 0),
                    textcoords="offset points",
                    fontsize=9,
                    va="top",
                )
        axes.set_ylim(-0.5, count - 0.3)
        axes.set_yticks(y, names)
        axes.grid(False, axis="y")
        axes.set_xlabel(unit)
        if title:
            axes.set_title(title)
    rows: list[tuple[str, ...]] = [("", f"median{unit_ and f' ({unit})'}", "low", "high")]
    rows += [(str(name), *(number(v) for v in row)) for name, row in zip(names, values, strict=True)]
    told = "; ".join(
        f"{name} {number(m)}{unit_} ({number(lo)} to {number(hi)})"
        for name, (m, lo, hi) in zip(names, values, strict=True)
    )
    head = title or "Values with their spread"
    return Picture(figure, f"{head}\n{table(rows)}", f"{head}: {told}", values, axes)


def _towards_the_middle(axes: Any, x: float, label: str, log: bool) -> str:
    """Where a label's x lies in it: 'center', but at the axes' ends the side that keeps the label inside."""
    from math import log as ln

    low, high = axes.get_xlim()
    at = ln(x / low) / ln(high / low) if log else (x - low) / (high - low)
    half = 0.007 * len(label)  # half of the words' width: 9.5 points high on axes about 6 inches wide
    return "left" if at < half else "right" if at > 1 - half else "center"


def _plain_ticks(axis: Any) -> None:
    """Marks a logarithmic axis with plain numbers at 1, 2 and 5 instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def _ticks_at(axis: Any, places: set[float]) -> None:
    """Marks a logarithmic axis in plain numbers: at the points themselves where they are few and apart, else at 1, 2 and 5."""
    from math import log10

    from matplotlib.ticker import FixedLocator, NullLocator

    if max(places) > 1e6 or min(places) < 1e-4:
        return  # powers of ten are shorter
    _plain_ticks(axis)
    axis.set_minor_locator(NullLocator())
    at = sorted(places)
    span = log10(at[-1] / at[0])
    if span == 0 or (len(at) <= 8 and all(log10(b / a) > 0.09 * span for a, b in pairwise(at))):
        axis.set_major_locator(FixedLocator(at))


def parts(
    names: Sequence[str],
    shares: Mapping[str, Sequence[float]],
    unit: str = "",
    *,
    spread: Sequence[tuple[float, float]] | None = None,
    title: str = "",
) -> Picture:
    """One stacked bar per name: what a whole is made of.

    shares: part -> one amount (0 or more) per name. Amounts too small for their label are named in the text form.
    spread: (low, high) of each whole, drawn as a whisker at its end. ``values`` is an array [parts, names].
    """
    import numpy as np

    values = np.array([list(map(float, row)) for row in shares.values()])
    if values.size == 0 or values.shape[1] != len(names) or (values < 0).any():
        raise LabkitError(
            "parts() needs one amount, not negative, per part and name.", "Pass {part: [amount for each name]}."
        )
    totals = values.sum(axis=0)
    ends = np.array(spread, dtype=float).reshape(-1, 2) if spread is not None else None
    if ends is not None and len(ends) != len(names):
        raise LabkitError(f"parts() got {len(ends)} spreads for {len(names)} names.", "Pass one (low, high) per name.")
    with style.look():
        figure = new_figure(7.2, 1.25 + 0.5 * len(names) + (0.3 if title else 0))
        axes = figure.add_subplot()
        y = np.arange(len(names))[::-1]
        left = np.zeros(len(names))
        widest = values.sum(axis=0).max() or 1.0
        for k, (part, row) in enumerate(zip(shares, values, strict=True)):
            colour = style.PALETTE[k % len(style.PALETTE)]
            axes.barh(
                y,
                row,
                left=left,
                height=0.56,
                color=colour,
                label=part,
                edgecolor=style.BACKGROUND,
                linewidth=1.2,
                hatch=("", "//", "..", "xx")[k % 4],
            )
            for j, amount in enumerate(row):
                if amount > 0.09 * widest:
                    axes.text(
                        left[j] + amount / 2,
                        y[j],
                        number(amount),
                        ha="center",
                        va="center",
                        fontsize=9.5,
                        color=style.INK,
                        bbox={
                            "facecolor": style.BACKGROUND,
                            "edgecolor": "none",
                            "pad": 1.5,
                            "boxstyle": "round,pad=0.2",
                        },
                    )
            left += row
        axes.set_yticks(y, names)
        axes.set_xlabel(unit)
        axes.grid(False, axis="y")
        if ends is not None:
            reach = np.clip([totals - ends[:, 0], ends[:, 1] - totals], 0, None)
            axes.errorbar(
                totals, y, xerr=reach, fmt="none", ecolor=style.BLACK, elinewidth=1.8, capsize=5, capthick=1.6
            )
            widest = max(widest, float(ends.max()))
        axes.set_xlim(0, widest * 1.03)
        figure.legend(loc="outside lower center", ncols=min(4, len(shares)))
        if title:
            axes.set_title(title)
    rows = [("", *map(str, shares), "together", *(("low", "high") if ends is not None else ()))]
    rows += [
        (
            str(name),
            *(f"{number(v)} ({v / totals[j]:.0%})" if totals[j] else "0" for v in values[:, j]),
            number(totals[j]),
            *((number(ends[j, 0]), number(ends[j, 1])) if ends is not None else ()),
        )
        for j, name in enumerate(names)
    ]
    told = "; ".join(
        f"{name}: " + ", ".join(f"{part} {number(values[k, j])} {unit}".strip() for k, part in enumerate(shares))
        for j, name in enumerate(names)
    )
    head = title or "Parts of the whole"
    return Picture(figure, f"{head}{f' ({unit})' if unit else ''}\n{table(rows)}", f"{head}: {told}", values, axes)


def histogram(
    series: Any,
    *,
    bins: int = 60,
    log_x: bool = False,
    marks: Mapping[str, float] | None = None,
    unit: str = "",
    title: str = "",
) -> Picture:
    """How often which value occurs, for one list of numbers or for several named ones.

    series: an array or tensor of any shape, or {name: array}. ``log_x``: bins of equal width in the logarithm of the
    size |x|; zeros have no place on such an axis, so they are counted apart and named. Values that are not finite are
    counted apart too. marks: {label: x}, drawn as vertical lines; the text says which share lies below each.
    ``values`` maps each name to (counts [bins], edges [bins + 1], zeros, not finite).
    """
    import numpy as np

    named = {str(k): v for k, v in series.items()} if isinstance(series, Mapping) else {"": series}
    marks = dict(marks or {})
    cleaned: dict[str, Any] = {}
    zeros, strange, total = {}, {}, {}
    for name, given in named.items():
        flat = array(given).ravel().astype(np.float64)
        total[name] = flat.size
        finite = flat[np.isfinite(flat)]
        strange[name] = flat.size - finite.size
        zeros[name] = int((finite == 0).sum())
        cleaned[name] = np.abs(finite[finite != 0]) if log_x else finite
    pooled = np.concatenate(list(cleaned.values())) if cleaned else np.empty(0)
    if pooled.size == 0:
        raise LabkitError(
            "There is no value to count: all are zero or not finite."
            if sum(total.values())
            else "There is no value to count.",
            "Look at the numbers themselves first, for example with x.isfinite().all().",
        )
    low, high = float(pooled.min()), float(pooled.max())
    if marks:
        low, high = min(low, *marks.values()), max(high, *marks.values())
    if low == high:
        low, high = (low / 2, high * 2) if log_x else (low - 0.5, high + 0.5)
    edges = np.geomspace(low, high, bins + 1) if log_x else np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    values: dict[str, Any] = {}
    lines = [title or "Histogram"]
    with style.look():
        figure = new_figure(7.2, 3.3)
        axes = figure.add_subplot()
        for k, (name, numbers) in enumerate(cleaned.items()):
            counts = np.histogram(numbers, edges)[0]
            values[name] = (counts, edges, zeros[name], strange[name])
            extra = ([f"{zeros[name] / total[name]:.1%} are exactly 0"] if log_x and zeros[name] else []) + (
                [f"{strange[name]} not finite"] if strange[name] else []
            )
            label = ", ".join(filter(None, [name, *extra]))
            axes.stairs(
                counts / max(1, total[name]),
                edges,
                fill=len(cleaned) == 1,
                alpha=0.85 if len(cleaned) == 1 else 1.0,
                color=style.PALETTE[k % len(style.PALETTE)],
                label=label or None,
                linewidth=1.8,
                linestyle=style.DASHES[k % len(style.DASHES)],
            )
            middle = float(np.median(numbers)) if numbers.size else float("nan")
            span = (
                f"{number(float(numbers.min()))} to {number(float(numbers.max()))}, median {number(middle)}"
                if numbers.size
                else "nothing to count"
            )
            below = "; ".join(
                f"{(numbers < x).sum() / max(1, numbers.size):.1%} below {number(x)} ({mark})"
                for mark, x in marks.items()
            )
            lines.append(
                ": ".join(
                    filter(None, [name, "; ".join(filter(None, [f"{total[name]} values, {span}", *extra, below]))])
                )
            )
        if log_x:
            axes.set_xscale("log")
        if marks:
            axes.margins(x=0.07)
        rows = _marks_above(axes, marks, log_x)
        axes.set_xlabel(unit)
        axes.set_ylabel("share of the values")
        if any(axes.get_legend_handles_labels()[1]):
            axes.legend(loc="best")
        if title:
            axes.set_title(title, pad=6 + 13 * rows)
    return Picture(figure, "\n".join(lines), ". ".join(lines), values, axes)


def _marks_above(axes: Any, marks: Mapping[str, float], log_x: bool) -> int:
    """Draws the marks as vertical lines with their words above the axes, in as many rows as keep the words apart."""
    from math import log

    low, high = axes.get_xlim()
    taken: list[float] = []  # where the words of each row end, in shares of the width
    for mark, x in sorted(marks.items(), key=lambda item: item[1]):
        axes.axvline(x, color=style.BLACK, linestyle=(0, (4, 3)), linewidth=1.3)
        at = log(x / low) / log(high / low) if log_x else (x - low) / (high - low)
        half = 0.0064 * len(mark)  # half of the words' width: 9 points high on axes about 6.3 inches wide
        at = min(max(at, half), 1 - half)
        row = next((k for k, end in enumerate(taken) if at - half > end + 0.02), len(taken))
        taken[row : row + 1] = [at + half]
        axes.annotate(
            mark,
            (at, 1),
            xycoords="axes fraction",
            xytext=(0, 4 + 13 * row),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9,
        )
    return len(taken)


def lines(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> Picture:
    """Named lines: {name: (x, y)}. bands: {name: (low, high)} shades the spread of the line of that name.

    ``values`` is {name: array [2, n]}.
    """
    import numpy as np

    values: dict[str, Any] = {}
    told: list[str] = []
    with style.look():
        figure = new_figure(7.2, 3.4)
        axes = figure.add_subplot()
        for k, (name, (x, y)) in enumerate(series.items()):
            across, up = array(x).astype(float), array(y).astype(float)
            same_length(f"line '{name}'", x=across, y=up)
            values[name] = np.stack([across, up])
            colour, few = style.PALETTE[k % len(style.PALETTE)], len(across) <= 40
            axes.plot(
                across,
                up,
                label=name,
                color=colour,
                linestyle=style.DASHES[k % len(style.DASHES)],
                marker=style.MARKERS[k % len(style.MARKERS)] if few else None,
            )
            if bands and name in bands:
                axes.fill_between(
                    across,
                    array(bands[name][0]).astype(float),
                    array(bands[name][1]).astype(float),
                    color=colour,
                    alpha=0.18,
                    linewidth=0,
                )
            finite = up[np.isfinite(up)]
            lost = len(up) - len(finite)
            spread = (
                "from {} to {}, lowest {}, highest {}".format(
                    *(number(float(v)) for v in (finite[0], finite[-1], finite.min(), finite.max()))
                )
                if len(finite)
                else "no finite value"
            )
            told.append(f"{name}: {len(up)} points, {spread}" + (f", {lost} not finite" if lost else ""))
        if log_x:
            axes.set_xscale("log")
            if values and all((line[0] > 0).all() for line in values.values()):
                _ticks_at(axes.xaxis, {float(x) for line in values.values() for x in line[0]})
        if log_y:
            axes.set_yscale("log")
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        if len(series) > 1:
            axes.legend(loc="best")
        if title:
            axes.set_title(title)
    head = title or (f"{ylabel} over {xlabel}" if xlabel and ylabel else "Lines")
    return Picture(figure, "\n".join([head, *told]), f"{head}. " + "; ".join(told), values, axes)
