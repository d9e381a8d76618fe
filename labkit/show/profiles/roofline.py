"""How far from the roof: each kernel's rate against what the GPU's compute and memory allow. A peak is a ceiling, no grade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from labkit.profile import questions as ask
from labkit.profile.questions.roof import Roofline
from labkit.profile.table import Profile
from labkit.show import style
from labkit.show.charts import number
from labkit.show.picture import Picture, new_figure, table
from labkit.show.profiles import look

TOP = 8  # kernels with a number of their own
GRADE = "Theoretical peaks are ceilings, not grades: no kernel reaches them."
_NAMES = {"fp32": "FP32", "fp32-matrix": "FP32 matrix", "fp16": "FP16 matrix", "bf16": "BF16 matrix"}


def roofline(profile: Profile, gpu: str | None = None) -> Picture:
    """Rate over arithmetic intensity, both logarithmic, under the catalog's peaks and AMD's 'max achievable' where it has one.

    Dots grow with the kernel's time; the largest have numbers that the list below explains. Where the profile does not tell
    how many bytes moved, the rates stand as bars beside the peak instead. gpu: the product, where the profile does not name
    it. ``values``: the rows that are drawn, as dicts of ``questions.roofline``'s columns.
    """
    found = ask.roofline(profile, gpu)
    known = found.points.filter((pl.col("flops") > 0) & (pl.col("tflops") > 0))
    name = found.gpu.product if found.gpu else None
    title = look.labelled(profile, "Roofline" + (f" of {name}" if name else ""))
    if known.height == 0:
        none = "The kernels' floating-point operations are unknown, or none were counted."
        why = f"{none} {found.note}" if found.points.height else found.note
        return look.nothing(
            profile,
            "Roofline",
            f"Not drawn. {why}\nrocprof-compute's counters or torch.profiler with shapes tell the operations.",
        )
    placed = known.filter(pl.col("intensity") > 0)
    draw = _roof if placed.height else _bars
    rows = (placed if placed.height else known).sort(["device_ns", "name"], descending=[True, False]).to_dicts()
    with style.look():
        figure, axes = draw(found, rows, title)
    lines: list[tuple[str, ...]] = [("", "kernel", "TFLOP/s", "FLOP/byte", "of the roof", "time")]
    lines += [
        (
            str(k),
            r["short"],
            number(r["tflops"]),
            "-" if r["intensity"] is None else number(r["intensity"]),
            "-" if r["share"] is None else f"{r['share']:.1%}",
            look.ns(r["device_ns"]),
        )
        for k, r in enumerate(rows[:TOP], 1)
    ]
    more = f"\n… and {len(rows) - TOP} more" if len(rows) > TOP else ""
    peaks = ", ".join(f"{_NAMES.get(k, k)} {number(v)}" for k, v in found.compute_tflops.items())
    reach = ", ".join(f"{_NAMES.get(k, k)} {number(v)}" for k, v in found.achievable_tflops.items())
    notes = [
        f"peaks in TFLOP/s: {peaks}" if peaks else "",
        f"max achievable by AMD's own measurement: {reach}" if reach else "",
        found.note,
        GRADE,
    ]
    text = f"{title}\n{table(lines, left=2)}{more}\n" + "\n".join(note for note in notes if note)
    told = "; ".join(f"{r['short']} {number(r['tflops'])} TFLOP/s" for r in rows[:5])
    return Picture(figure, text, f"{title}. {told}. {found.note}".strip(), rows, axes)


def _roofs(found: Roofline, rows: list[dict[str, Any]]) -> list[tuple[str, float, Any]]:
    """(label, TFLOP/s, dash) of the ceilings that the drawn kernels' precisions ask for; of equal ones one."""
    wanted = [p for p in found.compute_tflops if any(r["precision"] == p for r in rows)] or list(found.compute_tflops)
    tops: dict[float, list[str]] = {}
    for precision in wanted:
        tops.setdefault(found.compute_tflops[precision], []).append(_NAMES.get(precision, precision))
    lines: list[tuple[str, float, Any]] = [
        (f"{', '.join(names)}: {number(top)} TFLOP/s, theoretical", top, "-") for top, names in tops.items()
    ]
    for precision in wanted:
        if precision in found.achievable_tflops:
            top = found.achievable_tflops[precision]
            lines.append((f"{_NAMES[precision]}: {number(top)} TFLOP/s, max achievable", top, (0, (4, 2))))
    return sorted(lines, key=lambda line: -line[1])


