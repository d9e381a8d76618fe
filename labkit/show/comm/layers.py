"""Measured operations under the two measured ceilings of their device. The catalog's peaks are not in it: see ``show.profiles``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from labkit.comm.placing import Placed, Roofs
from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.charts import number
from labkit.show.picture import Picture, new_figure, table

_UNITS = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))
_APART = 0.055  # of the height: labels closer than this are moved


def layers_roof(points: Sequence[Placed], roofs: Roofs, *, title: str = "", path: bool = False) -> Picture:
    """Rate over arithmetic intensity, both logarithmic; each point with its 95 % interval and its mark.

    The dashed line is the slope of the cache, where ``roofs`` knows one. ``path`` joins the points in their order. Points
    without arithmetic (0 FLOP) have no place here and are only named. ``values``: array [n, 2] of (FLOP per byte, FLOP/s)
    of the drawn ones. Raises LabkitError where nothing can be drawn.
    """
    drawn = [p for p in points if p.flops > 0]
    if not drawn:
        raise LabkitError("No operation here does any arithmetic.", "A roofline shows FLOP/s; look at B/s instead.")
    highest = max([roofs.flops_per_s, *(p.flops_per_s for p in drawn)])
    scale, unit = next((u for u in _UNITS if highest >= u[0]), _UNITS[-1])
    values = np.array([[p.intensity, p.flops_per_s] for p in drawn])
    with style.look():
        figure = new_figure(7.2, 4.6)
        axes = figure.add_subplot()
        low = min(values[:, 0].min() / 2.5, roofs.ridge / 12)
        high = max(values[:, 0].max() * 4, roofs.ridge * 12)
        bottom = min(min(p.flops / p.high_s for p in drawn) / 2.5, roofs.bytes_per_s * low) / scale
        axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(bottom, highest * 3.2 / scale))
        across = np.geomspace(low, high, 300)
        axes.plot(
            across,
            np.minimum(roofs.flops_per_s, across * roofs.bytes_per_s) / scale,
            color=style.INK,
            linewidth=1.6,
            label=f"measured: {number(roofs.bytes_per_s / 1e9)} GB/s, {number(roofs.flops_per_s / scale)} {unit}",
        )
        if roofs.cache_bytes_per_s:
            axes.plot(
                across,
                np.minimum(roofs.flops_per_s, across * roofs.cache_bytes_per_s) / scale,
                color=style.INK,
                linewidth=1.2,
                linestyle=style.DASHES[1],
                label=f"from a cache: {number(roofs.cache_bytes_per_s / 1e9)} GB/s",
            )
        if path:
            axes.plot(values[:, 0], values[:, 1] / scale, color=style.FAINT, linewidth=2.2, zorder=1.5)
        for k, kind in enumerate(dict.fromkeys(p.kind for p in drawn)):
            mine = [p for p in drawn if p.kind == kind]
            y = np.array([p.flops_per_s for p in mine]) / scale
            reach = np.array([[p.flops / p.high_s, p.flops / p.low_s] for p in mine]).T / scale
            axes.errorbar(
                [p.intensity for p in mine],
                y,
                yerr=np.clip([y - reach[0], reach[1] - y], 0, None),
                fmt=style.MARKERS[k % len(style.MARKERS)],
                color=style.PALETTE[k % len(style.PALETTE)],
                markersize=6,
                capsize=3,
                linestyle="none",
                label=kind,
                zorder=3,
            )
        _names(axes, drawn, scale)
        axes.axvline(roofs.ridge, color=style.FAINT, linewidth=1.2, zorder=1)
        axes.set_xlabel(f"arithmetic intensity in FLOP per byte (the roof's ridge lies at {number(roofs.ridge)})")
        axes.set_ylabel(unit)
        figure.legend(loc="outside lower center", ncols=3, fontsize=8.5)
        if title:
            axes.set_title(title)
    rows: list[tuple[str, ...]] = [("", "FLOP/byte", unit, "GB/s", "time over the roof's")]
    rows += [
        (
            p.name,
            number(p.intensity),
            number(p.flops_per_s / scale),
            number(p.bytes_per_s / 1e9),
            number(p.median_s / roofs.least_s(p.flops, p.moved_bytes)),
        )
        for p in points
    ]
    head = title or "Roofline"
    ceilings = (
        f"ceilings: {number(roofs.bytes_per_s / 1e9)} GB/s and {number(roofs.flops_per_s / scale)} {unit}, "
        f"ridge at {number(roofs.ridge)} FLOP per byte"
    )
    told = "; ".join(f"{p.name} {number(p.flops_per_s / scale)} {unit} at {number(p.intensity)}" for p in drawn)
    return Picture(figure, f"{head} ({ceilings})\n{table(rows)}", f"{head}: {ceilings}; {told}", values, axes)


def _names(axes: Any, drawn: Sequence[Placed], scale: float) -> None:
    """Each point's name to its right, moved up or down until names of neighbouring points do not lie on one another."""
    to_axes = axes.transData + axes.transAxes.inverted()
    at = np.array([to_axes.transform((p.intensity, p.flops_per_s / scale)) for p in drawn])
    width = [0.02 + 0.0125 * len(p.mark or p.name) for p in drawn]
    order = sorted(range(len(drawn)), key=lambda i: at[i, 1])
    height = at[:, 1].copy()
    for _ in range(60):
        for i, j in ((a, b) for k, a in enumerate(order) for b in order[k + 1 :]):
            overlap = at[i, 0] < at[j, 0] + width[j] and at[j, 0] < at[i, 0] + width[i]
            if overlap and height[j] - height[i] < _APART:
                middle = (height[i] + height[j]) / 2
                height[i], height[j] = middle - _APART / 2 - 1e-4, middle + _APART / 2 + 1e-4
        if all(b >= a for a, b in pairwise(height[k] for k in order)):
            break
        order.sort(key=lambda i: height[i])
    for i, p in enumerate(drawn):
        if not (p.mark or p.name).strip():
            continue
        right = at[i, 0] + width[i] < 0.99
        axes.annotate(
            p.mark or p.name,
            at[i],
            xycoords="axes fraction",
            xytext=(at[i, 0] + (0.022 if right else -0.022), min(max(height[i], 0.02), 0.97)),
            textcoords="axes fraction",
            ha="left" if right else "right",
            va="center",
            fontsize=8.5,
            bbox={
                "facecolor": style.BACKGROUND,
                "edgecolor": "none",
                "pad": 0.6,
                "alpha": 0.8,
            },  # readable on a roof's line
            arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 5},
            zorder=4,
        )
