"""The operator table against torch's own ``key_averages()``."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from labkit.errors import LabkitError
from labkit.profile import operators as module
from labkit.profile.operators import operators


def close(ns: int, microseconds: float) -> bool:
    return abs(ns - 1000 * microseconds) < 2 + 1e-9 * abs(ns)


@pytest.mark.parametrize("shapes", [False, True])
def test_counts_and_times_are_those_of_torch(shapes: bool) -> None:
    net = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(4)])
    data = torch.randn(4, 8)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=shapes) as profiler:
        for _ in range(5):
            with record_function("step"), record_function("step"), record_function("step"):
                net(data).sum().backward()
            profiler.step()
    table = {row["name"]: row for row in operators(profiler).to_dicts()}
    expected = profiler.key_averages()
    assert set(table) == {row.key for row in expected}
    for row in expected:
        ours = table[row.key]
        assert ours["calls"] == row.count, row.key
        assert close(ours["cpu_total_ns"], row.cpu_time_total), row.key
        assert close(ours["cpu_self_ns"], row.self_cpu_time_total), row.key
    assert table["step"]["calls"] == 5, "a range that holds nothing but one of its own name counts once"


class Event:
    """As torch's own, with what the table asks of it."""

    def __init__(
        self, name: str, start: int, end: int, number: int = 0, link: int = 0, gpu: bool = False, thread: int = 1
    ) -> None:
        self.values = (name, start, end, number, link, gpu, thread)

    def name(self) -> str:
        return self.values[0]

    def start_ns(self) -> int:
        return self.values[1]

    def duration_ns(self) -> int:
        return self.values[2] - self.values[1]

    def correlation_id(self) -> int:
        return self.values[3]

    def linked_correlation_id(self) -> int:
        return self.values[4]

    def device_type(self) -> str:
        return "DeviceType.CUDA" if self.values[5] else "DeviceType.CPU"

    def start_thread_id(self) -> int:
        return self.values[6]

    end_thread_id = start_thread_id

    def is_async(self) -> bool:
        return False


def finished(*events: Event) -> Any:
    results = SimpleNamespace(events=lambda: list(events))
    return SimpleNamespace(profiler=SimpleNamespace(kineto_results=results, use_device="cuda"))


def test_kernels_count_for_the_operator_that_launched_them_and_for_those_around_it() -> None:
    table = {
        row["name"]: row
        for row in operators(
            finished(
                Event("linear", 0, 100, 1),
                Event("addmm", 10, 90, 2),
                Event("cudaLaunchKernel", 20, 30, 7, link=2, thread=9),
                Event("gemm", 50, 85, 7, link=2, gpu=True),
                Event("gemm", 200, 220, 8, link=99, gpu=True),
            )
        ).to_dicts()
    }
    times = {
        name: (row["cpu_total_ns"], row["cpu_self_ns"], row["device_total_ns"], row["device_self_ns"])
        for name, row in table.items()
    }
    assert times == {
        "linear": (100, 20, 35, 0),
        "addmm": (80, 70, 35, 35),
        "cudaLaunchKernel": (10, 10, 0, 0),
        "gemm": (0, 0, 55, 55),
    }
    assert table["gemm"]["calls"] == 2


def test_ranges_that_only_overlap_are_not_nested() -> None:
    table = {
        r["name"]: r
        for r in operators(finished(Event("a", 0, 50), Event("b", 40, 90), Event("c", 60, 70, thread=2))).to_dicts()
    }
    assert [table[name]["cpu_self_ns"] for name in "abc"] == [50, 50, 10]


def some_nested(draw: random.Random, begin: int, end: int, depth: int, thread: int) -> list[Event]:
    """Ranges within ranges, some of one name, some with a kernel."""
    found = []
    while end - begin > 4 and depth:
        first = draw.randrange(begin, end - 3)
        last = draw.randrange(first + 1, end)
        number = draw.randrange(1, 1 << 40)
        found.append(Event(draw.choice("abc"), first, last, number, thread=thread))
        if draw.random() < 0.3:
            found.append(Event("k", last, last + 9, number, link=number, gpu=True))
        found += some_nested(draw, first, last, depth - 1, thread)
        begin = last if draw.random() < 0.5 else draw.randrange(last, end)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_levels_and_the_walk_give_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    events = [e for thread in (1, 2) for e in some_nested(draw, 0, 10_000, 5, thread)]
    if seed % 3 == 2:  # ranges that cross, and empty ones
        events += [Event("x", at := draw.randrange(9000), at + draw.randrange(0, 900), thread=1) for _ in range(20)]
    draw.shuffle(events)
    answers = []
    levels = module._levels

    def watched(*columns: Any) -> Any:
        answers.append(levels(*columns) is not None)
        return levels(*columns)

    monkeypatch.setattr(module, "_levels", watched)
    fast = operators(finished(*events))
    assert answers == [seed % 3 != 2]
    monkeypatch.setattr(module, "_levels", lambda *columns: None)
    assert fast.equals(operators(finished(*events)))
    assert fast["cpu_total_ns"].sum() > 0 and fast["device_total_ns"].sum() > 0


def test_nothing_recorded_yet() -> None:
    assert operators(finished()).height == 0
    with pytest.raises(LabkitError):
        operators(SimpleNamespace(profiler=None))
