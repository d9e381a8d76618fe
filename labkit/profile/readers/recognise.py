"""Which format is this? The content decides, never the file name.

``Source`` is one content: a file that is mapped, not read, or bytes. ``FORMATS`` is the table: the first row whose look says yes
reads it. Everything that is neither a database nor JSON is text.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.profile.readers import look
from labkit.profile.table import Profile

HEAD = 1 << 16  # bytes that are enough to tell the formats apart

_SQLITE = b"SQLite format 3\x00"
# '{"traceEvents"' and '[{' are JSON; '[profiling] ...' is a log
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])")
_PACKED = re.compile(rb"\x1f\x8b")


@dataclass(frozen=True)
class Source:
    """One content. ``path`` is the file that holds exactly this content, None where it was unpacked or came as bytes."""

    content: bytes | mmap.mmap
    name: str = ""
    path: Path | None = None

    @property
    def head(self) -> bytes:
        """The first bytes, enough to recognise a format."""
        return self.content[:HEAD]


def is_sqlite(head: bytes) -> bool:
    """Whether the content is an SQLite database."""
    return head.startswith(_SQLITE)


def is_json(head: bytes) -> bool:
    """Whether the content begins like JSON."""
    return _JSON.match(head) is not None


def is_pftrace(head: bytes) -> bool:
    """Whether the content looks like a Perfetto trace: packets, each with the tag 0x0a, its length, and what it holds."""
    return look.is_packets(head)


def _sqlite(source: Source) -> Profile:
    # rocpd, RPD, rocprof v1, rocprof-compute: sqlite.read(path or bytes, name)
    return _module("sqlite").read(source.path if source.path is not None else bytes(source.content), source.name)


def _json(source: Source) -> Profile:
    # torch traces, rocprofv3 results.json, rocprof v1 results.json: json_profiles.read(bytes or mmap, name)
    return _module("json_profiles").read(source.content, source.name)


def _pftrace(source: Source) -> Profile:
    return _module("pftrace").read(source.content, source.name)


def _text(source: Source) -> Profile:
    return _module("text").read(source)


def _module(name: str) -> Any:
    return import_module(f"labkit.profile.readers.{name}")


FORMATS: tuple[tuple[Callable[[bytes], bool], Callable[[Source], Profile]], ...] = (
    (is_sqlite, _sqlite),
    (is_json, _json),
    (is_pftrace, _pftrace),
    (lambda head: True, _text),
)


def read(source: Source) -> Profile:
    """The profile of one content. Raises LabkitError for what is no profile that labkit reads."""
    head = source.head
    if not head:
        raise LabkitError("The file is empty.", "Name the file that the profiler wrote.")
    for looks, reader in FORMATS:
        if looks(head):
            return reader(source)
    raise AssertionError("the last row takes everything")
