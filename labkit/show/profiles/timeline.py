"""The timeline: what the host's threads and the GPUs' queues did when. Drawn as one raster: never more marks than pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.errors import LabkitError
from labkit.profile import questions as ask
from labkit.profile.table import Profile
from labkit.show import style
from labkit.show.picture import Picture, new_figure, table
from labkit.show.profiles import look
from labkit.show.profiles.lanes import Lane, Lanes, lanes

Array = Any

WIDTH, LEFT, RIGHT = 7.2, 1.62, 0.28  # inches
LANE, SPACE = 0.25, 0.07
COLUMNS = int((WIDTH - LEFT - RIGHT) * style.DPI)
ROWS = int(LANE * style.DPI)
LABELS = 40  # names in one lane
LARGEST = 8
_IDLE = (238, 238, 238)


def timeline(
    profile: Profile, start_ns: int | None = None, end_ns: int | None = None, *, made: Lanes | None = None
) -> Picture:
    """What ran when, from ``start_ns`` to ``end_ns`` (the profile's own clock; without them all of it, but for a pause in
    which nothing happens for more than half of the time: then the part with most events, and the title says so).

    Each pixel column of a row is filled as high as the row was busy in it, in the colours of what ran; where events are wide
    enough they are named. Hatched: the GPU was idle, and what the host was in. Steps are separated by lines.

    made: ``lanes(profile)``, where several windows are drawn. ``values``: ``window`` (low, high in ns), ``lanes`` (title,
    events, busy share of the window, shares by category), ``largest`` (lane, name, start_ns, end_ns) of the longest events in
    view, ``marks`` (how many artists the axes hold). Raises LabkitError for a window that ends before it starts.
    """
    ready = made or lanes(profile)
    if not ready.lanes:
        return look.nothing(profile, "Timeline", "This profile has no events with time stamps.")
    low, high = ready.focus if start_ns is None and end_ns is None else (ready.low, ready.high)
    low = low if start_ns is None else int(start_ns)
    high = high if end_ns is None else int(end_ns)
    if high <= low:
        raise LabkitError(f"The window ends ({high}) before it starts ({low}).", "Pass start_ns < end_ns.")
    high = max(high, low + COLUMNS)  # a nanosecond is the finest that a profile knows
    edges = np.linspace(0, high - low, COLUMNS + 1).round().astype(np.int64) + low
    idle = _idle(profile, ready, low, high)
    image, shares = _raster(ready, edges, idle)
    largest = _largest(ready, low, high)
    part = f" of {look.ns(ready.high - ready.low)}" if (low, high) != (ready.low, ready.high) else ""
    title = look.labelled(profile, f"Timeline: {look.ns(high - low)}{part}")
    with style.look():
        figure, axes = _figure(ready, image, shares, low, high)
        _names(axes, ready, low, high)
        _idle_names(axes, ready, idle, low, high)
        steps = _steps(axes, ready, low, high)
        axes.set_title(title, pad=16 if steps else 6)
    told = _rows(ready, shares)
    values = {
        "window": (low, high),
        "lanes": told,
        "largest": largest,
        "marks": len(axes.get_children()),
    }
    return Picture(figure, _text(title, ready, told, largest, low), _alt(title, told, ready), values, axes)


def _raster(
    ready: Lanes, edges: Array, idle: list[tuple[int, int, int, str]]
) -> tuple[Array, list[tuple[Array, Array]]]:
    """(uint8 [lanes * ROWS, COLUMNS, 3], first lane on top; for each lane its shares over the whole window)."""
    palette = {key: _rgb(colour) for key, colour in look.COLOURS.items()}
    image = np.empty((len(ready.lanes) * ROWS, COLUMNS, 3), np.uint8)
    whole = []
    row_numbers = (np.arange(ROWS)[::-1] + 0.5)[None, :, None]  # from the bottom
    tops = _tops(ready)
    for number, lane in enumerate(ready.lanes):
        each, busy = lane.shares(edges)
        part = image[number * ROWS : (number + 1) * ROWS]
        colours = np.array([*(palette[t.key] for t in lane.tracks), _IDLE], np.uint8)
        filled = np.where(busy > 0, np.clip(np.round(busy * ROWS), 1, ROWS), 0)
        filled = np.where((busy < 0.99) & (filled == ROWS), ROWS - 1, filled)  # a gap stays visible
        summed = each.sum(axis=0)
        heights = np.cumsum(each, axis=0) * np.divide(filled, summed, out=np.zeros_like(summed), where=summed > 0)
        part[:] = colours[(heights[:, None, :] <= row_numbers).sum(axis=0)]
        _separate(part, lane, edges)
        if lane.device is not None and tops.get(lane.device) == number:
            _hatch(part, [gap for gap in idle if gap[0] == lane.device], edges)
        whole.append(lane.shares(edges[[0, -1]]))
    return image, whole


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _separate(part: Array, lane: Lane, edges: Array) -> None:
    """A lighter column where an event begins, for events of a few pixels and more."""
    low, high = int(edges[0]), int(edges[-1])
    each = (high - low) / COLUMNS
    for track in lane.tracks:
        wide = track.within(low, high, int(5 * each) + 1)
        column = ((track.start[wide] - low) / each).astype(np.int64)
        column = column[(column > 0) & (column < COLUMNS)]
        taken = part[:, column]
        part[:, column] = np.where((taken == _IDLE).all(axis=2, keepdims=True), taken, 128 + taken // 2)


def _hatch(part: Array, idle: list[tuple[int, int, int, str]], edges: Array) -> None:
    """Diagonal lines over idle time."""
    low, each = int(edges[0]), (int(edges[-1]) - int(edges[0])) / COLUMNS
    stripes = (np.arange(ROWS)[:, None] + np.arange(COLUMNS)[None, :]) % 9 < 1
    for _, start, end, _ in idle:
        first, last = max(0, int(np.ceil((start - low) / each))), min(COLUMNS, int((end - low) / each))
        part[:, first:last][stripes[:, first:last]] = (178, 178, 178)


def _tops(ready: Lanes) -> dict[int, int]:
    """The first lane of kernels of each GPU: there idle time is marked."""
    found: dict[int, int] = {}
    for number, lane in enumerate(ready.lanes):
        if lane.device is not None and lane.kernels:
            found.setdefault(lane.device, number)
    return found


def _idle(p: Profile, ready: Lanes, low: int, high: int) -> list[tuple[int, int, int, str]]:
    """(device, start, end, words) of the gaps in view that are wide enough to name, the longest first."""
    import polars as pl

    least = (high - low) * 12 // COLUMNS
    table_ = ask.gaps(p).filter((pl.col("length_ns") >= least) & (pl.col("end_ns") > low) & (pl.col("start_ns") < high))
    steps = {f"step {n}" for n in ready.steps[1].tolist()} | {f"ProfilerStep#{n}" for n in ready.steps[1].tolist()}
    found = []
    for device, start, end, host in (
        table_.head(400).select("device", "start_ns", "end_ns", pl.col("host").cast(pl.String)).iter_rows()
    ):
        words = f"{look.ns(end - start)}" + (f", host: {host}" if host and host not in steps else "")
        found.append((-1 if device is None else device, start, end, words))
    return found


def _figure(ready: Lanes, image: Array, shares: list[tuple[Array, Array]], low: int, high: int) -> tuple[Any, Any]:
    """The figure with its raster, rows' names, time axis and legend."""
    from matplotlib.patches import Patch

    count = len(ready.lanes)
    used = [
        key
        for key in look.KEYS
        if any(
            t.key == key and each[k, 0] > 0
            for lane, (each, _) in zip(ready.lanes, shares, strict=True)
            for k, t in enumerate(lane.tracks)
        )
    ]
    legend_rows = -(-len(used) // 4)
    top, bottom = 0.55, 0.55 + 0.2 * legend_rows
    height = top + bottom + count * (LANE + SPACE)
    figure = new_figure(WIDTH, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes(
        (LEFT / WIDTH, bottom / height, (WIDTH - LEFT - RIGHT) / WIDTH, count * (LANE + SPACE) / height)
    )
    unit, word = look.scale(high - low)
    shift = _origin(ready, low, high)
    left, right = (low - shift) / unit, (high - shift) / unit
    spaced = np.full((count * (ROWS + _GAP_PX), COLUMNS, 3), _rgb(style.BACKGROUND), np.uint8)
    for k in range(count):
        spaced[k * (ROWS + _GAP_PX) : k * (ROWS + _GAP_PX) + ROWS] = image[k * ROWS : (k + 1) * ROWS]
    axes.imshow(spaced, extent=(left, right, count, 0), aspect="auto", interpolation="nearest", zorder=1)
    ruler = look.Ruler(9)
    middle = LANE / (LANE + SPACE) / 2
    axes.set_yticks(
        [k + middle for k in range(count)],
        [ruler.fit(lane.title, LEFT - 0.12, middle=True) for lane in ready.lanes],
        fontsize=9,
    )
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_xlim(left, right)
    axes.set_ylim(count, 0)
    axes.locator_params(axis="x", nbins=7)
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")
    axes.tick_params(axis="x", labelsize=9)
    since = "the first event" if shift == ready.low else f"{when(ready, shift)} after the first event"
    axes.set_xlabel(f"{word} since {since}; a column's height is the busy share of its time", fontsize=8.5)
    handles = [Patch(facecolor=look.COLOURS[key], edgecolor="#777777", linewidth=0.5, label=key) for key in used]
    figure.legend(
        handles=handles, loc="lower center", ncols=4, fontsize=9, handlelength=1.3, borderpad=0.1, labelspacing=0.3
    )
    return figure, axes


def _origin(ready: Lanes, low: int, high: int) -> int:
    """Where the axis counts from: the first event, or far into a run the window's start."""
    return low if low - ready.low > 50 * (high - low) else ready.low


def when(ready: Lanes, at: int) -> str:
    """A moment, counted from the first event, to the microsecond."""
    return f"{(at - ready.low) / 1e6:,.3f} ms"


_GAP_PX = int(SPACE * style.DPI)


def _names(axes: Any, ready: Lanes, low: int, high: int) -> None:
    """Short names on the events that are wide enough."""
    ruler = look.Ruler(7.5)
    inches = (WIDTH - LEFT - RIGHT) / (high - low)
    unit, _ = look.scale(high - low)
    for number, lane in enumerate(ready.lanes):
        found: list[tuple[int, int, int, str]] = []
        for track in lane.tracks:
            places = track.within(low, high, int(0.3 / inches))
            start, end = np.maximum(track.start[places], low), np.minimum(track.end[places], high)
            chosen = np.argsort(start - end, kind="stable")[:LABELS]
            colour = look.on(look.COLOURS[track.key])
            found += [(int(start[k]), int(end[k]), int(track.code[places[k]]), colour) for k in chosen]
        reach = low
        for start_, end_, code, colour in sorted(sorted(found, key=lambda e: e[0] - e[1])[:LABELS]):
            words = ruler.fit(ready.name(code), (end_ - start_) * inches - 0.06) if start_ >= reach else ""
            if words:
                at = ((start_ + end_) / 2 - _origin(ready, low, high)) / unit
                axes.text(
                    at, number + _MIDDLE, words, fontsize=7.5, color=colour, ha="center", va="center", clip_on=True
                )
                reach = end_


_MIDDLE = LANE / (LANE + SPACE) / 2


def _idle_names(axes: Any, ready: Lanes, idle: list[tuple[int, int, int, str]], low: int, high: int) -> None:
    ruler, tops = look.Ruler(7.5), _tops(ready)
    inches = (WIDTH - LEFT - RIGHT) / (high - low)
    unit, _ = look.scale(high - low)
    for device, start, end, words in idle[:LABELS]:
        start, end = max(start, low), min(end, high)
        took = words.split(",")[0]
        shown = ruler.first((f"idle {words}", f"idle {took}", took), (end - start) * inches - 0.1)
        if shown and device in tops:
            axes.text(
                ((start + end) / 2 - _origin(ready, low, high)) / unit,
                tops[device] + _MIDDLE,
                shown,
                fontsize=7.5,
                ha="center",
                va="center",
                clip_on=True,
                bbox={"facecolor": "#EEEEEE", "edgecolor": "none", "pad": 0.8},
            )


def _steps(axes: Any, ready: Lanes, low: int, high: int) -> bool:
    """Thin lines where steps begin, and their numbers above, as many as have room."""
    from matplotlib.transforms import blended_transform_factory

    start, number = ready.steps
    inside = (start >= low) & (start < high)
    start, number = start[inside], number[inside]
    if start.size == 0 or start.size > COLUMNS // 12:
        return False
    unit, _ = look.scale(high - low)
    at = (start - _origin(ready, low, high)) / unit
    axes.vlines(at, 0, len(ready.lanes), color=style.INK, linewidth=0.7, alpha=0.65, zorder=2)
    ruler = look.Ruler(8)
    inches = (WIDTH - LEFT - RIGHT) / (high - low)
    place = blended_transform_factory(axes.transData, axes.transAxes)
    room = np.diff(start, append=high) * inches  # to the next line, or to the end of the axes
    for x, k, free in zip(at, number, room, strict=True):
        words = ruler.first((f"step {k}", str(k)), float(free) - 0.06)
        if words:
            axes.text(x, 1.0, words, fontsize=8, ha="left", va="bottom", transform=place)
    return True


def _largest(ready: Lanes, low: int, high: int) -> list[dict[str, Any]]:
    """The longest events in view."""
    found: list[dict[str, Any]] = []
    for lane in ready.lanes:
        for track in lane.tracks:
            places = track.within(low, high, 1)
            if places.size == 0:
                continue
            took = track.end[places] - track.start[places]
            few = (
                np.argpartition(-took, min(LARGEST, took.size) - 1)[:LARGEST]
                if took.size > LARGEST
                else range(took.size)
            )
            found += [
                {
                    "lane": lane.title,
                    "name": ready.name(int(track.code[places[k]])),
                    "start_ns": int(track.start[places[k]]),
                    "end_ns": int(track.end[places[k]]),
                }
                for k in few
            ]
    found.sort(key=lambda e: (e["start_ns"] - e["end_ns"], e["start_ns"], e["lane"]))
    return found[:LARGEST]


def _rows(ready: Lanes, shares: list[tuple[Array, Array]]) -> list[dict[str, Any]]:
    return [
        {
            "title": lane.title,
            "events": lane.events,
            "busy": float(busy[0]),
            "shares": {t.key: float(each[k, 0]) for k, t in enumerate(lane.tracks) if each[k, 0] > 0},
        }
        for lane, (each, busy) in zip(ready.lanes, shares, strict=True)
    ]


def _text(title: str, ready: Lanes, told: list[dict[str, Any]], largest: list[dict[str, Any]], low: int) -> str:
    rows: list[tuple[str, ...]] = [("row", "events", "busy", "with")]
    for row in told:
        parts = sorted(row["shares"].items(), key=lambda item: -item[1])
        rows.append(
            (
                row["title"],
                f"{row['events']:,}",
                f"{row['busy']:.1%}",
                ", ".join(f"{key} {share:.1%}" for key, share in parts[:3]),
            )
        )
    more = f"\n… and {ready.left_out} more rows" if ready.left_out else ""
    events: list[tuple[str, ...]] = [("longest in view", "row", "takes", "begins at")]
    events += [
        (
            _short(e["name"]),
            e["lane"],
            look.ns(e["end_ns"] - e["start_ns"]),
            when(ready, e["start_ns"]),
        )
        for e in largest
    ]
    begin = f", from {when(ready, low)} after the first event" if low != ready.low else ""
    return f"{title}{begin}\n{table(rows)}{more}\n\n{table(events, left=2)}"


def _short(name: str, letters: int = 48) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _alt(title: str, told: list[dict[str, Any]], ready: Lanes) -> str:
    rows = "; ".join(f"{row['title']} busy {row['busy']:.0%}" for row in told)
    return f"{title}, {ready.events:,} events in {len(ready.lanes)} rows. {rows}"
