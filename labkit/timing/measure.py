"""How long one function takes: warm-up, repetitions, a median with its spread."""

from __future__ import annotations

import json
import statistics as stdlib_statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from labkit.errors import LabkitError
from labkit.timing import statistics, words
from labkit.timing.conditions import Conditions, conditions
from labkit.timing.stopwatch import Lap, Stopwatch, stopwatch_for

_WINDOW = 5  # repetitions in each of the two windows that must agree before the warm-up ends
_STEADY = 0.03  # how far their medians may differ
_MOST_SAMPLES = 2000


@dataclass(frozen=True)
class Measurement:
    """Seconds per call of one function, with the spread and the conditions.

    ``samples`` are seconds per call, one for each repetition of ``calls`` calls. ``low_s`` to ``high_s`` is the bootstrap
    95 % interval of the median; ``iqr_s`` is the distance between the quartiles. ``steady`` is False where the warm-up was
    ended by its time limit. ``stolen`` is the share of time (0 to 1) that other processes took.
    """

    name: str
    median_s: float
    iqr_s: float
    low_s: float
    high_s: float
    lower_quartile_s: float
    upper_quartile_s: float
    samples: tuple[float, ...]
    calls: int
    warmup_calls: int
    steady: bool
    stolen: float
    device: str
    conditions: Conditions

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before trusting the number."""
        notes = []
        if not self.steady:
            notes.append("the warm-up did not become steady within its time limit")
        if self.stolen >= statistics.DISTURBED:
            notes.append(f"other processes took {self.stolen:.0%} of the time: repeat it on a quiet machine")
        if len(self.samples) < _WINDOW:
            notes.append(
                f"only {len(self.samples)} repetition{'s' if len(self.samples) != 1 else ''}: the interval means little"
            )
        return tuple(notes)

    def __str__(self) -> str:
        interval = words.span(self.low_s, self.high_s, self.median_s)
        text = (
            f"{self.name}: {words.duration(self.median_s)} per call (95 % interval {interval}, "
            f"IQR {words.duration(self.iqr_s)}; {_repetitions(len(self.samples), self.calls)}; {self.conditions})"
        )
        return "\n".join([text, *(f"  note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = ("function", "median per call", "95 % interval", "IQR", "repetitions")
        row = (
            self.name,
            words.duration(self.median_s),
            words.span(self.low_s, self.high_s, self.median_s),
            words.duration(self.iqr_s),
            _repetitions(len(self.samples), self.calls),
        )
        return words.html_table(head, [row], str(self.conditions), self.notes)

    def plot(self, ax: Any = None) -> Any:
        """Draws every repetition, the quartiles and the interval of the median; returns matplotlib's axes."""
        from labkit.timing.pictures import draw_times

        return draw_times([self], str(self.conditions), ax)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {**asdict(self), "samples": list(self.samples), "notes": list(self.notes)}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)


def _repetitions(count: int, calls: int) -> str:
    return f"{count} repetition{'s' if count != 1 else ''} of {calls} call{'s' if calls != 1 else ''}"


def benchmark(
    function: Callable[[], object],
    *,
    name: str | None = None,
    device: Any = None,
    seconds: float = 0.5,
    warmup_seconds: float = 1.0,
    stopwatch: Stopwatch | None = None,
) -> Measurement:
    """Measures how long ``function()`` takes.

    Calls are repeated so often that one repetition takes at least a millisecond; repetitions run until ``seconds`` are
    used up (at least five of them while three times that is not yet used up). Before that the function warms up until
    two neighbouring windows of repetitions agree, for at most ``warmup_seconds``.

    ``device``: None for the GPU if torch is loaded and sees one, else the CPU. On a GPU the time is the device's own (events).
    ``stopwatch``: what reads the time; for tests.
    Raises LabkitError for a time limit that is not positive or a device that is not there; what the function raises passes through.
    """
    if not seconds > 0 or not warmup_seconds > 0:
        raise LabkitError(
            "A measurement needs a positive number of seconds.", "For example benchmark(function, seconds=0.5)."
        )
    watch = stopwatch_for(device) if stopwatch is None else stopwatch
    warm = warm_up(function, watch, warmup_seconds)
    laps: list[Lap] = []
    used = 0.0
    while (used < seconds or (len(laps) < _WINDOW and used < 3 * seconds)) and len(laps) < _MOST_SAMPLES:
        lap = watch.lap(function, warm.calls)
        laps.append(lap)
        used += lap.wall_s
    return measured(
        name or str(getattr(function, "__name__", "function")), warm, laps, watch.device, conditions(watch.device)
    )


def measured(name: str, warm: WarmUp, laps: Sequence[Lap], device: str, where: Conditions) -> Measurement:
    """The measurement that a function's laps give, each of ``warm.calls`` calls."""
    samples = tuple(lap.wall_s / warm.calls for lap in laps)
    told = statistics.summary(samples)
    return Measurement(
        name=name,
        median_s=told["median"],
        iqr_s=told["iqr"],
        low_s=told["low"],
        high_s=told["high"],
        lower_quartile_s=told["lower_quartile"],
        upper_quartile_s=told["upper_quartile"],
        samples=samples,
        calls=warm.calls,
        warmup_calls=warm.total_calls,
        steady=warm.steady,
        stolen=statistics.stolen_share([lap.wall_s for lap in laps], [lap.cpu_s for lap in laps]),
        device=device,
        conditions=where,
    )


@dataclass(frozen=True)
class WarmUp:
    """How a warm-up ended: calls per repetition from here on, calls made so far, seconds per call, steady or not."""

    calls: int
    total_calls: int
    per_call_s: float
    steady: bool


def warm_up(function: Callable[[], object], watch: Stopwatch, seconds: float) -> WarmUp:
    """Calls ``function`` until its time is steady, for at most ``seconds`` (one call always happens)."""
    calls, total, used = 1, 0, 0.0
    recent: list[float] = []
    while True:
        lap = watch.lap(function, calls)
        total += calls
        used += lap.wall_s
        if lap.wall_s < watch.shortest_s and total > 1:
            per_call = max(lap.wall_s / calls, 1e-9)
            wanted = int(watch.shortest_s * 1.1 / per_call) + 1
            if wanted > calls:  # grow at most tenfold: the first readings are the least sure
                calls = min(wanted, calls * 10)
                recent.clear()
                if used < seconds:
                    continue
        recent.append(lap.wall_s / calls)
        if len(recent) >= 2 * _WINDOW:
            before = stdlib_statistics.median(recent[-2 * _WINDOW : -_WINDOW])
            after = stdlib_statistics.median(recent[-_WINDOW:])
            if abs(after - before) <= _STEADY * before:
                return WarmUp(calls, total, after, True)
        if used >= seconds:
            # A call so long that it used up its warm-up cannot have settled visibly; two that agree will do.
            steady = len(recent) >= 2 and calls == 1 and abs(recent[-1] - recent[-2]) <= _STEADY * recent[-2]
            return WarmUp(calls, total, stdlib_statistics.median(recent[-_WINDOW:]), steady)
