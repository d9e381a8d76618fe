"""Large traces in the layout that Kineto writes, one field on a line: parsed by columns instead of by events.

Parsing JSON makes an object of every event. Here the line ends of a piece are found, and the same field of all its events is
taken at once. An event that does not have the expected lines is handed back as text, to be parsed as JSON; so is a piece in which
anything is doubtful. Lines of which nothing is used (an operator's arguments, flow arrows) are not looked into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labkit.profile.readers.chrome_bytes import BEHIND, ROOM, Bytes, word

LAYOUT = b'{\n    "ph": "'
BOUNDARY = b"\n  },\n  {\n"
LINES = 13  # of a complete event: '  {', ph, cat, name, pid, tid, ts, dur, ',', args, their content, '    }', '  },'
FLOW = 10  # '  {', ph, id, pid, tid, ts, cat, name, bp or nothing, '  },'
CAT, NAME, PID, TID, TS, DUR, ARGS, CONTENT = 2, 3, 4, 5, 6, 7, 9, 10
# what stands before the value on its line
BEFORE = {CAT: b'    "cat": "', NAME: b'    "name": "', PID: b'    "pid": ', TID: b'    "tid": ', TS: b'    "ts": '}
BEFORE[DUR] = b'    "dur": '


_KEYS = (
    (CAT, b'"cat": "'),
    (NAME, b'"name": '),
    (PID, b'"pid": '),
    (TID, b'"tid": '),
    (TS, b'"ts": '),
    (DUR, b'"dur": '),
)
_FLOW = ((2, b'"id": '), (7, b'"name": '))
LONGEST_NAME = BEHIND - 512


@dataclass(frozen=True)
class Lines:
    """The complete events of a text. ``name_at``, ``name_end``: where the name of each stands, ``content_at``,
    ``content_end``: the members of its args. ``cats``: category -> its events' rows.

    start, end: ns. ``others``: events to be parsed as JSON.
    """

    text: Bytes
    name_at: np.ndarray
    name_end: np.ndarray
    content_at: np.ndarray
    content_end: np.ndarray
    cats: dict[bytes, np.ndarray]
    start: np.ndarray
    end: np.ndarray
    pid: np.ndarray
    tid: np.ndarray
    others: list[bytes]


def _key(text: bytes) -> tuple[np.uint64, np.uint64]:
    """The first eight bytes of a line's text as a number, and which of its bytes count."""
    mask = (1 << 8 * min(len(text), 8)) - 1
    return np.uint64(int(word(text.ljust(8)[:8])) & mask), np.uint64(mask)


def _is_key(text: Bytes, line_at: np.ndarray, key: bytes) -> np.ndarray:
    """Whether the lines that begin there have ``key`` behind four blanks (its first eight bytes are compared)."""
    value, mask = _key(key)
    found = text.word(line_at + 4)
    if len(key) < 8:
        found &= mask
    return found == value


