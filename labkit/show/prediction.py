"""A guess before a measurement, and both side by side after it."""

from __future__ import annotations

import html
import math
from typing import Any

from labkit.errors import LabkitError
from labkit.show.charts import intervals, number
from labkit.show.controls import FRAME, bundle, guarded, told
from labkit.show.picture import Picture

_FAR = 3.0  # from this ratio on, a logarithmic axis shows both better
_NOTCHES = 100  # of the slider
_CLOSE = 1.1  # up to this ratio a guess counts as close


def predict(
    question: str,
    unit: str = "times",
    default: float = 3.0,
    low: float | None = None,
    high: float | None = None,
) -> Prediction:
    """Asks for a guess before a measurement. Put it on a cell's last line, then ``compare`` it with what was measured::

        guess = labkit.predict("How many times faster is the GPU?")
        guess                                  # a field (and a slider, if low and high are given)
        guess.compare(9.3, 9.1, 9.5)           # in a later cell

    unit: of the guess and the measurement. low, high: the ends of the slider; any other number can still be typed.
    Where nobody can type (papermill, a web page, plain Python) the default stands, and is called the default.
    """
    return Prediction(question, unit, default, low, high)


class Prediction:
    """What ``predict`` returns. ``value`` is the guess (also to be set), ``changed`` whether it differs from the default."""

    def __init__(
        self,
        question: str,
        unit: str = "times",
        default: float = 3.0,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        self.question, self.unit = str(question), str(unit)
        self.default = _number(default, "default")
        if (low is None) != (high is None):
            raise LabkitError("A slider needs both of its ends.", "Pass low and high, or neither.")
        if low is not None and high is not None and not _number(low, "low") < _number(high, "high"):
            raise LabkitError(f"low must lie below high; they are {low} and {high}.", "Exchange them.")
        self.low, self.high = low, high
        self._value = self.default
        self._widget: Any = None
        self._field: Any = None

    @property
    def value(self) -> float:
        """The guess, in ``unit``."""
        return self._value

    @value.setter
    def value(self, guess: float) -> None:
        self._value = _number(guess, "guess")
        if self._field is not None:
            self._field.value = self._value

    @property
    def changed(self) -> bool:
        """Whether the guess is another number than the default."""
        return self._value != self.default

    def compare(self, measured: float, low: float | None = None, high: float | None = None) -> Picture:
        """The guess beside the measurement (same unit) with its interval, as a picture and as a sentence.

        ``values`` of the picture is (guess, measured, low, high). Raises LabkitError for a measurement that is no finite
        number or does not lie within its interval.
        """
        return compare_guess(
            self._value, measured, low, high, unit=self.unit, question=self.question, default=self.default
        )

    @property
    def widget(self) -> Any:
        """The ipywidgets box: the question, a field, a slider if there are ends, and what is noted."""
        if self._widget is None:
            import ipywidgets as widgets

            wide = {"description_width": "initial"}
            asked = widgets.HTML(f'<div style="{FRAME}"><b>{html.escape(self.question)}</b></div>')
            self._field = field = widgets.FloatText(
                value=self._value,
                description=f"Your guess ({self.unit})",
                continuous_update=True,
                style=wide,
                layout=widgets.Layout(width="260px", max_width="calc(100% - 4px)"),
            )
            noted = widgets.HTML(told(self._noted()))

            def say(sentence: str) -> None:
                noted.value = sentence

            slider = self._slider(widgets, wide)

            def typed(change: dict[str, Any]) -> None:
                self._value = _number(change["new"], "guess")
                if slider is not None:
                    slider.value = self._on_slider(self._value)
                say(told(self._noted()))

            def slid(change: dict[str, Any]) -> None:
                """The front end puts the knob onto a notch by itself and says so; that is no new guess."""
                if self._notch(change["new"]) != self._notch(self._on_slider(self._value)):
                    field.value = float(f"{change['new']:.3g}")

            field.observe(guarded(typed, say), names="value")
            if slider is not None:
                slider.observe(guarded(slid, say), names="value")
            controls = [field] if slider is None else [field, slider]
            row = widgets.HBox(controls, layout=widgets.Layout(flex_flow="row wrap"))
            self._widget = widgets.VBox([asked, row, noted])
        return self._widget

    def _slider(self, widgets: Any, wide: dict[str, str]) -> Any:
        """A slider over the ends, logarithmic where they are far apart; None without ends."""
        if self.low is None or self.high is None:
            return None
        shared: dict[str, Any] = {
            "description": "or slide",
            "readout": False,
            "style": wide,
            "layout": widgets.Layout(width="280px", max_width="calc(100% - 4px)"),
        }
        if self._log:
            ends = {"min": math.log10(self.low), "max": math.log10(self.high)}
            step = (ends["max"] - ends["min"]) / _NOTCHES
            return widgets.FloatLogSlider(value=self._on_slider(self._value), base=10, step=step, **ends, **shared)
        step = (self.high - self.low) / _NOTCHES
        return widgets.FloatSlider(value=self._on_slider(self._value), min=self.low, max=self.high, step=step, **shared)

    def _notch(self, guess: float) -> int:
        """The slider's notch nearest to a number: the front end moves the knob onto a notch by itself, and says so."""
        if self.low is None or self.high is None:
            return 0
        if self._log:
            return round(_NOTCHES * math.log(guess / self.low) / math.log(self.high / self.low))
        return round(_NOTCHES * (guess - self.low) / (self.high - self.low))

    @property
    def _log(self) -> bool:
        return self.low is not None and self.high is not None and self.low > 0 and self.high / self.low >= 20

    def _on_slider(self, guess: float) -> float:
        """The guess where the slider can show it."""
        return min(max(guess, self.low or 0.0), self.high) if self.low is not None and self.high is not None else guess

    def _noted(self) -> str:
        guess = _with_unit(self._value, self.unit)
        return f"Noted: {guess}." if self.changed else f"{guess} is the default. Type your own guess before you go on."

    def __str__(self) -> str:
        whose = "Your guess" if self.changed else "The default guess"
        return f"{self.question} {whose}: {_with_unit(self._value, self.unit)}."

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The field for a person with a kernel; for a page and everyone else the question and the guess in words."""
        whose = "Your guess" if self.changed else "The default guess"
        still = (
            f'<div style="{FRAME}"><b>{html.escape(self.question)}</b><br>'
            f"{whose}: {html.escape(_with_unit(self._value, self.unit))}.</div>"
        )
        return bundle(str(self), still, lambda: self.widget)


def compare_guess(
    guess: float,
    measured: float,
    low: float | None = None,
    high: float | None = None,
    *,
    unit: str = "times",
    question: str = "",
    default: float | None = None,
) -> Picture:
    """A guess that is a plain number beside the measurement; for cells such as ``my_guess = 3.0``.

    default: the number that stood in the cell; a guess that equals it is called the default guess. Everything else as in
    ``Prediction.compare``.
    """
    guess, measured = _number(guess, "guess"), _number(measured, "measurement")
    if (low is None) != (high is None):
        raise LabkitError("An interval needs both of its ends.", "Pass low and high, or neither.")
    least = measured if low is None else _number(low, "low end")
    most = measured if high is None else _number(high, "high end")
    if not least <= measured <= most:
        raise LabkitError(
            f"The measurement {measured:g} does not lie within its interval {least:g} to {most:g}.",
            "Pass measured, low, high in this order.",
        )
    is_default = default is not None and guess == default
    sentence = _sentence(guess, measured, least, most, unit, is_default, interval=low is not None)
    positive = min(guess, least) > 0
    drawn = intervals(
        ["the default guess" if is_default else "your guess", "measured"],
        [guess, measured],
        [guess, least],
        [guess, most],
        unit,
        title=question,
        log=positive and max(guess / measured, measured / guess) >= _FAR,
    )
    text = f"{question}\n{sentence}" if question else sentence
    return Picture(drawn.figure, text, text.replace("\n", " "), (guess, measured, least, most), drawn.axes)


def _sentence(
    guess: float, measured: float, low: float, high: float, unit: str, is_default: bool, *, interval: bool
) -> str:
    who = f"The default guess was {_with_unit(guess, unit)}" if is_default else f"You guessed {_with_unit(guess, unit)}"
    span = f" ({number(low)} to {number(high)})" if interval else ""
    head = f"{who}; measured {_with_unit(measured, unit)}{span}"
    tail = " To guess yourself, change the number above and run both cells again." if is_default else ""
    if guess == measured or (interval and low <= guess <= high):
        return f"{head}: within what was measured.{tail}"
    if guess > 0 and measured > 0:
        ratio = measured / guess
        whose = "the default" if is_default else "you thought"
        if max(ratio, 1 / ratio) <= _CLOSE:
            return f"{head}: close, {abs(ratio - 1):.1%} {'more' if ratio > 1 else 'less'} than {whose}.{tail}"
        if ratio > 1:
            return f"{head}: {number(ratio)} times as much as {whose}.{tail}"
        return f"{head}: the guess was {number(1 / ratio)} times too high.{tail}"
    return f"{head}: {number(abs(measured - guess))} {'more' if measured > guess else 'less'} than guessed.{tail}"


def _with_unit(value: float, unit: str) -> str:
    if value == round(value) and abs(value) < 1e9:  # a count is told whole
        plain = f"{value:,.0f}"
    else:
        plain = f"{value:g}" if value == round(value, 3) and 1e-3 < abs(value) < 1e4 else number(value)
    return f"{plain} {unit}".strip() if unit != "%" else f"{plain} %"


def _number(value: Any, what: str) -> float:
    try:
        made = float(value)
    except (TypeError, ValueError):
        made = math.nan
    if not math.isfinite(made):
        raise LabkitError(f"The {what} must be a number; it is {value!r}.", "Use a plain number such as 3.0.")
    return made