def _roof(found: Roofline, rows: list[dict[str, Any]], title: str) -> tuple[Any, Any]:
    few = rows[:TOP]
    figure = new_figure(7.2, 4.3 + 0.17 * len(few))
    axes = figure.add_subplot()
    x = np.array([r["intensity"] for r in rows])
    y = np.array([r["tflops"] for r in rows])
    ceilings = _roofs(found, rows)
    top = max([y.max(), *(line[1] for line in ceilings)])
    low, high = x.min() / 4, x.max() * 4
    if found.bandwidth_gbs and ceilings:
        ridge = ceilings[0][1] * 1e3 / found.bandwidth_gbs
        low, high = min(low, ridge / 30), max(high, ridge * 10)
    floor = min(y.min() / 3, top / 1e3)
    # above the roof nothing can be: there the legend has its room
    ceiling = top * 1.5 * (top / floor) ** ((0.06 + 0.055 * (len(ceilings) + 1)) / (0.94 - 0.055 * (len(ceilings) + 1)))
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(floor, ceiling))
    across = np.geomspace(low, high, 200)
    for label, peak, dash in ceilings:
        roof = (
            np.minimum(peak, across * found.bandwidth_gbs / 1e3) if found.bandwidth_gbs else np.full_like(across, peak)
        )
        axes.plot(across, roof, color=style.INK, linestyle=dash, linewidth=1.5, label=label)
    if found.bandwidth_gbs:
        axes.plot([], [], " ", label=f"slope: memory, {number(found.bandwidth_gbs)} GB/s, theoretical")
    longest = max(r["device_ns"] for r in rows)
    for r in rows:
        axes.scatter(
            r["intensity"],
            r["tflops"],
            s=24 + 260 * r["device_ns"] / longest,
            color=look.COLOURS[r["category"]],
            edgecolor=style.INK,
            linewidth=0.7,
            alpha=0.85,
            zorder=3,
        )
    place_numbers(axes, [(r["intensity"], r["tflops"]) for r in few])
    axes.set_xlabel("arithmetic intensity in FLOP per byte")
    axes.set_ylabel("TFLOP/s")
    _below(figure, axes, title, few, len(rows) - len(few))
    if ceilings:
        axes.legend(
            loc="upper left", fontsize=8.5, framealpha=0.9, frameon=True, edgecolor="none", facecolor=style.BACKGROUND
        )
    return figure, axes


def place_numbers(axes: Any, few: Sequence[tuple[float, float]], shape: float = 4.6 / 7) -> None:
    """Numbers beside the dots, pushed apart until none touches another. ``axes``: logarithmic, with their limits set;
    ``shape``: their height over their width."""
    xs, ys = axes.get_xlim(), axes.get_ylim()
    at = np.array(
        [(np.log(x / xs[0]) / np.log(xs[1] / xs[0]), np.log(y / ys[0]) / np.log(ys[1] / ys[0]) * shape) for x, y in few]
    )
    home = at + np.array([0.028, 0.022])
    place = home.copy()
    for _ in range(200):
        moved = False
        for i in range(len(few)):
            for j in range(i):
                apart = place[i] - place[j]
                near = np.hypot(*apart)
                if near < 0.038:
                    push = apart / near if near > 1e-9 else np.array([np.cos(2.4 * i), np.sin(2.4 * i)])
                    place[i] += push * (0.039 - near) / 2
                    place[j] -= push * (0.039 - near) / 2
                    moved = True
        place = np.clip(place, (0.02, 0.03), (0.98, shape - 0.03))
        if not moved:
            break
    for k, ((x, y), (x0, y0)) in enumerate(zip(place, at, strict=True), 1):
        axes.annotate(
            str(k),
            (x0, y0 / shape),
            xycoords="axes fraction",
            xytext=(x, y / shape),
            textcoords="axes fraction",
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            arrowprops={"arrowstyle": "-", "color": "#777777", "linewidth": 0.7, "shrinkA": 5, "shrinkB": 0},
            bbox={"facecolor": style.BACKGROUND, "edgecolor": "none", "pad": 0.6, "alpha": 0.75},
            zorder=4,
        )


