"""The ring all-reduce as recorded: a still grid of all steps, and the messages one step at a time."""

from __future__ import annotations

import html
import math
from typing import Any

from labkit.comm.ring import Message, RingRun
from labkit.show import style
from labkit.show.controls import FRAME, bundle, guarded, told
from labkit.show.picture import Picture, new_figure

_MOST_DRAWN = 8
_WIDE, _HIGH = 680, 400


def ring_view(run: RingRun) -> RingView:
    """Shows a recorded ring: play it or move the slider (arrow keys work); without a kernel the still grid stays."""
    return RingView(run)


def ring_grid(run: RingRun, *, title: str = "") -> Picture:
    """Every step as a column, every rank as a row, its chunks as boxes with their first value.

    A box with a thick edge came with the step's message; a filled one holds the sum of all ranks. ``values`` is
    ``run.states``."""
    head = title or f"Ring all-reduce, {run.ranks} processes: {len(run.messages)} recorded messages"
    columns = run.steps + 1
    with style.look():
        figure = new_figure(max(6.4, min(12.0, 0.5 * run.ranks * columns + 1)), 0.72 * run.ranks + 1.5)
        axes = figure.add_subplot()
        pitch = run.ranks + 0.9
        for step in range(columns):
            came = {(m.dst, m.chunk) for m in run.messages if m.step == step - 1}
            for rank in range(run.ranks):
                for chunk in range(run.ranks):
                    _cell(axes, run, step, rank, chunk, step * pitch + chunk, (rank, chunk) in came)
        axes.set_xlim(-0.6, columns * pitch - 0.5)
        axes.set_ylim(run.ranks - 0.45, -0.75)
        axes.set_yticks(range(run.ranks), [f"rank {rank}" for rank in range(run.ranks)])
        middle = [step * pitch + (run.ranks - 1) / 2 + 0.05 for step in range(columns)]
        axes.set_xticks(
            middle, ["start", *(f"{step}: {_doing(run, step)}" for step in range(1, columns))], fontsize=8.5
        )
        axes.tick_params(length=0)
        axes.grid(False)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.set_title(head)
        figure.supxlabel("thick edge: just received · filled: the sum of all ranks", fontsize=9)
    return Picture(figure, text(run), f"{head}. {run}", run.states, axes)


def text(run: RingRun) -> str:
    """The record in words: what each rank received in each step."""
    lines = [str(run)]
    for step in range(run.steps):
        got = "; ".join(_word(m) for m in _of(run, step))
        lines.append(f"step {step + 1} ({_doing(run, step + 1)}): {got}")
    return "\n".join(lines)


def _of(run: RingRun, step: int) -> list[Message]:
    """The messages of a step, by sender."""
    return sorted((m for m in run.messages if m.step == step), key=lambda m: m.src)


def _word(m: Message) -> str:
    return f"{m.src} sends chunk {m.chunk} ({_short(m.values)}) to {m.dst}"


def _short(values: tuple[float, ...]) -> str:
    return ("empty" if not values else f"{values[0]:.6g}") + (" …" if len(values) > 1 else "")


def _doing(run: RingRun, step: int) -> str:
    return "add" if step <= run.ranks - 1 else "take over"


def _cell(axes: Any, run: RingRun, step: int, rank: int, chunk: int, x: float, fresh: bool) -> None:
    from matplotlib.patches import Rectangle

    values = run.states[step][rank][chunk]
    full = values == run.sums[chunk]
    box = Rectangle(
        (x - 0.46, rank - 0.34),
        0.92,
        0.68,
        facecolor=style.BLUE if full else "white",
        edgecolor=style.VERMILLION if fresh else "#888888",
        linewidth=2.4 if fresh else 0.8,
    )
    axes.add_patch(box)
    axes.text(
        x, rank, _short(values[:1]), ha="center", va="center", fontsize=8 if run.ranks < 4 else 6.5,
        color="white" if full else style.INK,
    )  # fmt: skip


