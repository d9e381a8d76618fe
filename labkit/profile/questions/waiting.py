"""Where the host stopped and waited for the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from labkit.profile.questions import idle, stepping
from labkit.profile.questions.selection import once, timed
from labkit.profile.table import Profile

# Calls that return only when the GPU has done what it was given. The *Async copies are not among them.
BLOCKING = (
    r"^(?:hip|cuda)(?:DeviceSynchronize|CtxSynchronize|StreamSynchronize|EventSynchronize|ThreadSynchronize"
    r"|Memcpy(?:WithStream|2D|3D|DtoH|HtoD|DtoD|ToSymbol|FromSymbol)?|MemcpyDtoH_v2|MemcpyHtoD_v2)(?:_spt|_ptsz)?$"
    r"|^cu(?:CtxSynchronize|StreamSynchronize|EventSynchronize|MemcpyDtoH_v2|MemcpyHtoD_v2)$"
)


@once
def waits(p: Profile) -> pl.DataFrame:
    """The blocking calls, outermost only, in order of thread and start. Columns: name, thread, start_ns, end_ns.

    Of calls one within the other (a blocking copy that synchronises the stream) the outer one counts.
    """
    calls = timed(p, ("api",), ("name", "thread", "start_ns", "end_ns"))
    names = calls.select(pl.col("name").unique()).filter(pl.col("name").cast(pl.String).str.contains(BLOCKING))
    found = calls.join(names, on="name", how="semi").with_columns(pl.col("name").cast(pl.String))
    found = found.sort(["thread", "start_ns", "end_ns", "name"], descending=[False, False, True, False])
    reach = pl.col("end_ns").cum_max().shift(1).over("thread")
    return found.filter((reach.is_null()) | (pl.col("start_ns") >= reach))


def synchronisations(p: Profile) -> pl.DataFrame:
    """The blocking calls by name, most idle time first.

    Columns: name, calls, total_ns (time in the call), per_step (calls per step, null without steps), idle_after_ns (GPU
    idle time that began while the host sat in such a call, so that nothing was queued behind it).
    """
    found = waits(p)
    s = stepping.steps(p)
    table = idle.gaps(p)
    after = np.zeros(found.height, np.int64)
    if found.height and table.height:
        owner = ended_by(found, table["start_ns"].to_numpy(), table["end_ns"].to_numpy())
        hit = owner >= 0
        np.add.at(after, owner[hit], table["length_ns"].to_numpy()[hit])
    count = s.count if s.found == "markers" else 0
    if count:
        low, high = int(s.table["start_ns"].min()), int(s.table["end_ns"].max())  # type: ignore[arg-type]
        inside = (pl.col("end_ns") > low) & (pl.col("start_ns") < high)
    else:
        inside = pl.lit(True)
    return (
        found.with_columns(pl.Series("idle", after), inside.alias("inside"))
        .group_by("name")
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            (pl.col("end_ns") - pl.col("start_ns")).sum().alias("total_ns"),
            (pl.col("inside").sum() / count if count else pl.lit(None, dtype=pl.Float64)).alias("per_step"),
            pl.col("idle").sum().alias("idle_after_ns"),
        )
        .sort(["idle_after_ns", "total_ns", "name"], descending=[True, True, False])
    )


def ended_by(found: pl.DataFrame, begun: Any, over: Any) -> Any:
    """For each gap [begun, over) of a GPU: the row of ``waits`` that was waiting when it began and returned within
    it, -1 for none.

    A call that began after the GPU had already fallen idle did not cause it, nor did one that still waits when work
    goes on.
    """
    owner = np.full(begun.size, -1, np.int64)
    if found.height == 0:
        return owner
    order = found["start_ns"].arg_sort().to_numpy()
    start, end = found["start_ns"].to_numpy()[order], found["end_ns"].to_numpy()[order]
    where = np.searchsorted(start, begun, side="right") - 1
    for back in range(4):  # several threads may wait at once
        row = np.maximum(where - back, 0)
        hit = (where - back >= 0) & (end[row] >= begun) & (end[row] <= over) & (owner < 0)
        owner[hit] = order[row[hit]]
    return owner
