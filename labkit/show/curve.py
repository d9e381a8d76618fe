"""Loss, accuracy and speed while the training runs, at a cost that is measured and kept small.

The curve keeps the loss of each step as it comes, also as a tensor on the device, and fetches them all at once when it
draws. So it does not make the device wait at each step, as ``loss.item()`` would.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.charts import number
from labkit.show.live import in_notebook, watched
from labkit.show.picture import Picture, new_figure

_SHARE = 0.03  # of the time that drawing may take, at most
_DRAWN_POINTS = 240


class LiveCurve:
    """Draws the training while it runs; at the end it leaves one still picture and one line of text.

    Use it as a context manager, and call ``add`` after each step and ``mark`` after each evaluation::

        with LiveCurve("MNIST") as curve:
            ...
            curve.add(loss.detach(), samples=len(images))
            ...
            curve.mark(accuracy=0.93)

    A person watching sees a drawing that is renewed a few times per second. Under papermill, nbval or plain Python
    nothing moves: only the still picture and the line appear, when it is finished. ``show=False`` shows nothing at all
    and leaves that to you (``curve.picture``, ``str(curve)``).
    """

    def __init__(
        self,
        title: str = "",
        *,
        total_steps: int | None = None,
        updates_per_second: float = 3.0,
        show: bool = True,
        live: bool | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if updates_per_second <= 0:
            raise LabkitError("updates_per_second must be above 0.", "Use show=False for a curve that is not drawn.")
        self.title = title
        self.total_steps = total_steps
        self.losses: list[float] = []
        self.marks: list[tuple[int, float, str]] = []
        """(steps done, accuracy from 0 to 1, name of the series) for each call of ``mark``."""
        self.rates: list[tuple[int, float]] = []
        """(steps done, samples per second since the entry before)."""
        self.updates = 0
        self.own_s = 0.0
        """Seconds that the curve spent on itself."""
        self._pending: list[Any] = []
        self._samples = 0
        self._all_samples = 0
        self._interval = 1.0 / updates_per_second
        self._show = show
        self._live = (watched() if live is None else live) and show
        self._clock = clock
        self._handle: Any = None
        self._picture: Picture | None = None
        self._started = self._last = clock()
        self._own_at_last = 0.0
        self._next = self._started + self._interval
        self._ended: float | None = None

    def __enter__(self) -> LiveCurve:
        self._started = self._last = self._clock()
        self._next = self._started + self._interval
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    @property
    def steps(self) -> int:
        """How many steps were added."""
        return len(self.losses) + len(self._pending)

    def add(self, loss: Any, *, samples: int = 0) -> None:
        """Notes one step: its loss (a number, or a tensor of one element that stays where it is) and its samples."""
        self._pending.append(loss.detach() if hasattr(loss, "detach") else float(loss))
        self._samples += samples
        now = self._clock()
        if now >= self._next:
            self._update(now)

    def mark(self, *, accuracy: float, name: str = "test accuracy") -> None:
        """Notes an accuracy (0 to 1) at this point of the training."""
        self.marks.append((self.steps, float(accuracy), name))
        if self._live:
            self._update(self._clock())

    def finish(self) -> Picture:
        """Fetches what is left and shows the still picture and the line of text. Safe to call more than once."""
        if self._ended is None:
            self._fetch()
            self._ended = self._clock()
            self._note_rate(self._ended)
            if self._show:
                self._last_drawing()
        return self.picture

    @property
    def seconds(self) -> float:
        """Seconds from the start to the end (or to now)."""
        return (self._ended if self._ended is not None else self._clock()) - self._started

    @property
    def share(self) -> float:
        """The part of the training's time that the curve took for itself (0 to 1), the still picture not counted."""
        return self.own_s / self.seconds if self.seconds > 0 else 0.0

    @property
    def picture(self) -> Picture:
        """The still picture; ``values`` is the list of losses."""
        if self._picture is None or self._ended is None:
            self._fetch()
            self._picture = self._draw()
        return self._picture

    def __str__(self) -> str:
        self._fetch()
        told = [self.title] if self.title else []
        if self.losses:
            few = max(1, len(self.losses) // 20)
            first, last = _mean_of_finite(self.losses[:few]), _mean_of_finite(self.losses[-few:])
            told.append(f"loss {first} at the start, {last} at the end of {len(self.losses)} steps")
            lost = [step for step, value in enumerate(self.losses, 1) if not math.isfinite(value)]
            if lost:
                told.append(f"{len(lost)} of the losses not finite, the first in step {lost[0]}")
        else:
            told.append("no step yet")
        told += [
            f"{name} {[a for _, a, n in self.marks if n == name][-1]:.1%}"
            for name in dict.fromkeys(n for _, _, n in self.marks)
        ]
        if self._all_samples and self.seconds > 0:
            told.append(f"{number(self._all_samples / self.seconds)} pictures per second over all")
        told.append(f"drawing took {self.share:.1%} of the time")
        return "; ".join(told)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _fetch(self) -> None:
        """Brings the waiting losses over from the device in one piece."""
        if not self._pending:
            return
        if all(hasattr(value, "detach") for value in self._pending):
            import torch

            self.losses += torch.stack([value.reshape(()) for value in self._pending]).float().tolist()
        else:
            self.losses += [float(value) for value in self._pending]
        self._pending.clear()

    def _note_rate(self, now: float) -> None:
        spent = (now - self._last) - (self.own_s - self._own_at_last)
        if self._samples and spent > 0:
            self.rates.append((self.steps, self._samples / spent))
            self._all_samples += self._samples
            self._samples = 0
            self._last, self._own_at_last = now, self.own_s

    def _update(self, _now: float) -> None:
        self._fetch()  # waits for the device; that is the training's time, not the drawing's
        start = self._clock()
        self._note_rate(start)
        if self._live:
            from IPython.display import HTML, display

            drawing = HTML(self._svg())
            if self._handle is None:
                self._handle = display(drawing, display_id=True)
            else:
                self._handle.update(drawing)
        self.updates += 1
        end = self._clock()
        self.own_s += end - start
        self._next = end + max(self._interval, (end - start) / _SHARE)

    def _last_drawing(self) -> None:
        line = str(self)
        if in_notebook():
            from IPython.display import display

            if self._handle is not None:
                self._handle.update(self.picture)
            else:
                display(self.picture)
        print(line)

    def _draw(self) -> Picture:
        import numpy as np

        with style.look():
            figure = new_figure(7.6, 3.3)
            left = figure.add_subplot(1, 2, 1)
            losses = np.asarray(self.losses, dtype=float)
            if len(losses):
                steps = np.arange(1, len(losses) + 1)
                left.plot(steps, losses, color=style.BLUE, alpha=0.25, linewidth=0.8, label="each step")
                window = max(1, len(losses) // 40)
                left.plot(
                    steps[window - 1 :],
                    np.convolve(losses, np.ones(window) / window, "valid"),
                    color=style.BLUE,
                    linestyle="-",
                    label=f"mean of {window}" if window > 1 else None,
                )
                if window > 1:
                    left.legend()
                finite = losses[np.isfinite(losses)]
                if len(finite) > 10:  # a first spike must not flatten the rest
                    left.set_ylim(0 if finite.min() >= 0 else None, float(np.quantile(finite, 0.995)) * 1.08 or 1)
            left.set_xlabel("step")
            left.set_ylabel("loss")
            left.set_title(self.title or "Training")
            axes = [left]
            right = figure.add_subplot(1, 2, 2)
            if self.marks:
                for k, name in enumerate(dict.fromkeys(n for _, _, n in self.marks)):
                    points = [(s, a) for s, a, n in self.marks if n == name]
                    right.plot(
                        [s for s, _ in points],
                        [100 * a for _, a in points],
                        marker=style.MARKERS[k % 6],
                        label=name,
                        color=style.PALETTE[(k + 1) % 6],
                        linestyle=style.DASHES[k % 6],
                    )
                    right.annotate(
                        f"{points[-1][1]:.1%}",
                        (points[-1][0], 100 * points[-1][1]),
                        xytext=(-4, 7),
                        textcoords="offset points",
                        ha="right",
                        fontsize=9.5,
                    )
                right.margins(y=0.18)
                right.set_ylabel("accuracy in %")
                right.set_xlabel("step")
                right.set_title("Accuracy")
                right.legend(loc="lower right")
                right.set_xlim(0, self.steps * 1.04 or 1)
            elif self.rates:
                right.plot([s for s, _ in self.rates], [r for _, r in self.rates], color=style.BROWN, marker="o")
                right.set_ylim(0, None)
                right.set_ylabel("pictures per second")
                right.set_xlabel("step")
                right.set_title("Speed")
            else:
                right.set_axis_off()
            axes.append(right)
        text = str(self)
        return Picture(figure, text, f"Learning curve. {text}", list(self.losses), axes)

    def _svg(self) -> str:
        """The drawing while it runs: written by hand, because a matplotlib figure would cost a hundred times more."""
        width, height = 560, 190
        total = max(self.total_steps or 0, self.steps, 2)
        stride = max(1, len(self.losses) // _DRAWN_POINTS)
        points = [
            (i + stride, sum(self.losses[i : i + stride]) / len(self.losses[i : i + stride]))
            for i in range(0, len(self.losses), stride)
        ]
        points = [(s, v) for s, v in points if v == v and abs(v) != float("inf")]
        top = max((v for _, v in points), default=1.0) or 1.0
        along = " ".join(f"{50 + 490 * s / total:.1f},{160 - 130 * max(0.0, v) / top:.1f}" for s, v in points)
        accuracy = "".join(
            f'<circle cx="{50 + 490 * s / total:.1f}" cy="{160 - 130 * a:.1f}" r="4.5" fill="{style.VERMILLION}"/>'
            for s, a, _ in self.marks
        )
        words = [f"step {self.steps}" + (f" of {self.total_steps}" if self.total_steps else "")]
        if points:
            words.append(f"loss {number(points[-1][1])}")
        if self.marks:
            words.append(f"{self.marks[-1][2]} {self.marks[-1][1]:.1%}")
        if self.rates:
            words.append(f"{number(self.rates[-1][1])} pictures/s")
        legend = (
            f'<text x="540" y="18" text-anchor="end" fill="{style.VERMILLION}">'
            "&#9679; accuracy (top of the axis: 100 %)</text>"
            if self.marks
            else ""
        )
        told = html.escape(" · ".join(words))
        return (
            f'<svg role="img" aria-label="{told}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'style="max-width:100%;background:{style.BACKGROUND};font:13px sans-serif">'
            f'<text x="50" y="18" fill="{style.INK}">{html.escape(self.title)}</text>'
            f'<path d="M50 30V160H540" fill="none" stroke="#777"/>'
            f'<text x="44" y="38" text-anchor="end" fill="{style.INK}">{number(top)}</text>'
            f'<text x="44" y="164" text-anchor="end" fill="{style.INK}">0</text>'
            f'{legend}<polyline points="{along}" fill="none" stroke="{style.BLUE}" stroke-width="2"/>{accuracy}'
            f'<text x="50" y="181" fill="{style.INK}">{told}</text></svg>'
        )


def _mean_of_finite(losses: list[float]) -> str:
    """Their mean for people; one loss that is not finite must not hide those that were."""
    finite = [value for value in losses if math.isfinite(value)]
    return number(sum(finite) / len(finite)) if finite else "not finite"
