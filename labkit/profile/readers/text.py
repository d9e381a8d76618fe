"""Text: a clean CSV file goes through polars at once, anything else line by line. Both give the same table."""

from __future__ import annotations

import codecs
import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from labkit.errors import LabkitError
from labkit.profile.readers import (
    columns,
    delimited,
    dispatch_tables,
    json_inside,
    listing,
    other_tables,
    pasted,
    statistics,
)
from labkit.profile.readers.recognise import Source
from labkit.profile.table import Profile, combine

_BLOCK = 1 << 20
LISTING = 4 << 20  # characters of a list or a log that are looked at
_WITH_DISPATCHES = ("kernel-trace", "counters", "rocprofv2", "rocprof-v1", "compute-wide", "compute-long")

_NOT_A_PROFILE = LabkitError(
    "No record of a profiler that labkit reads was found in this text.",
    "Name a file that rocprof, rocprofv3, rocprof-compute, rpd or torch.profiler wrote.",
)


def read(source: Source) -> Profile:
    """The profile of a text. Raises LabkitError for other text and for binary data."""
    encoding = encoding_of(source.head)
    if encoding is None:
        raise LabkitError(
            "The file is neither text nor a format of a profiler.", "Name the file that the profiler wrote."
        )
    if encoding == "utf-8":
        fast = delimited.read(source)
        if fast is not None:
            return _of_fast(fast)
    parts = _tables(lines(source.content, encoding))
    if parts:
        return together(parts)
    text = source.content[: LISTING * (2 if encoding.startswith("utf-16") else 1)].decode(encoding, errors="replace")
    text = "\n".join(pasted.clean(line) for line in text.split("\n"))
    found = listing.kind_and_extras(text)
    if found is not None:
        kind, extras, version = found
        return Profile(
            kind, other_tables.empty(), tool=kind.rpartition("-list")[0] or kind, version=version, extras=extras
        )
    inside = json_inside.find(text)
    if inside is not None:
        from labkit.profile.readers import json_profiles

        return json_profiles.read(text[slice(*inside)].encode(), source.name)
    raise _NOT_A_PROFILE


def _of_fast(fast: delimited.Fast) -> Profile:
    profile = build(fast.table, fast.frame, fast.printed)
    if fast.launches is not None:
        roles = {name: role for role in dispatch_tables.LAUNCH for name in columns.ROLES[role]}
        launches = fast.launches.rename(
            {n: roles[n] for n in fast.launches.columns if n in roles} | {"kernelname": "name"}
        )
        profile = replace(profile, extras={**profile.extras, "launches": launches})
    if fast.passed_over:
        profile = replace(profile, odd=(*profile.odd, f"{fast.passed_over} lines are no records: not used."))
    return profile


def encoding_of(head: bytes) -> str | None:
    """'utf-8', 'utf-16-le', 'utf-16-be', or None for binary data."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(mark):
            return encoding
    probe = head[:8192]
    if probe[1::2].count(0) * 10 > len(probe) * 4 and probe[::2].count(0) == 0:
        return "utf-16-le"
    odd = len(probe) - len(probe.translate(None, bytes([*range(0, 9), *range(14, 27), *range(28, 32)])))
    if odd * 20 > len(probe):
        return None
    decoded = probe.decode("utf-8", errors="replace")
    return None if decoded.count("\ufffd") * 5 > len(decoded) else "utf-8"


def lines(content: bytes | mmap.mmap, encoding: str) -> Iterator[str]:
    """The lines of a content, decoded block by block; endings are LF, CRLF or CR."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    rest = ""
    for at in range(0, len(content), _BLOCK):
        text = rest + decoder.decode(content[at : at + _BLOCK])
        if "\r" in text:
            held = text.endswith("\r")
            text = (text[:-1] if held else text).replace("\r\n", "\n").replace("\r", "\n") + ("\r" if held else "")
        whole = text.split("\n")
        rest = whole.pop()
        if len(rest) > 4 * _BLOCK:  # noise without an end of line
            rest = rest[: pasted.LONGEST + 1]
        yield from whole
    rest += decoder.decode(b"", final=True)
    if rest.strip("\r\n\x00"):
        yield rest.rstrip("\r")