class RingView:
    """What ``ring_view`` returns. ``show(step)`` is one step as HTML, ``picture`` the still grid, ``str()`` the record in
    words."""

    def __init__(self, run: RingRun) -> None:
        self.run = run
        self._widget: Any = None

    def __str__(self) -> str:
        return text(self.run)

    __repr__ = __str__

    @property
    def picture(self) -> Picture:
        return ring_grid(self.run)

    def words(self, step: int) -> str:
        """What happens in ``step`` (0: before the first), in a sentence or two."""
        run = self.run
        if step == 0:
            return f"Before the first step: rank r holds its own {run.ranks} chunks. Recorded from real messages."
        got = "; ".join(_word(m) for m in _of(run, step - 1))
        what = "is added to the receiver's own" if step <= run.ranks - 1 else "takes the place of the receiver's own"
        done = sum(
            run.states[step][rank][chunk] == run.sums[chunk] for rank in range(run.ranks) for chunk in range(run.ranks)
        )
        return (
            f"Step {step} of {run.steps}: {got}. What comes {what}. "
            f"{done} of {run.ranks**2} chunks hold the whole sum. Recorded from real messages."
        )

    def show(self, step: int = 0) -> str:
        """The ring after ``step`` steps, with the messages of that step as arrows; HTML with an SVG."""
        run = self.run
        places = [_place(rank, run.ranks) for rank in range(run.ranks)]
        came = _of(run, step - 1)
        arrows = "".join(_arrow(places[m.src], places[m.dst], f"chunk {m.chunk}: {_short(m.values)}") for m in came)
        nodes = "".join(
            _node(run, step, rank, places[rank], {m.chunk for m in came if m.dst == rank}) for rank in range(run.ranks)
        )
        words = html.escape(self.words(step))
        return (
            f'<div style="{FRAME}"><svg role="img" aria-label="{words}" viewBox="0 0 {_WIDE} {_HIGH}" '
            f'style="width:100%;max-width:{_WIDE}px;display:block;font:12px sans-serif" fill="{style.INK}">'
            f'<defs><marker id="labkit-ring-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{style.VERMILLION}"/></marker></defs>{arrows}{nodes}</svg>'
            f'<p style="margin:6px 0 0">{words}</p></div>'
        )

    @property
    def widget(self) -> Any:
        """The ipywidgets box: play button, slider over the steps, panel."""
        if self._widget is None:
            import ipywidgets as widgets

            last = self.run.steps
            play = widgets.Play(min=0, max=last, step=1, interval=1200, description="Play the steps")
            slider = widgets.IntSlider(
                min=0, max=last, description="Step", layout=widgets.Layout(width="320px", max_width="calc(100% - 4px)")
            )
            widgets.link((play, "value"), (slider, "value"))
            status, panel = widgets.HTML(told("")), widgets.HTML(self.show())

            def say(sentence: str) -> None:
                status.value = sentence

            def moved(_: Any) -> None:
                panel.value = self.show(slider.value)

            slider.observe(guarded(moved, say), names="value")
            controls = widgets.HBox([play, slider], layout=widgets.Layout(flex_flow="row wrap"))
            self._widget = widgets.VBox([controls, status, panel])
        return self._widget

    def still(self) -> str:
        """The grid as HTML, for a page without a kernel."""
        return self.picture.image()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(str(self), self.still(), lambda: self.widget)


def _place(rank: int, ranks: int) -> tuple[float, float]:
    angle = 2 * math.pi * rank / ranks - math.pi / 2
    return _WIDE / 2 + 0.35 * _WIDE * math.cos(angle), _HIGH / 2 + 0.38 * _HIGH * math.sin(angle)


def _arrow(start: tuple[float, float], end: tuple[float, float], label: str) -> str:
    """A line that ends before the boxes, bent outwards from the straight one so that two ranks' arrows stay apart."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    across = ((y1 - y0) / length, -(x1 - x0) / length)
    bend = 26 + 14 * (length > 250)
    mx, my = (x0 + x1) / 2 + across[0] * bend, (y0 + y1) / 2 + across[1] * bend
    sx, sy = x0 + (mx - x0) * 0.42, y0 + (my - y0) * 0.42
    ex, ey = x1 + (mx - x1) * 0.42, y1 + (my - y1) * 0.42
    return (
        f'<path d="M{sx:.0f} {sy:.0f}Q{mx:.0f} {my:.0f} {ex:.0f} {ey:.0f}" fill="none" stroke="{style.VERMILLION}" '
        f'stroke-width="2" marker-end="url(#labkit-ring-head)"/>'
        f'<text x="{mx:.0f}" y="{my:.0f}" text-anchor="middle" stroke="{style.BACKGROUND}" stroke-width="4" '
        f'paint-order="stroke">{html.escape(label)}</text>'
    )


def _node(run: RingRun, step: int, rank: int, at: tuple[float, float], fresh: set[int]) -> str:
    shown = min(run.ranks, _MOST_DRAWN)
    side = max(28.0, min(46.0, 190 / shown))
    left, top = at[0] - side * shown / 2, at[1] - 14
    parts = [f'<text x="{at[0]:.0f}" y="{top - 6:.0f}" text-anchor="middle" font-weight="bold">rank {rank}</text>']
    for chunk in range(shown):
        values = run.states[step][rank][chunk]
        full = values == run.sums[chunk]
        edge, width = (style.VERMILLION, 3) if chunk in fresh else ("#888888", 1)
        x = left + chunk * side
        parts.append(
            f'<rect x="{x + 1:.1f}" y="{top:.1f}" width="{side - 2:.1f}" height="28" rx="3" '
            f'fill="{style.BLUE if full else "#FFFFFF"}" stroke="{edge}" stroke-width="{width}"/>'
            f'<text x="{x + side / 2:.1f}" y="{top + 18:.1f}" text-anchor="middle" font-size="11" '
            f'fill="{"#FFFFFF" if full else style.INK}">{html.escape(_short(values[:1]))}</text>'
        )
    return "".join(parts)
