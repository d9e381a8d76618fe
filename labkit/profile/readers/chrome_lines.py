"""Large traces in the layout that Kineto writes, one field on a line: parsed by columns instead of by events.

Parsing JSON makes an object of every event. Here the line ends of a piece are found, and the same field of all its events is
taken at once. An event that does not have the expected lines is handed back as text, to be parsed as JSON; so is a piece in which
anything is doubtful. Lines of which nothing is used (an operator's arguments, flow arrows) are not looked into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

LAYOUT = b'{\n    "ph": "'
BOUNDARY = b"\n  },\n  {\n"
BLOCK = 1 << 19  # bytes in which line ends are looked for at once
LINES = 13  # of a complete event: '  {', ph, cat, name, pid, tid, ts, dur, ',', args, their content, '    }', '  },'
FLOW = 10  # '  {', ph, id, pid, tid, ts, cat, name, bp or nothing, '  },'
CAT, NAME, PID, TID, TS, DUR, ARGS, CONTENT = 2, 3, 4, 5, 6, 7, 9, 10
# what stands before the value on its line
BEFORE = {CAT: b'    "cat": "', NAME: b'    "name": "', PID: b'    "pid": ', TID: b'    "tid": ', TS: b'    "ts": '}
BEFORE[DUR] = b'    "dur": '


def _word(text: bytes) -> np.uint64:
    return np.frombuffer(text, "<u8", 1)[0]


_KEYS = (
    (CAT, b'"cat": "'),
    (NAME, b'"name": '),
    (PID, b'"pid": '),
    (TID, b'"tid": '),
    (TS, b'"ts": '),
    (DUR, b'"dur": '),
)
_FLOW = ((2, b'"id": '), (7, b'"name": '))
_ONES = np.uint64(0x0101010101010101)
_ZERO = np.uint64(0x3030303030303030)
# by the number of digits that count among eight: which bytes to keep, and what to put into the others
_KEEP = np.array([((1 << 64) - 1) >> 8 * (8 - d) << 8 * (8 - d) if d else 0 for d in range(9)], dtype=np.uint64)
_FILL = np.array([int(_ZERO) & ~int(k) for k in _KEEP], dtype=np.uint64)


@dataclass(frozen=True)
class Lines:
    """The complete events of a piece. ``name``: the text of each. ``cats``: category -> its events' rows.

    start, end: ns. ``others``: events to be parsed as JSON.
    """

    name: list[bytes]
    text: bytes
    content_at: np.ndarray
    content_end: np.ndarray
    cats: dict[bytes, np.ndarray]
    start: np.ndarray
    end: np.ndarray
    pid: np.ndarray
    tid: np.ndarray
    others: list[bytes]

    def args(self, rows: np.ndarray) -> bytes:
        """The ``args`` of these events as a JSON list."""
        text = self.text
        places = zip(self.content_at[rows].tolist(), self.content_end[rows].tolist(), strict=True)
        return b"[{" + b"},{".join([text[a:b] for a, b in places]) + b"}]"


def _key(text: bytes) -> tuple[np.uint64, np.uint64]:
    """The first eight bytes of a line's text as a number, and which of its bytes count."""
    mask = (1 << 8 * min(len(text), 8)) - 1
    return np.uint64(int(_word(text.ljust(8)[:8])) & mask), np.uint64(mask)


def _starts(flat: np.ndarray) -> np.ndarray:
    """Where each line begins."""
    found: list[np.ndarray] = [np.zeros(1, dtype=np.int64)]
    for at in range(0, len(flat), BLOCK):
        found.append(np.flatnonzero(flat[at : at + BLOCK] == 10) + (at + 1))
    return np.concatenate(found)


