"""Several tables of one run as one profile: tables of one text, or the files of a folder.

What two tables say of the same dispatches counts once: a counter table beside a kernel trace, the passes of a
counter collection, statistics beside
the trace that they are made of. Processes that share the GPUs keep their correlations apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from labkit.profile.readers.statistics import merged
from labkit.profile.table import Entry, Profile, combine

_SHIFT = 1 << 40  # correlations of one process stay below
_BEST = ("rocprofv3-kernel-trace", "rocprofv2", "rocprof-v1", "rocprof-compute", "rocprofv3-counters")


def has_dispatches(profile: Profile) -> bool:
    """Whether a profile has rows of dispatches, timed or not."""
    return bool((profile.events["kind"] == "dispatch").any()) if profile.events.height else False


def merge(parts: Sequence[Profile], processes: Sequence[int | None] | None = None) -> Profile:
    """One profile of several. processes: the process of each part where the file's name tells it.

    The first with dispatches gives the kind, else the first with statistics of kernels, else the first.
    """
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    if processes is not None and len({p for p in processes if p is not None}) > 1:
        parts = _apart(parts, processes)
    with_dispatches = [p for p in parts if has_dispatches(p)]
    if processes is not None:  # files come in the order of their names, which says nothing
        with_dispatches.sort(key=lambda p: _BEST.index(p.kind) if p.kind in _BEST else -1)
    lead = with_dispatches[0] if with_dispatches else None
    lead = lead or next((p for p in parts if p.statistics.get("kernels")), None) or parts[0]
    parts = [lead, *(p for p in parts if p is not lead)]
    parts, odd = _once(parts)
    whole = combine(parts)
    statistics = _statistics(parts)
    extras = dict(whole.extras)
    for name in ("allocations", "allocated_bytes", "samples"):
        numbers = [p.extras[name] for p in parts if name in p.extras]
        if len(numbers) > 1:
            extras[name] = sum(numbers)
    if sum("gpus" in p.extras for p in parts) > 1 and whole.devices:
        extras["gpus"] = [d.gfx for d in whole.devices if d.gfx is not None]
    return replace(whole, kind=lead.kind, tool=lead.tool, statistics=statistics, extras=extras, odd=(*whole.odd, *odd))


def _statistics(parts: Sequence[Profile]) -> dict[str, tuple[Entry, ...]]:
    """Statistics of the same group: those of several tables of one kind are added up, others are told once."""
    found: dict[str, tuple[str, list[Entry]]] = {}
    for part in parts:
        for group, entries in part.statistics.items():
            kind, so_far = found.setdefault(group, (part.kind, []))
            if kind == part.kind:
                known = {(e.name, e.calls, e.total_ns) for e in so_far}
                so_far += [e for e in entries if (e.name, e.calls, e.total_ns) not in known]
    return {group: tuple(merged(entries)) for group, (_, entries) in found.items()}


def _once(parts: Sequence[Profile]) -> tuple[list[Profile], list[str]]:
    """The parts, with dispatches that another part has already taken out."""
    odd: list[str] = []
    kept: list[Profile] = []
    taken: pl.DataFrame | None = None
    kind = ""
    for part in (
        sorted(parts, key=lambda p: _BEST.index(p.kind) if p.kind in _BEST else -1) if _differ(parts) else parts
    ):
        if not has_dispatches(part):
            kept.append(part)
            continue
        mine = part.events.filter(pl.col("kind") == "dispatch")
        if taken is not None and part.kind != kind and _same(taken, mine):
            odd.append(f"the dispatches of {part.kind} are those of {kind}: counted once.")
            part = replace(part, events=part.events.filter(pl.col("kind") != "dispatch"))
        elif taken is not None and part.kind == kind and part.counters is not None and _same(taken, mine):
            odd.append(
                "the counters come from several passes of one program: each dispatch is counted once, with the times of its first pass."
            )
            part = replace(part, events=part.events.filter(pl.col("kind") != "dispatch"))
        elif taken is None:
            taken, kind = mine, part.kind
        kept.append(part)
    order = {id(p): i for i, p in enumerate(parts)}
    return sorted(kept, key=lambda p: order.get(id(p), len(order))), list(dict.fromkeys(odd))


def _differ(parts: Sequence[Profile]) -> bool:
    return len({p.kind for p in parts if has_dispatches(p)}) > 1


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two tables hold the same dispatches: equal numbers and names, or equal time stamps."""
    if "dispatch" in one.columns and "dispatch" in other.columns:
        mine = one.select(pl.col("dispatch"), pl.col("name").cast(pl.String)).drop_nulls().unique()
        yours = other.select(pl.col("dispatch"), pl.col("name").cast(pl.String)).drop_nulls().unique()
    else:
        mine = one.select("start_ns", "end_ns").drop_nulls().unique()
        yours = other.select("start_ns", "end_ns").drop_nulls().unique()
    if not yours.height:
        return False
    shared = yours.join(mine, on=list(yours.columns), how="semi").height
    return shared * 2 > yours.height


def _apart(parts: Sequence[Profile], processes: Sequence[int | None]) -> list[Profile]:
    """Correlations and processes that no other process shares."""
    order = {p: i for i, p in enumerate(sorted({p for p in processes if p is not None}))}
    result = []
    for part, process in zip(parts, processes, strict=True):
        if process is None or not part.events.height:
            result.append(part)
            continue
        frame = part.events.with_columns(pl.col("correlation") + order[process] * _SHIFT)
        if "process" not in frame.columns:
            frame = frame.with_columns(pl.lit(process, dtype=pl.Int64).alias("process"))
        result.append(replace(part, events=frame))
    return result
