"""What the host did in the steps: numbers that exist with a GPU and without one. Counts and shares, no verdict."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np
import polars as pl

from labkit.profile import intervals
from labkit.profile.questions import attribution, stepping, waiting
from labkit.profile.questions.selection import launched, timed
from labkit.profile.table import Profile

READS = ("aten::_local_scalar_dense",)
"""The operator under ``.item()``, ``float(t)``, ``int(t)``, ``if t:`` and printing a tensor. On a GPU it waits for all work
before it; on a CPU it reads a number and waits for nothing. ``.cpu()``, ``.numpy()`` and ``.tolist()`` do not go through it."""


@dataclass(frozen=True)
class Host:
    """From the first marked step's start to the last one's end.

    steps: how many. span_ns: their time. load_shares: of each step, the share that lies in markers of data loading (union).
    operators: PyTorch's operators, those that others call included; operators_ns: time in any of them (union over threads).
    reads: numbers read from tensors (READS). waits: blocking API calls of HIP or CUDA (outermost). launches: kernels launched,
    as far as they are joined to their calls.
    """

    steps: int
    span_ns: int
    load_shares: tuple[float, ...]
    operators: int
    operators_ns: int
    reads: int
    waits: int
    launches: int

    @property
    def load_share(self) -> float:
        """Share of a step that goes into loading data (0 to 1): the median over the steps, so that one step in which the
        machine did something else does not decide."""
        return statistics.median(self.load_shares)

    @property
    def operator_share(self) -> float:
        """Share of the steps' time in which an operator ran; the rest is Python between them (0 to 1)."""
        return self.operators_ns / self.span_ns if self.span_ns else 0.0

    @property
    def stops(self) -> int:
        """Where the host waits for a GPU, or would: blocking calls where the profile has some, else numbers read."""
        return self.waits or self.reads


def host(p: Profile) -> Host | None:
    """The host's side of the marked steps; None for a profile without marked steps."""
    s = stepping.steps(p)
    if s.found != "markers" or not s.count:
        return None
    low, high = int(s.table["start_ns"].min()), int(s.table["end_ns"].max())  # type: ignore[arg-type]
    start, end = s.table["start_ns"].to_numpy(), s.table["end_ns"].to_numpy()
    loading = intervals.covered(intervals.union(*intervals.columns(attribution.loading(p))), start, end)
    inside = (pl.col("start_ns") >= low) & (pl.col("start_ns") < high)
    operators = timed(p, ("operator",), ("name", "start_ns", "end_ns")).filter(inside)
    read = operators.filter(pl.col("name").cast(pl.String).is_in(READS))
    asked = pl.col("call_start_ns")
    return Host(
        steps=s.count,
        span_ns=high - low,
        load_shares=tuple((loading / np.maximum(end - start, 1)).tolist()),
        operators=operators.height,
        operators_ns=_covered(operators, low, high),
        reads=read.height,
        waits=waiting.waits(p).filter(inside).height,
        launches=launched(p).filter((asked >= low) & (asked < high)).height,
    )


def _covered(frame: pl.DataFrame, low: int, high: int) -> int:
    return intervals.length(intervals.within(intervals.union(*intervals.columns(frame)), low, high))
