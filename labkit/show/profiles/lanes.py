"""A profile's rows as lanes that can be asked, for any window and any number of pixel columns, how busy each column is.

Every lane keeps its events by colour, sorted, with the running sum of what they cover: a window of w columns costs
O(w log n), however many events lie in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from labkit.profile import intervals
from labkit.profile import questions as ask
from labkit.profile.categories import category
from labkit.profile.names import shorten
from labkit.profile.questions import attribution, overlapping, waiting
from labkit.profile.questions.selection import timed
from labkit.profile.table import Profile
from labkit.show.profiles.look import KEYS, operator

Array = Any  # numpy.ndarray

HOST_LANES, DEVICE_LANES = 8, 10
_LEVELS = {"marker": 2, "operator": 1, "api": 1}  # how many depths of nested ranges get a lane
_WORDS = {"marker": "markers", "operator": "operators", "api": "calls"}
_LAUNCH = re.compile(r"^(?:hip|cuda|cu)\w*Launch", re.ASCII)
_STEP = re.compile(r"(?i)^(?:train(?:ing)?[ _]?)?(?:step|iteration|iter|profilerstep)\s*[#:_ ]?\s*\d+$")


@dataclass(frozen=True)
class Track:
    """The events of one colour in a lane, by start. code: their names' numbers. pieces: their union; before: its length up
    to each piece."""

    key: str
    start: Array
    end: Array
    code: Array
    pieces: intervals.Union
    before: Array

    def covered(self, edges: Array) -> Array:
        """How many ns of each [edges[i], edges[i + 1]) are covered."""
        return np.diff(_measure(self.pieces, self.before, edges))

    def within(self, low: int, high: int, least: int) -> Array:
        """The places of the events that overlap the window and are at least so long."""
        last = int(np.searchsorted(self.start, high))
        end = self.end[:last]
        follow = self.pieces[0].size == self.start.size  # one after the other: the ends are sorted too
        first = int(np.searchsorted(end, low, side="right")) if follow else 0
        chosen = (end[first:] - self.start[first:last] >= least) & (end[first:] > low)
        return np.flatnonzero(chosen) + first


@dataclass(frozen=True)
class Lane:
    """A row of the timeline. device: its GPU's number, -1 where it has none; None on the host. both: the union of all tracks
    where they overlap, else None."""

    title: str
    device: int | None
    tracks: tuple[Track, ...]
    both: tuple[intervals.Union, Array] | None
    events: int
    kernels: bool = False

    def shares(self, edges: Array) -> tuple[Array, Array]:
        """(shares [tracks, columns] of each colour, busy share [columns]) of the columns between ``edges``."""
        width = np.maximum(np.diff(edges), 1)
        each = np.array([track.covered(edges) for track in self.tracks], dtype=float) / width
        if self.both is None:
            return each, np.minimum(each.sum(axis=0), 1.0)
        whole = np.diff(_measure(*self.both, edges)) / width
        summed = each.sum(axis=0)
        return each * np.divide(whole, summed, out=np.zeros_like(whole), where=summed > 0), whole


@dataclass(frozen=True)
class Lanes:
    """All lanes, host first; left_out: how many had no room. low, high: first start and last end. focus: the window to begin
    with, without a long pause in which nothing at all happens. names: of the codes. steps: (start, number) of each marked
    step."""

    lanes: tuple[Lane, ...]
    left_out: int
    low: int
    high: int
    names: dict[int, str] = field(repr=False)
    steps: tuple[Array, Array] = field(repr=False)
    events: int = 0
    focus: tuple[int, int] = (0, 0)

    def name(self, code: int) -> str:
        """The name to write on an event."""
        return self.names.get(code, "")


def _measure(pieces: intervals.Union, before: Array, at: Array) -> Array:
    if pieces[0].size == 0:
        return np.zeros(at.size, np.int64)
    index = np.searchsorted(pieces[0], at, side="right")
    last = np.maximum(index - 1, 0)
    inside = np.minimum(at, pieces[1][last]) - pieces[0][last]
    return np.where(index > 0, before[last] + inside, 0)


def _summed(pieces: intervals.Union) -> Array:
    length = np.cumsum(pieces[1] - pieces[0])
    return np.concatenate((np.zeros(1, np.int64), length[:-1])) if length.size else length


def _track(key: str, start: Array, end: Array, code: Array) -> Track:
    follow = bool((start[1:] >= end[:-1]).all())  # one after the other: no copy
    pieces = (start, end) if follow else intervals.union(start, end)
    return Track(key, start, end, code, pieces, _summed(pieces))


def _lane(title: str, device: int | None, frame: pl.DataFrame, keys: Array, *, kernels: bool = False) -> Lane:
    """A lane of a table sorted by start; keys: number of the colour of each row."""
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    code = frame["name"].to_physical().fill_null(0).to_numpy()
    present = np.unique(keys)
    tracks = tuple(_track(KEYS[k], start[keys == k], end[keys == k], code[keys == k]) for k in present)
    both = None
    if start.size and not bool((start[1:] >= np.maximum.accumulate(end)[:-1]).all()):
        pieces = intervals.union(start, end)
        both = (pieces, _summed(pieces))
    return Lane(title, device, tracks, both, frame.height, kernels)


def _coded(frame: pl.DataFrame, table: dict[str, str]) -> Array:
    """The number of the colour of each row, by the table of name -> key."""
    names = frame["name"].unique()
    code = names.to_physical().fill_null(0).to_numpy()
    numbers = np.array([KEYS.index(table.get(name or "", "other")) for name in names.cast(pl.String)], dtype=np.int8)
    order = np.argsort(code)
    own = frame["name"].to_physical().fill_null(0).to_numpy()
    return numbers[order][np.searchsorted(code[order], own)]


def _texts(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame["name"].unique().cast(pl.String) if name is not None]


def _levels(frame: pl.DataFrame, most: int) -> Iterator[pl.DataFrame]:
    """The ranges of one thread by depth, outermost first, each sorted by start."""
    frame = frame.sort(["start_ns", "end_ns"], descending=[False, True])
    start, end = frame["start_ns"].to_numpy(), np.sort(frame["end_ns"].to_numpy())
    depth = np.arange(start.size) - np.searchsorted(end, start, side="right")
    for level in range(most):
        part = frame.filter(pl.Series(depth == level))
        if part.height:
            yield part


def _host(p: Profile) -> tuple[list[Lane], int]:
    frame = timed(p, tuple(_LEVELS), ("kind", "thread", "name", "start_ns", "end_ns")).filter(
        pl.col("end_ns") > pl.col("start_ns")
    )
    loading = set(_texts(attribution.loading(p)))
    blocking = set(waiting.waits(p)["name"].cast(pl.String).to_list())
    keys: dict[str, str] = {}
    steps = []
    for name in _texts(frame):
        if _STEP.match(name):
            steps.append(name)
        keys[name] = (
            "loading"
            if name in loading
            else "waiting"
            if name in blocking
            else "launching"
            if _LAUNCH.match(name)
            else "other"
        )
    operators = {name: keys[name] if keys[name] != "other" else operator(name) for name in keys}
    if steps:
        frame = frame.filter(~pl.col("name").cast(pl.String).is_in(steps).fill_null(False))
    threads = frame.group_by("thread").len().sort(["len", "thread"], descending=[True, False])["thread"].to_list()
    found: list[Lane] = []
    for thread in threads:
        for kind, levels in _LEVELS.items():
            mine = frame.filter(pl.col("thread").eq_missing(pl.lit(thread, dtype=pl.Int64)) & (pl.col("kind") == kind))
            for level, part in enumerate(_levels(mine, levels)):
                within = "inner " if level else ""
                title = f"{within}{_WORDS[kind]}, thread {'?' if thread is None else thread}"
                found.append(_lane(title, None, part, _coded(part, operators if kind == "operator" else keys)))
    return found[:HOST_LANES], max(0, len(found) - HOST_LANES)


def _devices(p: Profile) -> tuple[list[Lane], int]:
    columns = ("kind", "device", "queue", "stream", "name", "start_ns", "end_ns")
    frame = timed(p, ("dispatch", "copy"), columns).filter(pl.col("end_ns") > pl.col("start_ns"))
    if frame.height == 0:
        return [], 0
    where = "stream" if frame["stream"].null_count() < frame.height else "queue"
    talking = list(_texts(pl.DataFrame({"name": overlapping.communicating(p)})))
    known = frame["device"].drop_nulls().unique().sort()
    if known.len() == 1:
        frame = frame.with_columns(pl.col("device").fill_null(known[0]))
    kind_ = [pl.lit(k, dtype=pl.Int8) for k in range(3)]  # kernels, communication, copies
    talks = pl.col("name").cast(pl.String).is_in(talking).fill_null(False) if talking else pl.lit(False)
    row = pl.when(pl.col("kind") == "copy").then(kind_[2]).when(talks).then(kind_[1]).otherwise(kind_[0])
    frame = frame.with_columns(row.alias("row"), pl.col("device").fill_null(-1))
    frame = frame.with_columns(
        pl.when(pl.col("row") == 0).then(pl.col(where)).otherwise(pl.lit(None, dtype=pl.Int64)).alias("lane")
    )
    kernels = {name: category(name) for name in _texts(frame.filter(pl.col("row") < 2))}
    groups = (
        frame.group_by("device", "row", "lane")
        .agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("took"))
        .sort(["took", "lane"], descending=[True, False])
    )
    shown = groups.head(DEVICE_LANES).sort(
        ["device", "row", "took", "lane"], descending=[False, False, True, False], maintain_order=True
    )
    single = groups["device"].n_unique() == 1
    found = []
    for device, kind, lane, _ in shown.iter_rows():
        mine = frame.filter(
            (pl.col("device") == device)
            & (pl.col("row") == kind)
            & pl.col("lane").eq_missing(pl.lit(lane, dtype=pl.Int64))
        )
        if not bool((mine["start_ns"][1:] >= mine["start_ns"][:-1]).all()):
            mine = mine.sort("start_ns", "end_ns")
        what = ("kernels" if lane is None else f"{where} {lane}", "communication", "copies")[kind]
        gpu = "GPU" if single else "GPU ?" if device < 0 else f"GPU {device}"
        keys = np.full(mine.height, KEYS.index("copy"), np.int8) if kind == 2 else _coded(mine, kernels)
        found.append(_lane(f"{gpu}, {what}", device, mine, keys, kernels=kind < 2))
    return found, groups.height - len(found)


def lanes(p: Profile) -> Lanes:
    """The lanes of a profile's timed events: the host's threads (markers, operators, calls; of nested ranges the outer
    ones), then each GPU's streams or queues, its communication and its copies. Lanes without room are counted."""
    host, more = _host(p)
    devices, others = _devices(p)
    found = (*host, *devices)
    low = min((int(t.start[0]) for lane in found for t in lane.tracks), default=0)
    high = max((int(t.end.max()) for lane in found for t in lane.tracks), default=0)
    s = ask.steps(p)
    table = s.table if s.found == "markers" else s.table.clear()
    if table.height:
        begins, ends = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
        low, high = (min(low, int(begins[0])) if found else int(begins[0])), max(high, int(ends.max()))
    codes = [np.unique(t.code) for lane in found for t in lane.tracks]
    used = np.unique(np.concatenate(codes)).tolist() if codes else []
    unique = p.events["name"].unique().drop_nulls()
    text = dict(zip(unique.to_physical().to_list(), unique.cast(pl.String).to_list(), strict=True))
    names = {int(code): shorten(text.get(int(code), "")).removeprefix("aten::") for code in used}
    return Lanes(
        found,
        more + others,
        low,
        high,
        names,
        (table["start_ns"].to_numpy(), table["step"].to_numpy()),
        sum(lane.events for lane in found),
        _focus(found, low, high),
    )


_PAUSE = 0.5  # of the whole: a longer pause without any event divides a profile in two


def _focus(found: tuple[Lane, ...], low: int, high: int) -> tuple[int, int]:
    """The window that holds most events, where one pause in all lanes takes up more than half of the time."""
    while found and high > low:
        edges = np.linspace(0, high - low, 513).round().astype(np.int64) + low
        empty = np.all([lane.shares(edges)[1] == 0 for lane in found], axis=0)
        change = np.flatnonzero(np.diff(np.concatenate(([0], empty.astype(np.int8), [0]))))
        starts, ends = change[::2], change[1::2]
        longest = int(np.argmax(ends - starts)) if starts.size else 0
        if not starts.size or ends[longest] - starts[longest] <= _PAUSE * 512:
            break
        before, after = int(edges[starts[longest]]), int(edges[ends[longest]])
        early = sum(int(np.searchsorted(t.start, before)) for lane in found for t in lane.tracks)
        late = sum(t.start.size - int(np.searchsorted(t.start, after)) for lane in found for t in lane.tracks)
        low, high = (low, before) if early >= late and before > low else (after, high)
    return low, high
