"""Numbers and tables as people read them."""

from __future__ import annotations

import html
from collections.abc import Sequence

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def unit_for(seconds: float) -> tuple[float, str]:
    """The unit (its size in seconds, its name) in which ``seconds`` reads best."""
    for size, name in _UNITS:
        if abs(seconds) >= size:
            return size, name
    return _UNITS[-1]


def duration(seconds: float) -> str:
    """For example '1.23 ms'."""
    size, name = unit_for(seconds)
    return f"{digits(seconds / size)} {name}"


def span(low_s: float, high_s: float, like_s: float) -> str:
    """For example '1.20 to 1.30 ms', in the unit that ``like_s`` reads best in."""
    size, name = unit_for(like_s)
    return f"{digits(low_s / size)} to {digits(high_s / size)} {name}"


def digits(value: float) -> str:
    """Three significant digits and no exponent."""
    if value != value or value in (float("inf"), float("-inf")):
        return "?"
    size = abs(value)
    if size >= 100:
        return f"{value:.0f}"
    places = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    return f"{value:.{places}f}"


def size(bytes: float) -> str:
    """For example '16 KiB', '2.5 MiB', '1 GiB'."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if bytes >= unit:
            return f"{_short(bytes / unit)} {name}"
    return f"{bytes:.0f} B"


def gigabytes(bytes_per_s: float) -> str:
    """For example '12.3 GB/s' (10^9 bytes)."""
    return f"{_short(bytes_per_s / 1e9)} GB/s"


def _short(value: float) -> str:
    """Three significant digits without zeros at the end; whole numbers from a thousand on, where an exponent would come."""
    return f"{value:.0f}" if value >= 999.5 else f"{value:.3g}"


RATIO_IS = "each ratio is the median of the rounds' own ratios, so it can differ from the ratio of the two medians"


def ratio(value: float, low: float, high: float) -> str:
    """For example 'ratio of times 1.05, 95 % interval 1.02 to 1.09': always the first one's time over the second one's."""
    return f"ratio of times {digits(value)}, 95 % interval {digits(low)} to {digits(high)}"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text, left-aligned, two blanks between the columns."""
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table
    )


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, notes: Sequence[str] = ()) -> str:
    """The same table for a notebook."""

    def cells(tag: str, line: Sequence[str]) -> str:
        return "".join(f"<{tag} style='text-align:left'>{html.escape(cell)}</{tag}>" for cell in line)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    small = "".join(f"<br>{html.escape(note)}" for note in notes)
    return (
        f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"
        f"<p style='font-size:90%'>{html.escape(caption)}{small}</p>"
    )
