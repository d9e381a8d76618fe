"""Interval arithmetic against a slow reference: touching, nested, equal, empty and reversed intervals."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.profile import intervals
from tests.profile.questions import slow

PAIRS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=14
)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(PAIRS)
def test_union(pairs: list[tuple[int, int]]) -> None:
    start, end = intervals.union(*arrays(pairs))
    assert intervals.length((start, end)) == slow.length(pairs) == intervals.union_length(*arrays(pairs))
    assert (start[1:] > end[:-1]).all() and (end > start).all()  # sorted, apart, none empty
    assert intervals.summed_length(*arrays(pairs)) == sum(b - a for a, b in pairs)


@given(PAIRS, PAIRS)
def test_subtract_and_intersect(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    a, b = intervals.union(*arrays(one)), intervals.union(*arrays(other))
    alone = intervals.length(intervals.subtract(a, b))
    assert alone == slow.length(one, outside=other)
    assert intervals.length(intervals.intersect(a, b)) == slow.length(one) - alone


@given(PAIRS, st.integers(-5, 30), st.integers(0, 40))
def test_complement_and_within(pairs: list[tuple[int, int]], low: int, more: int) -> None:
    high = low + more
    pieces = intervals.union(*arrays(pairs))
    start, end = intervals.complement(pieces, low, high)
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == slow.free(pairs, low, high)
    assert intervals.length(intervals.within(pieces, low, high)) + int((end - start).sum()) == max(more, 0)


@given(PAIRS, PAIRS)
def test_covered(pairs: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    found = intervals.covered(intervals.union(*arrays(pairs)), *arrays(asked))
    assert found.tolist() == [slow.length(pairs, low=a, high=b) for a, b in asked]


def test_reversed_intervals_count_for_nothing() -> None:
    assert intervals.length(intervals.union(np.array([5, 0]), np.array([2, 3]))) == 3


@pytest.mark.parametrize("chunk", [1, 2, 7])
def test_the_length_in_pieces_is_the_length(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(intervals, "_CHUNK", chunk)
    die = random.Random(3)
    pairs = [(a, a + die.choice((0, 1, 30))) for a in (die.randrange(900) for _ in range(200))]
    assert intervals.union_length(*arrays(pairs)) == slow.length(pairs)


def test_nanoseconds_since_1970_do_not_overflow() -> None:
    now = 1_900_000_000_000_000_000
    start = np.arange(now, now + 1_000_000, 10, dtype=np.int64)
    assert intervals.union_length(start, start + 5) == 500_000 == intervals.summed_length(start, start + 5)
