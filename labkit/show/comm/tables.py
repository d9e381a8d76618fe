"""Measured bandwidth and products in words: one table for each kind, with intervals, fits and notes."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.comm.curve import FEWEST, AlphaBeta, fit
from labkit.comm.peers import matrix
from labkit.comm.results import Point, Results, Series
from labkit.show.charts import number
from labkit.show.comm.heat import as_table
from labkit.timing.words import columns, duration, gigabytes, size, span

_TITLES = {
    "copy": "Copies",
    "memory": "Memory, by STREAM's convention (read n, write n, copy 2n, triad 3n bytes)",
    "gemm": "Matrix products, 2·m·n·k FLOP each",
    "collective": "Collectives",
}


def as_text(results: Results) -> str:
    """All of ``results`` as text: where and when, then a table for each kind. GB are 10^9 bytes, KiB are 1024."""
    parts = [_head(results)]
    for kind, title in _TITLES.items():
        found = results.of(kind)
        if found:
            table = _products(found) if kind == "gemm" else _rates(found)
            parts.append("\n".join([title, _indent(table), *_said(found)]))
    copies = results.of("copy")
    if any(not s.local for s in copies):
        parts.append("Device × device\n" + _indent(as_table(matrix(results))))
    if results.notes:
        parts.append("\n".join(f"note: {note}" for note in results.notes))
    return "\n\n".join(parts)


def points_table(series: Series) -> str:
    """Every size of one series: time, rate, its interval, repetitions."""
    products = series.kind == "gemm"
    head = ("n" if products else "size", "time", "rate", "95 % interval", "repetitions")
    rows = [
        (str(p.size) if products else size(p.bytes), duration(p.median_s), rate(series, p), between(series, p), str(p.repetitions))
        for p in series.points
    ]  # fmt: skip
    return f"{series.label} ({series.dtype})\n{columns(head, rows)}"


def fit_in_words(found: AlphaBeta) -> str:
    """The fitted line as one sentence: latency, rate of large sizes and knee with their intervals, or why there is none."""
    if not found.one_line or found.latency_s is None:
        return found.note
    parts = []
    interval = found.latency_interval
    if interval is not None and not found.sees_latency:
        parts.append(f"latency at most {duration(interval.high)}")
    elif interval is not None:
        parts.append(
            f"latency {duration(found.latency_s)} ({span(interval.low, interval.high, max(found.latency_s, 1e-9))})"
        )
    if found.bytes_per_s is not None and found.rate_interval is not None:
        low, high = found.rate_interval.low / 1e9, found.rate_interval.high / 1e9
        reach = f"{number(low)} to {number(high)}" if high < float("inf") else f"at least {number(low)}"
        parts.append(f"large sizes approach {gigabytes(found.bytes_per_s)} ({reach})")
        if found.knee_bytes and found.sees_latency:
            parts.append(f"half of that from the knee of {size(found.knee_bytes)} on")
    told = "; ".join(parts)
    told += f"; typically {found.deviation:.0%} off the line" if parts else ""
    return f"{told}. {found.note}".strip() if told else found.note


def fitted(series: Series) -> AlphaBeta | None:
    """The line through a series' points; None where it has too few sizes, or counts FLOP."""
    if series.unit != "B/s" or len({p.bytes for p in series.points if p.bytes > 0}) < FEWEST:
        return None
    return fit(series.points)


def rate(series: Series, point: Point) -> str:
    """For example '12.3 GB/s' or '154 GFLOP/s'."""
    return f"{number(point.rate / 1e9)} G{series.unit}"


def between(series: Series, point: Point) -> str:
    """For example '12.1 to 12.5', in the unit of ``rate``; 'timed once' where one time has no interval."""
    if point.repetitions == 1:
        return "timed once"
    low, high = point.rate_interval
    return f"{number(low / 1e9)} to {number(high / 1e9)}"


def _head(results: Results) -> str:
    rows = {str(row[0]): str(row[1]) for row in results.card.get("rows", ()) if len(row) == 2}
    where = rows.get("GPU in torch", "") if results.card.get("build") in ("rocm", "cuda") else ""
    if str(results.card.get("device", "")).startswith("cpu") or not where:
        where = rows.get("CPU", "")
    lines = [f"Measured {results.made or 'at a time that is not told'} on {where or 'a machine that is not told'}"]
    threads = f", {results.threads} CPU thread{'s' if results.threads != 1 else ''}" if results.threads else ""
    lines.append(f"torch {results.torch or 'not told'}{threads}; GB are 10^9 bytes; in brackets: 95 % intervals")
    return "\n".join(lines)


def _rates(found: Sequence[Series]) -> str:
    head = ("measure", "from", "to", "largest size", "rate there", "fastest size", "rate there")
    rows = []
    for s in found:
        last, best = s.largest, s.best
        rows.append(
            (
                s.label + (f", {s.ranks} ranks" if s.ranks else ""),
                s.src,
                s.dst,
                size(last.bytes),
                f"{rate(s, last)} ({between(s, last)})",
                size(best.bytes),
                f"{rate(s, best)} ({between(s, best)})",
            )
        )
    return columns(head, rows)


def _products(found: Sequence[Series]) -> str:
    sizes = sorted({p.size for s in found for p in s.points if p.size})
    rows = []
    for s in found:
        at = {p.size: p for p in s.points}
        rows.append(
            (s.dtype, *(f"{number(at[n].rate / 1e9)} ({between(s, at[n])})" if n in at else "-" for n in sizes))
        )
    return columns(("GFLOP/s, n =", *map(str, sizes)), rows)


def _said(found: Sequence[Series]) -> list[str]:
    """What the fits say of each series, what was counted wrong, and the notes, each once."""
    lines = []
    for s in found:
        line = fitted(s)
        if line is not None and s.kind in ("copy", "collective", "memory"):
            lines.append(f"  {s.label}: {fit_in_words(line)}")
        wrong = sum(p.wrong or 0 for p in s.points)
        if wrong:
            lines.append(f"  {s.label}: {wrong} WRONG elements: do not trust this link")
    notes: dict[str, list[str]] = {}
    for s in found:
        for note in s.notes:
            notes.setdefault(note, []).append(s.label)
    return lines + [_note(text, labels, len(found)) for text, labels in notes.items()]


def _note(text: str, labels: Sequence[str], of: int) -> str:
    """A note once, with the series that it is about unless it is about all of them."""
    return f"  note: {text}" if len(labels) == of else f"  note on {', '.join(labels)}: {text}"


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
