"""The steps of a training: by the markers that name them, or by the pattern in which the kernels return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from labkit.profile.questions.selection import devices_of, launched, name_order, on_device, once, timed
from labkit.profile.table import Profile
from labkit.profile.thresholds import WARM_UP

# 'step 3', 'Step: 3', 'train_step 3', 'ProfilerStep#3', 'iteration 3'
_STEP = r"(?i)^(?:train(?:ing)?[ _]?)?(?:step|iteration|iter|profilerstep)\s*[#:_ ]?\s*(\d+)$"


@dataclass(frozen=True)
class Steps:
    """found: ``markers``, ``pattern`` or ``none``. table: columns step, start_ns, end_ns, gpu_end_ns, in order of time.

    With markers a step is what the host called so, from its start to its end; of several processes with equal
    numbers it is the hull; gpu_end_ns is the end of the last kernel that was launched in it (null where nothing
    joins kernels to calls). With the pattern it reaches from its first kernel to the next step's first kernel.
    period: kernels per step (pattern only).
    """

    found: str
    table: pl.DataFrame
    period: int | None = None

    @property
    def count(self) -> int:
        return self.table.height

    @property
    def durations_ns(self) -> Any:
        """The time of each step (int64 array): from the end of one's last kernel to the end of the next one's.

        The host runs ahead of the GPU, so its own marks say little about the pace. Where kernels cannot be joined
        to steps: from each start to the next, the last one to its end.
        """
        start, end = self.table["start_ns"].to_numpy(), self.table["end_ns"].to_numpy()
        gpu = self.table["gpu_end_ns"]
        if self.count and gpu.null_count() == 0:
            return np.diff(gpu.to_numpy(), prepend=start[:1])
        return np.append(start[1:], end[-1:]) - start

    @property
    def median_ns(self) -> float | None:
        """Median time per step; None without steps."""
        return float(np.median(self.durations_ns)) if self.count else None


def _none() -> Steps:
    return Steps("none", pl.DataFrame(schema=dict.fromkeys(("step", "start_ns", "end_ns", "gpu_end_ns"), pl.Int64)))


def _gpu_ends(p: Profile, table: pl.DataFrame) -> pl.DataFrame:
    """The table with the end of the last kernel that each step's calls launched."""
    work = launched(p).filter(pl.col("call_start_ns").is_not_null())
    at, end = work["call_start_ns"].to_numpy(), work["end_ns"].to_numpy()
    place = np.searchsorted(table["start_ns"].to_numpy(), at, side="right") - 1
    inside = (place >= 0) & (at < table["end_ns"].to_numpy()[np.maximum(place, 0)])
    last = np.full(table.height, np.iinfo(np.int64).min)
    np.maximum.at(last, place[inside], end[inside])
    return table.with_columns(pl.Series("gpu_end_ns", last)).with_columns(
        pl.when(pl.col("gpu_end_ns") >= pl.col("start_ns")).then("gpu_end_ns").alias("gpu_end_ns")
    )


@once
def steps(p: Profile) -> Steps:
    """The steps of a profile; ``found`` says how. Fewer than two alike give none by pattern."""
    for kinds in (("marker",), ("operator", "python"), ("annotation",)):
        named = timed(p, kinds, ("name", "start_ns", "end_ns"))
        if named.height == 0:
            continue
        unique = named.select(pl.col("name").unique()).select(
            "name", pl.col("name").cast(pl.String).str.extract(_STEP).cast(pl.Int64, strict=False).alias("step")
        )
        table = (
            named.join(unique.drop_nulls("step"), on="name", how="inner")
            .group_by("step")
            .agg(pl.col("start_ns").min(), pl.col("end_ns").max())
            .sort("start_ns", "step")
        )
        if table.height:
            return Steps("markers", _gpu_ends(p, table))
    return _by_pattern(p)


@dataclass(frozen=True)
class Window:
    """What is looked at: from low_ns to high_ns. whole: true where no step bounds it. left_out: steps not looked at."""

    low_ns: int
    high_ns: int
    whole: bool
    steps: int
    left_out: int = 0


