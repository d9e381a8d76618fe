"""Arithmetic of time intervals in NumPy. All times are int64 nanoseconds; an interval is [start, end).

A *union* is a pair of arrays (starts, ends), sorted, without overlap and without touching or empty pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

Array = Any  # numpy.ndarray of int64
Union = tuple[Array, Array]

EMPTY: Union = (np.empty(0, np.int64), np.empty(0, np.int64))


def columns(frame: pl.DataFrame) -> Union:
    """The ``start_ns`` and ``end_ns`` of a table without nulls, as arrays sorted by start."""
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    return by_start(start, end)


def by_start(start: Array, end: Array) -> Union:
    """The same intervals sorted by start; what is sorted already is not copied."""
    if start.size > 1 and not bool((start[1:] >= start[:-1]).all()):
        order = np.argsort(start, kind="stable")
        return start[order], end[order]
    return start, end


def union(start: Array, end: Array) -> Union:
    """The union of any intervals: sorted by start, cut where a start lies beyond every end before it.

    Empty and reversed intervals count for nothing.
    """
    start, end = by_start(start, end)
    whole = end > start
    if not bool(whole.all()):
        start, end = start[whole], end[whole]
    if start.size == 0:
        return EMPTY
    reach = np.maximum.accumulate(end)
    cut = np.flatnonzero(start[1:] > reach[:-1])
    first = np.concatenate(([0], cut + 1))
    last = np.concatenate((cut, [start.size - 1]))
    return start[first], reach[last]


def length(pieces: Union) -> int:
    """The summed length of a union."""
    return int((pieces[1] - pieces[0]).sum())


_CHUNK = 1 << 18


def union_length(start: Array, end: Array) -> int:
    """The length of the union of any intervals that do not end before they start, without building the union.

    Goes through them in pieces, so that ten million sorted intervals need next to no memory of their own.
    """
    if start.size == 0:
        return 0
    start, end = by_start(start, end)
    reach, free = int(start[0]), 0
    for at in range(0, start.size, _CHUNK):
        begins, ends = start[at : at + _CHUNK], end[at : at + _CHUNK]
        reached = np.empty(begins.size + 1, np.int64)
        reached[0] = reach
        np.maximum.accumulate(ends, out=reached[1:])
        np.maximum(reached[1:], reach, out=reached[1:])
        idle = begins - reached[:-1]
        free += int(idle[idle > 0].sum())
        reach = int(reached[-1])
    return reach - int(start[0]) - free


def summed_length(start: Array, end: Array) -> int:
    """The durations added up, overlaps counted as often as they occur."""
    pieces = range(0, start.size, _CHUNK)
    return sum(int((end[at : at + _CHUNK] - start[at : at + _CHUNK]).sum()) for at in pieces)


def within(pieces: Union, low: int, high: int) -> Union:
    """The part of a union between two times."""
    start, end = np.maximum(pieces[0], low), np.minimum(pieces[1], high)
    kept = end > start
    return start[kept], end[kept]


def complement(pieces: Union, low: int, high: int) -> Union:
    """What a union leaves free between two times."""
    inside = within(pieces, low, high)
    start = np.concatenate(([low], inside[1])).astype(np.int64)
    end = np.concatenate((inside[0], [high])).astype(np.int64)
    kept = end > start
    return start[kept], end[kept]


def intersect(one: Union, other: Union) -> Union:
    """What two unions share."""
    if one[0].size == 0 or other[0].size == 0:
        return EMPTY
    low = min(int(one[0][0]), int(other[0][0]))
    high = max(int(one[1][-1]), int(other[1][-1]))
    return subtract(one, complement(other, low, high))


def subtract(one: Union, other: Union) -> Union:
    """What of one union lies outside the other."""
    if one[0].size == 0 or other[0].size == 0:
        return one
    # +1 where one begins, -1 where it ends; other weighs two the other way: what is left at level 1 is only one's
    time = np.concatenate((one[0], one[1], other[0], other[1]))
    step = np.repeat(np.array([1, -1, -2, 2]), [one[0].size, one[1].size, other[0].size, other[1].size])
    order = np.argsort(time, kind="stable")
    time, level = time[order], np.cumsum(step[order])
    alone = level[:-1] == 1
    return union(time[:-1][alone], time[1:][alone])


def covered(pieces: Union, start: Array, end: Array) -> Array:
    """How much of each interval the union covers, in ns. The intervals may overlap; reversed ones get 0."""
    if pieces[0].size == 0:
        return np.zeros(start.size, np.int64)
    return np.maximum(_measure(pieces, end) - _measure(pieces, start), 0)


def _measure(pieces: Union, at: Array) -> Array:
    """The union's length before each time."""
    before = np.concatenate(([0], np.cumsum(pieces[1] - pieces[0])))
    index = np.searchsorted(pieces[0], at, side="right")
    last = np.maximum(index - 1, 0)
    over = np.maximum(pieces[1][last] - at, 0)
    return before[index] - np.where(index > 0, over, 0)
