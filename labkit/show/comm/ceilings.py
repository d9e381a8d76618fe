"""The roofline of measured ceilings: memory by the triad, products by dtype, each with its interval, and what runs under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.comm.gemm import compute_roofs
from labkit.comm.results import Point, Results
from labkit.comm.streams import memory_roof
from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.charts import number
from labkit.show.picture import Picture, new_figure, table
from labkit.show.profiles import look
from labkit.show.profiles.roofline import place_numbers
from labkit.timing.words import duration

MEASURED = "Ceilings measured here: what a large product and a triad reach, not the maker's peaks. Something better written may pass them."


@dataclass(frozen=True)
class Dot:
    """One piece of work: FLOP and bytes of a call (bytes that must move), its measured seconds (None: only predicted), and the
    dtype whose roof it is under."""

    name: str
    flop: float
    bytes: float
    seconds: float | None = None
    dtype: str = "float32"

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return self.flop / self.bytes


@dataclass(frozen=True)
class Ceilings:
    """The measured roofs: B/s and, by dtype, FLOP/s, each with its interval (low, high)."""

    memory: float
    memory_interval: tuple[float, float]
    compute: dict[str, float]
    compute_intervals: dict[str, tuple[float, float]]

    def seconds(self, dot: Dot) -> float:
        """The least seconds that the roofs allow: the longer one of moving its bytes and of computing its FLOP."""
        if dot.dtype not in self.compute:
            raise LabkitError(
                f"No product in {dot.dtype} was measured.", f"Measured were: {', '.join(self.compute) or 'none'}."
            )
        return max(dot.bytes / self.memory, dot.flop / self.compute[dot.dtype])

    def ridge(self, dtype: str) -> float:
        """FLOP per byte from which on products, not memory, are the ceiling."""
        return self.compute[dtype] / self.memory


def ceilings_of(results: Results) -> Ceilings:
    """The roofs that ``results`` hold. Raises LabkitError where no triad or no product was measured."""
    memory = memory_roof(results.series)
    found: dict[str, Point] = compute_roofs(results.series)
    if not found:
        raise LabkitError("No product was measured, so there is no compute roof.", "Measure: labkit bench gemm.")
    return Ceilings(
        memory.rate,
        memory.rate_interval,
        {name: p.rate for name, p in found.items()},
        {name: p.rate_interval for name, p in found.items()},
    )


def measured_roofline(found: Results | Ceilings, dots: Sequence[Dot] = (), *, title: str = "") -> Picture:
    """Rate over arithmetic intensity, both logarithmic, under the measured ceilings; each with the band of its interval.

    dots: work to place; a measured one is a filled circle, one that is only predicted an open one on its roof. Numbers
    beside them are explained below. ``values``: the ``Ceilings``. Raises LabkitError for a dot without FLOP or bytes, or whose dtype was
    not measured.
    """
    roofs = found if isinstance(found, Ceilings) else ceilings_of(found)
    for dot in dots:
        if not (dot.flop > 0 and dot.bytes > 0) or (dot.seconds is not None and dot.seconds <= 0):
            raise LabkitError(f"'{dot.name}' has no FLOP, no bytes or no time.", "All three are above 0.")
    rows = [_row(dot, roofs) for dot in dots]
    unit, name = (1e12, "TFLOP/s") if max(roofs.compute.values()) >= 2e12 else (1e9, "GFLOP/s")
    head = title or "Roofline of the ceilings measured here"
    with style.look():
        figure, axes = _draw(roofs, rows, head, unit, name)
    text = "\n".join(
        [head, _ceiling_table(roofs, unit, name), *([_dot_table(rows, unit, name)] if rows else []), MEASURED]
    )
    alt = f"{head}. Memory {number(roofs.memory / 1e9)} GB/s; " + "; ".join(
        f"{d} {number(v / unit)} {name}" for d, v in roofs.compute.items()
    )
    return Picture(figure, text, alt, roofs, axes)


def _row(dot: Dot, roofs: Ceilings) -> dict[str, Any]:
    least = roofs.seconds(dot)
    taken = least if dot.seconds is None else dot.seconds
    return {
        "name": dot.name,
        "intensity": dot.intensity,
        "tflops": dot.flop / taken / 1e12,
        "share": None if dot.seconds is None else least / dot.seconds,
        "seconds": dot.seconds,
        "least": least,
        "bound": "memory" if dot.bytes / roofs.memory >= dot.flop / roofs.compute[dot.dtype] else "products",
    }


def _ceiling_table(roofs: Ceilings, unit: float, name: str) -> str:
    low, high = (v / 1e9 for v in roofs.memory_interval)
    rows: list[tuple[str, ...]] = [("ceiling", "rate", "95 % interval", "ridge")]
    rows.append(("memory (triad)", f"{number(roofs.memory / 1e9)} GB/s", f"{number(low)} to {number(high)}", ""))
    for dtype, rate in roofs.compute.items():
        low, high = (v / unit for v in roofs.compute_intervals[dtype])
        ridge = f"{number(roofs.ridge(dtype))} FLOP/byte"
        rows.append((f"{dtype} product", f"{number(rate / unit)} {name}", f"{number(low)} to {number(high)}", ridge))
    return table(rows)


def _dot_table(rows: Sequence[dict[str, Any]], unit: float, name: str) -> str:
    lines: list[tuple[str, ...]] = [("", "work", "FLOP/byte", name, "least time", "measured", "of the roof", "ceiling")]
    for k, r in enumerate(rows, 1):
        lines.append(
            (
                str(k),
                r["name"],
                number(r["intensity"]),
                number(r["tflops"] * 1e12 / unit),
                duration(r["least"]),
                "-" if r["seconds"] is None else duration(r["seconds"]),
                "-" if r["share"] is None else f"{r['share']:.0%}",
                r["bound"],
            )
        )
    return table(lines, left=2)


def _draw(roofs: Ceilings, rows: list[dict[str, Any]], title: str, unit: float, name: str) -> tuple[Any, Any]:
    figure = new_figure(7.2, 4.5 + 0.17 * len(rows))
    axes = figure.add_subplot()
    ridges = [roofs.ridge(dtype) for dtype in roofs.compute]
    at = [r["intensity"] for r in rows]
    low, high = min([*ridges, *at]) / 8, max([*ridges, *at]) * 8
    top = max(roofs.compute.values()) / unit
    floor = min([*(r["tflops"] * 1e12 / unit / 3 for r in rows), low * roofs.memory / unit])
    room = (top / floor) ** (
        0.07 * (len(roofs.compute) + 2)
    )  # above the roof nothing can be: there the legend has its place
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(floor, top * 1.3 * room))
    across = np.geomspace(low, high, 200)
    ordered = sorted(roofs.compute.items(), key=lambda item: -item[1])
    for k, (dtype, peak) in enumerate(ordered):
        colour = style.PALETTE[k % len(style.PALETTE)]
        ends = [
            np.minimum(peak_end, across * memory_end) / unit
            for peak_end, memory_end in zip(roofs.compute_intervals[dtype], roofs.memory_interval, strict=True)
        ]
        axes.fill_between(across, ends[0], ends[1], color=colour, alpha=0.2, linewidth=0)
        axes.plot(
            across,
            np.minimum(peak, across * roofs.memory) / unit,
            color=colour,
            linestyle=style.DASHES[k % len(style.DASHES)],
            linewidth=1.7,
            label=f"{dtype} products: {number(peak / unit)} {name}",
        )
    memory_low, memory_high = (number(v / 1e9) for v in roofs.memory_interval)
    axes.plot([], [], " ", label=f"slope: triad, {number(roofs.memory / 1e9)} GB/s ({memory_low} to {memory_high})")
    for r in rows:
        axes.scatter(
            r["intensity"],
            r["tflops"] * 1e12 / unit,
            s=52,
            facecolor=style.BACKGROUND if r["seconds"] is None else style.BLACK,
            edgecolor=style.INK,
            linewidth=1.2,
            zorder=3,
        )
    if rows:
        scaled = [{**r, "tflops": r["tflops"] * 1e12 / unit} for r in rows]
        place_numbers(axes, scaled, axes.get_xlim(), axes.get_ylim(), 4.6 / 7)
    axes.set_xlabel("arithmetic intensity in FLOP per byte")
    axes.set_ylabel(name)
    axes.set_title(title)
    axes.legend(
        loc="upper left", fontsize=8.5, framealpha=0.9, frameon=True, edgecolor="none", facecolor=style.BACKGROUND
    )
    ruler = look.Ruler(9)
    lines = [ruler.fit(f"{k}  {r['name']}: {_told(r, unit, name)}", 6.9) for k, r in enumerate(rows, 1)]
    lines += ["Open circles are predicted, filled ones measured."] if any(r["seconds"] is None for r in rows) else []
    figure.supxlabel(
        "\n".join([*lines, "Measured ceilings with their 95 % intervals as bands."]),
        fontsize=9,
        x=0.01,
        ha="left",
        linespacing=1.25,
    )
    return figure, axes


def _told(r: dict[str, Any], unit: float, name: str) -> str:
    if r["seconds"] is None:
        return f"at least {duration(r['least'])} (its ceiling: {r['bound']})"
    return f"{number(r['tflops'] * 1e12 / unit)} {name}, {r['share']:.0%} of its roof ({r['bound']})"
