"""Is this a profile at all? A cheap look with the standard library, so that ``labkit read`` needs nothing installed for anything else."""

from __future__ import annotations

import contextlib
import io
import mmap
import re
import tarfile
import zlib
from pathlib import Path

from labkit.profile.readers import columns, headless, json_inside, listing, pasted, printed_records

_FAR = 4 << 20  # bytes that are looked at line by line
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])")
_TRACE = re.compile(rb'"(?:traceEvents|rocprofiler-sdk-tool|deviceProperties|ph|BeginNs|schemaVersion)"')
_FILES = re.compile(
    r"(?:_trace|_stats|_collection|agent_info|pmc_perf|sysinfo|results|_results)\.(?:csv|json|db)$|\.rpd$|\.pt\.trace\.json(?:\.gz)?$",
    re.I,
)


def begins(content: bytes | mmap.mmap) -> int | None:
    """Where the first record of a profiler stands in a content, about, in bytes; None where it is none at all.

    SQLite databases and JSON traces begin at 0. What is packed is looked at unpacked.
    """
    head = bytes(content[:_FAR])
    if head[:2] == b"\x1f\x8b":
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, _FAR)
        except zlib.error:
            return None
    if head.startswith(b"SQLite format 3\x00"):
        return 0
    if is_archive(head):
        return 0 if _holds_profiles(head) else None
    if is_packets(head):
        return 0
    if _JSON.match(head):
        return 0 if _TRACE.search(head) or (_TRACE.search(content[-_FAR:]) and len(content) > _FAR) else None
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = head.decode("utf-16", errors="replace")
    elif head[1:200:2].count(0) > 80:
        text = head.decode("utf-16-le", errors="replace")
    else:
        text = head.decode("utf-8", errors="replace")
    return _in_text(text)


def is_archive(head: bytes | mmap.mmap) -> bool:
    """Whether a content is an unpacked tar archive."""
    return bytes(head[257:262]) == b"ustar"


def _holds_profiles(head: bytes) -> bool:
    """Whether an archive, as far as its beginning tells, holds files that are named as profilers name theirs."""
    with (
        contextlib.suppress(tarfile.TarError, EOFError, ValueError, OSError),
        tarfile.open(fileobj=io.BytesIO(head)) as archive,
    ):
        return any(_FILES.search(Path(member.name).name) for member in archive)
    return False


def is_packets(head: bytes) -> bool:
    """Whether a content begins like a Perfetto trace: protobuf packets with the tag 0x0a, each behind the other."""
    at, packets = 0, 0
    while packets < 4 and at < len(head):
        if head[at] != 0x0A:
            return False
        at, length, shift = at + 1, 0, 0
        while at < len(head) and shift < 35:
            length |= (head[at] & 0x7F) << shift
            at, shift, more = at + 1, shift + 7, head[at] & 0x80
            if not more:
                break
        if length < 2 or (at < len(head) and head[at] in (0x00, 0x09, 0x0A, 0x0D)):
            return False
        at += length
        packets += 1
    return packets >= 2 or (packets == 1 and at >= len(head) > 64)


def _in_text(text: str) -> int | None:
    places = [p for p in (_table(text), _listing(text)) if p is not None]
    trace = json_inside.find(text)
    return min([*places, trace[0]] if trace else places, default=None)


def _listing(text: str) -> int | None:
    """Where a list or a log begins, whatever stands between its lines' letters and at their ends."""
    found = listing.find(text)
    if found is None and ("\x1b" in text or "\r" in text):
        lines = text.split("\n")
        plain = "\n".join(map(pasted.clean, lines))
        found = listing.find(plain)
        if found is not None:
            found = sum(len(line) + 1 for line in lines[: plain.count("\n", 0, found)])
    return found


def _table(text: str) -> int | None:
    """Where a table begins: by its header, or by a row that only such a table has."""
    at = 0
    for line in text.splitlines(keepends=True):
        here, at = at, at + len(line)
        if len(line) > pasted.LONGEST:
            continue
        plain = pasted.clean(line)
        if printed_records.as_table(plain) is not None:
            return here
        if columns.WORDS.search(plain):
            header = pasted.header_of(plain)
            if header is not None and _is_likely(header[1]):
                return here
        elif headless.header(plain) is not None:
            return here
    return None


def _is_likely(names: list[str]) -> bool:
    """Whether the names are a table's, or the first part of a header that was wrapped."""
    plain = [columns.plain(name) for name in names]
    known = sum(name in columns.KNOWN for name in plain)
    return columns.table_of(plain) is not None or known >= max(3, len(plain) // 2)


def is_profile_folder(folder: Path) -> bool:
    """Whether a folder holds files that are named as profilers name theirs."""
    for count, path in enumerate(folder.rglob("*")):
        if _FILES.search(path.name):
            return True
        if count > 5000:
            break
    return False
