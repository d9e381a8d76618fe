"""Which kernels, and which kinds of kernel, the time went to."""

from __future__ import annotations

import polars as pl

from labkit.profile.categories import CATEGORIES, category
from labkit.profile.names import shorten
from labkit.profile.questions.selection import once
from labkit.profile.table import Profile

Category = pl.Enum(CATEGORIES)


@once
def kernels(p: Profile) -> pl.DataFrame:
    """The kernels of a profile, largest total first, then by name.

    Columns: name, short, category, count, total_ns, mean_ns, min_ns, max_ns, share (of all kernels' summed time, 0
    to 1). From dispatches with time stamps; from statistics tables where there are none (then min_ns and max_ns are
    null, and total_ns too where the tool does not print it). Dispatches without usable times count, and add nothing
    to the total.
    """
    e = p.events
    found = (
        e.lazy()
        .filter(pl.col("kind") == "dispatch")
        .select("name", (pl.col("end_ns") - pl.col("start_ns")).alias("took"))
        .group_by("name")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("took").filter(pl.col("took") >= 0).sum().alias("total_ns"),
            pl.col("took").filter(pl.col("took") >= 0).count().alias("timed"),
            pl.col("took").filter(pl.col("took") >= 0).min().alias("min_ns"),
            pl.col("took").filter(pl.col("took") >= 0).max().alias("max_ns"),
        )
        .with_columns(pl.col("name").cast(pl.String).fill_null("(without a name)"))
        .with_columns(
            pl.when(pl.col("timed") > 0).then("total_ns").alias("total_ns"),
            pl.when(pl.col("timed") > 0).then(pl.col("total_ns") / pl.col("timed")).alias("mean_ns"),
        )
        .collect()
    )
    if found.height == 0 and p.statistics.get("kernels"):
        found = _from_statistics(p)
    return _finish(found)


def _from_statistics(p: Profile) -> pl.DataFrame:
    entries = p.statistics["kernels"]
    frame = pl.DataFrame(
        {
            "name": [entry.name for entry in entries],
            "count": [entry.calls for entry in entries],
            "total_ns": [None if entry.total_ns is None else round(entry.total_ns) for entry in entries],
        },
        schema={"name": pl.String, "count": pl.Int64, "total_ns": pl.Int64},
    )
    return (
        frame.group_by("name")
        .agg(
            pl.col("count").sum(),
            pl.when(pl.col("total_ns").is_not_null().any()).then(pl.col("total_ns").sum()).alias("total_ns"),
        )
        .with_columns(
            pl.when(pl.col("count") > 0).then(pl.col("total_ns") / pl.col("count")).alias("mean_ns"),
            pl.lit(None, dtype=pl.Int64).alias("min_ns"),
            pl.lit(None, dtype=pl.Int64).alias("max_ns"),
        )
    )


def _finish(found: pl.DataFrame) -> pl.DataFrame:
    names = found["name"].to_list()
    whole = found["total_ns"].sum()
    share = pl.col("total_ns") / whole if whole else pl.lit(None, dtype=pl.Float64)
    return (
        found.with_columns(
            pl.Series("short", [shorten(name) for name in names], dtype=pl.String),
            pl.Series("category", [category(name) for name in names], dtype=Category),
            share.alias("share"),
        )
        .select("name", "short", "category", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "share")
        .sort(["total_ns", "name"], descending=[True, False], nulls_last=True)
    )


def categories(p: Profile) -> pl.DataFrame:
    """The kernels' time by category, largest first. Columns: category, kernels (different ones), count, total_ns,
    share."""
    ranked = kernels(p)
    return (
        ranked.group_by("category")
        .agg(
            pl.len().cast(pl.Int64).alias("kernels"),
            pl.col("count").sum(),
            pl.when(pl.col("total_ns").is_not_null().any()).then(pl.col("total_ns").sum()).alias("total_ns"),
            pl.col("share").sum(),
        )
        .sort(["total_ns", "category"], descending=[True, False], nulls_last=True)
    )
