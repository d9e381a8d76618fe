"""Where the time of each GPU went: computing, or waiting, and for what. Every nanosecond of the window counts once.

The order of attribution: exposed communication (a collective's kernel without a computing kernel beside it); then,
of the time without any kernel, what a copy covers; then what a marker of data loading covers on the thread that
feeds the GPU; then, gap by gap, by what preceded the kernel that ended it. A gap whose next kernel was in the queue
already is nobody's fault on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from labkit.profile import intervals
from labkit.profile.questions import idle, launching, stepping, waiting
from labkit.profile.questions.overlapping import split
from labkit.profile.questions.selection import devices_of, launched, on_device, once, timed
from labkit.profile.table import Profile
from labkit.profile.thresholds import BETWEEN_NS, LONGEST_LAUNCH_NS, OVERHEAD_NS, SMALL_COPY_NS

CAUSES = ("loader", "launch-bound", "synchronising", "copies", "communication")
REST = ("queued", "host", "unknown")  # the queue was not empty; the host did something else; the profile does not say
SCHEMA = {"device": pl.Int32, "window_ns": pl.Int64, "computing": pl.Int64, **dict.fromkeys((*CAUSES, *REST), pl.Int64)}

# A marker, operator or Python function of this name is data loading.
LOADING = (
    r"(?i)^load(?:ing)?(?:[ _](?:data|batch))?$|dataloader|data_loader|data[ _]?loading|torch/utils/data/"
    r"|^(?:next|get|fetch|prepare)[ _](?:a[ _]|the[ _])?(?:next[ _])?batch"
)


def loading(p: Profile) -> pl.DataFrame:
    """The events that are data loading. Columns: name, kind, thread, start_ns, end_ns."""
    host = timed(p, ("marker", "operator", "python"), ("name", "kind", "thread", "start_ns", "end_ns"))
    names = host.select(pl.col("name").unique()).filter(pl.col("name").cast(pl.String).str.contains(LOADING))
    return host.join(names, on="name", how="semi")


@once
def losses(p: Profile) -> pl.DataFrame:
    """One row per device: window_ns (see ``stepping.window``), and in ns what of it was computing, the five causes,
    and ``queued`` (idle although the next kernel was already launched), ``host`` (the host did something that is
    none of the causes) and ``unknown`` (the profile holds no call that launched the next kernel). The parts add up
    to window_ns. Empty without timed dispatches."""
    limits = stepping.window(p)
    if limits is None or limits.high_ns <= limits.low_ns:
        return pl.DataFrame(schema=SCHEMA)
    low, high = limits.low_ns, limits.high_ns
    work, table = launched(p), idle.gaps(p)
    copies = timed(p, ("copy",), ("device", "start_ns", "end_ns"))
    load, waits = loading(p), waiting.waits(p)
    overhead = int(np.clip(launching.launches(p).overhead_ns or 0, *OVERHEAD_NS))
    devices = devices_of(work)
    rows = []
    for device in devices:
        mine = on_device(work, device) if len(devices) > 1 else work
        computing, talking = split(p, mine)
        whole = intervals.within(intervals.union(*intervals.columns(computing)), low, high)
        talk = intervals.within(intervals.union(*intervals.columns(talking)), low, high)
        parts = dict.fromkeys((*CAUSES, *REST), 0)
        parts["communication"] = intervals.length(intervals.subtract(talk, whole))
        threads = mine["call_thread"].drop_nulls().unique()
        my_load = _of_threads(load, threads)
        my_waits = _of_threads(waits, threads)
        moved = copies if len(devices) == 1 else copies.filter((pl.col("device") == device).fill_null(False))
        moving = intervals.union(*intervals.columns(moved))
        large = intervals.union(*intervals.columns(moved.filter(pl.col("end_ns") - pl.col("start_ns") > SMALL_COPY_NS)))
        made = intervals.union(*intervals.columns(my_load))
        gap = on_device(table, device)
        start, end = gap["start_ns"].to_numpy(), gap["end_ns"].to_numpy()
        copied, loaded = _copied_and_loaded(moving, large, made, start, end)
        parts["copies"], parts["loader"] = int(copied.sum()), int(loaded.sum())
        left = end - start - copied - loaded
        for name, chosen in _classes(mine, gap, my_waits, overhead).items():
            parts[name] += int(left[chosen].sum())
        _settle(parts, intervals.length(whole), high - low, made, my_waits, low, high)
        rows.append((device, high - low, intervals.length(whole), *parts.values()))
    return pl.DataFrame(rows, schema=list(SCHEMA), orient="row").select(pl.col(n).cast(t) for n, t in SCHEMA.items())


def _copied_and_loaded(
    moving: intervals.Union, large: intervals.Union, made: intervals.Union, start: Any, end: Any
) -> tuple[Any, Any]:
    """How much of each gap copies cover, and of the rest data loading. Copies that are few and small are left out: a
    handful of bytes that somebody waits for. Many small ones in a row are not."""
    copied, loaded = (
        intervals.covered(moving, start, end),
        intervals.covered(intervals.subtract(made, moving), start, end),
    )
    few = (copied <= SMALL_COPY_NS) & (intervals.covered(large, start, end) == 0)
    return np.where(few, 0, copied), np.where(few, intervals.covered(made, start, end), loaded)


def _of_threads(host: pl.DataFrame, threads: pl.Series) -> pl.DataFrame:
    """The rows on these threads; all, where none is."""
    mine = host.filter(pl.col("thread").is_in(threads.to_list())) if threads.len() else host
    return mine if mine.height else host


def _classes(mine: pl.DataFrame, gap: pl.DataFrame, waits: pl.DataFrame, overhead: int) -> dict[str, Any]:
    """Which gaps belong to what, as masks: each gap to one class."""
    start, end = gap["start_ns"].to_numpy(), gap["end_ns"].to_numpy()
    length = end - start
    joined = bool(mine["call_start_ns"].is_not_null().any())
    launched_at = gap["call_start_ns"].fill_null(np.iinfo(np.int64).max).to_numpy()
    known = gap["call_start_ns"].is_not_null().to_numpy()
    if joined:
        # launched so late that it began as soon as a launch can take effect: the queue was as good as empty
        late = launched_at > end - 2 * overhead
        queued = known & (launched_at < start) & ~late | (length <= BETWEEN_NS) & ~known
    else:
        queued = length <= BETWEEN_NS
    after = waiting.ended_by(waits, start, end) >= 0
    after &= ~queued
    rest = ~queued & ~after
    if not joined:
        return {"queued": queued, "synchronising": after, "unknown": rest}
    ends = gap["before"].is_null().to_numpy()  # the window's end: nothing was launched that could have come earlier
    short = rest & known & (length <= LONGEST_LAUNCH_NS)
    return {
        "queued": queued,
        "synchronising": after,
        "launch-bound": short,
        "host": rest & ~short & (known | ends),
        "unknown": rest & ~known & ~ends,
    }


def _settle(
    parts: dict[str, int], computing: int, window: int, made: Any, waits: pl.DataFrame, low: int, high: int
) -> None:
    """After a wait or a batch that came late the queue is empty and fills again kernel by kernel. Where the host,
    but for its waits and its loading, needs less time than the GPU, it would have stayed ahead: those gaps belong
    to what emptied the queue."""
    stopped = intervals.union(*intervals.columns(waits))
    away = intervals.union(np.concatenate((made[0], stopped[0])), np.concatenate((made[1], stopped[1])))
    host = window - intervals.length(intervals.within(away, low, high))
    owner = "loader" if parts["loader"] >= parts["synchronising"] else "synchronising"
    if host < computing and parts[owner] > 0:
        parts[owner] += parts["launch-bound"]
        parts["launch-bound"] = 0