def parse(text: Bytes, first: int, behind: int) -> Lines | None:
    """The events from ``first`` (an event's opening brace) to ``behind`` (behind a closing one); None where the form differs."""
    if first < ROOM or len(text.flat) < behind + BEHIND:
        return None
    at = text.lines(first - 2, behind + 2)
    if len(at) < 4 or at[-1] != behind + 2:
        return None
    # an event begins at a line '  {' behind a line '  },', or at the piece's beginning
    short = np.flatnonzero(np.diff(at) == 4)
    open_ = short[(text.word(at[short]) & np.uint64(0xFFFFFFFF)) == np.uint64(int.from_bytes(b"  {\n", "little"))]
    follows = (text.word(at[open_] - 5) & np.uint64(0xFFFFFFFFFF)) == np.uint64(int.from_bytes(b"  },\n", "little"))
    begin = open_[follows | (open_ == 0)]
    if not len(begin) or begin[0] != 0:
        return None
    stop = np.append(begin[1:], len(at) - 1)
    lines = stop - begin
    phase = text.word(at[begin + 1] + 4)
    ph_x = phase == word(b'"ph": "X')
    flow = ((phase == word(b'"ph": "s')) | (phase == word(b'"ph": "f'))) & (lines == FLOW)
    for line, key in _FLOW:
        flow[flow] = _is_key(text, at[begin[flow] + line], key)
    plain = ph_x & (lines == LINES)
    rows = begin[plain]
    good = np.ones(len(rows), dtype=bool)
    place = [at.take(rows + line) for line in range(LINES)]  # where each line begins
    for line, key in _KEYS:
        good &= _is_key(text, place[line], key)
    good &= _is_key(text, place[ARGS], b'"args": {') & (place[ARGS + 1] - place[ARGS] == 14)
    good &= (place[9] - place[8] == 6) & (place[12] - place[11] == 6)

    def value(line: int) -> np.ndarray:
        return place[line] + len(BEFORE[line])

    ends = np.concatenate((place[PID + 1] - 2, place[TID + 1] - 2))
    both, fine = text.whole(ends, ends - np.concatenate((value(PID), value(TID))))
    pid, tid = both[: len(rows)], both[len(rows) :]
    good &= fine[: len(rows)] & fine[len(rows) :]
    start, fine = text.thousandths(place[TS + 1] - 2, value(TS))
    good &= fine
    dur, fine = text.thousandths(place[DUR + 1] - 1, value(DUR))
    good &= fine
    cat_at, cat_end = value(CAT), place[CAT + 1] - 3
    good &= (cat_end - cat_at <= 16) & (cat_end > cat_at)
    name_at, name_end = value(NAME), place[NAME + 1] - 3
    good &= (name_end >= name_at) & (name_end - name_at <= LONGEST_NAME)
    for line in (CAT, NAME):
        good &= (text.word(place[line + 1] - 3) & np.uint64(0xFFFFFF)) == np.uint64(int.from_bytes(b'",\n', "little"))
    content_at, content_end = place[CONTENT], place[CONTENT + 1] - 1
    others_at = np.ones(len(begin), dtype=bool)
    others_at[flow] = False
    others_at[np.flatnonzero(plain)[good]] = False
    raw = text.content
    others = [
        raw[a:b].rstrip(b",\n")
        for a, b in zip(at[begin[others_at]].tolist(), at[stop[others_at]].tolist(), strict=True)
    ]
    found = [name_at, name_end, content_at, content_end, start, start + dur, pid, tid]
    if not good.all():
        found = [values[good] for values in found]
        cat_at, cat_end = cat_at[good], cat_end[good]
    name_at, name_end, content_at, content_end, start, end, pid, tid = found
    return Lines(
        text=text,
        name_at=name_at,
        name_end=name_end,
        content_at=content_at,
        content_end=content_end,
        cats=_categories(text, cat_at, cat_end),
        start=start,
        end=end,
        pid=pid,
        tid=tid,
        others=others,
    )


def _categories(text: Bytes, begin: np.ndarray, end: np.ndarray) -> dict[bytes, np.ndarray]:
    """Category -> rows. First and last eight bytes and the length tell categories of at most 16 bytes apart."""
    mark = text.word(begin) * np.uint64(0x9E3779B97F4A7C15) ^ text.word(end - 8) ^ (end - begin).astype(np.uint64)
    found: dict[bytes, list[np.ndarray]] = {}
    left = np.arange(len(mark))
    while len(left):
        same = mark[left] == mark[left[0]]
        name = text.content[begin[left[0]] : end[left[0]]]
        found.setdefault(name, []).append(left[same])
        left = left[~same]
    return {name: np.concatenate(rows) if len(rows) > 1 else rows[0] for name, rows in found.items()}


def together(parts: Sequence[Lines]) -> Lines:
    """Several pieces as one."""
    cats: dict[bytes, list[np.ndarray]] = {}
    before = 0
    for part in parts:
        for name, rows in part.cats.items():
            cats.setdefault(name, []).append(rows + before)
        before += len(part.start)
    names = ("name_at", "name_end", "content_at", "content_end", "start", "end", "pid", "tid")
    return Lines(
        text=parts[0].text,
        cats={name: np.concatenate(rows) for name, rows in cats.items()},
        others=[event for part in parts for event in part.others],
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
    )
