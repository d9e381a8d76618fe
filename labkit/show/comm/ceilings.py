"""The roofline of measured ceilings: memory by the triad, products by dtype, each with its interval, and what runs under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labkit.comm.gemm import compute_roofs
from labkit.comm.placing import Placed, Roofs
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


def roofs_of(results: Results, dtype: str = "float32") -> Roofs:
    """The two measured ceilings for one dtype: its fastest product, and the triad of the largest working set.

    Raises LabkitError where one of them was not measured.
    """
    products = compute_roofs(results.series)
    if dtype not in products:
        told = f"Measured were: {', '.join(products)}." if products else "Measure: python3 -m labkit bench gemm."
        raise LabkitError(f"No product in {dtype} was measured.", told)
    return Roofs(products[dtype].rate, memory_roof(results.series).rate)


def measured_roofline(
    results: Results, work: Sequence[Placed] = (), *, dtype: str = "float32", title: str = ""
) -> Picture:
    """Rate over arithmetic intensity, both logarithmic, under every ceiling that ``results`` hold, each with the band of
    its 95 % interval.

    work: operations in ``dtype`` with their measured seconds, numbered and explained below. ``values``: {dtype: ``Roofs``}.
    Raises LabkitError where no triad or no product was measured, or ``dtype`` was not, and for work without FLOP or bytes.
    """
    for placed in work:
        if not (placed.flops > 0 and placed.moved_bytes > 0 and placed.median_s > 0):
            raise LabkitError(f"'{placed.name}' has no FLOP, no bytes or no time.", "All three are above 0 here.")
    memory, products = memory_roof(results.series), compute_roofs(results.series)
    mine = roofs_of(results, dtype if work or not products else next(iter(products)))
    rows = [_row(placed, mine) for placed in work]
    unit, name = (1e12, "TFLOP/s") if max(p.rate for p in products.values()) >= 2e12 else (1e9, "GFLOP/s")
    head = title or "Roofline of the ceilings measured here"
    with style.look():
        figure, axes = _draw(memory, products, rows, head, unit, name)
    tables = [_ceiling_table(memory, products, unit, name)]
    if rows:
        tables.append(f"under the roof of {dtype}:\n{_work_table(rows, unit, name)}")
    alt = f"{head}. Memory {number(memory.rate / 1e9)} GB/s; " + "; ".join(
        f"{d} {number(p.rate / unit)} {name}" for d, p in products.items()
    )
    values = {d: roofs_of(results, d) for d in products}
    return Picture(figure, "\n".join([head, *tables, MEASURED]), alt, values, axes)


def _row(placed: Placed, roofs: Roofs) -> dict[str, Any]:
    least = roofs.least_s(placed.flops, placed.moved_bytes)
    return {
        "name": placed.name,
        "intensity": placed.intensity,
        "rate": placed.flops_per_s,
        "share": least / placed.median_s,
        "seconds": placed.median_s,
        "least": least,
        "ceiling": "memory" if placed.intensity < roofs.ridge else "products",
    }


def _ceiling_table(memory: Point, products: dict[str, Point], unit: float, name: str) -> str:
    low, high = (v / 1e9 for v in memory.rate_interval)
    rows: list[tuple[str, ...]] = [("ceiling", "rate", "95 % interval", "ridge")]
    rows.append(("memory (triad)", f"{number(memory.rate / 1e9)} GB/s", f"{number(low)} to {number(high)}", ""))
    for dtype, point in products.items():
        low, high = (v / unit for v in point.rate_interval)
        ridge = f"{number(point.rate / memory.rate)} FLOP/byte"
        rows.append(
            (f"{dtype} product", f"{number(point.rate / unit)} {name}", f"{number(low)} to {number(high)}", ridge)
        )
    return table(rows)


def _work_table(rows: Sequence[dict[str, Any]], unit: float, name: str) -> str:
    lines: list[tuple[str, ...]] = [("", "work", "FLOP/byte", name, "measured", "least time", "of the roof", "ceiling")]
    for k, r in enumerate(rows, 1):
        numbers = (number(r["intensity"]), number(r["rate"] / unit), duration(r["seconds"]), duration(r["least"]))
        lines.append((str(k), r["name"], *numbers, f"{r['share']:.0%}", r["ceiling"]))
    return table(lines, left=2)


def _draw(
    memory: Point, products: dict[str, Point], rows: list[dict[str, Any]], title: str, unit: float, name: str
) -> tuple[Any, Any]:
    figure = new_figure(7.2, 4.5 + 0.17 * len(rows))
    axes = figure.add_subplot()
    ridges = [p.rate / memory.rate for p in products.values()]
    at = [r["intensity"] for r in rows]
    low, high = min([*ridges, *at]) / 8, max([*ridges, *at]) * 8
    top = max(p.rate for p in products.values()) / unit
    floor = min([*(r["rate"] / unit / 3 for r in rows), low * memory.rate / unit])
    room = (top / floor) ** (
        0.07 * (len(products) + 2)
    )  # above the roof nothing can be: there the legend has its place
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(floor, top * 1.3 * room))
    across = np.geomspace(low, high, 200)
    ordered = sorted(products.items(), key=lambda item: -item[1].rate)
    for k, (dtype, peak) in enumerate(ordered):
        colour = style.PALETTE[k % len(style.PALETTE)]
        ends = [
            np.minimum(peak_end, across * memory_end) / unit
            for peak_end, memory_end in zip(peak.rate_interval, memory.rate_interval, strict=True)
        ]
        axes.fill_between(across, ends[0], ends[1], color=colour, alpha=0.2, linewidth=0)
        axes.plot(
            across,
            np.minimum(peak.rate, across * memory.rate) / unit,
            color=colour,
            linestyle=style.DASHES[k % len(style.DASHES)],
            linewidth=1.7,
            label=f"{dtype} products: {number(peak.rate / unit)} {name}",
        )
    memory_low, memory_high = (number(v / 1e9) for v in memory.rate_interval)
    axes.plot([], [], " ", label=f"slope: triad, {number(memory.rate / 1e9)} GB/s ({memory_low} to {memory_high})")
    for r in rows:
        axes.scatter(
            r["intensity"],
            r["rate"] / unit,
            s=52,
            facecolor=style.BLACK,
            edgecolor=style.INK,
            linewidth=1.2,
            zorder=3,
        )
    if rows:
        place_numbers(axes, [(r["intensity"], r["rate"] / unit) for r in rows])
    axes.set_xlabel("arithmetic intensity in FLOP per byte")
    axes.set_ylabel(name)
    axes.set_title(title)
    axes.legend(
        loc="upper left", fontsize=8.5, framealpha=0.9, frameon=True, edgecolor="none", facecolor=style.BACKGROUND
    )
    ruler = look.Ruler(9)
    lines = [
        ruler.fit(
            f"{k}  {r['name']}: {number(r['rate'] / unit)} {name}, {r['share']:.0%} of its roof ({r['ceiling']})", 6.9
        )
        for k, r in enumerate(rows, 1)
    ]
    figure.supxlabel(
        "\n".join([*lines, "Measured ceilings with their 95 % intervals as bands."]),
        fontsize=9,
        x=0.01,
        ha="left",
        linespacing=1.25,
    )
    return figure, axes
