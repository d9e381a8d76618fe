from __future__ import annotations

import itertools
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.errors import LabkitError
from labkit.timing import benchmark
from labkit.timing.measure import warm_up
from labkit.timing.stopwatch import EventStopwatch, HostStopwatch, stopwatch_for


def test_the_median_is_the_time_of_one_call(clock: Any) -> None:
    m = benchmark(clock.work(2.5e-3), name="work", stopwatch=clock.stopwatch())
    assert m.median_s == pytest.approx(2.5e-3) and m.iqr_s == pytest.approx(0, abs=1e-12)
    assert m.low_s <= m.median_s <= m.high_s and m.calls == 1 and m.steady and m.notes == ()


def test_short_calls_are_repeated_until_the_clock_does_not_matter(clock: Any) -> None:
    m = benchmark(clock.work(2e-6), stopwatch=clock.stopwatch())
    assert m.calls * 2e-6 >= 1e-3 and m.median_s == pytest.approx(2e-6)


def test_slow_first_calls_belong_to_the_warm_up(clock: Any) -> None:
    m = benchmark(clock.work(2e-3, first_calls=(0.05, 0.02, 0.01)), stopwatch=clock.stopwatch())
    assert max(m.samples) == pytest.approx(2e-3) and m.steady and m.warmup_calls >= 10


def test_a_warm_up_that_never_settles_is_bounded_and_told(clock: Any) -> None:
    growing = itertools.count(1)

    def slower_and_slower() -> None:
        clock.now += 1e-3 * 1.2 ** next(growing)

    warm = warm_up(slower_and_slower, clock.stopwatch(), 0.5)
    assert not warm.steady and clock.now < 2
    m = benchmark(slower_and_slower, stopwatch=clock.stopwatch())
    assert any("warm-up" in note for note in m.notes) and "warm-up" in str(m)


def test_the_time_budget_is_kept(clock: Any) -> None:
    m = benchmark(clock.work(0.2), seconds=0.5, warmup_seconds=0.3, stopwatch=clock.stopwatch())
    assert len(m.samples) == 5 and clock.now < 2.5
    clock = clock.fresh()
    m = benchmark(clock.work(10.0), seconds=0.5, stopwatch=clock.stopwatch())
    assert len(m.samples) == 1 and any("only 1 repetition" in note for note in m.notes)


def test_stolen_time_is_told(clock: Any) -> None:
    stolen = itertools.cycle([0.0, 0.0, 3e-3])
    m = benchmark(clock.work(2e-3, stolen=stolen), stopwatch=clock.stopwatch())
    assert m.stolen == pytest.approx(1 / 3, abs=0.05) and "other processes" in str(m)


def test_the_measurement_reads_well_and_turns_into_json(clock: Any) -> None:
    m = benchmark(clock.work(2e-3), name="a <b>", stopwatch=clock.stopwatch())
    assert str(m).startswith("a <b>: 2.00 ms per call (95 % interval 2.00 to 2.00 ms, IQR ") and "\n" not in str(m)
    assert m.conditions.machine in str(m)
    assert "a &lt;b&gt;" in m._repr_html_() and "2.00 ms" in m._repr_html_()
    told = json.loads(m.to_json())
    assert told["median_s"] == m.median_s and len(told["samples"]) == len(m.samples) and told["conditions"]["python"]


def test_it_draws(clock: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = benchmark(clock.work(2e-3), name="work", stopwatch=clock.stopwatch()).plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["work"] and "ms per call" in ax.get_xlabel()
    matplotlib.pyplot.close("all")


def test_the_real_clock_runs_too() -> None:
    m = benchmark(lambda: sum(range(500)), seconds=0.02, warmup_seconds=0.05, device="cpu")
    assert 0 < m.low_s <= m.high_s and m.device == "cpu"


@pytest.mark.parametrize("limits", [{"seconds": 0}, {"seconds": -1.0}, {"warmup_seconds": 0}])
def test_limits_must_be_positive(limits: dict[str, float]) -> None:
    with pytest.raises(LabkitError, match="positive"):
        benchmark(lambda: None, **limits)


def test_what_the_function_raises_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        benchmark(lambda: 1 / 0, device="cpu")


def test_without_torch_loaded_the_host_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert isinstance(stopwatch_for(), HostStopwatch)
    assert benchmark(lambda: None, seconds=0.01, warmup_seconds=0.02).conditions.torch is None
    with pytest.raises(LabkitError, match="needs torch"):
        stopwatch_for("cuda")


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = SimpleNamespace(
        __version__="2",
        cuda=SimpleNamespace(is_available=lambda: False),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: False)),
    )
    monkeypatch.setitem(sys.modules, "torch", bare)
    assert isinstance(stopwatch_for(), HostStopwatch)
    with pytest.raises(LabkitError, match="not available"):
        stopwatch_for("cuda:1")
    with pytest.raises(LabkitError, match="cannot time on 'tpu'"):
        stopwatch_for("tpu")


class MadeUpCuda:
    """Enough of torch.cuda for one stream: events are stamped when the queued work before them is done."""

    def __init__(self) -> None:
        self.queued_ms = 0.0
        self.log: list[str] = []
        cuda = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                cuda.log.append("record")
                self.at = cuda.queued_ms

            def elapsed_time(self, other: Event) -> float:
                assert cuda.log[-1] == "synchronize", "an event was read before the device was waited for"
                return other.at - self.at

        self.Event = Event

    def device(self, device: object) -> MadeUpCuda:
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...

    def synchronize(self) -> None:
        self.log.append("synchronize")


def test_device_events_time_the_device_and_share_a_pair_among_short_calls() -> None:
    cuda = MadeUpCuda()

    def kernel() -> None:
        cuda.queued_ms += 0.004

    m = benchmark(
        kernel, seconds=0.05, warmup_seconds=0.1, stopwatch=EventStopwatch(SimpleNamespace(cuda=cuda), "cuda:0")
    )
    assert m.median_s == pytest.approx(4e-6) and m.calls >= 250 and m.device == "cuda:0"
    assert cuda.log[:4] == ["synchronize", "record", "record", "synchronize"]
    assert m.stolen == 0
