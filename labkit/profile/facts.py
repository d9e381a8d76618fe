"""A profile in a few numbers: what ``labkit read`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from labkit.profile import intervals
from labkit.profile.readers.numbers import tidy
from labkit.profile.table import Entry, Profile

_GROUPS = {"apis": ("api", "marker"), "copies": ("copy",), "operations": ("other",)}


def facts(profile: Profile) -> dict[str, Any]:
    """Kernels by total time, span, busy time and devices, and the lists that the format has; unknown is None.

    Keys: ``kind``, ``dispatches``, ``kernels`` ([{name, calls, total_ns}], the largest first), ``span_ns`` (last end minus first start),
    ``busy_ns`` (per device the union of its dispatches, summed), ``devices`` (those with a dispatch); further
    ``apis``, ``copies``, ``domains``,
    ``operations``, ``counters`` and the profile's extras where there are any. Times in nanoseconds, rounded.
    """
    found: dict[str, Any] = {"kind": profile.kind}
    rows = profile.events.filter(pl.col("kind") == "dispatch") if profile.events.height else profile.events
    statistics = profile.statistics.get("kernels", ())
    if rows.height:
        timed = rows.filter(pl.col("start_ns").is_not_null() & pl.col("end_ns").is_not_null())
        devices = rows["device"].drop_nulls().n_unique()
        found |= {
            "dispatches": rows.height,
            "kernels": by_name(rows.filter(pl.col("name").is_not_null())),
            "span_ns": _span(timed),
            "busy_ns": busy(timed) if timed.height else None,
            "devices": devices or None,
        }
    elif statistics:
        found |= {"dispatches": sum(e.calls for e in statistics), "kernels": _listed(statistics)}
    for key in ("dispatches", "kernels", "span_ns", "busy_ns", "devices"):
        found.setdefault(key, [] if key == "kernels" else None)
    for group in ("apis", "copies", "domains", "operations"):
        kinds = _GROUPS.get(group, ())
        part = profile.events.filter(pl.col("kind").is_in(list(kinds))) if profile.events.height and kinds else None
        if part is not None and part.height:
            found[group] = by_name(part)
        elif profile.statistics.get(group):
            found[group] = _listed(profile.statistics[group])
    if profile.counters is not None and profile.counters.height:
        found["counters"] = sorted(profile.counters["counter"].drop_nulls().unique().to_list())
    for key in ("tool", "version"):
        if getattr(profile, key):
            found[key] = getattr(profile, key)
    for key, value in profile.extras.items():
        if key not in found and _is_plain(value):
            found[key] = value
    if profile.simulated:
        found["simulated"] = True
    if profile.odd:
        found["odd"] = list(profile.odd)
    return found


def by_name(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Calls and total time by name, the largest first, then by name; a total is None where no row has its times."""
    length = pl.col("end_ns") - pl.col("start_ns")
    grouped = rows.group_by("name").agg(
        pl.len().alias("calls"),
        pl.when(length.is_not_null().any()).then(length.sum()).otherwise(None).alias("total_ns"),
    )
    named = grouped.with_columns(tidy(grouped["name"].cast(pl.String).fill_null("")).alias("name"))
    totals = pl.when(pl.col("total_ns").is_not_null().any()).then(pl.col("total_ns").sum()).otherwise(None)
    summed = named.group_by("name").agg(
        pl.col("calls").sum(), totals.alias("total_ns")
    )  # 'k' and 'k.kd' are one kernel
    return _sorted(summed.to_dicts())


def _listed(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return _sorted(
        [
            {"name": e.name, "calls": e.calls, "total_ns": None if e.total_ns is None else round(e.total_ns)}
            for e in entries
        ]
    )


def _sorted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda e: (e["total_ns"] is None, -(e["total_ns"] or 0), e["name"]))


def _span(timed: pl.DataFrame) -> int | None:
    if not timed.height:
        return None
    first, last = timed["start_ns"].min(), timed["end_ns"].max()
    assert isinstance(first, int) and isinstance(last, int)
    return last - first


def busy(timed: pl.DataFrame) -> int:
    """The length of the union of the intervals, per device, summed; in ns."""
    parts = timed.select("device", "start_ns", "end_ns").partition_by("device")
    return sum(intervals.union_length(part["start_ns"].to_numpy(), part["end_ns"].to_numpy()) for part in parts)


def _is_plain(value: object) -> bool:
    """Whether a value can be printed as JSON as it is."""
    if isinstance(value, (list, tuple)):
        return all(_is_plain(v) for v in value)
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    return value is None or isinstance(value, (str, int, float, bool))
