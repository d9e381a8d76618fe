"""The ``args`` of many events at once: numbers that differ from event to event are read by columns, the rest once for each text.

Kineto writes the args of one kind of event in one form: numbers that count up (``"External id": 7``) before or behind a part of
which there are few different ones (sizes, names, shapes). A *form* is taken from one event and looked for in the others: its leading
numbers, a middle that is parsed as JSON once for each different text, its numbers at the end. What has no form is parsed as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from labkit.profile.readers.chrome_bytes import BEHIND, Bytes

UNKNOWN = int(np.iinfo(np.int64).min)
LEAST = 16  # events of one form for which it is looked for
FORMS = 24  # forms of one kind of event
MANY = 1000  # different middles from which on a form must be worth it
LONGEST = BEHIND - 512  # bytes of an event's args

# members of args that count up: the part that recurs lies between or behind them
_IDS = {b"External id", b"correlation", b"Sequence number", b"Record function id", b"Ev Idx", b"Fwd thread id"}
_LEADING = re.compile(rb'\s*"([^"\\]*)"\s*:\s*(0|[1-9]\d{0,15})\s*(?:,\s*|\Z)')
_SIZE = rb"(?:0|[1-9]\d{0,15})"
_TRAILING = re.compile(
    rb',\s*"([^"\\]*)"\s*:\s*(' + _SIZE + rb"|\[\s*" + _SIZE + rb"(?:\s*,\s*" + _SIZE + rb")*\s*\])\s*\Z"
)
_NUMBER = re.compile(_SIZE)


class Structs:
    """Structs, and columns made from them, which grow with them."""

    def __init__(self, structs: list[Any]) -> None:
        self.structs = structs
        self._columns: dict[str, np.ndarray] = {}

    def column(self, name: str, of: Callable[[Any], Any]) -> np.ndarray:
        """``of`` each of them (whole numbers), kept under this name."""
        found = self._columns.get(name)
        known = 0 if found is None else len(found)
        if found is None or known < len(self.structs):
            more = np.array([of(s) for s in self.structs[known:]], dtype=np.int64)
            found = more if found is None else np.concatenate((found, more))
            self._columns[name] = found
        return found


class Coded:
    """The args of ``count`` events: blocks of (rows, place of each among the structs, these), and numbers that stand outside of these."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.blocks: list[tuple[np.ndarray, np.ndarray, Structs]] = []
        self.outside: dict[str, np.ndarray] = {}

    @classmethod
    def listed(cls, structs: list[Any]) -> Coded:
        """One struct for each event."""
        coded = cls(len(structs))
        every = np.arange(len(structs))
        coded.blocks.append((every, every, Structs(structs)))
        return coded

    def column(self, name: str, of: Callable[[Any], Any], width: int = 0) -> np.ndarray:
        """``of`` the struct of each event (whole numbers, ``width`` for each; 0: one, not a list of one)."""
        found = np.full((self.count, width) if width else self.count, UNKNOWN, dtype=np.int64)
        for rows, place, structs in self.blocks:
            if len(rows):
                found[rows] = structs.column(name, of)[place]
        return found

    def numbers(self, name: str) -> np.ndarray:
        """A whole number of each event, UNKNOWN where there is none, or none of 64 bits."""

        def of(struct: Any) -> int:
            value = getattr(struct, name)
            return value if value is not None and -UNKNOWN > value > UNKNOWN else UNKNOWN

        found = self.column(name, of)
        outside = self.outside.get(name)
        return found if outside is None else np.where(outside == UNKNOWN, found, outside)


