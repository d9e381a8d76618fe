"""Square tables device x device out of a text: cells in the order of print, and what is missing or ``N/A`` is None."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

Matrix = list[list[float | None]]

CELL = r"(?:\d+\.\d+(?:[eE][-+]?\d+)?|N/A)"


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
    return re.sub(r":mark:|[`|]|\\(?=\s)|(?<![^\s|]):?-{3,}:?(?![^\s|])", " ", text).split()


def unfolded(lines: Sequence[str], is_own: Callable[[str], bool], decimals: int) -> list[str]:
    """Lines that a terminal folded at its width, whole again; a cell or a name may be cut in two.

    The width is the largest length of lines whose next line is no line of its own (``is_own``); lines that were folded between
    words may have lost their blanks and be shorter. Cells with all their ``decimals`` end there.

    >>> unfolded(["x" * 56 + " 1.2", "5 3.00", "y" * 56 + " 4.5", "0"], lambda line: line[0] in "xy", 2)[1][-4:]
    '4.50'
    """
    folded = [
        len(line)
        for line, rest in pairwise(lines)
        if 60 <= len(line) <= 400 and rest.strip() and not is_own(rest) and is_own(line)
    ]
    width = max(folded, default=0)
    if sum(width - 12 < length for length in folded) < 2:  # one column less: blanks at the fold are lost
        return list(lines)
    whole: list[str] = []
    is_open = False  # whether the last line was as long as the terminal is wide
    for line in lines:
        if is_open and line.strip() and not is_own(line):
            ended = re.search(rf"(?:\.\d{{{decimals}}}|N/A)$", whole[-1]) is not None
            whole[-1] += (" " if ended else "") + line
        else:
            whole.append(line)
        is_open = len(line) == width
    return whole
