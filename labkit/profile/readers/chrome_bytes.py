"""A text as bytes in NumPy: at many places at once, a word is taken, a number is read, a text is compared or told apart."""

from __future__ import annotations

from typing import Any

import numpy as np

ROOM = 32  # bytes that must stand before a piece: eight bytes can be taken before any place in it
BEHIND = 4096  # bytes that must stand behind it: a text of up to this length can be looked for at any place in it
BLOCK = 1 << 19  # bytes in which line ends are looked for at once

_ZERO = np.uint64(0x3030303030303030)
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH = np.uint64(0x8080808080808080)
_OVER_NINE = np.uint64(0x7676767676767676)
_PLACE = np.uint64(sum(k << (56 - 8 * k) for k in range(8)))  # times 1 << 8k: k, in the highest byte
# by the number of digits that count among eight: which bytes to keep, and what to put into the others
_KEEP = np.array([((1 << 64) - 1) >> 8 * (8 - d) << 8 * (8 - d) if d else 0 for d in range(9)], dtype=np.uint64)
_FILL = np.array([int(_ZERO) & ~int(k) for k in _KEEP], dtype=np.uint64)
_FIRST = np.array([(1 << 8 * d) - 1 for d in range(9)], dtype=np.uint64)  # the first d bytes of a word
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


def word(text: bytes) -> np.uint64:
    """The first eight bytes of a text as a number."""
    return np.frombuffer(text, "<u8", 1)[0]


class Bytes:
    """A file's bytes, without a copy. Places count from its beginning. A mapped file can only be closed when this is gone."""

    def __init__(self, content: Any) -> None:
        self.content = content
        self.flat = np.frombuffer(content, np.uint8)
        self.words = np.ndarray((max(len(self.flat) - 7, 0),), "<u8", self.flat, 0, (1,))

    def lines(self, start: int, stop: int) -> np.ndarray:
        """``start``, and where each line begins behind it, up to behind the line end before ``stop``."""
        found: list[np.ndarray] = [np.full(1, start, dtype=np.int64)]
        for at in range(start, stop, BLOCK):
            part = np.flatnonzero(self.flat[at : min(at + BLOCK, stop)] == 10)
            part += at + 1
            found.append(part)
        return np.concatenate(found)

    def word(self, places: np.ndarray) -> np.ndarray:
        """Eight bytes from each place on."""
        return self.words[places]  # not take(), which copies an array that is not aligned

    def is_text(self, places: np.ndarray, text: bytes) -> np.ndarray:
        """Whether ``text`` stands at each place."""
        good = np.ones(len(places), dtype=bool)
        if not text:
            return good
        if len(text) < 8:
            return (self.word(places) & _FIRST[len(text)]) == word(text.ljust(8)) & _FIRST[len(text)]
        for k in (*range(0, len(text) - 8, 8), len(text) - 8):
            good &= self.word(places + k) == word(text[k : k + 8])
        return good

    def whole(self, end: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The whole numbers of ``width`` digits before ``end``, and whether they are such (at most 16 digits)."""
        good = (width > 0) & (width <= 16)
        low, fine = self._eight(self.word(end - 8), np.clip(width, 0, 8))
        good &= fine
        if (width > 8).any():
            high, fine = self._eight(self.word(end - 16), np.clip(width - 8, 0, 8))
            good &= fine
            low += high * np.uint64(100_000_000)
        return low.view(np.int64), good

    @staticmethod
    def _eight(found: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers in the last ``width`` bytes of these words, and whether these are digits. Changes ``found``."""
        found &= _KEEP[width]
        found |= _FILL[width]
        found ^= _ZERO
        good = ((((found & _LOW) + _OVER_NINE) | found) & _HIGH) == 0
        # eight digits at once: pairs, then fours, then all (the first digit is the lowest byte)
        digit = found * np.uint64(10)
        found >>= np.uint64(8)
        digit += found
        mask = np.uint64(0x000000FF000000FF)
        first = digit & mask
        first *= np.uint64(0x000F424000000064)
        digit >>= np.uint64(16)
        digit &= mask
        digit *= np.uint64(0x0000271000000001)
        first += digit
        first >>= np.uint64(32)
        return first, good

    def thousandths(self, end: np.ndarray, begin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """1000 times the numbers ``123.456`` between begin and end, and whether they have just this form."""
        width = end - begin - 4  # before the point
        good = (width > 0) & (width <= 13) & (self.flat[end - 4] == ord("."))
        # five digits from before the point and three from behind it
        found = self.word(end - 9) & _FIRST[5]
        found |= self.word(end - 8) & _KEEP[3]
        low, fine = self._eight(found, np.clip(width + 3, 0, 8))
        good &= fine
        if (width > 5).any():
            high, fine = self._eight(self.word(end - 17), np.clip(width - 5, 0, 8))
            good &= fine
            low += high * np.uint64(100_000_000)
        return low.view(np.int64), good

    def digits_from(self, begin: np.ndarray) -> np.ndarray:
        """How many digits follow one another from each place on (up to 16)."""
        return self._run(begin, 8, False)

    def digits_before(self, end: np.ndarray) -> np.ndarray:
        """How many digits stand one behind the other up to each place (up to 16)."""
        return self._run(end - 8, -8, True)

    def _run(self, places: np.ndarray, step: int, swapped: bool) -> np.ndarray:
        count = self._digits(self.word(places), swapped)
        full = np.flatnonzero(count == 8)
        if len(full):
            count[full] += self._digits(self.word(places[full] + step), swapped)
        return count

    @staticmethod
    def _digits(found: np.ndarray, swapped: bool) -> np.ndarray:
        if swapped:
            found = found.byteswap()
        found ^= _ZERO
        other = (((found & _LOW) + _OVER_NINE) | found) & _HIGH
        none = other == 0
        other &= np.negative(other)  # the first byte that is no digit
        other >>= np.uint64(7)
        other *= _PLACE
        other >>= np.uint64(56)
        count = other.view(np.int64)
        count[none] = 8
        return count

    def marks(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """A number of 64 bits for each text between begin and end, of all its bytes and its length: equal texts have equal numbers.

        Different texts have different ones but for a chance of one in 10**19 for each pair.
        """
        length = end - begin
        count = (length + 7) >> 3
        most = int(count.max()) if len(count) else 0
        short = count.astype(np.uint16) if most < 1 << 16 else count
        order = np.argsort(short, kind="stable")[::-1]
        begin, end, length, count = begin[order], end[order], length[order], count[order]
        mark = length.astype(np.uint64) * _MIX
        more = len(count) - np.cumsum(np.bincount(count, minlength=most + 1))  # how many have more words than so many
        for k in range(most):
            n, last = int(more[k]), int(more[k + 1])  # the texts from ``last`` on end with this word
            found = np.empty(n, dtype=np.uint64)
            found[:last] = self.words[begin[:last] + 8 * k]
            found[last:] = self.words[end[last:n] - 8 if k else begin[last:n]]
            if k == 0 and last < n:
                found[last:] &= _FIRST[length[last:n]]
            part = mark[:n]
            part ^= found
            part *= _MIX
            part ^= part >> _SHIFT
        back = np.empty_like(mark)
        back[order] = mark
        return back
