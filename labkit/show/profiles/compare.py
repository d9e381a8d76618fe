"""Before and after: time per step, idle share, and the kernels that changed most."""

from __future__ import annotations

from typing import Any

from labkit.profile import questions as ask
from labkit.profile.table import Profile
from labkit.show import style
from labkit.show.picture import Picture, new_figure, table
from labkit.show.profiles import look

BEFORE, AFTER = style.ROSE, style.BLUE
NAMES = 2.75


def compare(before: Profile, after: Profile, *, most: int = 8) -> Picture:
    """Two profiles of the same program: time per step and idle share, where both have them, and below the ``most`` kernels
    whose time changed most. Every pair: before above (hatched), after below.

    ``values`` is the ``Comparison`` of ``questions.compare``.
    """
    found = ask.compare(before, after)
    label = " (one of them SIMULATED)" if before.simulated != after.simulated else ""
    title = look.labelled(after, "Before and after") if not label else f"Before and after{label}"
    few = found.kernels.head(most).to_dicts()
    small: list[tuple[str, float, float, Any]] = []
    if found.before.step_ns and found.after.step_ns:
        small.append(("time per step", found.before.step_ns, found.after.step_ns, look.ns))
    if found.before.idle_share is not None and found.after.idle_share is not None:
        small.append(("GPU idle", found.before.idle_share, found.after.idle_share, "{:.1%}".format))
    if not few and not small:
        return look.nothing(after, "Before and after", "Neither profile has kernels or steps that could be compared.")
    with style.look():
        figure = new_figure(7.2, 0.75 + (1.15 if small else 0) + (0.7 + 0.42 * len(few) if few else 0))
        rows = (
            figure.subfigures(2, 1, height_ratios=[1.25, 0.75 + 0.42 * len(few)]) if small and few else [figure, figure]
        )
        if small:
            for k, part in enumerate(rows[0].subplots(1, len(small), squeeze=False)[0]):
                name, one, other, words = small[k]
                _pairs(part, [""], [(one, other)], [(words(one), words(other))], 3.1 if len(small) > 1 else 6.8)
                part.set_title(name, fontsize=10.5)
                part.set_xticks([])
                part.spines["bottom"].set_visible(False)
        axes = None
        if few:
            axes = rows[1].subplots()
            unit, word = look.scale(max(max(r["before_ns"] or 0, r["after_ns"] or 0) for r in few))
            ruler = look.Ruler(9.5)
            names = [ruler.fit(r["short"], NAMES, middle=True) for r in few]
            pairs = [((r["before_ns"] or 0) / unit, (r["after_ns"] or 0) / unit) for r in few]
            words_ = [
                (
                    "not there" if r["before_ns"] is None else look.ns(r["before_ns"]),
                    "gone" if r["after_ns"] is None else look.ns(r["after_ns"]),
                )
                for r in few
            ]
            _pairs(axes, names, pairs, words_, 7.2 - max(map(ruler.width, names)) - 0.35)
            axes.set_xlabel(f"{word} per step" if found.per_step else f"{word} in the whole profile")
            axes.set_title("kernels that changed most", fontsize=10.5)
        from matplotlib.patches import Patch

        handles = [
            Patch(facecolor=BEFORE, hatch="//", edgecolor=style.BACKGROUND, label="before"),
            Patch(facecolor=AFTER, edgecolor=style.BACKGROUND, label="after"),
        ]
        figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
        figure.legend(handles=handles, loc="upper right", ncols=2)
    lines: list[tuple[str, ...]] = [("", "before", "after", "ratio")]
    lines += [(n, str(w(a)), str(w(b)), f"{b / a:.2f}" if a else "-") for n, a, b, w in small]
    lines += [
        (
            r["short"],
            look.ns(r["before_ns"]),
            look.ns(r["after_ns"]),
            "-" if r["ratio"] is None else f"{r['ratio']:.2f}",
        )
        for r in few
    ]
    more = f"\n… and {found.kernels.height - len(few)} more kernels" if found.kernels.height > len(few) else ""
    told = "; ".join(f"{n} {w(a)} before, {w(b)} after" for n, a, b, w in small)
    return Picture(figure, f"{title}\n{table(lines)}{more}", f"{title}. {told}", found, axes)


def _pairs(
    axes: Any, names: list[str], pairs: list[tuple[float, float]], words: list[tuple[str, str]], room: float
) -> None:
    """Two bars for each name, with their numbers behind them. room: the axes' width in inches."""
    ruler = look.Ruler(9)
    for k, pair in enumerate(pairs):
        for side, (value, colour, hatch) in enumerate(zip(pair, (BEFORE, AFTER), ("//", ""), strict=True)):
            y = k + (0.19 if side else -0.19)
            axes.barh(y, value, height=0.36, color=colour, hatch=hatch, edgecolor=style.BACKGROUND, linewidth=0)
            axes.annotate(
                words[k][side], (value, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
            )
    longest = max(max(pair) for pair in pairs) or 1.0
    behind = max(ruler.width(w) for pair in words for w in pair) + 0.15
    axes.set_xlim(0, longest * room / max(room - behind, 0.6))
    axes.set_yticks(range(len(names)), names, fontsize=9.5)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.locator_params(axis="x", nbins=6)
