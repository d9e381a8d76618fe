"""Tables whose first line was cut off, known by what their rows say. Standard library only."""

from __future__ import annotations

import re

from labkit.profile.readers import pasted

_FIRST = re.compile(
    r"(?:^|[\"'|>\s,])(?:KERNEL_DISPATCH|MEMORY_COPY|MEMORY_ALLOCATION|SCRATCH_MEMORY|(?:HIP|HSA|MARKER|"
    r"RCCL|ROCDECODE|ROCJPEG|OMPT|HIPFILE)_[A-Z_]*API[A-Z_]*)\b"
)
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_WHOLE = re.compile(r"\d+")
_REAL = re.compile(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")

_LAUNCH = ["ldsblocksize", "scratchsize", "vgprcount", "accumvgprcount", "sgprcount"]
_SIZES = ["workgroupsizex", "workgroupsizey", "workgroupsizez", "gridsizex", "gridsizey", "gridsizez"]
_API = ["domain", "function", "processid", "threadid", "correlationid", "starttimestamp", "endtimestamp"]
_COPY = [
    "kind",
    "direction",
    "streamid",
    "sourceagentid",
    "destinationagentid",
    "correlationid",
    "starttimestamp",
    "endtimestamp",
]
_ALLOCATION = ["kind", "operation", "agentid", "allocationsize", "address", "correlationid", "starttimestamp", "endtimestamp"]  # fmt: skip
_SCRATCH = ["kind", "operation", "agentid", "queueid", "threadid", "allocflags", "starttimestamp", "endtimestamp"]
_STATISTICS = ["name", "calls", "totaldurationns", "averagens", "percentage", "minns", "maxns", "stddev"]
_SUMMARY = ["name", "domain", "calls", "durationnsec", "averagensec", "percentinc", "minnsec", "maxnsec", "stddev"]

_COUNTERS = [
    "correlationid", "dispatchid", "agentid", "queueid", "processid", "threadid", "gridsize", "kernelid", "kernelname", "workgroupsize",
    "ldsblocksize", "scratchsize", "vgprcount", "accumvgprcount", "sgprcount", "countername",
    "countervalue", "starttimestamp", "endtimestamp",
]  # fmt: skip


def header(line: str) -> tuple[str, list[str], str, str] | None:
    """Table, header, delimiter and prefix that a row without a header speaks of; None for other lines."""
    if len(line) > pasted.LONGEST or not ("," in line or "|" in line or "\t" in line or ";" in line):
        return None
    named = _FIRST.search(line) is not None
    if not named and line.count(",") < 4:
        return None
    match = re.match(r"[^\w\"'|]+", line)
    prefix = match.group() if match else ""
    for delimiter in pasted.DELIMITERS if named else ",":
        if delimiter not in line:
            continue
        fields, is_open = pasted.split(line[len(prefix) :], delimiter)
        if is_open:
            continue
        found = (_named(fields) if named else None) or _statistics(fields) or _counters(fields)
        if found is not None:
            return (*found, delimiter, prefix)
    return None


def _named(fields: list[str]) -> tuple[str, list[str]] | None:
    first, number = fields[0], len(fields)
    if first == "KERNEL_DISPATCH":
        return _kernels(fields)
    if first == "MEMORY_COPY" and number == 8:
        return "memory-copy-trace", _COPY
    if first == "MEMORY_COPY" and number == 7:
        return "memory-copy-trace", [name for name in _COPY if name != "streamid"]
    if first == "MEMORY_ALLOCATION" and number == 8:
        return "memory-allocation-trace", _ALLOCATION
    if first == "SCRATCH_MEMORY" and number in (8, 9):
        return "scratch-memory-trace", [*_SCRATCH, "allocationsize"][:number]
    if number == 7 and _FIRST.match(first) and all(_WHOLE.fullmatch(f) for f in fields[2:]):
        return "api-trace", _API
    if number > 1 and _GUID.fullmatch(first):  # rocpd's own tables begin with the run's identifier
        rest = _named(fields[1:])
        return None if rest is None else (rest[0], ["guid", *rest[1]])
    if number == 9 and _FIRST.match(fields[1]) and all(_REAL.fullmatch(f) for f in fields[2:]):
        return "summary", _SUMMARY
    return None


def _kernels(fields: list[str]) -> tuple[str, list[str]] | None:
    """Kind, agent, queue, (stream,) thread, dispatch, kernel, name, correlation, start, end, launch configuration."""
    place = next((i for i in range(2, len(fields)) if not _WHOLE.fullmatch(fields[i])), 0)
    numbers = fields[place + 1 :]
    if place not in (6, 7) or len(numbers) < 3 or not all(_WHOLE.fullmatch(f) for f in numbers):
        return None
    before = ["queueid", "streamid", "threadid", "dispatchid", "kernelid"]
    if place == 6:
        before.remove("streamid")
    after = ["correlationid", "starttimestamp", "endtimestamp"]
    rest = len(numbers) - 3
    if rest == 11:
        after += [*_LAUNCH, *_SIZES]
    elif rest == 10:
        after += [*(name for name in _LAUNCH if name != "accumvgprcount"), *_SIZES]
    elif rest == 8:
        after += ["privatesegmentsize", "groupsegmentsize", *_SIZES]
    else:
        after += [f"column{i}" for i in range(rest)]
    return "kernel-trace", ["kind", "agentid", *before, "kernelname", *after]


def _statistics(fields: list[str]) -> tuple[str, list[str]] | None:
    """Eight columns (five of rocprof v1) of which the mean is the total by the calls."""
    if len(fields) not in (5, 8) or not (_WHOLE.fullmatch(fields[1]) and _WHOLE.fullmatch(fields[2])):
        return None
    if not all(_REAL.fullmatch(f) for f in fields[3:]) or _REAL.fullmatch(fields[0]) or not fields[0]:
        return None
    calls, total, mean = int(fields[1][:18]), int(fields[2][:18]), float(fields[3][:30])
    if len(fields) == 5:
        fits = calls > 0 and total > 1000 and int(mean) == total // calls and float(fields[4][:30]) <= 100
        return ("statistics", _STATISTICS[:5]) if fits else None
    if calls <= 0 or total <= 0 or abs(total / calls - mean) > 1e-4 * mean + 1e-6:
        return None
    return "statistics", _STATISTICS


def _counters(fields: list[str]) -> tuple[str, list[str]] | None:
    """One row per dispatch and counter; the agent as text tells it from other tables."""
    if len(fields) not in (18, 19) or not re.fullmatch(r"(?:Agent|GPU) \d+", fields[2]):
        return None
    header = [name for name in _COUNTERS if len(fields) == 19 or name != "accumvgprcount"]
    whole = [
        f
        for f, name in zip(fields, header, strict=True)
        if name.endswith(("id", "count", "timestamp")) and name != "agentid"
    ]
    return ("counters", header) if all(_WHOLE.fullmatch(f) for f in whole) else None