def _tables(text: Iterable[str]) -> list[Profile]:
    """A profile per table of the text; the parts of a long table are put together first."""
    done: list[Profile] = []
    current: pasted.Raw | None = None
    frames: list[pl.DataFrame] = []
    cut = quoted = height = 0

    def finish() -> None:
        if current is not None:
            frame = pl.concat(frames)
            printed = dict(zip(current.header, current.printed, strict=False))
            if current.table == "kernel-top":
                frame = statistics.joined(frame)
            frame, dropped = _complete(current.table, frame)
            profile = build(current.table, frame, printed, all_quoted=height > 0 and quoted >= height)
            if dropped:
                profile = replace(profile, odd=(*profile.odd, f"{dropped} records are cut off: not used."))
            done.append(profile)

    for raw in pasted.tables(text):
        if current is not None and (raw.header is not current.header):
            finish()
            frames, cut, quoted, height = [], 0, 0, 0
        current = raw
        frames.append(pl.DataFrame(raw.rows, schema=dict.fromkeys(raw.header, pl.String), orient="row"))
        cut += raw.cut
        quoted += raw.quoted_numbers
        height += len(raw.rows)
        raw.rows = []
    finish()
    return done


_NEEDED = {
    "kernel-trace": ("kernelname", "endtimestamp"), "counters": ("kernelname", "countername"), "rocprofv2": ("kernelname", "endtimestamp"),
    "rocprof-v1": ("kernelname", "endns"), "compute-wide": ("kernelname", "endtimestamp"), "compute-long": ("kernelname", "countername"),
    "api-trace": ("function", "endtimestamp"), "memory-copy-trace": ("direction", "endtimestamp"),
    "memory-allocation-trace": ("allocationsize",), "scratch-memory-trace": ("operation", "endtimestamp"),
    "pc-sampling": ("sampletimestamp",), "agent-info": ("agenttype",), "statistics": ("name", "calls"), "summary": ("name", "calls"),
    "kernel-top": ("kernelname", "count"), "counter-list": ("name",),
}  # fmt: skip
_WHOLE = r"^[-+]?(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|0[xX][0-9a-fA-F]+|nan|NaN|N/A)$"


def _complete(table: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Only the rows that are records: what makes one is there, and where a time or a count belongs there is a number."""
    needed = [name for name in _NEEDED.get(table, ()) if name in frame.columns]
    keep = pl.lit(True)
    for name in needed:
        text = pl.col(name).str.strip_chars(" \t'\"")
        keep = keep & text.is_not_null() & (text != "")
        if name in ("endtimestamp", "endns", "calls", "count", "sampletimestamp", "allocationsize"):
            keep = keep & text.str.contains(_WHOLE)
    for name in ("starttimestamp", "beginns"):
        if name in frame.columns and needed:
            keep = keep & pl.col(name).str.strip_chars(" \t'\"").str.contains(_WHOLE).fill_null(False)
    kept = frame.filter(keep)
    return kept, frame.height - kept.height


def build(table: str, frame: pl.DataFrame, printed: dict[str, str], all_quoted: bool = False) -> Profile:
    """The profile of one table, whose columns have their plain names and whose values are text or numbers."""
    if table in dispatch_tables.KINDS:
        return dispatch_tables.read(table, frame, printed)
    if table == "statistics":
        return statistics.read(frame, all_quoted=all_quoted)
    return {
        "kernel-top": statistics.kernel_top,
        "counter-list": other_tables.counter_list,
        "summary": statistics.summary,
        "api-trace": other_tables.api_trace,
        "memory-copy-trace": other_tables.memory_copy_trace,
        "memory-allocation-trace": other_tables.memory_allocation_trace,
        "scratch-memory-trace": other_tables.scratch_memory_trace,
        "pc-sampling": other_tables.pc_sampling,
        "agent-info": other_tables.agent_info,
        "sysinfo": other_tables.sysinfo,
    }[table](frame)


def together(parts: Sequence[Profile]) -> Profile:
    """Several tables of one text: the first with dispatches gives the kind; tables of one sort are added up.

    Statistics of what a trace in the same text holds one by one are not added to it.
    """
    from labkit.profile.readers import merging

    return merging.merge(parts) if len(parts) > 1 else combine(parts)
