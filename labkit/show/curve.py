"""Loss, accuracy, speed and memory while the training runs, at a cost that is measured and kept small.

The curve keeps the loss of each step as it comes, also as a tensor on the device, and fetches them all at once when it
draws. So it does not make the device wait at each step, as ``loss.item()`` would. What it costs is measured by
``python -m benchmarks.live_curve``.
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
from labkit.show.curve_picture import still_picture
from labkit.show.live import in_notebook, watched
from labkit.show.memory_reading import MemoryReading, read_memory
from labkit.show.picture import Picture

_SHARE = 0.01  # of the time that drawing may take, at most
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
        updates_per_second: float = 2.0,
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
        self.memory: list[tuple[int, MemoryReading]] = []
        """(steps done, memory at that moment), a few times per second."""
        self.learning_rates: list[tuple[int, float]] = []
        """(step, learning rate) for each step in which it changed."""
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
        self._device: Any = None

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

    def add(self, loss: Any, *, samples: int = 0, learning_rate: float | None = None) -> None:
        """Notes one step: its loss (a number, or a tensor of one element that stays where it is), its samples, and if you
        like the learning rate that it used."""
        self._pending.append(loss.detach() if hasattr(loss, "detach") else float(loss))
        if learning_rate is not None and (not self.learning_rates or self.learning_rates[-1][1] != learning_rate):
            self.learning_rates.append((self.steps, float(learning_rate)))
        self._samples += samples
        now = self._clock()
        if now >= self._next:
            self._update(now)

    def mark(self, *, accuracy: float, name: str = "test accuracy") -> None:
        """Notes an accuracy (0 to 1) at this point of the training; it is drawn when the next drawing is due."""
        self.marks.append((self.steps, float(accuracy), name))
        now = self._clock()
        if now >= self._next:
            self._update(now)

    def finish(self) -> Picture:
        """Fetches what is left and shows the still picture and the line of text. Safe to call more than once."""
        if self._ended is None:
            self._fetch()
            self._ended = self._clock()
            self._note_rate(self._ended)
            self._note_memory()
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
        if self.memory:
            most = max((reading for _, reading in self.memory), key=lambda reading: reading.peak_bytes)
            told.append(f"{most.label}: {most.peak} at most")
        if len(self.learning_rates) > 1:
            told.append(f"learning rate {self.learning_rates[0][1]:g} to {self.learning_rates[-1][1]:g}")
        told.append(f"drawing took {self.share:.1%} of the time")
        return "; ".join(told)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _fetch(self) -> None:
        """Brings the waiting losses over from the device in one piece."""
        if not self._pending:
            return
        if all(hasattr(value, "detach") for value in self._pending):
            import torch

            self._device = self._pending[-1].device
            if all(value.device.type == "cpu" for value in self._pending):
                self.losses += [float(value.item()) for value in self._pending]
            else:
                waiting = [value if value.ndim == 0 else value.reshape(()) for value in self._pending]
                self.losses += torch.stack(waiting).float().tolist()
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

    def _note_memory(self) -> None:
        reading = read_memory(self._device)
        if reading is not None:
            self.memory.append((self.steps, reading))

    def _update(self, now: float) -> None:
        self._fetch()
        # On a GPU fetching waits for the training, and that is not the curve's doing; on a CPU there is nothing to wait for.
        start = self._clock() if self._device is not None and self._device.type != "cpu" else now
        self._note_rate(start)
        self._note_memory()
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
        return still_picture(self)

    def _svg(self) -> str:
        """The drawing while it runs: written by hand, because a matplotlib figure would cost a hundred times more."""
        width, height = 560, 206
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
        more = []
        if self.memory:
            more.append(f"{self.memory[-1][1].label}: {self.memory[-1][1].now}")
        if self.learning_rates:
            more.append(f"learning rate {self.learning_rates[-1][1]:g}")
        legend = (
            f'<text x="540" y="18" text-anchor="end" fill="{style.VERMILLION}">'
            "&#9679; accuracy (top of the axis: 100 %)</text>"
            if self.marks
            else ""
        )
        told, beneath = html.escape(" · ".join(words)), html.escape(" · ".join(more))
        return (
            f'<svg role="img" aria-label="{told} {beneath}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'style="max-width:100%;background:{style.BACKGROUND};font:13px sans-serif">'
            f'<text x="50" y="18" fill="{style.INK}">{html.escape(self.title)}</text>'
            f'<path d="M50 30V160H540" fill="none" stroke="#777"/>'
            f'<text x="44" y="38" text-anchor="end" fill="{style.INK}">{number(top)}</text>'
            f'<text x="44" y="164" text-anchor="end" fill="{style.INK}">0</text>'
            f'{legend}<polyline points="{along}" fill="none" stroke="{style.BLUE}" stroke-width="2"/>{accuracy}'
            f'<text x="50" y="181" fill="{style.INK}">{told}</text>'
            f'<text x="50" y="198" fill="{style.INK}">{beneath}</text></svg>'
        )


def _mean_of_finite(losses: list[float]) -> str:
    """Their mean for people; one loss that is not finite must not hide those that were."""
    finite = [value for value in losses if math.isfinite(value)]
    return number(sum(finite) / len(finite)) if finite else "not finite"
