"""Columns of a table as whole numbers, with what could not be right taken out and told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from labkit.profile.readers.columns import ROLES

_HOUR_NS = 3_600_000_000_000


def find(frame: pl.DataFrame, role: str) -> str | None:
    """The column of the frame that has this role, None without one."""
    return next((name for name in ROLES[role] if name in frame.columns), None)


def whole(column: pl.Series) -> tuple[pl.Series, int]:
    """A column as Int64, and how many of its values had lost digits (exponents) and are therefore null.

    Fractions are rounded, hexadecimal numbers and groups of three digits read, everything else that is no number is null.
    """
    if column.dtype.is_integer():
        return column.cast(pl.Int64, strict=False), 0
    if column.dtype.is_float():
        return column.round().cast(pl.Int64, strict=False), 0
    text = column.cast(pl.String).str.strip_chars(" \t'\"")
    plain = text.cast(pl.Int64, strict=False)
    left = plain.is_null() & text.is_not_null() & (text != "")
    if not left.any():
        return plain, 0
    lost = int((left & text.str.contains(r"^[-+]?\d+(?:\.\d*)?[eE][-+]?\d+$")).sum())
    groups = text.str.extract_groups(r"^(-?\d+)\.(\d)?\d*$")
    fraction = groups.struct.field("1").cast(pl.Int64, strict=False) + (
        groups.struct.field("2").cast(pl.Int64, strict=False).fill_null(0) >= 5
    ).cast(pl.Int64)
    grouped = text.str.extract(r"^(-?\d{1,3}(?:,\d{3})+)$").str.replace_all(",", "", literal=True)  # 2,357,053
    fraction = fraction.fill_null(grouped.cast(pl.Int64, strict=False))
    hexadecimal = text.str.extract(r"^0[xX]([0-9a-fA-F]{1,15})$").str.to_integer(base=16, strict=False)
    return plain.fill_null(fraction).fill_null(hexadecimal.cast(pl.Int64)), lost


def device(column: pl.Series) -> pl.Series:
    """The number of an agent: 'Agent 4', 'GPU 0', 4. Numbers too large for one (handles) become 0, 1, 2 by size."""
    if column.dtype == pl.Int32:
        return column
    if column.dtype.is_integer():
        found = column.cast(pl.Int64, strict=False)
    else:
        labels = column.unique()
        numbers = labels.cast(pl.String).str.extract(r"(\d{1,18})\D*$").cast(pl.Int64, strict=False)
        found = column.replace_strict(labels, numbers, return_dtype=pl.Int64, default=None)
    largest = found.max()
    if isinstance(largest, int) and largest >= 2**31:
        found = (found.rank("dense") - 1).cast(pl.Int64)
    return found.cast(pl.Int32, strict=False)


def nothing(height: int, dtype: Any = pl.Int64) -> pl.Series:
    """A column without a value."""
    return pl.repeat(None, height, dtype=dtype, eager=True)


def times(frame: pl.DataFrame) -> tuple[pl.Series, pl.Series, list[str]]:
    """Start and end in ns; null, both, where they cannot be right; and sentences about those.

    Not used: exponents (their digits are lost), zero, negative, an end before its start, one stamp for all rows.
    """
    names = [find(frame, "start_ns"), find(frame, "end_ns")]
    odd: list[str] = []
    if None in names:
        return nothing(frame.height), nothing(frame.height), odd
    (start, lost_start), (end, lost_end) = (whole(frame[name]) for name in names if name is not None)
    lost = max(lost_start, lost_end)
    if lost:
        odd.append(f"{lost} time stamps are in exponent notation and have lost their digits: no times are used.")
        return nothing(frame.height), nothing(frame.height), odd
    if not frame.height:
        return start, end, odd
    if not start.null_count() and not end.null_count():
        first, last = start.min(), end.max()
        assert isinstance(first, int) and isinstance(last, int)
        if first > 0 and not (end < start).any():
            if frame.height >= 2 and first == start.max() and last == end.min():
                odd.append(f"all {frame.height} rows have the same time stamps: not used.")
                return nothing(frame.height), nothing(frame.height), odd
            return start, end, odd
    zero = ((start == 0) & ((end == 0) | (end - start > _HOUR_NS))) | ((end == 0) & (start > 0))
    negative = (start < 0) | (end < 0)
    backward = (end < start) & ~zero & ~negative
    for wrong, words in ((zero, "are zero"), (negative, "are negative"), (backward, "end before they start")):
        count = int(wrong.sum())
        if count:
            odd.append(f"{count} rows have time stamps that {words}: not used.")
    bad = (zero | negative | backward).fill_null(True)
    return start.set(bad, None), end.set(bad, None), odd


def name(column: pl.Series) -> pl.Series:
    """Names as categories: runs of white space are one blank, and '.kd', '(.kd)', '[clone .kd]' at the end are dropped."""
    if column.dtype != pl.Categorical:
        column = column.cast(pl.String).cast(pl.Categorical)
    labels = column.unique().drop_nulls()
    used = labels.cast(pl.String)
    better = tidy(used)
    if not (better == used).all():
        column = column.replace_strict(labels, better.cast(pl.Categorical), default=None)
    return column


def tidy(names: pl.Series) -> pl.Series:
    """Names as text without needless white space and the mark of a kernel descriptor."""
    return (
        names.str.replace_all(r"\s+", " ").str.strip_chars(" ").str.replace(r"\s*(?:\[clone \.kd\]|\(\.kd\)|\.kd)$", "")
    )


def integers(frame: pl.DataFrame, roles: Sequence[str]) -> dict[str, pl.Series]:
    """The columns of these roles that the frame has, as numbers."""
    return {role: whole(frame[found])[0] for role in roles if (found := find(frame, role)) is not None}


def narrow(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows; a column of whole numbers with one value throughout takes the room of one value."""
    if frame.height < 100_000:
        return frame
    constant = []
    for column in frame.iter_columns():
        if column.dtype.is_integer() and not column.null_count() and column.min() == column.max():
            constant.append(pl.lit(column[0], dtype=column.dtype).alias(column.name))
    return frame.with_columns(constant)