class _Piece:
    """One piece of the file: its bytes, and where its lines begin."""

    def __init__(self, content: Any, start: int, stop: int) -> None:
        # with room around it, so that eight bytes can be taken anywhere, and the first line whole ('  {')
        room = b"\n" * 32
        self.text = b"".join((room, b"  ", memoryview(content)[start:stop], room))
        self.flat = np.frombuffer(self.text, np.uint8)
        self.words = np.ndarray((len(self.text) - 7,), "<u8", self.text, 0, (1,))
        self.at = _starts(self.flat[32:-31]) + 32

    def word(self, places: np.ndarray) -> np.ndarray:
        """Eight bytes from each place on."""
        return self.words[places]

    def is_key(self, lines: np.ndarray, text: bytes) -> np.ndarray:
        """Whether these lines have ``text`` behind four blanks (its first eight bytes are compared)."""
        value, mask = _key(text)
        return (self.word(self.at[lines] + 4) & mask) == value

    def whole(self, end: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The whole numbers of ``width`` digits before ``end``, and whether they are such (at most 16 digits)."""
        good = (width > 0) & (width <= 16)
        low, fine = self._eight(end, np.clip(width, 0, 8))
        good &= fine
        if (width > 8).any():
            high, fine = self._eight(end - 8, np.clip(width - 8, 0, 8))
            good &= fine
            low = low + high * np.uint64(100_000_000)
        return low.astype(np.int64), good

    def _eight(self, end: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        word = self.word(end - 8)
        word = (word & _KEEP[width]) | _FILL[width]
        digit = word - _ZERO
        good = (((word + np.uint64(0x4646464646464646)) | digit) & np.uint64(0x8080808080808080)) == 0
        # eight digits at once: pairs, then fours, then all (the first digit is the lowest byte)
        digit = digit * np.uint64(10) + (digit >> np.uint64(8))
        mask = np.uint64(0x000000FF000000FF)
        first = (digit & mask) * np.uint64(0x000F424000000064)
        second = ((digit >> np.uint64(16)) & mask) * np.uint64(0x0000271000000001)
        return (first + second) >> np.uint64(32), good

    def thousandths(self, end: np.ndarray, begin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """1000 times the numbers ``123.456`` between begin and end, and whether they have just this form."""
        value, good = self.whole(end - 4, end - 4 - begin)
        rest, fine = self._eight(end, np.full(len(end), 3))
        good &= fine & (self.flat[end - 4] == ord("."))
        return value * 1000 + rest.astype(np.int64), good


def parse(content: Any, first: int, behind: int) -> Lines | None:
    """The events from ``first`` (an event's opening brace) to ``behind`` (behind a closing one); None where the form differs."""
    piece = _Piece(content, first, behind)
    at = piece.at
    if len(at) < 4:
        return None
    # an event begins at a line '  {' behind a line '  },', or at the piece's beginning
    short = np.flatnonzero(np.diff(at) == 4)
    open_ = short[(piece.word(at[short]) & np.uint64(0xFFFFFFFF)) == np.uint64(int.from_bytes(b"  {\n", "little"))]
    follows = (piece.word(at[open_] - 5) & np.uint64(0xFFFFFFFFFF)) == np.uint64(int.from_bytes(b"  },\n", "little"))
    begin = open_[follows | (open_ == 0)]
    if not len(begin) or begin[0] != 0:
        return None
    stop = np.append(begin[1:], len(at) - 1)
    if at[-1] != len(piece.text) - 31:  # the last line is '  }', and its end was added here
        return None
    lines = stop - begin
    phase = piece.word(at[begin + 1] + 4)
    ph_x = phase == _word(b'"ph": "X')
    flow = ((phase == _word(b'"ph": "s')) | (phase == _word(b'"ph": "f'))) & (lines == FLOW)
    for line, key in _FLOW:
        flow[flow] = piece.is_key(begin[flow] + line, key)
    plain = ph_x & (lines == LINES)
    rows = begin[plain]
    good = np.ones(len(rows), dtype=bool)
    for line, key in _KEYS:
        good &= piece.is_key(rows + line, key)
    good &= piece.is_key(rows + ARGS, b'"args": {') & (at[rows + ARGS + 1] - at[rows + ARGS] == 14)
    good &= (at[rows + 9] - at[rows + 8] == 6) & (at[rows + 12] - at[rows + 11] == 6)

    def value(line: int) -> np.ndarray:
        return at[rows + line] + len(BEFORE[line])

    pid, fine = piece.whole(at[rows + PID + 1] - 2, at[rows + PID + 1] - 2 - value(PID))
    good &= fine
    tid, fine = piece.whole(at[rows + TID + 1] - 2, at[rows + TID + 1] - 2 - value(TID))
    good &= fine
    start, fine = piece.thousandths(at[rows + TS + 1] - 2, value(TS))
    good &= fine
    dur, fine = piece.thousandths(at[rows + DUR + 1] - 1, value(DUR))
    good &= fine
    cat_at, cat_end = value(CAT), at[rows + CAT + 1] - 3
    good &= (cat_end - cat_at <= 16) & (cat_end > cat_at)
    for line in (CAT, NAME):
        good &= (piece.word(at[rows + line + 1] - 3) & np.uint64(0xFFFFFF)) == np.uint64(
            int.from_bytes(b'",\n', "little")
        )
    others_at = np.ones(len(begin), dtype=bool)
    others_at[flow] = False
    others_at[np.flatnonzero(plain)[good]] = False
    raw = piece.text
    others = [
        raw[a:b].rstrip(b",\n")
        for a, b in zip(at[begin[others_at]].tolist(), at[stop[others_at]].tolist(), strict=True)
    ]
    if not good.all():
        rows, pid, tid, start, dur = rows[good], pid[good], tid[good], start[good], dur[good]
        cat_at, cat_end = cat_at[good], cat_end[good]
    name_at, name_end = value(NAME).tolist(), (at[rows + NAME + 1] - 3).tolist()
    return Lines(
        name=[raw[a:b] for a, b in zip(name_at, name_end, strict=True)],
        text=raw,
        content_at=at[rows + CONTENT],
        content_end=at[rows + CONTENT + 1] - 1,
        cats=_categories(piece, cat_at, cat_end),
        start=start,
        end=start + dur,
        pid=pid,
        tid=tid,
        others=others,
    )


def _categories(piece: _Piece, begin: np.ndarray, end: np.ndarray) -> dict[bytes, np.ndarray]:
    """Category -> rows. First and last eight bytes and the length tell categories of at most 16 bytes apart."""
    mark = piece.word(begin) * np.uint64(0x9E3779B97F4A7C15) ^ piece.word(end - 8) ^ (end - begin).astype(np.uint64)
    found: dict[bytes, list[np.ndarray]] = {}
    left = np.arange(len(mark))
    while len(left):
        same = mark[left] == mark[left[0]]
        text = piece.text[begin[left[0]] : end[left[0]]]
        found.setdefault(text, []).append(left[same])
        left = left[~same]
    return {text: np.concatenate(rows) if len(rows) > 1 else rows[0] for text, rows in found.items()}
