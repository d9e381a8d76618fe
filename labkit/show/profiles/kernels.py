"""Where the time went: the kernels as sorted bars."""

from __future__ import annotations

from labkit.profile import questions as ask
from labkit.profile.table import Profile
from labkit.show import style
from labkit.show.picture import Picture, new_figure, table
from labkit.show.profiles import look

NAMES = 2.75  # inches


def kernels(profile: Profile, *, most: int = 12) -> Picture:
    """The ``most`` kernels that take longest, coloured by category, with their share of all kernels' time.

    Where the profile has no kernel but operators of the CPU, those by their own time. ``values``: a list of (short name,
    category, calls, total in ns, share), longest first, all of them.
    """
    ranked = ask.kernels(profile).filter(ask.kernels(profile)["total_ns"].fill_null(0) > 0)
    what = "kernels"
    if ranked.height:
        rows = [
            (r["short"], str(r["category"]), int(r["count"]), int(r["total_ns"]), float(r["share"]))
            for r in ranked.iter_rows(named=True)
        ]
    else:
        what = "operators on the CPU"
        found = [r for r in ask.operators(profile).iter_rows(named=True) if r["self_ns"]]
        whole = sum(r["self_ns"] for r in found)
        rows = [
            (r["name"], look.operator(r["name"]), int(r["count"]), int(r["self_ns"]), r["self_ns"] / whole)
            for r in sorted(found, key=lambda r: -r["self_ns"])
        ]
    if not rows:
        return look.nothing(profile, "Kernels by time", "This profile says of no kernel how long it took.")
    shown, rest = rows[:most], rows[most:]
    title = look.labelled(
        profile, f"Where the time goes: {len(rows):,} {what}" if len(rows) > 1 else "Where the time goes"
    )
    labels = [f"{share:.1%}   {look.ns(total)} in {calls:,}" for _, _, calls, total, share in shown]
    unit, word = look.scale(shown[0][3])
    ruler, small = look.Ruler(9.5), look.Ruler(9)
    with style.look():
        height = 1.35 + 0.27 * (len(shown) + bool(rest)) + 0.2 * (len({r[1] for r in shown}) > 5)
        figure = new_figure(7.2, height)
        axes = figure.add_subplot()
        for k, (_, kind, _, total, _) in enumerate(shown):
            axes.barh(
                k,
                total / unit,
                height=0.68,
                color=look.COLOURS[kind],
                edgecolor=style.BACKGROUND,
                hatch=look.HATCHES.get(kind, ""),
                linewidth=0,
            )
            axes.annotate(
                labels[k], (total / unit, k), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
            )
        names = [ruler.fit(name, NAMES, middle=True) for name, *_ in shown]
        if rest:
            names.append(f"and {len(rest):,} more")
            share = sum(r[4] for r in rest)
            total = sum(r[3] for r in rest)
            axes.annotate(
                f"{share:.1%}   {look.ns(total)} together",
                (0, len(shown)),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        axes.set_yticks(range(len(names)), names, fontsize=9.5)
        axes.set_ylim(len(names) - 0.4, -0.6)
        room = 7.2 - max(map(ruler.width, names)) - 0.35  # inches for the bars and the words behind them
        words = max(map(small.width, labels)) + 0.15
        axes.set_xlim(0, shown[0][3] / unit * room / max(room - words, 0.6))
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel(word)
        axes.set_title(title, loc="left", x=0, ha="left")
        _title_left(axes, figure)
        look.bars_legend(figure, [key for key in look.KEYS if any(r[1] == key for r in shown)])
    lines: list[tuple[str, ...]] = [
        ("kernel" if what == "kernels" else "operator", "category", "calls", "total", "share")
    ]
    lines += [(name, kind, f"{calls:,}", look.ns(total), f"{share:.1%}") for name, kind, calls, total, share in shown]
    more = f"\n… and {len(rest):,} more, {sum(r[4] for r in rest):.1%} together" if rest else ""
    told = "; ".join(f"{name} {share:.1%} ({kind})" for name, kind, _, _, share in shown[:5])
    return Picture(figure, f"{title}\n{table(lines, left=2)}{more}", f"{title}. {told}", rows, axes)


def _title_left(axes: object, figure: object) -> None:
    """Moves the title to the figure's left edge: long names leave the axes little width."""
    text = axes.get_title(loc="left")  # type: ignore[attr-defined]
    axes.set_title("", loc="left")  # type: ignore[attr-defined]
    figure.suptitle(text, x=0.01, ha="left", fontsize=11.5, fontweight="bold")  # type: ignore[attr-defined]
