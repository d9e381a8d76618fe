"""Two profiles of the same program: what became faster, what is new, what is gone."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from labkit.profile.questions import idle, stepping
from labkit.profile.questions.busyness import busy
from labkit.profile.questions.ranking import kernels
from labkit.profile.table import Profile


@dataclass(frozen=True)
class Side:
    """One of the two. step_ns: median time per step, steps: how many (None and 0 where it has no marked steps).
    idle_share: of the window that the steps span, None without time stamps. kernel_ns: summed time of the
    kernels."""

    steps: int
    step_ns: float | None
    busy_ns: int
    idle_share: float | None
    kernel_ns: int


@dataclass(frozen=True)
class Comparison:
    """kernels: name, short, category, before_count, after_count, before_ns, after_ns, ratio (after over before),
    delta_ns, status (``both``, ``new``, ``vanished``), largest change first. per_step: true where counts and times
    are per step, because both sides have marked steps and not equally many."""

    before: Side
    after: Side
    kernels: pl.DataFrame
    per_step: bool

    @property
    def step_ratio(self) -> float | None:
        """Time per step, after over before: below 1 is faster."""
        if not self.before.step_ns or self.after.step_ns is None:
            return None
        return self.after.step_ns / self.before.step_ns


def _side(p: Profile) -> Side:
    s, limits = stepping.steps(p), stepping.window(p)
    marked = s.found == "markers"
    share = None
    if limits and limits.high_ns > limits.low_ns:
        found = idle.gaps(p)
        devices = max(len(busy(p).devices), 1)
        share = int(found["length_ns"].sum()) / (limits.high_ns - limits.low_ns) / devices
    return Side(
        steps=s.count if marked else 0,
        step_ns=s.median_ns if marked else None,
        busy_ns=busy(p).busy_ns,
        idle_share=share,
        kernel_ns=int(kernels(p)["total_ns"].sum()),
    )


def compare(before: Profile, after: Profile) -> Comparison:
    """Compares two profiles kernel by kernel, matched by their whole names."""
    one, other = _side(before), _side(after)
    per_step = bool(one.steps and other.steps and one.steps != other.steps)
    parts = []
    for label, p, side in (("before", before, one), ("after", after, other)):
        weight = side.steps if per_step else 1
        parts.append(
            kernels(p).select(
                "name",
                "short",
                pl.col("category").cast(pl.String),
                (pl.col("count") / weight).alias(f"{label}_count"),
                (pl.col("total_ns") / weight).alias(f"{label}_ns"),
            )
        )
    both = parts[0].join(parts[1], on="name", how="full", coalesce=True, suffix="_after")
    found = both.select(
        "name",
        pl.coalesce("short", "short_after").alias("short"),
        pl.coalesce("category", "category_after").alias("category"),
        "before_count",
        "after_count",
        "before_ns",
        "after_ns",
        pl.when(pl.col("before_ns") > 0).then(pl.col("after_ns") / pl.col("before_ns")).alias("ratio"),
        (pl.col("after_ns").fill_null(0) - pl.col("before_ns").fill_null(0)).alias("delta_ns"),
        pl.when(pl.col("before_count").is_null())
        .then(pl.lit("new"))
        .when(pl.col("after_count").is_null())
        .then(pl.lit("vanished"))
        .otherwise(pl.lit("both"))
        .alias("status"),
    )
    return Comparison(one, other, found.sort([pl.col("delta_ns").abs(), "name"], descending=[True, False]), per_step)
