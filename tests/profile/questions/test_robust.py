"""Nothing raises on a profile that says little: no rows, statistics only, no times, times that end before they start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from labkit.profile import diagnose, page
from labkit.profile import questions as ask
from labkit.profile.table import Device, Entry, Profile, empty, events
from tests.profile.questions import slow

WITHOUT_TIMES = events(
    {"name": ["a", "b", "a"], "start_ns": [None, None, 5], "end_ns": [3, None, None]}, kind="dispatch"
)
COUNTERS = pl.DataFrame(
    {"dispatch": [1, 1], "name": ["a", "a"], "counter": ["SQ_WAVES", "SQ_WAVES"], "value": [3.0, None]},
    schema={"dispatch": pl.Int64, "name": pl.String, "counter": pl.String, "value": pl.Float64},
)
LITTLE = {
    "empty": Profile("test", empty(), "test"),
    "statistics": Profile(
        "test", empty(), "test", statistics={"kernels": (Entry("a", 3, 30.0), Entry("b", 1, None), Entry("a", 1, 10.0))}
    ),
    "statistics without times": Profile(
        "test", empty(), "test", statistics={"kernels": (Entry("a", 3), Entry("b", 0))}
    ),
    "without times": Profile("test", WITHOUT_TIMES, "test", odd=("times were rounded",)),
    "without names": slow.profile(
        [{"kind": "dispatch", "start_ns": 0, "end_ns": 9}, {"kind": "operator", "start_ns": 0, "end_ns": 1}]
    ),
    "backwards": slow.profile([{"kind": "dispatch", "name": "a", "start_ns": 9, "end_ns": 2}]),
    "one moment": slow.profile([{"kind": "dispatch", "name": "a", "start_ns": 9, "end_ns": 9}]),
    "host only": slow.profile([{"kind": "operator", "thread": 1, "name": "aten::mm", "start_ns": 1, "end_ns": 9}]),
    "calls only": slow.profile(
        [{"kind": "api", "thread": 1, "name": "hipDeviceSynchronize", "start_ns": 1, "end_ns": 9}]
    ),
    "steps far away": slow.profile(
        [
            {"kind": "dispatch", "device": 0, "name": "a", "start_ns": 5, "end_ns": 9},
            {"kind": "marker", "name": "step 1", "start_ns": 10**15, "end_ns": 10**15 + 1},
        ]
    ),
    "counters": Profile("test", empty(), "test", counters=COUNTERS, devices=(Device(0, "gfx90a"), Device(1))),
}
QUESTIONS: list[Callable[[Profile], Any]] = [
    ask.kernels, ask.categories, ask.busy, ask.steps, ask.window, ask.gaps, ask.overlap, ask.launches, ask.losses,
    ask.synchronisations, ask.operators, ask.occupancies, ask.roofline, diagnose, lambda p: ask.compare(p, p),
    lambda p: page.as_text(p, diagnose(p), p), lambda p: page.values(p, diagnose(p), p),
]  # fmt: skip


@pytest.mark.parametrize("name", LITTLE)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.__name__)
def test_nothing_raises(question: Callable[[Profile], Any], name: str) -> None:
    assert question(LITTLE[name]) is not None or question is ask.window


def test_statistics_answer_what_they_can() -> None:
    found = ask.kernels(LITTLE["statistics"])
    assert found.select("name", "count", "total_ns", "mean_ns", "share").rows() == [
        ("a", 4, 40, 10.0, 1.0),
        ("b", 1, None, None, None),
    ]
    answer = diagnose(LITTLE["statistics"])
    assert answer.cause == "none" and not answer.certain and "no time stamps" in answer.sentence


def test_dispatches_without_usable_times_are_counted_not_timed() -> None:
    found = ask.kernels(LITTLE["without times"])
    assert found.select("name", "count", "total_ns", "mean_ns").rows() == [("a", 2, None, None), ("b", 1, None, None)]
    assert "times were rounded" in diagnose(LITTLE["without times"]).observations
    mixed = slow.profile(
        [
            {"kind": "dispatch", "name": "a", "start_ns": 0, "end_ns": 10},
            {"kind": "dispatch", "name": "a", "start_ns": 20, "end_ns": None},
        ]
    )
    assert ask.kernels(mixed).select("count", "total_ns", "mean_ns").rows() == [(2, 10, 10.0)]


def test_what_cannot_be_known_is_said() -> None:
    rows = [
        {"kind": "dispatch", "device": 0, "name": "a", "start_ns": t, "end_ns": t + 10_000}
        for t in range(0, 900_000, 30_000)
    ]
    answer = diagnose(slow.profile(rows))
    assert answer.cause == "none" and not answer.certain
    assert "cannot be known" in answer.sentence and "no API calls" in answer.sentence and answer.missing
    assert answer.idle_share == pytest.approx(2 / 3, abs=0.02)


def test_a_profile_of_counters_is_not_asked_how_busy_it_was() -> None:
    rows = [{"kind": "dispatch", "device": 0, "name": "a", "start_ns": t, "end_ns": t + 10} for t in (0, 100_000)]
    answer = diagnose(slow.profile(rows, counters=COUNTERS))
    assert answer.cause == "none" and not answer.shares and "one by one" in answer.sentence
