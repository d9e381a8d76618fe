"""Whole-number columns of an SQLite table, straight from the file's pages, a block of pages at a time.

SQLite hands over one value after the other; a million rows of twenty columns are twenty million Python objects. The format of the
file is documented and frozen (https://www.sqlite.org/fileformat2.html): a table is a tree of pages, its leaves hold the rows, a row is a
header of types and then the values, big-endian. Whatever is not plain here (other types, values on overflow pages, rows
with fewer columns) is answered by None, and SQLite is asked instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LEAVES = 256  # pages that are taken at once
_WIDTH = 64  # of a header that is looked at
_SIZE = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0, *((t - 12) // 2 for t in range(12, 256))], dtype=np.int64)
_WHOLE = np.array([t <= 6 or t in (8, 9) for t in range(256)])


def whole_columns(
    content: Any, root: int, wanted: Sequence[int], rowid: int = -1
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """(values, which are there) of the columns ``wanted`` (numbers from 0) of the table whose first page is ``root``.

    content: the file's bytes, at rest. rowid: the column that is the row's own number, -1 where there is none. None where
    the table is not as plain as this needs.
    """
    flat = np.frombuffer(content, np.uint8)
    try:
        return _columns(flat, root, wanted, rowid)
    except (IndexError, ValueError):  # pages that point out of the file: SQLite says what is wrong
        return None
    finally:
        del flat  # a mapped file can only be closed when nothing looks into it


def _columns(
    flat: np.ndarray, root: int, wanted: Sequence[int], rowid: int
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    size = int(flat[16]) << 8 | int(flat[17])
    size = 65536 if size == 1 else size
    if size < 512 or len(flat) % size or flat[20] != 0 or max(wanted) >= _WIDTH:
        return None
    pages = flat.reshape(-1, size)
    leaves = _leaves(pages, root)
    if leaves is None:
        return None
    parts: list[list[tuple[np.ndarray, np.ndarray]]] = []
    for at in range(0, len(leaves), LEAVES):
        found = _block(pages[leaves[at : at + LEAVES] - 1], wanted, rowid)
        if found is None:
            return None
        parts.append(found)
    return [
        (np.concatenate([part[i][0] for part in parts]), np.concatenate([part[i][1] for part in parts]))
        for i in range(len(wanted))
    ]


def _leaves(pages: np.ndarray, root: int) -> np.ndarray | None:
    """Numbers of the pages that hold the rows, in their order."""
    level = np.array([root], dtype=np.int64)
    seen = 0
    while True:
        seen += len(level)
        if seen > len(pages) or (level < 2).any() or (level > len(pages)).any():
            return None
        kinds = pages[level - 1, 0]
        if (kinds == 13).all():
            return level
        if not (kinds == 5).all():
            return None
        below = []
        for page in pages[level - 1]:
            count = int(page[3]) << 8 | int(page[4])
            cells = page[12 : 12 + 2 * count].reshape(-1, 2).astype(np.int64) @ np.array([256, 1])
            children = page[cells[:, None] + np.arange(4)].astype(np.int64) @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
            below += [children, page[8:12].astype(np.int64) @ np.array([[1 << 24], [1 << 16], [1 << 8], [1]])]
        level = np.concatenate(below)


def _block(pages: np.ndarray, wanted: Sequence[int], rowid: int) -> list[tuple[np.ndarray, np.ndarray]] | None:
    size = pages.shape[1]
    text = np.concatenate([pages.ravel(), np.zeros(_WIDTH + 16, dtype=np.uint8)])
    counts = pages[:, 3].astype(np.int64) << 8 | pages[:, 4]
    first = np.cumsum(counts) - counts
    base = np.repeat(np.arange(len(pages)) * size, counts)
    pointer = base + 8 + 2 * (np.arange(int(counts.sum())) - np.repeat(first, counts))
    cell = text[pointer].astype(np.int64) << 8 | text[pointer + 1]
    at = base + cell
    payload = text[at].astype(np.int64)
    long = payload >= 128
    if long.any():
        second = text[at + 1]
        if (second[long] >= 128).any():
            return None
        payload = np.where(long, (payload & 127) << 7 | second, payload)
        at = at + long
    if len(payload) and payload.max() > size - 35:
        return None
    number, at = _varint(text, at + 1, rowid in wanted)
    length = text[at].astype(np.int64)
    last = max(wanted)
    if len(length) and (length.max() >= 128 or length.min() < last + 2):
        return None
    wide = np.ndarray((len(text) - _WIDTH + 1,), f"V{_WIDTH}", text, 0, (1,))
    types = np.ascontiguousarray(wide[at + 1].view(np.uint8).reshape(-1, _WIDTH)[:, : last + 1].T)
    if types.size and types.max() >= 128:
        return None
    words = np.ndarray((len(text) - 7,), ">i8", text, 0, (1,))
    where = at + length
    order = {column: place for place, column in enumerate(wanted)}
    found: list[Any] = [None] * len(wanted)
    for column in range(last + 1):
        kind = types[column]
        uniform = bool(len(kind)) and kind.min() == kind.max()
        if column in order:
            if column == rowid and not kind.any():
                found[order[column]] = (number, np.ones(len(number), dtype=bool))
            elif not (_WHOLE[int(kind[0])] if uniform else _WHOLE[kind].all()):
                return None
            else:
                found[order[column]] = _values(words, where, kind, uniform)
        where = where + (_SIZE[int(kind[0])] if uniform else _SIZE[kind])
    return [found[order[column]] for column in wanted]


def _values(words: np.ndarray, where: np.ndarray, kind: np.ndarray, uniform: bool) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers of 1 to 8 bytes; types 8 and 9 stand for 0 and 1, type 0 for nothing."""
    if uniform and (only := int(kind[0])) in (0, 8, 9):
        return np.full(len(kind), int(only == 9), dtype=np.int64), np.full(len(kind), only != 0)
    width = _SIZE[kind] if not uniform else _SIZE[int(kind[0])]
    value = words[where].astype(np.int64) >> np.where(width, 64 - 8 * width, 63)
    if not uniform:
        value = np.where(width > 0, value, kind == 9)
    return value, kind != 0


def _varint(text: np.ndarray, at: np.ndarray, asked: bool) -> tuple[np.ndarray, np.ndarray]:
    """A number of up to nine bytes, seven bits in each (eight in the ninth), and the place behind it. Not ``asked``: zeros."""
    value = np.zeros(len(at), dtype=np.int64)
    open_ = np.ones(len(at), dtype=bool)
    for place in range(9):
        byte = text[at]
        if asked:
            grown = value << 8 | byte if place == 8 else value << 7 | byte & 127
            value = np.where(open_, grown, value)
        at = at + open_
        open_ &= byte >= 128
        if not open_.any():
            break
    return value, at
