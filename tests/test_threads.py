"""The choice of CPU threads, on a made-up torch whose steps take known times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from labkit import threads
from labkit.errors import LabkitError


class MadeUpTorch:
    """Counts threads and time: a step takes what ``cost`` says for the present number of threads."""

    def __init__(self, cost: Callable[[int], float], default: int = 2, gpu: bool = False) -> None:
        self.now, self.number, self.steps, self._cost = 0.0, default, 0, cost
        self.cuda = SimpleNamespace(is_available=lambda: gpu)

    def get_num_threads(self) -> int:
        return self.number

    def set_num_threads(self, number: int) -> None:
        self.number = number

    def clock(self) -> float:
        return self.now

    def step(self) -> None:
        self.steps += 1
        self.now += self._cost(self.number)


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "_default_threads", None)
    yield


def choose(torch: MadeUpTorch, **options: float) -> threads.ThreadChoice:
    return threads.choose(torch.step, torch=torch, clock=torch.clock, **options)


@pytest.mark.parametrize(
    ("one", "every", "chosen"),
    [(1e-3, 0.6e-3, 4), (1e-3, 1.5e-3, 1), (1e-3, 0.95e-3, 1), (30e-3, 20e-3, 4), (30e-3, 60e-3, 1), (20e-6, 30e-6, 1)],
)
def test_the_faster_number_is_kept_and_in_doubt_one(one: float, every: float, chosen: int) -> None:
    torch = MadeUpTorch(lambda n: one if n == 1 else every, default=4)
    told = choose(torch)
    assert told.threads == torch.number == chosen and told.before == 4
    assert [pace.threads for pace in told.paces] == [1, 4]
    assert told.paces[0].mean_s == pytest.approx(one) and told.paces[1].mean_s == pytest.approx(every)
    assert told.probe_s <= max(0.16, 10 * (one + every))


def test_first_calls_do_not_count() -> None:
    calls = iter([0.05] * 2)
    torch = MadeUpTorch(lambda n: next(calls, 1e-3 if n == 1 else 0.5e-3))
    assert choose(torch).paces[0].mean_s == pytest.approx(1e-3)


def test_now_and_then_being_stuck_counts() -> None:
    """Beside a busy neighbour most steps of two threads are quick, but some wait for a whole turn: the mean knows, the median does not."""
    torch = MadeUpTorch(lambda n: 1e-3)

    def cost(n: int) -> float:
        return 1e-3 if n == 1 else 0.6e-3 + (20e-3 if torch.steps % 17 == 0 else 0)

    torch._cost = cost
    assert choose(torch).threads == 1


def test_a_long_step_is_tried_a_few_times_only() -> None:
    torch = MadeUpTorch(lambda n: 1.0 if n == 1 else 0.5)
    assert choose(torch).threads == 2 and torch.steps <= 6


def test_one_step_has_no_spread() -> None:
    torch = MadeUpTorch(lambda n: 1.0 if n == 1 else 0.5)
    text = str(choose(torch))
    assert "1 thread: 1.00 s per step (one step, no spread); 2 threads: 500 ms per step (one step, no spread)" in text
    assert "quartiles" not in text and "1 steps" not in text


def test_many_threads_that_are_stuck_are_tried_once() -> None:
    """Beside a busy neighbour a step of two threads may take seconds: one of them tells enough."""
    torch = MadeUpTorch(lambda n: 0.4 if n == 1 else 9.0)
    told = choose(torch)
    assert told.threads == torch.number == 1 and torch.steps == 3 and told.probe_s == pytest.approx(9.8)
    assert str(told) == (
        "CPU threads: 1 (the first step with 2 took 22.5 times as long: 1 thread: 400 ms per step (one step, no spread); "
        "2 threads: 9.00 s per step (one step, no spread))"
    )


def test_a_first_step_that_only_pays_for_set_up_is_tried_again() -> None:
    torch = MadeUpTorch(lambda n: 0.4)
    torch._cost = lambda n: 0.4 if n == 1 else 0.6 if torch.steps == 3 else 0.2
    assert choose(torch).threads == 2
    torch = MadeUpTorch(lambda n: 1e-3)
    torch._cost = lambda n: (
        1e-3 if n == 1 else 0.3 if torch.steps == 3 else 0.5e-3
    )  # a short step has time for a second look
    assert choose(torch).threads == 2


def test_the_first_step_is_blamed_only_where_it_was_the_last() -> None:
    torch = MadeUpTorch(lambda n: 2e-3 if n == 1 else 0.11)
    told = choose(torch)
    assert told.threads == 1 and told.reason == "more do not pay for this step here and now"


def test_no_step_is_begun_once_the_time_is_over() -> None:
    torch = MadeUpTorch(lambda n: 0.1 if n == 1 else 0.09)
    told = choose(torch)
    assert told.probe_s <= 3 * 0.12 + 0.1 + 1e-9


def test_with_a_gpu_nothing_is_touched() -> None:
    torch = MadeUpTorch(lambda n: 1.0, gpu=True)
    told = choose(torch)
    assert told.threads == 2 and torch.steps == 0 and "GPU" in str(told)


def test_one_core_needs_no_probe() -> None:
    torch = MadeUpTorch(lambda n: 1.0, default=1)
    assert choose(torch).threads == 1 and torch.steps == 0


def test_a_second_choice_knows_of_all_cores_again() -> None:
    torch = MadeUpTorch(lambda n: 1e-3 * n, default=8)
    assert choose(torch).threads == 1
    torch._cost = lambda n: 1e-3 / n
    assert choose(torch).threads == 8


def test_a_failing_step_leaves_the_number_as_it_was() -> None:
    torch = MadeUpTorch(lambda n: 1 / (n - 1))
    with pytest.raises(ZeroDivisionError):
        choose(torch)
    assert torch.number == 2


def test_the_choice_reads_well() -> None:
    torch = MadeUpTorch(lambda n: 1e-3 if n == 1 else 0.5e-3)
    text = str(choose(torch))
    start = "CPU threads: 2 (this step is 2.00 times as fast as with one: 1 thread: 1.00 ms per step (quartiles 1.00 to 1.00 ms, "
    assert text.startswith(start)


def test_a_probe_needs_time() -> None:
    with pytest.raises(LabkitError, match="positive"):
        choose(MadeUpTorch(lambda n: 1.0), seconds=0)


def test_real_torch_is_set() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        told = threads.choose(lambda: torch.ones(10).sum(), seconds=0.01)
        assert torch.get_num_threads() == told.threads
    finally:
        torch.set_num_threads(before)


def test_the_environment_comes_with_its_reason() -> None:
    told = threads.environment()
    assert all(isinstance(value, str) for value in told.variables.values()) and "cpu_threads" in told.reason
