"""Tables that are sums already: ``*_stats.csv`` of rocprof v1 and rocprofv3, hipprof, and the summary tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

from labkit.profile.readers import columns, numbers
from labkit.profile.table import Entry, Profile, empty

_API = re.compile(
    r"(?:__)?hip[A-Z_]\w*(?:\.\w+)?|hsa_\w+|p?nccl(?!DevKernel|Kernel|Symk)[A-Z]\w*|rocDec\w+|rocJpeg\w+|roctx\w+|ompt_\w+|mscclL\w+"
)
_DOMAIN = re.compile(
    r"(?:HIP|HSA|MARKER|RCCL|ROCDECODE|ROCJPEG|OMPT|RUNTIME|KFD)\w*_API\w*"
    r"|KERNEL_DISPATCH|MEMORY_COPY|MEMORY_ALLOCATION|SCRATCH_MEMORY|OMPT|PAGE_MIGRATION"
)
_COPY = re.compile(
    r"MEMORY_COPY_\w+|Copy\w+To\w+|async-copy|(?:HOST|DEVICE|NONE|UNSPECIFIED)_TO_(?:HOST|DEVICE|NONE|UNSPECIFIED)"
    r"|(?:[HD]2|[HD]to)[HD]|Memcpy\w* .*"
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_OPERATION = re.compile(r"(?:MEMORY_ALLOCATION|SCRATCH_MEMORY)_\w+")

_V3 = {
    "kernels": "rocprofv3-kernel-stats", "apis": "rocprofv3-api-stats", "domains": "rocprofv3-domain-stats",
    "copies": "rocprofv3-memory-copy-stats", "operations": "rocprofv3-memory-allocation-stats",
}  # fmt: skip


def group_of(names: Sequence[str]) -> str:
    """What the rows of a table of statistics are: 'apis', 'domains', 'copies', 'operations' or 'kernels'."""
    for group, pattern in (("domains", _DOMAIN), ("copies", _COPY), ("operations", _OPERATION), ("apis", _API)):
        fitting = sum(pattern.fullmatch(name) is not None for name in names)
        if names and fitting * 2 > len(names):
            return group
    return "kernels"


def read(frame: pl.DataFrame, *, all_quoted: bool) -> Profile:
    """A profile of a table Name, Calls, TotalDurationNs ...; five columns are rocprof v1 or hipprof, eight rocprofv3."""
    entries = _entries(frame)
    total = bool(entries) and entries[-1].name == "Total"
    eight = "stddev" in frame.columns or "minns" in frame.columns or "minnsec" in frame.columns
    if total and (all_quoted or not eight):
        entries = entries[:-1]
    group = group_of([entry.name for entry in entries])
    if eight:
        kind, tool = _V3[group], "rocprofv3"
    elif total or all_quoted:
        kind, tool = "hipprof", "hipprof"
    else:
        kind, tool = "rocprof-v1", "rocprof"
    return Profile(kind, empty(), tool=tool, statistics={group: tuple(merged(entries))})


def summary(frame: pl.DataFrame) -> Profile:
    """A profile of summary tables. A pair of domain and name counts once, even when a later table repeats it."""
    groups: dict[str, list[Entry]] = {}
    seen: set[tuple[str, str]] = set()
    domains = frame["domain"].cast(pl.String).to_list()
    for domain, entry in zip(domains, _entries(frame, keep_all=True), strict=True):
        if domain is None or not entry.name or not _DOMAIN.fullmatch(domain) or (domain, entry.name) in seen:
            continue
        seen.add((domain, entry.name))
        if domain == "KERNEL_DISPATCH":
            group = "kernels"
        elif domain == "MEMORY_COPY":
            group = "copies"
        else:
            group = "apis"
        groups.setdefault(group, []).append(entry)
    return Profile(
        "rocprofv3-summary",
        empty(),
        tool="rocprofv3",
        statistics={name: tuple(merged(e)) for name, e in groups.items()},
    )


def kernel_top(frame: pl.DataFrame) -> Profile:
    """A profile of rocprof-compute's kernels by their time: Kernel_Name, Count, Sum(ns), Mean(ns) ..."""
    entries = _entries(frame.rename({"kernelname": "name", "count": "calls", "sumns": "totalns"}))
    tool = "rocprof-compute"
    return Profile(tool, empty(), tool=tool, statistics={"kernels": tuple(merged(entries))})


def joined(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of a printed table whose names were wrapped inside their cells: a row without a count goes on with the name before it."""
    widest = frame["kernelname"].str.len_chars().max()
    rows: list[dict[str, str | None]] = []
    before = ""
    for row in frame.iter_rows(named=True):
        if rows and row["kernelname"] and not row["count"]:
            glue = "" if len(before) == widest else " "  # a full cell was broken inside a word
            rows[-1]["kernelname"] = f"{rows[-1]['kernelname']}{glue}{row['kernelname']}"
        else:
            rows.append(row)
        before = row["kernelname"] or ""
    return pl.DataFrame(rows, schema=frame.schema)


def _entries(frame: pl.DataFrame, keep_all: bool = False) -> list[Entry]:
    found = columns.total_column(frame.columns)
    names = numbers.tidy(frame["name"].cast(pl.String)).to_list()
    calls = numbers.whole(frame["calls"])[0].to_list()
    totals = [None] * frame.height if found is None else [_duration(v, found[1]) for v in frame[found[0]].to_list()]
    entries = []
    for name, count, total in zip(names, calls, totals, strict=True):
        if name and count is not None:
            entries.append(Entry(name, count, total))
        elif keep_all:
            entries.append(Entry("", 0, None))
    return entries


def _duration(value: object, unit: int) -> float | None:
    """A printed duration in ns; None where an exponent has swallowed digits of it."""
    text = str(value).strip("\"' ")
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    exponent = re.fullmatch(r"(\d+)(?:\.(\d*))?[eE]\+?(\d+)", text)
    if exponent and len(exponent.group(2) or "") < int(exponent.group(3)):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    if number != number or number in (float("inf"), float("-inf")):
        return None
    exact = int(text) if text.isdigit() else number
    return exact * unit


def merged(entries: Iterable[Entry]) -> list[Entry]:
    """Entries of one name (the tool cuts names, so two kernels may print the same) added up, in their order."""
    sums: dict[str, Entry] = {}
    for entry in entries:
        old = sums.get(entry.name)
        if old is None:
            sums[entry.name] = entry
        else:
            total = None if old.total_ns is None or entry.total_ns is None else old.total_ns + entry.total_ns
            sums[entry.name] = Entry(entry.name, old.calls + entry.calls, total)
    return list(sums.values())
