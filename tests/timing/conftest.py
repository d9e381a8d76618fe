"""A made-up clock: functions advance it by known amounts, so that timing code is tested without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from labkit.timing.stopwatch import HostStopwatch


class Clockwork:
    """``wall`` and ``cpu`` read it; ``work`` makes a function that takes the given seconds, of which others may steal some."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used = 0.0

    @classmethod
    def fresh(cls) -> Clockwork:
        return cls()

    def wall(self) -> float:
        return self.now

    def cpu(self) -> float:
        return self.used

    def work(
        self, seconds: float, *, stolen: Iterator[float] | None = None, first_calls: tuple[float, ...] = ()
    ) -> Callable[[], None]:
        slow = list(first_calls)

        def function() -> None:
            own = slow.pop(0) if slow else seconds
            self.used += own
            self.now += own + (next(stolen) if stolen is not None else 0.0)

        return function

    def stopwatch(self) -> HostStopwatch:
        return HostStopwatch(self.wall, self.cpu)


@pytest.fixture
def clock() -> Clockwork:
    return Clockwork()
