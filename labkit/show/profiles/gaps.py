"""Why the GPU was idle: its gaps by their length and by what the host was doing."""

from __future__ import annotations

import numpy as np
import polars as pl

from labkit.profile import questions as ask
from labkit.profile.table import Profile
from labkit.profile.thresholds import LABELLED_NS
from labkit.show import style
from labkit.show.picture import Picture, new_figure, table
from labkit.show.profiles import look

_SHOWN = 4  # reasons with a colour of their own
_COLOURS = (style.VERMILLION, style.BLUE, style.BROWN, style.ROSE, "#8F8F5F", style.BLACK, "#B8B8B8")
_HATCHES = ("//", "", "xx", "..", "--", "\\\\", "")
OTHER, UNKNOWN = "something else", "no recorded call or marker"
SHORT = f"gaps up to {LABELLED_NS / 1e3:g} µs"  # between two kernels in a row: nobody's doing
_LEAST_NS = 100.0  # the axis begins here; what is shorter counts in the first column


def gaps(profile: Profile, *, bins: int = 40) -> Picture:
    """The idle time of the GPUs, by the length of the gaps (logarithmic axis) and by what the host was in.

    The dashed line is what a launch to an idle GPU takes in this profile, where calls are recorded: gaps near it are the
    price of launching, much longer ones are the host doing something else. ``values``: ``edges`` [bins + 1] in ns, ``idle_ns``
    (host -> array [bins]), ``counts`` [bins], ``overhead_ns`` (None where unknown).
    """
    found = ask.gaps(profile).filter(pl.col("length_ns") > 0)
    if found.height == 0:
        count = profile.dispatches.height
        words = {
            0: "This profile has no kernels with time stamps.",
            1: "A single kernel has no gap before or after it.",
        }
        return look.nothing(profile, "Idle gaps", words.get(count, "The GPU was never idle."))
    length = found["length_ns"].to_numpy()
    low, high = max(float(length.min()) / 1.05, _LEAST_NS), max(float(length.max()) * 1.3, 2 * _LEAST_NS)
    overhead = ask.launches(profile).overhead_ns
    if overhead:
        low, high = min(low, overhead / 1.3), max(high, overhead * 1.3)
    edges = np.geomspace(low, high, bins + 1)
    steps = r"(?i)^(?:train(?:ing)?[ _]?)?(?:step|iteration|iter|profilerstep)\s*[#:_ ]?\s*\d+$"
    short = (pl.col("length_ns") <= LABELLED_NS) & pl.col("host").is_null()
    name_ = pl.col("host").cast(pl.String).str.replace(steps, "the step's own code").fill_null(UNKNOWN)
    host = found.select(pl.when(short).then(pl.lit(SHORT)).otherwise(name_).alias("host"), "length_ns")
    ranked = host.group_by("host").agg(pl.col("length_ns").sum()).sort(["length_ns", "host"], descending=[True, False])
    named = [name for name in ranked["host"].to_list() if name not in (UNKNOWN, SHORT)][:_SHOWN]
    placed = np.maximum(length, low)
    idle: dict[str, np.ndarray] = {}
    texts = host["host"].to_numpy()
    for name in named:
        idle[name] = np.histogram(placed[texts == name], edges, weights=length[texts == name])[0]
    rest = ~np.isin(texts, [*named, UNKNOWN, SHORT])
    for name, mask in ((OTHER, rest), (UNKNOWN, texts == UNKNOWN), (SHORT, texts == SHORT)):
        if mask.any():
            idle[name] = np.histogram(placed[mask], edges, weights=length[mask])[0]
    counts = np.histogram(placed, edges)[0]
    total = int(length.sum())
    unit, word = look.scale(max(float(np.sum(list(idle.values()), axis=0).max()), 1.0))
    title = look.labelled(profile, f"Idle: {look.ns(total)} in {length.size:,} gap{'s' if length.size > 1 else ''}")
    ruler = look.Ruler(9.5)
    from matplotlib.ticker import LogLocator

    with style.look():
        figure = new_figure(7.2, 3.5 + 0.2 * (len(idle) > 2) + 0.2 * (len(idle) > 4))
        axes = figure.add_subplot()
        base = np.zeros(bins)
        for name, amounts in idle.items():
            k = named.index(name) if name in named else _SHOWN + (OTHER, UNKNOWN, SHORT).index(name)
            axes.bar(
                edges[:-1],
                amounts / unit,
                width=np.diff(edges),
                bottom=base / unit,
                align="edge",
                color=_COLOURS[k],
                edgecolor=style.BACKGROUND,
                linewidth=0.4,
                hatch=_HATCHES[k],
                label=f"{ruler.fit(name, 2.4, middle=True)} {amounts.sum() / total:.0%}",
            )
            base = base + amounts
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(0, base.max() / unit * 1.1)
        if overhead:
            axes.axvline(overhead, color=style.BLACK, linestyle=(0, (4, 3)), linewidth=1.3)
            right = np.log(overhead / low) > 0.6 * np.log(high / low)
            axes.annotate(
                f"a launch: {look.ns(overhead)}",
                (overhead, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-4 if right else 4, -3),
                textcoords="offset points",
                ha="right" if right else "left",
                va="top",
                fontsize=9,
                bbox={"facecolor": style.BACKGROUND, "edgecolor": "none", "pad": 0.8, "alpha": 0.9},
            )
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 50 else (1.0, 2.0, 5.0), numticks=9))
        axes.xaxis.set_major_formatter(lambda value, position: _plain(value))
        axes.xaxis.set_minor_formatter(lambda value, position: "")
        axes.set_xlabel("length of a gap (logarithmic)")
        axes.set_ylabel(f"idle time in {word}")
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=2, title="what the host was in", title_fontsize=9.5)
    rows: list[tuple[str, ...]] = [("the host was in", "idle time", "share")]
    rows += [(name, look.ns(float(a.sum())), f"{a.sum() / total:.1%}") for name, a in idle.items()]
    middle = float(np.median(length))
    more = [f"longest {look.ns(int(length.max()))}, median {look.ns(middle)}"]
    if overhead:
        below = length[length <= 2 * overhead]
        more.append(
            f"a launch to an idle GPU takes {look.ns(overhead)}; gaps up to twice that: {below.size:,} of {length.size:,}, "
            f"{below.sum() / total:.1%} of the idle time"
        )
    told = ", ".join(f"{name} {a.sum() / total:.0%}" for name, a in idle.items())
    values = {"edges": edges, "idle_ns": idle, "counts": counts, "overhead_ns": overhead}
    return Picture(
        figure,
        "\n".join([title, *more, table(rows)]),
        f"{title}; {'; '.join(more)}. The host was in: {told}",
        values,
        axes,
    )


def _plain(value: float) -> str:
    size, word = look.scale(value * (1 + 1e-9))
    return f"{value / size:g} {word}"
