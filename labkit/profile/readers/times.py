"""Times that cannot be right: reported, and not used."""

from __future__ import annotations

import polars as pl


def usable(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The same rows with both times null where they cannot be right (none, zero, negative, ending before they begin), and a sentence."""
    start, end = frame["start_ns"], frame["end_ns"]
    good = ((start > 0) & (end >= start)).fill_null(False)
    wrong = frame.height - int(good.sum())
    if not wrong:
        return frame, ()
    frame = frame.with_columns(
        pl.when(good).then(start).otherwise(None).alias("start_ns"),
        pl.when(good).then(end).otherwise(None).alias("end_ns"),
    )
    return frame, (f"{wrong} of {frame.height} rows have times that cannot be right; these are not used.",)
