"""Parts of a profile's table, without copying what no question asks for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from labkit.profile.table import Profile, with_columns


def timed(p: Profile, kinds: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """Columns ``names`` of the events of these kinds that have both time stamps and do not end before they start."""
    e = p.events
    kind = pl.col("kind")
    chosen = kind == kinds[0]
    for other in kinds[1:]:
        chosen = chosen | (kind == other)
    mask = e.select((chosen & (pl.col("end_ns") >= pl.col("start_ns"))).fill_null(False).alias("m"))["m"]
    part = with_columns(e, names).select(names)
    return part if mask.all() else part.filter(mask)


def devices_of(frame: pl.DataFrame) -> list[int | None]:
    """The devices of a table in order, None (no number known) last."""
    found = frame["device"].unique().to_list()
    return sorted((d for d in found if d is not None)) + ([None] if None in found else [])


def on_device(frame: pl.DataFrame, device: int | None) -> pl.DataFrame:
    """The rows of one device."""
    return frame.filter(pl.col("device").eq_missing(pl.lit(device, dtype=pl.Int32)))
