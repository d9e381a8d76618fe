"""Parts of a profile's table, without copying what no question asks for."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import polars as pl

from labkit.profile.table import Profile, with_columns

Answer = TypeVar("Answer")


def once(question: Callable[[Profile], Answer]) -> Callable[[Profile], Answer]:
    """The answer to a question is kept as long as its profile lives: several questions build on the same one."""
    known: dict[int, tuple[Any, Answer]] = {}

    @wraps(question)
    def ask(p: Profile) -> Answer:
        key = id(p)
        found = known.get(key)
        if found is not None and found[0]() is p:
            return found[1]
        answer = question(p)
        known[key] = (weakref.ref(p, lambda _: known.pop(key, None)), answer)
        return answer

    return ask


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
    return sorted(d for d in found if d is not None) + ([None] if None in found else [])


def on_device(frame: pl.DataFrame, device: int | None) -> pl.DataFrame:
    """The rows of one device."""
    return frame.filter(pl.col("device").eq_missing(pl.lit(device, dtype=pl.Int32)))


@once
def launched(p: Profile) -> pl.DataFrame:
    """The timed dispatches with the host's call that launched each, in order of device and start.

    Columns: device, queue, stream, name, start_ns, end_ns, call, call_start_ns, call_end_ns, call_thread; the last
    four are null where no API call has the same correlation number (and process, where the profile names
    processes).
    """
    columns = ("device", "queue", "stream", "name", "start_ns", "end_ns", "correlation", "process")
    work = timed(p, ("dispatch",), columns)
    calls = timed(p, ("api",), ("correlation", "process", "name", "start_ns", "end_ns", "thread"))
    calls = calls.filter(pl.col("correlation").is_not_null() & (pl.col("correlation") != 0))
    on = ["correlation"]
    if calls.height and work["process"].null_count() == 0 and calls["process"].null_count() == 0:
        on.append("process")
    calls = (
        calls.select(
            *on,
            pl.col("name").alias("call"),
            pl.col("start_ns").alias("call_start_ns"),
            pl.col("end_ns").alias("call_end_ns"),
            pl.col("thread").alias("call_thread"),
        )
        .sort([*on, "call_start_ns", "call_end_ns"])
        .unique(on, keep="first", maintain_order=True)
    )
    return (
        work.join(calls, on=on, how="left")
        .select(*columns[:6], "call", "call_start_ns", "call_end_ns", "call_thread")
        .sort(["device", "start_ns", "end_ns", "call_start_ns"], nulls_last=True)
    )
