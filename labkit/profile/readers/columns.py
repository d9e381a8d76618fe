"""The tables of the profilers, known by the names of their columns, never by their order. Standard library only.

Releases change capital letters, underscores and the columns themselves, so names are compared without either
(``plain``), and a table is known by the few columns that it never lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache


@lru_cache(maxsize=8192)
def plain(name: str) -> str:
    """A column's name without what changes between releases.

    >>> plain('"Kernel_Name"'), plain("gpu-id"), plain("DURATION (nsec)")
    ('kernelname', 'gpuid', 'durationnsec')
    """
    return re.sub(r"[^a-z0-9]+", "", name.lower())


# what a column means -> its names, the usual one first
ROLES: dict[str, tuple[str, ...]] = {
    "name": ("kernelname", "function", "name", "operation"),
    "device": ("agentid", "gpuid", "deviceid", "agent"),
    "queue": ("queueid",),
    "stream": ("streamid",),
    "thread": ("threadid", "tid"),
    "process": ("processid", "pid"),
    "dispatch": ("dispatchid", "index"),
    "correlation": ("correlationid",),
    "start_ns": ("starttimestamp", "beginns", "startns", "begintimestamp", "start"),
    "end_ns": ("endtimestamp", "endns", "end"),
    "duration_ns": ("durationns",),
    "lds_bytes": ("ldsblocksize", "groupsegmentsize", "ldsperworkgroup", "lds", "ldssize"),
    "scratch_bytes": ("scratchsize", "privatesegmentsize", "scratchperworkitem", "scr"),
    "vgpr": ("vgprcount", "archvgprcount", "archvgpr", "vgpr"),
    "accum_vgpr": ("accumvgprcount", "accumvgpr"),
    "sgpr": ("sgprcount", "sgpr"),
    "workgroup_x": ("workgroupsizex", "workgroupsize", "wgr"),
    "workgroup_y": ("workgroupsizey",),
    "workgroup_z": ("workgroupsizez",),
    "grid_x": ("gridsizex", "gridsize", "grd"),
    "grid_y": ("gridsizey",),
    "grid_z": ("gridsizez",),
    "bytes": ("allocationsize", "size", "bytes"),
}

# columns that are neither one of the roles nor a counter
FURTHER = frozenset(
    [
        "kind", "domain", "guid", "kernelid", "countername", "countervalue", "direction", "sourceagentid",
        "destinationagentid", "address", "allocflags", "sampletimestamp", "execmask", "instruction",
        "instructioncomment", "nodeid", "logicalnodeid", "agenttype", "cpucorescount", "simdcount", "cucount",
        "gfxtargetversion", "vendorid", "vendorname", "productname", "modelname", "queueindex", "wavesize", "sig",
        "obj", "dispatchns", "completens", "calls", "totaldurationns", "averagens", "percentage", "minns", "maxns",
        "stddev", "durationnsec", "averagensec", "percentinc", "minnsec", "maxnsec", "workloadname", "gpuarch",
        "gpumodel", "rocmversion", "cupergpu", "gpusoc", "numcu", "xccindex", "wavesize1", "correlationid1",
        "iterations", "hostname", "command", "workloadpath", "gpuseries", "hostrocmver", "count", "sumns", "meanns", "medianns",
        "description", "dimensions", "block", "expression",
    ]
)  # fmt: skip

KNOWN = FURTHER | {name for names in ROLES.values() for name in names}

TOTAL = re.compile(r"(?:total)?duration(?:ns|nsec|us|usec|ms|msec|s|sec)|total(?:duration)?ns|totalns")
UNITS = {"ns": 1, "nsec": 1, "us": 1000, "usec": 1000, "ms": 10**6, "msec": 10**6, "s": 10**9, "sec": 10**9}


def total_column(names: Collection[str]) -> tuple[str, int] | None:
    """The column of total times in a table of statistics, and its unit in nanoseconds."""
    for name in names:
        if TOTAL.fullmatch(name):
            unit = re.search(r"(nsec|usec|msec|sec|ns|us|ms|s)$", name)
            return name, UNITS[unit.group(1)] if unit else 1
    return None


Names = Collection[str]
_MACHINE = {"workloadname", "gpumodel", "cupergpu", "numcu", "rocmversion", "vbios"}

# table -> whether a header is its header; the first that fits
TABLES: tuple[tuple[str, Callable[[Names], bool]], ...] = (
    ("pc-sampling", lambda c: "sampletimestamp" in c),
    ("scratch-memory-trace", lambda c: "allocflags" in c),  # newer ones have an Allocation_Size as well
    ("memory-allocation-trace", lambda c: "allocationsize" in c),
    ("memory-copy-trace", lambda c: "direction" in c and ("sourceagentid" in c or "starttimestamp" in c)),
    ("agent-info", lambda c: "agenttype" in c and ("nodeid" in c or "logicalnodeid" in c)),
    ("compute-long", lambda c: "countername" in c and "dispatchid" in c and "gpuid" in c and "agentid" not in c),
    ("counters", lambda c: "countername" in c and ("correlationid" in c or "agentid" in c)),
    ("compute-long", lambda c: {"countername", "dispatchid", "kernelname"} <= set(c)),
    ("counters", lambda c: {"countername", "dispatchid", "countervalue"} <= set(c)),  # sampled in time, without names
    ("kernel-trace", lambda c: "kernelname" in c and ("kind" in c or ("starttimestamp" in c and "agentid" in c))),
    ("rocprofv2", lambda c: "kernelname" in c and "grd" in c and "dispatchid" in c),
    ("rocprof-v1", lambda c: "kernelname" in c and ("beginns" in c or "durationns" in c or {"index", "gpuid"} <= set(c))),
    ("compute-wide", lambda c: "dispatchid" in c and "kernelname" in c and ("gpuid" in c or "gridsize" in c)),
    ("api-trace", lambda c: "domain" in c and "function" in c),
    ("summary", lambda c: "domain" in c and "calls" in c and "name" in c and total_column(c) is not None),
    ("statistics", lambda c: "calls" in c and "name" in c and total_column(c) is not None),
    ("kernel-top", lambda c: "kernelname" in c and "count" in c and "sumns" in c),
    ("counter-list", lambda c: {"agentid", "name", "description", "dimensions"} <= set(c) and ("block" in c or "expression" in c)),
    ("sysinfo", lambda c: ("gpuarch" in c or "gpusoc" in c) and len(_MACHINE & set(c)) >= 2),
)  # fmt: skip

# a header has one of these; the cheap question before the dear ones
WORDS = re.compile(
    r"kernel_?name|counter_?name|start_?timestamp|begin_?ns|alloc_?flags|allocation_?size|sample_?timestamp|agent_?type"
    r"|total_?duration|dispatch_?id|duration \(|source_?agent|gpu_?arch|gpu_soc|workload_?name"
    r"|(?:correlation|agent|queue|thread|process|gpu)[_-]?id\b|function\"?[,;\t|]",
    re.I,
)


def table_of(header: Sequence[str]) -> str | None:
    """The table that a header (``plain`` names) belongs to, None for no table of a profiler."""
    names = set(header)
    return next((table for table, fits in TABLES if fits(names)), None)


def name_column(table: str, header: Sequence[str]) -> int | None:
    """Where the free text stands, the only column that may hold the delimiter itself without quotes."""
    wanted = {
        "api-trace": ("function",), "statistics": ("name",), "summary": ("name",), "pc-sampling": ("instruction",),
        "agent-info": ("name",), "sysinfo": ("command",),
    }.get(table, ("kernelname",))  # fmt: skip
    return next((header.index(name) for name in wanted if name in header), None)
