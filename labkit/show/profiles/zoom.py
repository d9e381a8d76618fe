"""The timeline as a widget: zoom and pan by buttons and sliders, with the longest events in view as a list."""

from __future__ import annotations

import html
import math
from typing import Any

from labkit.errors import LabkitError
from labkit.profile.table import Profile
from labkit.show.controls import FRAME, bundle, guarded, told
from labkit.show.picture import Picture
from labkit.show.profiles import look
from labkit.show.profiles.lanes import Lanes, lanes
from labkit.show.profiles.timeline import COLUMNS, WIDTH, timeline, when

_FINEST = 32  # steps of the zoom's slider
_HALF = 2**0.5  # each that much closer


class Timeline:
    """A timeline that is zoomed and moved by buttons, sliders and the keyboard. In text form::

        line = show.Timeline(profile)
        line.zoom(4); line.pan(0.5)      # four times closer, half a window later
        print(line.step(3))              # the window of the step with number 3
        line.picture                     # the drawing as a Picture

    Every method gives the picture of the new window. The rows are prepared once; a redraw costs about the same however many
    events there are.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._lanes: Lanes | None = None
        self._window: tuple[int, int] | None = None
        self._widget: Any = None
        self._drawn: tuple[tuple[int, int], Picture] | None = None

    @property
    def lanes(self) -> Lanes:
        """The rows, prepared on first use."""
        if self._lanes is None:
            self._lanes = lanes(self.profile)
        return self._lanes

    @property
    def window(self) -> tuple[int, int]:
        """(start, end) of what is shown, in ns of the profile's clock."""
        return self._window or self.lanes.focus

    @property
    def picture(self) -> Picture:
        """The window as a figure; see ``timeline`` for its ``values``."""
        if not self.lanes.lanes:
            return timeline(self.profile, made=self.lanes)
        if self._drawn is None or self._drawn[0] != self.window:
            self._drawn = (self.window, timeline(self.profile, *self.window, made=self.lanes))
        return self._drawn[1]

    def zoom(self, factor: float, *, at: float = 0.5) -> Picture:
        """``factor`` times closer (below 1: further away); ``at``: the share of the window that stays in place."""
        if not factor > 0:
            raise LabkitError(f"A zoom of {factor} has no meaning.", "Pass 2 to come closer, 0.5 to go away.")
        low, high = self.window
        width = max(round((high - low) / factor), COLUMNS)
        return self._show(round(low + at * (high - low - width)), width)

    def pan(self, windows: float) -> Picture:
        """Later by so many windows; negative: earlier."""
        low, high = self.window
        return self._show(low + round(windows * (high - low)), high - low)

    def whole(self) -> Picture:
        """All of the profile."""
        self._window = (self.lanes.low, self.lanes.high)
        return self.picture

    def show(self, start_ns: int, end_ns: int) -> Picture:
        """From ``start_ns`` to ``end_ns``."""
        if end_ns <= start_ns:
            raise LabkitError(f"The window ends ({end_ns}) before it starts ({start_ns}).", "Pass start_ns < end_ns.")
        return self._show(start_ns, end_ns - start_ns)

    def step(self, number: int) -> Picture:
        """The step that is marked with this number, to the next one's beginning."""
        starts, numbers = self.lanes.steps
        where = (numbers == number).nonzero()[0]
        if where.size == 0:
            known = f"{numbers.min()} to {numbers.max()}" if numbers.size else "no step is marked in this profile"
            raise LabkitError(f"There is no step {number}.", f"Steps: {known}.")
        k = int(where[0])
        end = int(starts[k + 1]) if k + 1 < starts.size else self.lanes.high
        return self._show(int(starts[k]), end - int(starts[k]))

    def _show(self, low: int, width: int) -> Picture:
        first, last = self.lanes.low, self.lanes.high
        width = max(min(width, last - first), 1)
        low = min(max(low, first), last - width)
        self._window = (low, low + width)
        return self.picture

    # -- forms ----------------------------------------------------------------------------------------------------

    def panel(self) -> str:
        """The window as HTML: the drawing and the longest events in it."""
        picture = self.picture
        image = picture.image(f"width:{round(WIDTH * 96)}px;max-width:100%;height:auto")
        if picture.values is None:
            return f'<div style="{FRAME}">{image}</div>'
        plain = "background:transparent;padding:1px 10px 1px 0;text-align:"
        rows = "".join(
            '<tr style="background:transparent">'
            + "".join(
                f'<td style="{plain}{side}">{html.escape(cell)}</td>'
                for cell, side in (
                    (e["name"], "left"),
                    (e["lane"], "left"),
                    (look.ns(e["end_ns"] - e["start_ns"]), "right"),
                    (when(self.lanes, e["start_ns"]), "right"),
                )
            )
            + "</tr>"
            for e in picture.values["largest"]
        )
        head = "".join(
            f'<th scope="col" style="{plain}{side}">{word}</th>'
            for word, side in (("longest in view", "left"), ("row", "left"), ("takes", "right"), ("begins at", "right"))
        )
        return (
            f'<div style="{FRAME}">{image}<div role="region" aria-label="Longest events in view" tabindex="0" '
            f'style="overflow-x:auto"><table style="border-collapse:collapse;font-size:12px;margin:4px 0 0">'
            f'<thead><tr style="background:transparent">{head}</tr></thead><tbody>{rows}</tbody></table></div></div>'
        )

    @property
    def widget(self) -> Any:
        """The ipywidgets box."""
        if self._widget is None:
            self._widget = self._build()
        return self._widget

    def __str__(self) -> str:
        return self.picture.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Buttons and sliders for a person with a kernel; for a page the drawing, for everyone else the words."""
        return bundle(str(self), self.panel(), lambda: self.widget)

    def _build(self) -> Any:
        import ipywidgets as widgets

        panel, status = widgets.HTML(self.panel()), widgets.HTML(told(""))
        room = {
            "layout": widgets.Layout(width="330px", max_width="calc(100% - 4px)"),
            "style": {"description_width": "70px"},
        }
        closer = widgets.FloatSlider(description="Zoom", min=0, max=_FINEST, step=1, readout=False, **room)
        place = widgets.FloatSlider(
            description="Position", min=0, max=100, step=0.5, readout_format=".1f", continuous_update=False, **room
        )
        closer.continuous_update = False
        moving = False

        def say(sentence: str) -> None:
            status.value = sentence

        def redraw() -> None:
            nonlocal moving
            panel.value = self.panel()
            low, high = self.window
            free = self.lanes.high - self.lanes.low - (high - low)
            moving = True
            try:
                closer.value = min(
                    _FINEST, round(math.log(max(self.lanes.high - self.lanes.low, 1) / (high - low), _HALF))
                )
                place.value = 100 * (low - self.lanes.low) / free if free > 0 else 0
            finally:
                moving = False
            say(told(f"Shown: {look.ns(high - low)}, from {when(self.lanes, low)} after the first event."))

        def button(words: str, tip: str, act: Any) -> Any:
            made = widgets.Button(description=words, tooltip=tip, layout=widgets.Layout(width="auto"))

            def pressed(_: Any) -> None:
                act()
                redraw()

            made.on_click(guarded(pressed, say))
            return made

        def slid(change: dict[str, Any]) -> None:
            if moving:
                return
            span = self.lanes.high - self.lanes.low
            if change["owner"] is closer:
                low, high = self.window
                width = max(round(span / _HALF**closer.value), min(COLUMNS, span))
                self._show((low + high - width) // 2, width)
            else:
                low, high = self.window
                self._show(self.lanes.low + round((span - (high - low)) * place.value / 100), high - low)
            redraw()

        for slider in (closer, place):
            slider.observe(guarded(slid, say), names="value")
        buttons = [
            button("Earlier", "Half a window earlier", lambda: self.pan(-0.5)),
            button("Later", "Half a window later", lambda: self.pan(0.5)),
            button("Zoom in", "Twice as close", lambda: self.zoom(2)),
            button("Zoom out", "Half as close", lambda: self.zoom(0.5)),
            button("Whole run", "All of the profile", self.whole),
        ]
        if self.lanes.steps[0].size > 1:
            buttons += [
                button("Previous step", "The step before", lambda: self._neighbour(-1)),
                button("Next step", "The step after", lambda: self._neighbour(1)),
            ]
        if not self.lanes.lanes:
            return panel
        wrap = widgets.Layout(flex_flow="row wrap")
        return widgets.VBox(
            [widgets.HBox(buttons, layout=wrap), widgets.HBox([closer, place], layout=wrap), status, panel]
        )

    @property
    def _wholes(self) -> tuple[tuple[int, int], ...]:
        return (self.lanes.low, self.lanes.high), self.lanes.focus

    def _neighbour(self, by: int) -> Picture:
        """The step after (or before) the one that holds the middle of the window; first the one itself, from the whole run."""
        starts, numbers = self.lanes.steps
        low, high = self.window
        k = int((starts <= (low + high) // 2).sum()) - 1
        k = (0 if by > 0 else starts.size - 1) if (low, high) in self._wholes else k + by
        return self.step(int(numbers[min(max(k, 0), starts.size - 1)]))
