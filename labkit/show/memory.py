"""Pictures of memory: the allocator's segments, memory over time, and memory against time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.errors import LabkitError
from labkit.memory.parts import size
from labkit.memory.segments import Block, Segment, State, totals
from labkit.memory.usage import Usage
from labkit.show import style
from labkit.show.charts import number
from labkit.show.picture import Picture, new_figure, same_length, table

MIB = 2**20
_MOST_ROWS = 24
_LOOK: dict[State, tuple[str, str, str]] = {  # state -> (colour, hatch, word)
    "used": (style.BLUE, "", "in use"),
    "free": (style.BACKGROUND, "////", "reserved, unused"),
    "unmapped": (style.BACKGROUND, "", "no memory behind it"),
}


def memory_map(
    held: Sequence[Segment] | Mapping[str, Sequence[Segment]], *, title: str = "", simulated: bool = False
) -> Picture:
    """The allocator's segments, one bar each, cut into blocks: in use, reserved and unused, without memory.

    held: segments, or {heading: segments} for several states in one figure. simulated: the title says so. Of more than
    24 segments the largest are drawn, and the text counts the others. ``values`` is {heading: (reserved, allocated,
    largest free piece)} in bytes.
    """
    groups = dict(held) if isinstance(held, Mapping) else {"": held}
    if not any(groups.values()):
        raise LabkitError("There is no segment to draw.", "Allocate something first.")
    head = title or "What the allocator holds"
    head += " (simulation)" if simulated else ""
    rows: list[tuple[str, Segment]] = []
    for heading, group in groups.items():
        known = sorted(group, key=lambda segment: -segment.reserved)[:_MOST_ROWS]
        rows += [(heading, segment) for segment in group if any(segment is k for k in known)]
    with style.look():
        figure = new_figure(7.2, 1.3 + 0.3 * len(rows) + 0.25 * len(groups))
        axes = figure.add_subplot()
        at, ticks = 0.0, []
        last = None
        for heading, segment in rows:
            if heading != last and heading:
                at += 1.1 if last is not None else 0.6
                axes.text(0, at - 0.62, heading, fontsize=9.5, fontweight="bold", va="bottom")
            last = heading
            _bar(axes, at, segment)
            ticks.append((at, "expandable" if segment.expandable else segment.kind))
            at += 1
        axes.set_ylim(at - 0.35, -0.75)
        axes.set_yticks([t for t, _ in ticks], [word for _, word in ticks], fontsize=8.5)
        axes.set_xlabel("MiB")
        axes.grid(False, axis="y")
        widest = max(sum(block.size for block in segment.blocks) for _, segment in rows)
        axes.set_xlim(0, widest / MIB * 1.02)
        shown = {block.state for _, segment in rows for block in segment.blocks}
        _legend(figure, [state for state in _LOOK if state in shown])
        axes.set_title(head)
    values = {heading: totals(group) for heading, group in groups.items()}
    return Picture(figure, _words(head, groups, values), f"{head}. {_told(values)}", values, axes)


def _bar(axes: Any, at: float, segment: Segment) -> None:
    left = 0.0
    for block in segment.blocks:
        colour, hatch, _ = _LOOK[block.state]
        axes.barh(
            at,
            block.size / MIB,
            left=left,
            height=0.72,
            color=colour,
            edgecolor=style.INK,
            hatch=hatch,
            linewidth=0.7,
            linestyle=":" if block.state == "unmapped" else "-",
        )
        left += block.size / MIB


def _legend(figure: Any, states: Sequence[State]) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(
            facecolor=_LOOK[state][0],
            hatch=_LOOK[state][1],
            edgecolor=style.INK,
            linestyle=":" if state == "unmapped" else "-",
            label=_LOOK[state][2],
        )
        for state in states
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))


def _told(values: Mapping[str, tuple[int, int, int]]) -> str:
    return "; ".join(
        f"{f'{heading}: ' if heading else ''}reserved {size(reserved)}, in use {size(allocated)}, "
        f"largest free piece {size(largest)}"
        for heading, (reserved, allocated, largest) in values.items()
    )


def _words(head: str, groups: Mapping[str, Sequence[Segment]], values: Mapping[str, tuple[int, int, int]]) -> str:
    lines = [head]
    for heading, group in groups.items():
        if heading:
            lines.append(heading)
        for segment in sorted(group, key=lambda s: -s.reserved)[:_MOST_ROWS]:
            kind = "expandable" if segment.expandable else segment.kind
            lines.append(f"  {kind:10} {' '.join(_short(block) for block in segment.blocks)}")
        if len(group) > _MOST_ROWS:
            lines.append(f"  and {len(group) - _MOST_ROWS} smaller segments")
        lines.append("  " + _told({"": values[heading]}))
    return "\n".join(lines)


def _short(block: Block) -> str:
    amount = number(block.size / MIB)
    return {"used": f"[{amount}]", "free": f"({amount})", "unmapped": f"<{amount}>"}[block.state]


def memory_timeline(usages: Mapping[str, Usage], *, title: str = "") -> Picture:
    """Memory over time of one call each, in MiB beyond what was there before; the peak of each is marked.

    usages: {name: what ``labkit.memory.measure`` gave}, with a timeline each. Across runs the order of allocations and
    releases, from the first to the last, not the time: that is the same in every run. What changes less than 1 % of the
    peak has no place there. The marks of the first usage are named above. ``values`` is {name: peak in bytes}.
    """
    known = {name: usage for name, usage in usages.items() if usage.timeline}
    if not known:
        raise LabkitError("There is no timeline to draw.", "Measure with timeline=True, and allocate something.")
    head = title or "Memory during one step"
    with style.look():
        figure = new_figure(7.2, 3.3)
        axes = figure.add_subplot()
        for k, (name, usage) in enumerate(known.items()):
            kept = _visible(usage)
            across = [k / len(kept) for k in range(len(kept) + 1)]
            up = [0.0, *(usage.timeline[k][1] / MIB for k in kept)]
            colour = style.PALETTE[k % len(style.PALETTE)]
            axes.plot(
                across,
                up,
                drawstyle="steps-post",
                color=colour,
                label=name,
                linestyle=style.DASHES[k % len(style.DASHES)],
            )
            top = max(range(len(up)), key=up.__getitem__)
            axes.plot([across[top]], [up[top]], style.MARKERS[k % len(style.MARKERS)], color=colour)
            axes.annotate(
                f"{number(up[top])} MiB",
                (across[top], up[top]),
                xytext=(0, 7),
                textcoords="offset points",
                ha="left" if across[top] < 0.15 else "right" if across[top] > 0.85 else "center",
                fontsize=9,
                color=style.INK,
            )
        _phases(axes, next(iter(known.values())))
        axes.set_xlabel("allocations and releases, from the first to the last")
        axes.set_xticks([])
        axes.set_ylabel("MiB")
        axes.set_xlim(0, 1)
        axes.margins(y=0.2)
        axes.set_ylim(bottom=min(0.0, *(amount / MIB for usage in known.values() for _, amount in usage.timeline)))
        if len(known) > 1:
            axes.legend(loc="best")
        axes.set_title(head)
    told = "; ".join(
        f"{name}: peak {size(usage.peak_bytes)}"
        + (f" during {usage.peak_within}" if usage.peak_within else "")
        + f", left {size(usage.left_bytes)}"
        for name, usage in known.items()
    )
    values = {name: usage.peak_bytes for name, usage in known.items()}
    return Picture(figure, f"{head}\n" + told.replace("; ", "\n"), f"{head}. {told}", values, axes)


def _phases(axes: Any, usage: Usage) -> None:
    """Names the marked parts at the upper edge, with a line where each begins."""
    kept = _visible(usage)
    for name, first, last in usage.marks:
        start, end = (bisect_left(kept, place) / len(kept) for place in (first, last + 1))
        if end - start < 0.08:  # its memory is too small to be seen
            continue
        axes.axvline(start, color=style.BLACK, linestyle=(0, (2, 3)), linewidth=1.0)
        axes.text(
            (start + end) / 2, 0.99, name, transform=axes.get_xaxis_transform(), ha="center", va="top", fontsize=9
        )


def _visible(usage: Usage) -> list[int]:
    """The events of a timeline that can be seen: those after which the amount differs by 1 % of the peak, and the last."""
    least, drawn, kept = 0.01 * usage.peak_bytes, 0, []
    for k, (_, amount) in enumerate(usage.timeline):
        if abs(amount - drawn) >= least or (amount == usage.peak_bytes and amount > drawn):
            kept.append(k)
            drawn = amount
    return kept if kept and kept[-1] == len(usage.timeline) - 1 else [*kept, len(usage.timeline) - 1]


def tradeoff(
    names: Sequence[str],
    times: Sequence[tuple[float, float, float]],
    amounts: Sequence[float],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Time against memory: one point per name, joined in their order, with the interval of the time as a bar.

    times: (median, low, high) each. amounts: memory each. ``values`` is an array [n, 4] of (median, low, high, amount).
    """
    import numpy as np

    count = same_length("tradeoff", names=names, times=times, amounts=amounts)
    if count == 0 or any(not low <= median <= high for median, low, high in times):
        raise LabkitError("Each time must be (median, low, high) with low <= median <= high.", "Check their order.")
    values = np.column_stack([np.array(times, dtype=float), np.array(amounts, dtype=float)])
    with style.look():
        figure = new_figure(7.2, 3.6)
        axes = figure.add_subplot()
        reach = np.abs(values[:, 1:3].T - values[:, 0])
        axes.plot(values[:, 0], values[:, 3], color=style.FAINT, linestyle="-", linewidth=1.6)
        axes.errorbar(
            values[:, 0],
            values[:, 3],
            xerr=reach,
            fmt="o",
            color=style.BLUE,
            ecolor=style.BLUE,
            capsize=4,
            capthick=1.5,
        )
        for name, (median, _, _, amount) in zip(names, values, strict=True):
            axes.annotate(name, (median, amount), xytext=(6, 6), textcoords="offset points", fontsize=9)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.set_ylim(0, values[:, 3].max() * 1.18)
        axes.margins(x=0.12)
        if title:
            axes.set_title(title)
    head = title or f"{ylabel} against {xlabel}"
    rows: list[tuple[str, ...]] = [("", xlabel, "low", "high", ylabel)]
    rows += [(str(name), *(number(v) for v in row)) for name, row in zip(names, values, strict=True)]
    told = "; ".join(
        f"{name}: {number(m)} ({number(lo)} to {number(hi)}), {number(amount)}"
        for name, (m, lo, hi, amount) in zip(names, values, strict=True)
    )
    return Picture(figure, f"{head}\n{table(rows)}", f"{head}. {told}", values, axes)