@dataclass(frozen=True)
class Form:
    """texts and keys alternate: text, number, text, …, text. front: before the middle; back: behind it."""

    front_texts: tuple[bytes, ...]
    front_keys: tuple[str, ...]
    back_texts: tuple[bytes, ...]
    back_keys: tuple[str, ...]

    def of(self, text: Bytes, begin: np.ndarray, end: np.ndarray, wanted: set[str]) -> tuple[Any, Any, Any, Any]:
        """(which have this form, where their middles begin, where these end, their numbers by key)."""
        numbers: dict[str, np.ndarray] = {}
        good = text.is_text(begin, self.front_texts[0])
        at = begin + len(self.front_texts[0])
        for key, literal in zip(self.front_keys, self.front_texts[1:], strict=True):
            width = text.digits_from(at)
            at = at + width
            good &= self._number(text, key, at, width, wanted, numbers)
            good &= text.is_text(at, literal)
            at = at + len(literal)
        stop = end
        if self.back_keys:
            stop = stop - len(self.back_texts[-1])
            good &= text.is_text(stop, self.back_texts[-1])
            for key, literal in zip(reversed(self.back_keys), reversed(self.back_texts[:-1]), strict=True):
                width = text.digits_before(stop)
                good &= self._number(text, key, stop, width, wanted, numbers)
                stop = stop - width - len(literal)
                good &= text.is_text(stop, literal)
        good &= at <= stop
        return good, at, stop, numbers

    @staticmethod
    def _number(text: Bytes, key: str, end: Any, width: Any, wanted: set[str], numbers: dict[str, Any]) -> Any:
        if key not in wanted:
            return width > 0
        numbers[key], good = text.whole(end, width)
        return good & (width < 16) & ((width == 1) | (text.flat[end - width] != ord("0")))


def form_of(text: bytes, fields: dict[bytes, str]) -> Form | None:
    """The form of an event with these args; None where it has none. fields: member -> what it is called."""
    leading: list[tuple[int, int, bytes]] = []
    at = ends = last = 0
    while found := _LEADING.match(text, at):
        leading.append((*found.span(2), found[1]))
        at = found.end()
        if found[1] in _IDS:
            last, ends = len(leading), at
    leading = leading[:last]
    front = [
        text[a:b] for a, b in zip([0, *(e for _, e, _ in leading)], [*(b for b, _, _ in leading), ends], strict=True)
    ]
    trailing: list[tuple[int, int, str]] = []
    kept: list[tuple[int, int, str]] = []
    begins, stop = len(text), len(text)
    while stop > ends and (found := _TRAILING.search(text, ends, stop)):
        single = text[found.start(2) : found.start(2) + 1] != b"["
        if not single and found[1] in fields:
            break
        key = fields.get(found[1], "") if single else ""
        trailing[:0] = [(*m.span(), key) for m in _NUMBER.finditer(text, *found.span(2))]
        stop = found.start()
        if found[1] in _IDS:
            kept, begins = list(trailing), stop
    back = [
        text[a:b]
        for a, b in zip([begins, *(e for _, e, _ in kept)], [*(b for b, _, _ in kept), len(text)], strict=True)
    ]
    keys = [fields.get(name, "") for _, _, name in leading]
    used = [key for key in (*keys, *(k for _, _, k in kept)) if key]
    if (not leading and not kept) or len(set(used)) < len(used):
        return None
    return Form(tuple(front), tuple(keys), tuple(back), tuple(k for _, _, k in kept))


class _Known(Structs):
    """A form, and what its middles say so far. The first struct stands for what is no JSON, or says a number twice."""

    def __init__(self, form: Form, nothing: Any) -> None:
        super().__init__([nothing])
        self.form = form
        self.marks = np.empty(0, dtype=np.uint64)  # of the middles, sorted
        self.place = np.empty(0, dtype=np.int64)
        self.seen = self.hits = 0

    @property
    def worth_it(self) -> bool:
        return len(self.marks) < MANY or 4 * len(self.marks) < self.seen


