"""Measured collectives beside a file of rccl-tests, size by size, in words."""

from __future__ import annotations

from labkit.comm import formulas
from labkit.comm.against import Reference, matching
from labkit.comm.results import Results, Series
from labkit.show.charts import number
from labkit.show.comm.collectives import collectives_curve
from labkit.show.picture import Picture
from labkit.timing.words import columns, duration, size

_HEAD = ("size", "time here", "time there", "busbw here", "95 % interval", "busbw there", "here / there")


def size_by_size(results: Results, other: Reference) -> str:
    """A table for each measured series that the file is about: every size of either side, and the ratio of busbw
    where both have it; GB/s are 10^9 bytes. Raises LabkitError where nothing can be compared."""
    parts = []
    for s in matching(results.series, other):
        there = "ranks not told" if other.ranks is None else f"{other.ranks} ranks"
        gpus = ", ".join(map(str, other.facts.get("gpu_names") or ()))
        parts.append(
            "\n".join(
                [
                    f"{s.label} beside {other.name}; busbw in GB/s",
                    f"  here: {s.ranks} ranks, {s.src}, {s.dtype}; there: {there}{f', {gpus}' if gpus else ''}",
                    *("  " + line for line in columns(_HEAD, _rows(s, other)).splitlines()),
                    *([] if _common(s, other) else ["  No size stands on both sides."]),
                    "  busbw takes the number of ranks out, not the machine: a ratio says how far apart the two are, not why.",
                ]
            )
        )
    return "\n\n".join(parts)


def picture(results: Results, other: Reference | None = None) -> Picture:
    """busbw over size: all that was measured, or what ``other`` is about, with the file's curve in the same figure.

    Raises LabkitError where nothing was measured, or nothing of what the file is about."""
    if other is None:
        return collectives_curve(results)
    return collectives_curve(
        matching(results.series, other), {**other.facts, "rows": other.rows}, against_name=other.name
    )


def _common(s: Series, other: Reference) -> set[int]:
    return {p.bytes for p in s.points} & {int(row["bytes"]) for row in other.rows}


def _rows(s: Series, other: Reference) -> list[tuple[str, ...]]:
    factor = formulas.busbw_factor(s.name, s.ranks or 1) / 1e9
    here = {p.bytes: p for p in s.points}
    there = {int(row["bytes"]): row for row in other.rows}
    rows: list[tuple[str, ...]] = []
    for at in sorted({*here, *there}):
        p, row = here.get(at), there.get(at)
        mine: tuple[str, str, str] = ("-", "-", "-")
        if p is not None:
            low, high = (end * factor for end in p.rate_interval)
            mine = (duration(p.median_s), number(p.rate * factor), f"{number(low)} to {number(high)}")
        time_us = row.get("time_us") if row else None
        theirs = ("-" if time_us is None else duration(time_us / 1e6), number(row["busbw_gbps"]) if row else "-")
        ratio = f"{p.rate * factor / row['busbw_gbps']:.3g}" if p is not None and row and row["busbw_gbps"] > 0 else "-"
        rows.append((size(at), mine[0], theirs[0], mine[1], mine[2], theirs[1], ratio))
    return rows
