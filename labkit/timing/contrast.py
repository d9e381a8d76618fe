"""Which of several functions is faster, if that can be said at all."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from labkit.errors import LabkitError
from labkit.timing import statistics, words
from labkit.timing.conditions import Conditions, conditions
from labkit.timing.measure import Measurement, measured, warm_up
from labkit.timing.statistics import Decision
from labkit.timing.stopwatch import Lap, Stopwatch, stopwatch_for

_MOST_ROUNDS = 2000
_WARMUP_SHARE = 0.3  # of the time budget, for all functions together


@dataclass(frozen=True)
class Contrast:
    """One function against another.

    ``ratio``: the median over pairs of ``name``'s time divided by ``baseline``'s (2.0: takes twice as long); ``low`` to ``high``
    is its paired bootstrap 95 % interval. Every sentence gives this ratio and interval, never their inverse. ``decision``,
    of ``name`` against ``baseline``, rests on a stricter interval than the printed one: 'faster', 'slower', 'no difference
    shown' or 'inconclusive'.
    """

    name: str
    baseline: str
    ratio: float
    low: float
    high: float
    pairs: int
    decision: Decision
    reason: str

    @property
    def speedup(self) -> float:
        """How many times as fast as the baseline."""
        return 1 / self.ratio

    def __str__(self) -> str:
        ratio = f"({words.ratio(self.ratio, self.low, self.high)})"
        if self.decision == "faster":
            if self.ratio < 1 / 1.2:
                return f"{self.name} is {words.digits(self.speedup)} times as fast as {self.baseline} {ratio}"
            return f"{self.name} takes {(1 - self.ratio) * 100:.1f} % less time than {self.baseline} {ratio}"
        if self.decision == "slower":
            if self.ratio > 1.2:
                return f"{self.name} takes {words.digits(self.ratio)} times as long as {self.baseline} {ratio}"
            return f"{self.name} takes {(self.ratio - 1) * 100:.1f} % more time than {self.baseline} {ratio}"
        return f"{self.name} against {self.baseline} {ratio}: {self.decision}; {self.reason}"

    __repr__ = __str__


@dataclass(frozen=True)
class Comparison:
    """Several functions, measured in turns.

    ``measurements``: one for each function, in the order given; sample i of each comes from the same round, so samples are
    paired. ``contrasts``: each function but the baseline against the baseline.
    """

    measurements: tuple[Measurement, ...]
    contrasts: tuple[Contrast, ...]
    baseline: str
    pairs: int
    seconds: float
    stolen: float
    seed: int
    conditions: Conditions

    def __getitem__(self, name: str) -> Measurement:
        """The measurement of the function called ``name``."""
        for measurement in self.measurements:
            if measurement.name == name:
                return measurement
        raise LabkitError(
            f"Nothing called '{name}' was compared.",
            "Compared were: " + ", ".join(m.name for m in self.measurements) + ".",
        )

    def ratio(self, name: str, baseline: str | None = None) -> Contrast:
        """``name`` against ``baseline`` (default: the comparison's own), from the same pairs."""
        return _contrast(
            self[name],
            self[self.baseline if baseline is None else baseline],
            self.stolen,
            len(self.contrasts),
            self.seed,
        )

    @property
    def verdict(self) -> str:
        """One sentence for each function against the baseline."""
        return "; ".join(map(str, self.contrasts))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before trusting the verdict."""
        notes = [f"{m.name}: the warm-up did not become steady" for m in self.measurements if not m.steady]
        if self.stolen >= statistics.DISTURBED:
            notes.append(f"other processes took {self.stolen:.0%} of the time")
        return tuple(notes)

    def _rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        head = ("function", "median per call", "IQR", f"ratio: time over that of {self.baseline}", "verdict")
        by_name = {contrast.name: contrast for contrast in self.contrasts}
        rows: list[tuple[str, ...]] = []
        for m in self.measurements:
            contrast = by_name.get(m.name)
            ratio, decision = "1 (baseline)", ""
            if contrast is not None:
                ratio = (
                    f"{words.digits(contrast.ratio)} ({words.digits(contrast.low)} to {words.digits(contrast.high)})"
                )
                decision = contrast.decision
            rows.append((m.name, words.duration(m.median_s), words.duration(m.iqr_s), ratio, decision))
        return head, rows

    def _how(self) -> str:
        return (
            f"{self.pairs} rounds in {self.seconds:.1f} s, in random order within each; {words.RATIO_IS} "
            f"(in brackets: its bootstrap 95 % interval); {self.conditions}"
        )

    def __str__(self) -> str:
        head, rows = self._rows()
        return "\n".join(
            [
                words.columns(head, rows),
                *(f"-> {contrast}" for contrast in self.contrasts),
                self._how(),
                *(f"note: {note}" for note in self.notes),
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self._rows()
        return words.html_table(
            head, rows, self._how(), [*map(str, self.contrasts), *(f"note: {note}" for note in self.notes)]
        )

    def plot(self, ax: Any = None) -> Any:
        """Draws each ratio with its interval beside the line of no difference; returns matplotlib's axes."""
        from labkit.timing.pictures import draw_ratios

        return draw_ratios(self.contrasts, self.baseline, f"{self.pairs} rounds; {self.conditions}", ax)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            **asdict(self),
            "measurements": [m.to_dict() for m in self.measurements],
            "contrasts": [asdict(contrast) for contrast in self.contrasts],
            "verdict": self.verdict,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)


