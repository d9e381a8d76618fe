"""When a GPU had nothing to do, and what the host was doing meanwhile."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl

from labkit.profile import intervals
from labkit.profile.questions import nesting, stepping
from labkit.profile.questions.selection import devices_of, launched, name_order, on_device, once, timed
from labkit.profile.table import Kind, Profile
from labkit.profile.thresholds import LABELLED, LABELLED_NS

SCHEMA: dict[str, Any] = {
    "device": pl.Int32,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "length_ns": pl.Int64,
    "before": pl.Categorical,
    "call_start_ns": pl.Int64,
    "thread": pl.Int64,
    "copying_ns": pl.Int64,
    "host": pl.Categorical,
    "host_kind": Kind,
}
HOST = ("marker", "operator", "api", "python")


@once
def gaps(p: Profile) -> pl.DataFrame:
    """The idle gaps of each device within the steps' window (see ``stepping.window``), longest first.

    A gap is a time without any dispatch. Columns: device, start_ns, end_ns, length_ns; before: the kernel that
    ended it (null at the window's end), call_start_ns: when the host launched that kernel, thread: the host thread
    that did (both null where the profile does not join kernels to calls); copying_ns: how much of it a copy was
    running; host, host_kind: the innermost marker, operator, API call or Python function that covers at least half
    of the gap on that thread (on the busiest host thread where that thread is not known), null where there is none.
    """
    limits = stepping.window(p)
    if limits is None:
        return pl.DataFrame(schema=SCHEMA)
    work = launched(p)
    copies = timed(p, ("copy",), ("device", "start_ns", "end_ns"))
    devices = devices_of(work)
    parts = []
    for device in devices:
        mine = on_device(work, device) if len(devices) > 1 else work
        busy = intervals.union(mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy())
        start, end = intervals.complement(busy, limits.low_ns, limits.high_ns)
        following = np.searchsorted(mine["start_ns"].to_numpy(), end)
        moved = copies if len(devices) == 1 else copies.filter((pl.col("device") == device).fill_null(False))
        moving = intervals.union(moved["start_ns"].to_numpy(), moved["end_ns"].to_numpy())
        after = mine[np.minimum(following, mine.height - 1)]
        known = pl.Series("known", following < mine.height)
        parts.append(
            pl.DataFrame({"start_ns": start, "end_ns": end, "length_ns": end - start}).with_columns(
                pl.lit(device, dtype=pl.Int32).alias("device"),
                pl.when(known).then(after["name"]).alias("before"),
                pl.when(known).then(after["call_start_ns"]).alias("call_start_ns"),
                pl.when(known).then(after["call_thread"]).alias("thread"),
                pl.Series("copying_ns", intervals.covered(moving, start, end), dtype=pl.Int64),
            )
        )
    found = pl.concat(parts).sort(
        "length_ns", descending=True, maintain_order=True
    )  # of equal ones by device and start
    return _with_host(p, found).select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


def _with_host(p: Profile, found: pl.DataFrame) -> pl.DataFrame:
    """The gaps, longest first, with what the host was doing in them."""
    rows = np.full(found.height, -1, np.int64)
    asked = found.filter(pl.col("length_ns") > LABELLED_NS).head(LABELLED)
    host = timed(p, HOST, ("kind", "name", "thread", "start_ns", "end_ns"))
    if host.height and asked.height:
        main = busiest_thread(host)
        least = int(asked["length_ns"].min()) // 2  # type: ignore[arg-type]
        host = host.filter(pl.col("end_ns") - pl.col("start_ns") >= least)  # what is shorter covers half of no gap
        threads = host["thread"].fill_null(-1).to_numpy()
        begin, finish = asked["start_ns"].to_numpy(), asked["end_ns"].to_numpy()
        start, end = host["start_ns"].to_numpy(), host["end_ns"].to_numpy()
        wanted = asked["thread"].fill_null(main).to_numpy()
        for thread in np.unique(wanted):
            mine, which = np.flatnonzero(threads == thread), np.flatnonzero(wanted == thread)
            tie = partial(_order, host, mine)
            inside = nesting.nest(start[mine], end[mine], tie).mostly(begin[which], finish[which])
            hit = inside >= 0
            rows[which[hit]] = mine[inside[hit]]
    if not host.height:
        return found.with_columns(pl.lit(None).alias(c) for c in ("host", "host_kind"))
    taken = host[np.maximum(rows, 0)]
    there = pl.Series("there", rows >= 0)
    return found.with_columns(
        pl.when(there).then(taken["name"]).alias("host"),
        pl.when(there).then(taken["kind"]).alias("host_kind"),
    )


def _order(host: pl.DataFrame, mine: Any, rows: Any) -> Any:
    """The order of the names of some of the rows ``mine`` of a table."""
    return name_order(host[mine[rows]])


def busiest_thread(host: pl.DataFrame) -> int:
    """The thread with most marker, operator and call rows (-1: rows without a thread)."""
    counts = host.group_by(pl.col("thread").fill_null(-1)).len().sort(["len", "thread"], descending=[True, False])
    return int(counts["thread"][0])