@once
def window(p: Profile) -> Window | None:
    """The time over which idle shares are counted: from the first step's start to the end of the last step's kernels.

    A first step of more than WARM_UP times the median step is left out where at least three others follow. Without
    marked steps: from the first to the last kernel. None for a profile without timed dispatches.
    """
    work = timed(p, ("dispatch",), ("start_ns", "end_ns"))
    if work.height == 0:
        return None
    first, last = int(work["start_ns"].min()), int(work["end_ns"].max())  # type: ignore[arg-type]
    s = steps(p)
    if s.found != "markers":
        return Window(first, last, True, s.count)
    took = s.durations_ns
    skip = int(s.count >= 4 and took[0] > WARM_UP * np.median(took[1:]))
    low, high = int(s.table["start_ns"][skip]), int(s.table["end_ns"].max())  # type: ignore[arg-type]
    reach = launched(p).filter((pl.col("call_start_ns") >= low) & (pl.col("call_start_ns") < high))["end_ns"].max()
    if reach is not None:
        high = max(high, int(reach))  # type: ignore[arg-type]
    elif last > high and last - high < (
        high - low
    ):  # nothing joins kernels to calls: the last ones run after their step
        high = last
    if high <= first or low >= last:  # markers and kernels have no time in common (different clocks)
        return Window(first, last, True, s.count)
    return Window(low, high, False, s.count, skip)


_LONGEST_LOOK = 200_000  # dispatches that the search for a period looks at
_LEAST_MATCH = 0.8  # share of dispatches that must come back one period later


def _by_pattern(p: Profile) -> Steps:
    work = timed(p, ("dispatch",), ("device", "name", "start_ns", "end_ns"))
    if work.height < 6:
        return _none()
    counts = work.group_by("device").len().sort(["len", "device"], descending=[True, False], nulls_last=True)
    part = on_device(work, counts["device"][0]) if len(devices_of(work)) > 1 else work
    part = part.with_columns(pl.Series("code", name_order(part))).sort("start_ns", "end_ns", "code")
    code = part["code"].to_numpy()
    period = _period(code[:_LONGEST_LOOK])
    if period is None:
        return _none()
    start, end = part["start_ns"].to_numpy(), part["end_ns"].to_numpy()
    offset = _first_of_step(code, start, end, period)
    begins = np.arange(offset, start.size, period)
    if begins.size < 2:
        return _none()
    reach = np.maximum.accumulate(end)
    table = pl.DataFrame(
        {
            "step": np.arange(begins.size - 1, dtype=np.int64),
            "start_ns": start[begins[:-1]],
            "end_ns": start[begins[1:]],
            "gpu_end_ns": reach[begins[1:] - 1],
        }
    )
    if start.size - begins[-1] == period:  # the last step is whole
        tail = {
            "step": [begins.size - 1],
            "start_ns": [int(start[begins[-1]])],
            "end_ns": [int(reach[-1])],
            "gpu_end_ns": [int(reach[-1])],
        }
        table = pl.concat([table, pl.DataFrame(tail, schema=table.schema)])
    return Steps("pattern", table, period)


def _period(code: Any) -> int | None:
    """The smallest distance at which nearly all names come back, at least three times; None where there is none.

    Candidates are the distances between neighbouring occurrences of a name. A layer's distance returns often, but
    not over the whole step, so the best match wins, and of its multiples the smallest.
    """
    order = np.argsort(code, kind="stable")
    same = code[order][1:] == code[order][:-1]
    distances = (order[1:] - order[:-1])[same]
    distances = distances[(distances > 1) & (distances <= code.size // 3)]
    values, counts = np.unique(distances, return_counts=True)
    if values.size == 0:
        return None
    # a step's distance is seen at rare names too: the most frequent and the longest ones
    chosen = np.unique(np.concatenate((values[np.argsort(-counts, kind="stable")[:24]], values[-24:])))
    match = np.array([float((code[d:] == code[:-d]).mean()) for d in chosen])
    if match.max() < _LEAST_MATCH:
        return None
    return int(chosen[np.flatnonzero(match >= match.max() - 0.005)[0]])


def _first_of_step(code: Any, start: Any, end: Any, period: int) -> int:
    """Where in the pattern a step begins: after the longest typical pause, else at the first dispatch."""
    whole = start.size // period * period
    pause = np.zeros(whole, np.int64)
    pause[1:] = np.maximum(start[1:whole] - np.maximum.accumulate(end)[: whole - 1], 0)
    typical = np.median(pause[period:].reshape(-1, period), axis=0) if whole >= 2 * period else pause[:period]
    best = int(np.argmax(typical))
    return best if typical[best] > 2 * np.median(typical) else 0
