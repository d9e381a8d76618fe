"""A very long JSON array in pieces: each piece is a whole number of elements, so that memory stays small.

A cut between two elements can only be told from one inside an element by reading on. So a cut is a guess that the decoder proves:
from a known beginning, a piece parses as a whole list only when its end is an end of an element. Every byte is parsed, once.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from labkit.errors import LabkitError

T = TypeVar("T")
Content = bytes | mmap.mmap

PIECE = 2 << 20  # bytes that are parsed at once: fits the second-level cache, and costs little when it is thrown away
CUTS = 8  # guesses for one cut before the piece grows
TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
LOOKS = 1000  # braces that are looked at for them
BLANK = b" \t\r\n"


def broken(reason: str = "") -> LabkitError:
    """The error for JSON that does not parse."""
    return LabkitError(
        f"This JSON does not parse{': ' + reason if reason else ''}. It is cut off, or parts were left out.",
        "Take the whole file that the profiler wrote; a run that was stopped leaves half a file.",
    )


class Array(Generic[T]):
    """The elements of the array that begins in ``content`` right behind ``start`` (the byte after its '[').

    ``decoder`` decodes a JSON list of elements. ``careful`` is asked for a piece that parses as JSON and that ``decoder`` refuses.
    ``end`` is, when all pieces have been taken, the place behind the array's ']'.
    """

    def __init__(
        self,
        content: Content,
        start: int,
        decoder: msgspec.json.Decoder[list[T]],
        careful: msgspec.json.Decoder[list[Any]],
        piece: int = PIECE,
    ) -> None:
        self.content, self.start, self.decoder, self.careful, self.piece = content, start, decoder, careful, piece
        self.end = -1

    def pieces(self) -> Iterator[tuple[list[Any], bool]]:
        """(elements, whether ``decoder`` took them). Raises LabkitError where the array does not parse."""
        at, size, total = self.start, self.piece, len(self.content)
        while self.end < 0:
            found = None
            for cut in self._cuts(at, min(at + size, total)):
                found = self._decode(at, cut)
                if found is not None:
                    break
            if found is None:
                if at + size >= total:
                    raise broken()
                size *= 4
                continue
            elements, used, plain = found
            released(self.content, at, used)
            size = self.piece
            at = used
            yield elements, plain

    def _cuts(self, at: int, stop: int) -> Iterator[int]:
        """Places where an element may end (behind its '}'), the last ones first; at the file's end, the end itself."""
        content = self.content
        if stop == len(content):
            yield stop
            return
        look = stop
        cuts = 0
        for _ in range(LOOKS):
            brace = content.rfind(b"{", at, look)
            if brace <= at or cuts == CUTS:
                return
            look = brace
            before = content[max(at, brace - 64) : brace].rstrip(BLANK)
            if before.endswith(b","):
                before = before[:-1].rstrip(BLANK)
                if before.endswith(b"}"):
                    cuts += 1
                    yield max(at, brace - 64) + len(before)

    def _decode(self, at: int, cut: int) -> tuple[list[Any], int, bool] | None:
        """Elements from ``at`` to ``cut``, where the next one begins, whether they are plain; None where the cut was wrong."""
        last = cut == len(self.content)
        text = b"[" + self.content[at:cut] + (b"" if last else b"]")
        plain, decoder = True, self.decoder
        while True:
            try:
                elements = decoder.decode(text)
                break
            except msgspec.ValidationError:
                if not plain:
                    return None
                plain, decoder = False, self.careful
            except (msgspec.DecodeError, RecursionError) as error:
                over = TRAILING.search(str(error))
                if over is None or self.end >= 0:
                    return None
                # the array ended in this piece: what follows is no part of it
                length = int(over.group(1)) - 1
                self.end = at + length - 1
                text = text[:length]
        if self.end >= 0 or last:
            if self.end < 0:
                self.end = cut
            return elements, self.end, plain
        comma = self.content.find(b",", cut)
        return elements, comma + 1, plain


def released(content: Content, start: int, stop: int) -> None:
    """Tells the system that the pages from ``start`` to ``stop`` are not needed any more: a mapped file then takes no memory."""
    if isinstance(content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        start, stop = start - start % mmap.PAGESIZE, stop - stop % mmap.PAGESIZE
        if stop > start:
            content.madvise(mmap.MADV_DONTNEED, start, stop - start)
