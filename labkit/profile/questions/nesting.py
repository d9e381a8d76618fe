"""What a host thread was doing at a moment: nested intervals, asked from the inside out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray of int64


@dataclass(frozen=True)
class Level:
    """The intervals of one depth, sorted by start. row: their places in what was given."""

    start: Array
    end: Array
    row: Array


@dataclass(frozen=True)
class Nest:
    """Intervals by depth, outermost first. Within a level they follow one another."""

    levels: tuple[Level, ...]

    def innermost(self, at: Array) -> Array:
        """The row of the deepest interval that holds each time, -1 where there is none."""
        return self._search(at, at, at)

    def mostly(self, low: Array, high: Array) -> Array:
        """The row of the deepest interval that covers more than half of each [low, high), -1 where there is none.

        What covers more than half of an interval holds its middle, so one look at the middle finds all candidates.
        """
        return self._search(low + (high - low) // 2, low, high)

    def _search(self, at: Array, low: Array, high: Array) -> Array:
        found = np.full(at.size, -1, np.int64)
        # in order of time: neighbouring looks then fall on neighbouring places of memory
        open_ = np.argsort(at) if at.size > 1 and bool((at[1:] < at[:-1]).any()) else np.arange(at.size)
        for level in reversed(self.levels):
            if open_.size == 0:
                break
            where = np.searchsorted(level.start, at[open_], side="right") - 1
            place = np.maximum(where, 0)
            overlap = np.minimum(level.end[place], high[open_]) - np.maximum(level.start[place], low[open_])
            hit = (where >= 0) & (level.end[place] > at[open_]) & (2 * overlap >= high[open_] - low[open_])
            found[open_[hit]] = level.row[place[hit]]
            open_ = open_[~hit]
        return found

    def parents(self, size: int) -> Array:
        """For each of ``size`` rows the row of the interval around it, -1 for the outermost."""
        found = np.full(size, -1, np.int64)
        for outer, inner in zip(self.levels, self.levels[1:], strict=False):
            where = np.searchsorted(outer.start, inner.start, side="right") - 1
            place = np.maximum(where, 0)
            held = (where >= 0) & (outer.end[place] >= inner.end)
            found[inner.row[held]] = outer.row[place[held]]
        return found


def nest(start: Array, end: Array, tie: Array | Callable[[Array], Array]) -> Nest:
    """Sorts intervals of one thread by how many others are open when they begin. Empty ones are left out.

    tie: of intervals that are the same, the one with the smaller number is the outer one (see ``selection.name_order``); the
    numbers, or a function that gives those of some rows, which is asked only when it matters.
    """
    whole = end > start
    rows = np.arange(start.size) if bool(whole.all()) else np.flatnonzero(whole)
    if rows.size < start.size:
        start, end = start[rows], end[rows]
    if start.size > 1 and bool((start[1:] < start[:-1]).any()):
        order = np.argsort(start, kind="stable")
        start, end, rows = start[order], end[order], rows[order]
    same = start[1:] == start[:-1]
    if bool(same.any()):  # only those that begin together need more than one key
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        among = rows[tied]
        order = np.lexsort((tie(among) if callable(tie) else tie[among], -end[tied], start[tied]))
        start, end, rows = start.copy(), end.copy(), rows.copy()
        start[tied], end[tied], rows[tied] = start[tied][order], end[tied][order], among[order]
    depth = np.arange(start.size) - _ended(end, start)
    if not depth.any():
        return Nest((Level(start, end, rows),) if start.size else ())
    by_depth = np.argsort(depth.astype(np.uint16) if depth.max() < 1 << 16 else depth, kind="stable")
    cuts = np.flatnonzero(np.diff(depth[by_depth])) + 1
    return Nest(tuple(Level(start[part], end[part], rows[part]) for part in np.split(by_depth, cuts) if part.size))


def _ended(end: Array, start: Array) -> Array:
    """How many ends lie at or before each start (sorted): both are sorted already, and merging them is one walk."""
    if bool((end[1:] < end[:-1]).any()):
        end = np.sort(end)
    merged = np.argsort(np.concatenate((end, start)), kind="stable")
    return np.flatnonzero(merged >= end.size) - np.arange(start.size)
