"""One measured point: the timing room's benchmark, with a share of the time that a whole series may take."""

from __future__ import annotations

from collections.abc import Callable

from labkit.comm.results import Point, point_of
from labkit.timing import Measurement, benchmark, statistics
from labkit.timing.stopwatch import Stopwatch

Progress = Callable[[str], object]
_WARMUP = 0.3  # of a point's time, at most

UNSTEADY = "most sizes were still getting faster or slower when their warm-up ended: give it more seconds"
DISTURBED = "other processes took part of the time: repeat it on a quiet machine"


def quiet(_: str) -> None:
    """Says nothing: the progress of whoever does not want one."""


class Pace:
    """Measures the points of one series in about ``seconds`` and remembers what a reader should know of them."""

    def __init__(self, seconds: float, points: int, watch: Stopwatch) -> None:
        self.share_s = seconds / max(1, points)  # of one point
        self._watch = watch
        self._measured: list[Measurement] = []

    def point(self, function: Callable[[], object], bytes: int, *, work: float, size: int | None = None) -> Point:
        """The point of ``function``, which moves or computes ``work`` per call."""
        told = benchmark(
            function,
            seconds=self.share_s * (1 - _WARMUP),
            warmup_seconds=self.share_s * _WARMUP,
            stopwatch=self._watch,
        )
        self._measured.append(told)
        return point_of(bytes, told, work=work, size=size)

    def notes(self) -> tuple[str, ...]:
        """Disturbances, in words."""
        count = len(self._measured)
        disturbed = sum(m.stolen >= statistics.DISTURBED for m in self._measured) > count / 4
        unsteady = sum(not m.steady for m in self._measured) > count / 2
        return (*((UNSTEADY,) if unsteady else ()), *((DISTURBED,) if disturbed else ()))
