"""The fast path: a clean CSV file, scanned by polars with the types that its header asks for."""

from __future__ import annotations

import csv

import polars as pl

from labkit.profile.readers import columns
from labkit.profile.readers.recognise import Source

LARGE = (
    64 << 20
)  # bytes; above, rows that are no records are dropped here instead of reading the file anew line by line

_TABLES = ("kernel-trace", "counters", "api-trace", "memory-copy-trace", "rocprofv2", "rocprof-v1", "compute-long")
_WHOLE = frozenset(
    name
    for role in (
        "queue", "stream", "thread", "process", "dispatch", "correlation", "start_ns", "end_ns", "lds_bytes", "scratch_bytes", "vgpr",
        "accum_vgpr", "sgpr", "workgroup_x", "workgroup_y", "workgroup_z", "grid_x", "grid_y", "grid_z",
    )
    for name in columns.ROLES[role]
)  # fmt: skip
_LABELS = frozenset(("kernelname", "function", "direction", "agentid", "gpuid", "sourceagentid", "destinationagentid", "countername", "domain", "guid"))  # fmt: skip
_ROW = {"kernel-trace": "kernelname", "api-trace": "function", "memory-copy-trace": "direction"}


def read(source: Source) -> tuple[str, pl.DataFrame, dict[str, str]] | None:
    """Table, rows and printed names of a clean CSV file, None for anything that has to be read line by line."""
    return None