def _bars(found: Roofline, rows: list[dict[str, Any]], title: str) -> tuple[Any, Any]:
    """Rates beside their peaks, where the bytes are unknown."""
    from matplotlib.ticker import LogLocator

    few = rows[:TOP]
    figure = new_figure(7.2, 2.15 + 0.36 * len(few))
    axes = figure.add_subplot()
    ruler = look.Ruler(9.5)
    for k, r in enumerate(few):
        axes.barh(
            k,
            r["tflops"],
            height=0.62,
            color=look.COLOURS[r["category"]],
            hatch=look.HATCHES.get(r["category"], ""),
            edgecolor=style.BACKGROUND,
            linewidth=0,
        )
        top = found.compute_tflops.get(r["precision"] or "")
        reach = found.achievable_tflops.get(r["precision"] or "")
        if top:
            axes.plot([top, top], [k - 0.4, k + 0.4], color=style.INK, linewidth=2.2, linestyle="-")
        if reach:
            axes.plot([reach, reach], [k - 0.4, k + 0.4], color=style.INK, linewidth=1.6, linestyle=(0, (2, 1)))
        axes.annotate(
            number(r["tflops"]) + (f"  {r['tflops'] / top:.1%} of peak" if top else ""),
            (1, k),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    lowest = min(r["tflops"] for r in few)
    tops = [found.compute_tflops.get(r["precision"] or "", 0.0) for r in few]
    highest = max(max(r["tflops"] for r in few), *tops)
    axes.set_xscale("log")
    axes.set_xlim(lowest / 3, highest * 1.6)
    wide = highest / lowest > 10
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(lambda value, position: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, position: "")
    axes.set_yticks(range(len(few)), [ruler.fit(r["short"], 2.5, middle=True) for r in few], fontsize=9.5)
    axes.set_ylim(len(few) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.set_xlabel("TFLOP/s (logarithmic)")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    marks = "Upright line: theoretical peak of the kernel's precision" + (
        "; dashed: max achievable" if found.achievable_tflops else ""
    )
    lines = [
        "No roofline: the bytes that the kernels moved are unknown.",
        f"{marks}. A ceiling, not a grade."
        if any(tops)
        else "No peak is known for this GPU or for these kernels' precision.",
        *([f"and {len(rows) - len(few)} more kernels"] if len(rows) > len(few) else []),
    ]
    figure.supxlabel("\n".join(lines), fontsize=9, x=0.01, ha="left")
    return figure, axes


def _below(figure: Any, axes: Any, title: str, few: list[dict[str, Any]], more: int) -> None:
    """The title, and what the numbers mean."""
    axes.set_title(title)
    ruler = look.Ruler(9)
    lines = [
        ruler.fit(
            f"{k}  {r['short']} ({r['category']}): {number(r['tflops'])} TFLOP/s"
            + (f", {r['share']:.0%} of its roof" if r["share"] is not None else ""),
            6.9,
        )
        for k, r in enumerate(few, 1)
    ]
    lines += [f"and {more} more, smaller dots" if more else "", GRADE]
    figure.supxlabel("\n".join(line for line in lines if line), fontsize=9, x=0.01, ha="left", linespacing=1.25)
