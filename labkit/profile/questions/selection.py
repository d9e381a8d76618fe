"""Parts of a profile's table, without copying what no question asks for."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
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


MANY = 64  # stretches of one kind from which on a table counts as mixed


@once
def _stretches(p: Profile) -> list[tuple[str, int, int]] | None:
    """(kind, first row, rows) of each stretch of one kind; None where there are many, as when rows come in order of time."""
    kind = p.events["kind"]
    if kind.null_count() or not len(kind):
        return None
    code = kind.to_physical().to_numpy()
    cuts = np.flatnonzero(code[1:] != code[:-1]) + 1
    if cuts.size >= MANY:
        return None
    first = [0, *cuts.tolist()]
    return [(kind[a], a, b - a) for a, b in zip(first, [*first[1:], len(kind)], strict=True)]


def timed(p: Profile, kinds: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """Columns ``names`` of the events of these kinds that have both time stamps and do not end before they start."""
    e = p.events
    stretches = _stretches(p)
    if stretches is not None:
        e = e.select(n for n in {*names, "start_ns", "end_ns"} if n in e.columns)
        parts = [e.slice(first, rows) for kind, first, rows in stretches if kind in kinds]
        e = pl.concat(parts, rechunk=True) if parts else e.clear()
        mask = e.select((pl.col("end_ns") >= pl.col("start_ns")).fill_null(False).alias("m"))["m"]
    else:
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

    Columns: device, name, start_ns, end_ns, call_start_ns, call_end_ns, call_thread; the last three are null where no API
    call has the same correlation number (and process, where the profile names processes). Of several calls the first counts.
    """
    columns = ("device", "name", "start_ns", "end_ns", "correlation", "process")
    work = timed(p, ("dispatch",), columns)
    calls = timed(p, ("api",), ("correlation", "process", "start_ns", "end_ns", "thread"))
    calls = calls.filter(pl.col("correlation").is_not_null() & (pl.col("correlation") != 0))
    known, wanted = calls["correlation"].to_numpy(), work["correlation"].fill_null(0).to_numpy()
    if calls.height and work["process"].null_count() == 0 and calls["process"].null_count() == 0:
        processes = np.unique(
            np.concatenate((calls["process"].unique().to_numpy(), work["process"].unique().to_numpy()))
        )
        if processes.size > 1:
            known = known * processes.size + np.searchsorted(processes, calls["process"].to_numpy())
            other = wanted * processes.size + np.searchsorted(processes, work["process"].to_numpy())
            wanted = np.where(wanted == 0, 0, other)
    order = np.argsort(known, kind="stable")
    if bool((known[order][1:] == known[order][:-1]).any()):
        thread = calls["thread"].fill_null(-1).to_numpy()
        order = np.lexsort((thread, calls["end_ns"].to_numpy(), calls["start_ns"].to_numpy(), known))
    place = np.searchsorted(known[order], wanted)
    hit = (place < order.size) & (wanted != 0)
    hit[hit] = known[order[place[hit]]] == wanted[hit]
    row = pl.Series(np.where(hit, order[np.minimum(place, max(order.size - 1, 0))] if order.size else 0, 0))
    there = pl.Series("there", hit)
    found = work.select(columns[:4])
    if calls.height:
        taken = calls.select(
            pl.col("start_ns").gather(row).alias("call_start_ns"),
            pl.col("end_ns").gather(row).alias("call_end_ns"),
            pl.col("thread").gather(row).alias("call_thread"),
        )
        found = pl.concat([found, taken.select(pl.when(there).then(pl.all()))], how="horizontal")
    else:
        names = ("call_start_ns", "call_end_ns", "call_thread")
        found = found.with_columns(pl.lit(None, dtype=pl.Int64).alias(name) for name in names)
    start = found["start_ns"]
    if found["device"].n_unique() <= 1 and bool((start[1:] > start[:-1]).all()):  # as most files have them
        return found
    found = found.sort(["device", "start_ns", "end_ns"], nulls_last=True)
    start, end = found["start_ns"], found["end_ns"]
    if bool(((start[1:] == start[:-1]) & (end[1:] == end[:-1])).any()):  # then the order needs more keys
        keys = ["device", "start_ns", "end_ns", "call_start_ns", "call_end_ns", "call_thread", "name"]
        found = found.sort(keys, nulls_last=True)
    return found


def name_order(frame: pl.DataFrame) -> Any:
    """A number per row that orders its name (and kind, where there is one) alphabetically, whatever the rows' order is."""
    names = frame["name"].unique()
    table = pl.DataFrame(
        {"code": names.to_physical().cast(pl.Int64).fill_null(-1), "text": names.cast(pl.String).fill_null("")}
    )
    table = table.sort("text", "code").with_row_index("rank").sort("code")
    codes = frame["name"].to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    number = table["rank"].cast(pl.Int64).to_numpy()[np.searchsorted(table["code"].to_numpy(), codes)]
    return number * 16 + frame["kind"].to_physical().to_numpy() if "kind" in frame.columns else number
