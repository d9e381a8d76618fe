"""The still picture that a training leaves: loss, accuracy, speed, memory and learning rate, as far as they were noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from labkit.show import style
from labkit.show.picture import Picture, new_figure

if TYPE_CHECKING:
    from labkit.show.curve import LiveCurve


def still_picture(curve: LiveCurve) -> Picture:
    """Draws ``curve``; ``values`` is the list of its losses, ``axes`` a list with the chart of the loss first."""
    panels: list[Callable[[Any, LiveCurve], None]] = [_loss]
    if curve.marks:
        panels.append(_accuracy)
    if curve.rates:
        panels.append(_speed)
    if len(curve.memory) > 1:
        panels.append(_memory)
    if len(curve.learning_rates) > 1:
        panels.append(_learning_rate)
    rows = -(-len(panels) // 2)
    with style.look():
        figure = new_figure(7.6, (3.3, 5.2, 7.0)[rows - 1])
        grid = figure.add_gridspec(rows, 2, height_ratios=[1.6, 1.0, 1.0][:rows])
        axes = []
        for k, draw in enumerate(panels):
            cell = grid[k // 2, :] if k == len(panels) - 1 and k % 2 == 0 and k else grid[k // 2, k % 2]
            axes.append(figure.add_subplot(cell))
            draw(axes[-1], curve)
        if len(panels) > 1:  # over one panel of two a long title would run into its neighbour's
            axes[0].set_title("Loss")
            figure.suptitle(curve.title or "Training", x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    text = str(curve)
    return Picture(figure, text, f"Learning curve. {text}", list(curve.losses), axes)


def _loss(axes: Any, curve: LiveCurve) -> None:
    import numpy as np

    losses = np.asarray(curve.losses, dtype=float)
    if len(losses):
        steps = np.arange(1, len(losses) + 1)
        axes.plot(steps, losses, color=style.BLUE, alpha=0.25, linewidth=0.8, label="each step")
        window = max(1, len(losses) // 40)
        axes.plot(
            steps[window - 1 :],
            np.convolve(losses, np.ones(window) / window, "valid"),
            color=style.BLUE,
            linestyle="-",
            label=f"mean of {window}" if window > 1 else None,
        )
        if window > 1:
            axes.legend()
        finite = losses[np.isfinite(losses)]
        if len(finite) > 10:  # a first spike must not flatten the rest
            axes.set_ylim(0 if finite.min() >= 0 else None, float(np.quantile(finite, 0.995)) * 1.08 or 1)
    axes.set(xlabel="step", ylabel="loss", title=curve.title or "Training")


def _accuracy(axes: Any, curve: LiveCurve) -> None:
    for k, name in enumerate(dict.fromkeys(n for _, _, n in curve.marks)):
        points = [(s, a) for s, a, n in curve.marks if n == name]
        axes.plot(
            [s for s, _ in points],
            [100 * a for _, a in points],
            marker=style.MARKERS[k % 6],
            label=name,
            color=style.PALETTE[(k + 1) % 6],
            linestyle=style.DASHES[k % 6],
        )
        axes.annotate(
            f"{points[-1][1]:.1%}",
            (points[-1][0], 100 * points[-1][1]),
            xytext=(-4, 7),
            textcoords="offset points",
            ha="right",
            fontsize=9.5,
        )
    axes.margins(y=0.18)
    axes.set(xlabel="step", ylabel="accuracy in %", title="Accuracy", xlim=(0, curve.steps * 1.04 or 1))
    axes.legend(loc="lower right")


def _speed(axes: Any, curve: LiveCurve) -> None:
    _over_steps(axes, curve, curve.rates, style.BROWN, "^")
    axes.set(ylabel="pictures per second", title="Speed")


def _memory(axes: Any, curve: LiveCurve) -> None:
    _over_steps(axes, curve, [(step, reading.bytes / 1e6) for step, reading in curve.memory], style.VIOLET, "v")
    label = curve.memory[-1][1].label
    axes.set(ylabel="MB", title=label[:1].upper() + label[1:])


def _learning_rate(axes: Any, curve: LiveCurve) -> None:
    steps, rates = zip(*curve.learning_rates, (curve.steps, curve.learning_rates[-1][1]), strict=True)
    axes.step(steps, rates, where="post", color=style.BLACK)
    axes.set(xlabel="step", ylabel="learning rate", title="Learning rate", xlim=(0, curve.steps * 1.04 or 1))
    axes.set_ylim(0, None)


def _over_steps(axes: Any, curve: LiveCurve, points: list[tuple[int, float]], colour: str, marker: str) -> None:
    axes.plot(
        [s for s, _ in points],
        [v for _, v in points],
        color=colour,
        marker=marker if len(points) <= 40 else None,
    )
    axes.set_xlim(0, curve.steps * 1.04 or 1)
    axes.set_ylim(0, max(v for _, v in points) * 1.18 or 1)
    axes.set_xlabel("step")
