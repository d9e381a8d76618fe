"""Scaling with its spread: every round as a dot, the median with its interval, the ideal and the fitted law."""

from __future__ import annotations

import math
import statistics

from labkit.comm.scaling import Amdahl, Scaling
from labkit.show import style
from labkit.show.picture import Picture, new_figure, table

_WORDS = {"strong": "the same work in all", "weak": "the same work for each rank"}


def scaling_curve(scaling: Scaling, law: Amdahl | None = None, *, title: str = "") -> Picture:
    """Strong: speed-up over ranks, weak: efficiency over ranks; every round as a dot, medians with 95 % intervals.

    ``law`` (``labkit.comm.amdahl``) is drawn with its limit. ``values`` is {ranks: Efficiency}.
    """
    strong = scaling.kind == "strong"
    head = title or f"{scaling.kind.capitalize()} scaling: {_WORDS[scaling.kind]}"
    ranks = [one.ranks for one in scaling.points]
    with style.look():
        figure = new_figure(6.6, 3.9)
        axes = figure.add_subplot()
        axes.set_xscale("log", base=2)
        across = [ranks[0] * (ranks[-1] / ranks[0]) ** (k / 60) for k in range(61)]
        axes.plot(
            across,
            across if strong else [1.0] * len(across),
            color=style.BLACK,
            linestyle=(0, (4, 3)),
            linewidth=1.3,
            label="ideal",
        )
        for n in ranks:
            rounds = [a / b for a, b in zip(scaling.times[1], scaling.times[n], strict=True)]
            around = [n * 2 ** (0.05 * ((k % 5) - 2) / 2) for k in range(len(rounds))]
            axes.plot(around, rounds, ".", color=style.BROWN, alpha=0.55, markersize=4, linestyle="none")
        factor = [one.ranks if strong else 1 for one in scaling.points]
        middle = [one.efficiency * f for one, f in zip(scaling.points, factor, strict=True)]
        reach = [
            [(one.efficiency - one.low) * f for one, f in zip(scaling.points, factor, strict=True)],
            [(one.high - one.efficiency) * f for one, f in zip(scaling.points, factor, strict=True)],
        ]
        axes.errorbar(
            ranks, middle, yerr=reach, fmt="o", color=style.BLUE, capsize=4, capthick=1.5, label="median of the rounds"
        )
        if law is not None and strong:
            axes.plot(
                across,
                [law.speedup(n) for n in across],
                color=style.VERMILLION,
                linestyle=style.DASHES[2],
                label=f"Amdahl, serial share {law.serial:.0%}",
            )
        axes.set_xticks(ranks, [str(n) for n in ranks])
        axes.minorticks_off()
        axes.set_xlabel("ranks")
        axes.set_ylabel("times as fast as one rank" if strong else "efficiency")
        axes.set_ylim(bottom=0)
        axes.set_title(head)
        figure.legend(loc="outside lower center", ncols=3)
    return Picture(
        figure, text(scaling, law, head), _alt(scaling, head), {one.ranks: one for one in scaling.points}, axes
    )


def text(scaling: Scaling, law: Amdahl | None = None, head: str = "") -> str:
    """The table in words."""
    rows: list[tuple[str, ...]] = [("ranks", "median s", "speed-up", "efficiency", "95 % interval", "range", "rounds")]
    for one in scaling.points:
        rows.append(
            (
                str(one.ranks),
                f"{statistics.median(scaling.times[one.ranks]):.3g}",
                f"{one.speedup:.2f}" if scaling.kind == "strong" else "",
                f"{one.efficiency:.2f}",
                f"{one.low:.2f} to {one.high:.2f}",
                f"{one.smallest:.2f} to {one.largest:.2f}",
                str(one.repeats),
            )
        )
    lines = [head or f"{scaling.kind.capitalize()} scaling", table(rows)]
    if law is not None:
        limit = "no limit" if math.isinf(law.limit) else f"at most {law.limit:.1f} times as fast, however many ranks"
        lines.append(f"Amdahl: serial share {law.serial:.1%} ({law.low:.1%} to {law.high:.1%}); {limit}")
    return "\n".join(lines)


def _alt(scaling: Scaling, head: str) -> str:
    return f"{head}. " + "; ".join(f"{one.ranks} ranks: efficiency {one.told}" for one in scaling.points)
