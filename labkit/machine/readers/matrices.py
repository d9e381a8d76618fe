"""Square tables device x device out of a text: cells in the order of print, and what is missing or ``N/A`` is None."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

Matrix = list[list[float | None]]

CELL = r"(?:\d+\.\d+(?:[eE][-+]?\d+)?|N/A)"


def number(word: str) -> float | None:
    """The number of a cell, None for 'N/A' and what is none."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def may_be_cut(word: str, others: Sequence[str], decimals: int) -> bool:
    """Whether the last word of a text has fewer decimals than the other cells, or than the tool prints: its end is missing.

    >>> may_be_cut("83.4", ["84.706", "N/A"], 3)
    True
    """
    printed = [len(other.partition(".")[2]) for other in others if "." in other]
    return "." in word and len(word.partition(".")[2]) < max([decimals, *printed])


def square(rows: Mapping[int, Sequence[float | None]], devices: int) -> Matrix | None:
    """The matrix over all devices; None when no row was read."""
    if not rows or not devices:
        return None
    empty: list[float | None] = [None] * devices
    return [[*rows.get(at, ())][:devices] + empty[: max(0, devices - len(rows.get(at, ())))] for at in range(devices)]


def words(text: str) -> list[str]:
    """The words of a stretch of text, without what a page draws or writes around a table."""
    return re.sub(r":mark:|[`|]|\\(?=\s)", " ", text).split()
