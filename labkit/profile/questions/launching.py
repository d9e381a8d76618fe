"""Whether the GPU waits for launches: how long a kernel lay in the queue, and how often the queue was empty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from labkit.profile import intervals
from labkit.profile.questions import idle
from labkit.profile.questions.selection import devices_of, launched, on_device, once, timed
from labkit.profile.table import Profile
from labkit.profile.thresholds import SHORT_GAP_NS


@dataclass(frozen=True)
class Launches:
    """dispatches: timed kernels. joined: those whose launching call is known; the following are of these, None
    without any.

    call_ns: median length of the launching call. delay_ns: median time from the call's start to the kernel's start.
    overhead_ns: the tenth part of these delays that is shortest (10th percentile) of launches to an idle GPU (all
    kernels done, and no copy on it between the call and the kernel, which may wait for it): what a launch costs at
    least. empty_share: share of the kernels that were launched when the GPU had finished all
    before. kernel_ns: median length of a kernel (of all). short_gap_ns: idle time in gaps no longer than
    SHORT_GAP_NS; idle_ns: all.
    """

    dispatches: int
    joined: int
    call_ns: float | None
    delay_ns: float | None
    overhead_ns: float | None
    empty_share: float | None
    kernel_ns: float | None
    idle_ns: int
    short_gap_ns: int


@once
def launches(p: Profile) -> Launches:
    """The launches of a profile. Without API calls only what the gaps alone say."""
    work = launched(p)
    table = idle.gaps(p)
    gap = table["length_ns"].to_numpy()
    call, delay, lone, empty = [], [], [], []
    devices = devices_of(work)
    copies = timed(p, ("copy",), ("device", "start_ns", "end_ns"))
    for device in devices:
        mine = on_device(work, device) if len(devices) > 1 else work
        known = mine["call_start_ns"].is_not_null().to_numpy()
        if not known.any():
            continue
        start = mine["start_ns"].to_numpy()
        before = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(mine["end_ns"].to_numpy())[:-1]))[
            known
        ]
        begun = mine["call_start_ns"].drop_nulls().to_numpy()
        done = mine["call_end_ns"].drop_nulls().to_numpy()
        alone = before <= begun
        call.append(done - begun)
        delay.append(start[known] - begun)
        empty.append(alone)
        moved = copies if len(devices) == 1 else on_device(copies, device)
        moving = intervals.covered(intervals.union(*intervals.columns(moved)), begun, start[known])
        lone.append((start[known] - begun)[alone & (moving == 0)])
    took = work.select((pl.col("end_ns") - pl.col("start_ns")).median()).item()
    joined = sum(part.size for part in call)
    alone_delays = np.concatenate(lone) if lone else np.empty(0)
    return Launches(
        dispatches=work.height,
        joined=joined,
        call_ns=float(np.median(np.concatenate(call))) if joined else None,
        delay_ns=float(np.median(np.concatenate(delay))) if joined else None,
        overhead_ns=float(np.percentile(alone_delays, 10)) if alone_delays.size else None,
        empty_share=float(np.concatenate(empty).mean()) if joined else None,
        kernel_ns=None if took is None else float(took),
        idle_ns=int(gap.sum()),
        short_gap_ns=int(gap[gap <= SHORT_GAP_NS].sum()),
    )
