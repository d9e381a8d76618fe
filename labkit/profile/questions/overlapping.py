"""Copies and communication: how much of them the GPU's computing hides, and how much it waits for."""

from __future__ import annotations

import polars as pl

from labkit.profile import intervals
from labkit.profile.categories import category
from labkit.profile.questions.selection import devices_of, on_device, once, timed
from labkit.profile.table import Profile

SCHEMA = {
    "device": pl.Int32,
    "what": pl.String,
    "count": pl.Int64,
    "total_ns": pl.Int64,
    "exposed_ns": pl.Int64,
    "overlapped_ns": pl.Int64,
}


@once
def communicating(p: Profile) -> pl.Series:
    """The kernels' names that are communication, as a categorical series."""
    names = timed(p, ("dispatch",), ("name",))["name"].unique().drop_nulls()
    return names.filter(
        pl.Series([category(name) == "communication" for name in names.cast(pl.String)], dtype=pl.Boolean)
    )


def split(p: Profile, work: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(computing, communicating) rows of a table of dispatches."""
    names = communicating(p)
    if names.len() == 0:
        return work, work.clear()
    wanted = set(names.cast(pl.String).to_list())
    mine = work.select(pl.col("name").unique()).filter(pl.col("name").cast(pl.String).is_in(list(wanted)))
    return work.join(mine, on="name", how="anti", nulls_equal=True), work.join(mine, on="name", how="semi")


def overlap(p: Profile) -> pl.DataFrame:
    """Copies and communication per device: what runs beside computing kernels, and what is exposed.

    Columns: device, what (``copies``, ``communication``), count, total_ns (union), exposed_ns (no kernel beside it;
    for communication: no computing kernel), overlapped_ns. A copy whose device the tool does not name counts for
    the only GPU, and with several GPUs under device null, exposed where no GPU computes.
    """
    work = timed(p, ("dispatch",), ("device", "name", "start_ns", "end_ns"))
    copies = timed(p, ("copy",), ("device", "start_ns", "end_ns"))
    computing, talking = split(p, work)
    devices = devices_of(work)
    rows: list[tuple[int | None, str, int, int, int]] = []

    def add(device: int | None, what: str, frame: pl.DataFrame, beside: pl.DataFrame) -> None:
        if frame.height:
            mine = intervals.union(*intervals.columns(frame))
            exposed = intervals.length(intervals.subtract(mine, intervals.union(*intervals.columns(beside))))
            rows.append((device, what, frame.height, intervals.length(mine), exposed))

    if len(devices) <= 1:
        device = devices[0] if devices else None
        add(device, "copies", copies, work)
        add(device, "communication", talking, computing)
    else:
        for device in devices:
            add(device, "copies", on_device(copies, device), on_device(work, device))
            add(device, "communication", on_device(talking, device), on_device(computing, device))
        elsewhere = copies.filter(~pl.col("device").is_in([d for d in devices if d is not None]).fill_null(False))
        if None not in devices:
            add(None, "copies", elsewhere, work)
    frame = pl.DataFrame(rows, schema=[*list(SCHEMA)[:5]], orient="row") if rows else pl.DataFrame(schema=SCHEMA)
    if rows:
        frame = frame.with_columns((pl.col("total_ns") - pl.col("exposed_ns")).alias("overlapped_ns"))
    return frame.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