def compare(
    functions: Mapping[str, Callable[[], object]],
    *,
    baseline: str | None = None,
    device: Any = None,
    seconds: float = 1.0,
    seed: int = 0,
    stopwatch: Stopwatch | None = None,
) -> Comparison:
    """Compares two or more functions, called without arguments, in about ``seconds`` seconds.

    Every round calls each function (often enough to fill a millisecond), in an order drawn anew; so whatever disturbs
    the machine disturbs all of them alike. Rounds go on until the time is used up; long functions get up to three times
    ``seconds`` to reach the nine rounds that a verdict needs. The verdict is formed once, at the end: see
    ``labkit.timing.statistics.judge``.

    ``baseline``: the name that the others are compared with (default: the first). ``seed``: draws the order of the rounds.
    Raises LabkitError for fewer than two functions, an unknown baseline, or a device that is not there; what a function
    raises passes through.
    """
    if len(functions) < 2:
        raise LabkitError(
            "compare needs at least two functions.",
            "For example compare({'first': f, 'second': g}); for one there is benchmark(f).",
        )
    if not seconds > 0:
        raise LabkitError(
            "A comparison needs a positive number of seconds.", "For example compare({...}, seconds=1.0)."
        )
    reference = next(iter(functions)) if baseline is None else baseline
    if reference not in functions:
        raise LabkitError(
            f"The baseline '{reference}' is not among the functions.", "Names are: " + ", ".join(functions) + "."
        )
    watch = stopwatch_for(device) if stopwatch is None else stopwatch
    order = list(functions)
    warm = {name: warm_up(functions[name], watch, _WARMUP_SHARE * seconds / len(order)) for name in order}
    laps: dict[str, list[Lap]] = {name: [] for name in order}
    shuffler = random.Random(seed)
    fewest = statistics.fewest_pairs(1 - (1 - statistics.LEVEL) / (len(order) - 1))
    budget = (1 - _WARMUP_SHARE) * seconds
    used, rounds = 0.0, 0
    while rounds == 0 or (rounds < _MOST_ROUNDS and (used < budget or (rounds < fewest and used < 3 * seconds))):
        shuffler.shuffle(order)
        for name in order:
            lap = watch.lap(functions[name], warm[name].calls)
            laps[name].append(lap)
            used += lap.wall_s
        rounds += 1
    where = conditions(watch.device)
    measurements = [measured(name, warm[name], laps[name], watch.device, where) for name in functions]
    stolen = max(m.stolen for m in measurements)
    by_name = {m.name: m for m in measurements}
    contrasts = tuple(
        _contrast(by_name[name], by_name[reference], stolen, len(functions) - 1, seed)
        for name in functions
        if name != reference
    )
    return Comparison(tuple(measurements), contrasts, reference, rounds, used, stolen, seed, where)


def _contrast(candidate: Measurement, baseline: Measurement, stolen: float, contrasts: int, seed: int) -> Contrast:
    told = statistics.judge(baseline.samples, candidate.samples, stolen=stolen, contrasts=contrasts, seed=seed)
    return Contrast(
        candidate.name, baseline.name, told.ratio, told.low, told.high, told.pairs, told.decision, told.reason
    )
