"""PyTorch's operators: their time on the host, and the time of the kernels that they launched."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl

from labkit.profile.questions import nesting
from labkit.profile.questions.selection import launched, name_order, timed
from labkit.profile.table import Profile

SCHEMA = {
    "name": pl.String,
    "count": pl.Int64,
    "total_ns": pl.Int64,
    "self_ns": pl.Int64,
    "kernels": pl.Int64,
    "device_ns": pl.Int64,
    "flops": pl.Float64,
}


def _order(rows: pl.DataFrame, mine: Any, asked: Any) -> Any:
    """The order of the names of some of the rows ``mine`` of a table."""
    return name_order(rows.select("name")[mine[asked]])


def operators(p: Profile, *kinds: str) -> pl.DataFrame:
    """The operators of a profile, most own host time first.

    kinds: which events count (default: ``operator``). Columns: name, count; total_ns: host time, what it called
    included; self_ns: without the operators that it called; kernels, device_ns: the kernels launched inside it and
    inside no operator deeper, and their summed time; flops: summed where the profile knows them, else null. Kernels
    are joined by their launch's correlation number and the thread's nesting.
    """
    rows = timed(p, kinds or ("operator",), ("name", "thread", "start_ns", "end_ns", "flops"))
    if rows.height == 0:
        return pl.DataFrame(schema=SCHEMA)
    thread = rows["thread"].fill_null(-1).to_numpy()
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    own = (end - start).astype(np.int64)
    inner = own.copy()
    count = np.zeros(rows.height, np.int64)
    device = np.zeros(rows.height, np.int64)
    work = launched(p).filter(pl.col("call_start_ns").is_not_null())
    asked = work["call_thread"].fill_null(-1).to_numpy()
    at, took = work["call_start_ns"].to_numpy(), (work["end_ns"] - work["start_ns"]).to_numpy()
    for one in np.unique(thread):
        mine = np.flatnonzero(thread == one)
        nested = nesting.nest(start[mine], end[mine], partial(_order, rows, mine))
        parent = nested.parents(mine.size)
        held = parent >= 0
        inner -= np.bincount(mine[parent[held]], weights=own[mine[held]], minlength=rows.height).astype(np.int64)
        which = np.flatnonzero(asked == one)
        if which.size:
            place = nested.innermost(at[which])
            hit = place >= 0
            count += np.bincount(mine[place[hit]], minlength=rows.height)
            device += np.bincount(mine[place[hit]], weights=took[which[hit]], minlength=rows.height).astype(np.int64)
    flops = pl.col("flops").sum() if rows["flops"].null_count() < rows.height else pl.lit(None, dtype=pl.Float64)
    return (
        rows.select(
            "name",
            "flops",
            pl.Series("took", own),
            pl.Series("self", inner),
            pl.Series("n", count),
            pl.Series("d", device),
        )
        .group_by("name")
        .agg(
            pl.len().alias("count"),
            pl.col("took").sum().alias("total_ns"),
            pl.col("self").sum().alias("self_ns"),
            pl.col("n").sum().alias("kernels"),
            pl.col("d").sum().alias("device_ns"),
            flops.alias("flops"),
        )
        .with_columns(pl.col("name").cast(pl.String).fill_null("(without a name)"))
        .select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
        .sort(["self_ns", "total_ns", "name"], descending=[True, True, False])
    )
