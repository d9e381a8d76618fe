"""The same questions in plain Python, slowly: one look at every pair of neighbouring times. And random profiles to ask."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

from labkit.profile.table import Profile, events

Row = dict[str, Any]
Interval = tuple[int, int]


def length(
    intervals: Iterable[Interval], *, outside: Sequence[Interval] = (), low: int | None = None, high: int | None = None
) -> int:
    """The length of the union, outside of others and between two times: every piece between neighbouring times is looked at."""
    intervals = list(intervals)
    times = sorted({t for pair in (*intervals, *outside) for t in pair} | {t for t in (low, high) if t is not None})
    total = 0
    for begin, end in itertools.pairwise(times):
        if (low is not None and begin < low) or (high is not None and end > high):
            continue
        inside = any(a <= begin and end <= b for a, b in intervals)
        if inside and not any(a <= begin and end <= b for a, b in outside):
            total += end - begin
    return total


def free(intervals: Iterable[Interval], low: int, high: int) -> list[Interval]:
    """The gaps that the intervals leave between two times, in order."""
    found: list[Interval] = []
    until = low
    for begin, end in sorted(intervals):
        if end <= begin:
            continue
        if min(begin, high) > until:
            found.append((until, min(begin, high)))
        until = max(until, end)
    if until < high:
        found.append((until, high))
    return found


def intervals(rows: Iterable[Row]) -> list[Interval]:
    return [(r["start_ns"], r["end_ns"]) for r in rows]


NAMES = (
    "Cijk_Ailk_Bljk_SB_MT64x64x16", "ncclDevKernel_Generic_1", "void at::native::reduce_kernel<512, 1, int>(int)", "my_kernel",
    "triton_poi_fused_add_0", "attn_fwd",
)  # fmt: skip


def random_rows(die: random.Random, count: int, devices: int) -> list[Row]:
    """Dispatches with their calls, copies, waits, markers and operators: touching, nested, equal and empty ones among them."""
    rows: list[Row] = []
    clock = 0
    for at in range(count):
        clock += die.choice((0, 0, 1, 10, 100, 5_000, 40_000))
        took = die.choice((0, 1, 10, 10, 300, 7_000, 30_000))
        device = die.randrange(devices) if devices else None
        call = clock - die.choice((0, 5, 200, 8_000, 60_000))
        thread = die.choice((7, 8))
        rows.append(
            {
                "kind": "dispatch",
                "device": device,
                "name": die.choice(NAMES),
                "start_ns": clock,
                "end_ns": clock + took,
                "correlation": at + 1,
            }
        )
        if die.random() < 0.9:
            call_end = call + die.choice((0, 4, 900))
            rows.append(
                {
                    "kind": "api",
                    "thread": thread,
                    "name": "hipLaunchKernel",
                    "start_ns": call,
                    "end_ns": call_end,
                    "correlation": at + 1,
                }
            )
        what = die.random()
        if what < 0.1:
            rows.append(
                {
                    "kind": "copy",
                    "device": device,
                    "name": "HOST_TO_DEVICE",
                    "start_ns": clock,
                    "end_ns": clock + die.choice((0, 40, 90_000)),
                }
            )
        elif what < 0.2:
            rows.append(
                {
                    "kind": "api",
                    "thread": thread,
                    "name": "hipStreamSynchronize",
                    "start_ns": clock - 50,
                    "end_ns": clock + die.choice((0, 60, 9_000)),
                }
            )
        elif what < 0.3:
            rows.append(
                {
                    "kind": "marker",
                    "thread": thread,
                    "name": "load",
                    "start_ns": clock - die.choice((5, 20_000)),
                    "end_ns": clock,
                }
            )
        elif what < 0.5:
            rows.append(
                {
                    "kind": "operator",
                    "thread": thread,
                    "name": die.choice(("aten::mm", "aten::add")),
                    "start_ns": call - 20,
                    "end_ns": call + 2_000,
                }
            )
    return rows


def profile(rows: Sequence[Row], **more: Any) -> Profile:
    """A profile of these rows, in this order."""
    columns = ("kind", "device", "thread", "name", "start_ns", "end_ns", "correlation")
    return Profile("test", events({c: [r.get(c) for r in rows] for c in columns}), "test", **more)
