"""What labkit says of a profile in numbers, beside the slow way."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.profile.facts import busy, by_name, facts
from labkit.profile.table import Entry, Profile, empty, events
from tests.profile.readers.texts import union

pytestmark = pytest.mark.light

INTERVALS = st.lists(
    st.tuples(st.sampled_from((0, 1, 7, None)), st.integers(1, 10**6), st.integers(0, 10**4), st.sampled_from("abc")),
    min_size=1,
    max_size=60,
)


def profile(rows: list[tuple[int | None, int, int, str]]) -> Profile:
    table = events(
        {
            "device": [r[0] for r in rows],
            "name": [r[3] for r in rows],
            "start_ns": [r[1] for r in rows],
            "end_ns": [r[1] + r[2] for r in rows],
        },
        kind="dispatch",
    )
    return Profile("rocprofv3-kernel-trace", table, tool="rocprofv3")


@settings(max_examples=150, deadline=None)
@given(INTERVALS)
def test_as_the_slow_way_and_in_any_order(rows: list[tuple[int | None, int, int, str]]) -> None:
    found = facts(profile(rows))
    by_device: dict[int | None, list[tuple[int, int]]] = {}
    for device, start, length, _ in rows:
        by_device.setdefault(device, []).append((start, start + length))
    assert found["busy_ns"] == sum(union(v) for v in by_device.values())
    assert found["span_ns"] == max(s + n for _, s, n, _ in rows) - min(s for _, s, _, _ in rows)
    assert found["dispatches"] == len(rows) and sum(k["calls"] for k in found["kernels"]) == len(rows)
    assert {k["name"]: k["total_ns"] for k in found["kernels"]} == {
        name: sum(r[2] for r in rows if r[3] == name) for name in {r[3] for r in rows}
    }
    random.Random(1).shuffle(rows)
    assert facts(profile(rows)) == found
    json.dumps(found)


def test_streams_count_once() -> None:
    assert busy(profile([(0, 100, 50, "a"), (0, 120, 10, "a"), (0, 140, 30, "b"), (1, 100, 50, "a")]).events) == 120


def test_kernels_are_sorted_by_time_then_name() -> None:
    rows = by_name(profile([(0, 1, 5, "b"), (0, 1, 5, "a"), (0, 1, 9, "c")]).events)
    assert [r["name"] for r in rows] == ["c", "a", "b"]


def test_a_kernel_without_times_has_no_total() -> None:
    table = events({"name": ["a", "b"], "start_ns": [None, 5], "end_ns": [None, 9], "device": [0, 0]}, kind="dispatch")
    found = facts(Profile("rocprofv2", table, tool="rocprofv2"))
    assert found["dispatches"] == 2 and found["busy_ns"] == 4
    assert found["kernels"] == [{"name": "b", "calls": 1, "total_ns": 4}, {"name": "a", "calls": 1, "total_ns": None}]


def test_tables_of_sums() -> None:
    found = facts(
        Profile("hipprof", empty(), tool="hipprof", statistics={"kernels": (Entry("a", 3, 9.4), Entry("b", 2))})
    )
    assert found["dispatches"] == 5 and found["kernels"][0] == {"name": "a", "calls": 3, "total_ns": 9}
    assert found["span_ns"] is None and found["busy_ns"] is None and found["devices"] is None


def test_nothing_is_invented() -> None:
    found = facts(Profile("rocprofv3-api-trace", empty(), tool="rocprofv3"))
    assert found["dispatches"] is None and found["kernels"] == []
    assert found["span_ns"] is None and found["busy_ns"] is None and found["devices"] is None


def test_copies_and_calls_are_no_kernels() -> None:
    table = events(
        {
            "kind": ["copy", "api", "marker", "annotation"],
            "name": ["c", "hipMalloc", "m", "x"],
            "start_ns": [1] * 4,
            "end_ns": [4] * 4,
        }
    )
    found = facts(Profile("torch-trace", table, tool="torch.profiler", extras={"frame": pl.DataFrame()}))
    assert (
        found["dispatches"] is None
        and [a["name"] for a in found["apis"]] == ["hipMalloc", "m"]
        and found["copies"][0]["total_ns"] == 3
    )
    assert "frame" not in found


def test_the_mark_of_a_kernel_descriptor_is_no_part_of_a_name() -> None:
    frame = events(
        {
            "name": ["k.kd", "k", "a  b [clone .kd]"],
            "start_ns": [0, 10, 20],
            "end_ns": [5, 16, 21],
            "device": [0, 0, 0],
        },
        kind="dispatch",
    )
    found = facts(Profile("torch-trace", frame, "torch.profiler"))["kernels"]
    assert found == [{"name": "k", "calls": 2, "total_ns": 11}, {"name": "a b", "calls": 1, "total_ns": 1}]