class Reader:
    """Takes the args of one kind of event, piece by piece, into structs of one type."""

    def __init__(self, into: Any) -> None:
        self.one = msgspec.json.Decoder(into)
        self.many = msgspec.json.Decoder(list[into])
        self.nothing = into()
        members = msgspec.structs.fields(into)
        self.fields = {f.encode_name.encode(): f.name for f in members}
        self.written = {f.name: b'"' + f.encode_name.encode() + b'"' for f in members}
        self.wanted = {f.name for f in members}
        self.known: list[_Known] = []

    def take(self, text: Bytes, begin: np.ndarray, end: np.ndarray) -> Coded:
        """The args between these places. Raises msgspec.DecodeError where one is no JSON."""
        coded = Coded(len(begin))
        left = np.flatnonzero(end - begin <= LONGEST)
        tried = 0
        while len(left) >= LEAST:
            known = self._next(tried, text.content[begin[left[0]] : end[left[0]]])
            if known is None:
                break
            tried += 1
            if known.worth_it:
                left = self._by_form(known, text, begin, end, left, coded)
        left = np.concatenate((left, np.flatnonzero(end - begin > LONGEST)))
        if len(left):
            parts = [text.content[a:b] for a, b in zip(begin[left].tolist(), end[left].tolist(), strict=True)]
            structs = self.many.decode(b"[{" + b"},{".join(parts) + b"}]")
            if len(structs) != len(parts):
                raise msgspec.DecodeError("braces among the args")
            coded.blocks.append((left, np.arange(len(left)), Structs(structs)))
        return coded

    def _next(self, tried: int, text: bytes) -> _Known | None:
        """The form to look for after so many: first those known, then one taken from ``text``, the first event that has none of these."""
        if tried < len(self.known):
            return self.known[tried]
        form = form_of(text, self.fields) if len(self.known) < FORMS else None
        if form is None or any(form == known.form for known in self.known):
            return None
        self.known.append(_Known(form, self.nothing))
        return self.known[-1]

    def _by_form(self, known: _Known, text: Bytes, begin: Any, end: Any, left: np.ndarray, coded: Coded) -> np.ndarray:
        """Takes those of the events ``left`` that have this form; the others."""
        good, at, stop, found = known.form.of(text, begin[left], end[left], self.wanted)
        rows = np.flatnonzero(good)
        known.seen += len(rows)
        if not len(rows):
            return left
        marks = text.marks(at[rows], stop[rows])
        place = np.searchsorted(known.marks, marks)
        fresh = np.append(known.marks, np.uint64(0))[place] != marks
        fresh |= place == len(known.marks)
        if fresh.any():
            new, first = np.unique(marks[fresh], return_index=True)
            first = rows[fresh][first]
            number = [
                self._middle(known, text.content[a:b])
                for a, b in zip(at[first].tolist(), stop[first].tolist(), strict=True)
            ]
            every = np.concatenate((known.marks, new))
            order = np.argsort(every)
            known.marks, known.place = every[order], np.concatenate((known.place, number))[order]
            place = np.searchsorted(known.marks, marks)
        place = known.place[place]
        if not place.all():
            good[rows[place == 0]] = False
            rows, place = rows[place > 0], place[place > 0]
        coded.blocks.append((left[rows], place, known))
        for name, values in found.items():
            if name not in coded.outside:
                coded.outside[name] = np.full(coded.count, UNKNOWN, dtype=np.int64)
            coded.outside[name][left[rows]] = values[rows]
        return left[~good]

    def _middle(self, known: _Known, text: bytes) -> int:
        """The place of what a middle says; 0 where it is no list of members, or says a number that stands outside as well."""
        form = known.form
        comma = bool(form.front_keys) and form.front_texts[-1].strip() == b","
        if not text.strip():
            struct = self.nothing if form.front_keys and not comma and not form.back_keys else None
        elif form.front_keys and not comma:
            struct = None
        else:
            try:
                struct = self.one.decode(b"{" + text + b"}")
            except (msgspec.DecodeError, RecursionError):
                struct = None
            names = {key for key in (*form.front_keys, *form.back_keys) if key}
            if any(getattr(struct, n) is not None or self.written[n] in text for n in names if struct is not None):
                struct = None
        if struct is None:
            return 0
        known.structs.append(struct)
        return len(known.structs) - 1
