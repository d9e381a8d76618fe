"""rocprof v1's results.db: tables HIP, HSA, OPS, COPY, KERN, rocTX, and A for what results.csv holds.

Kernels are the rows of OPS; a file without them has them in A (``--timestamp on`` alone).
"""

from __future__ import annotations

import polars as pl

from labkit.profile.readers import v1_json
from labkit.profile.readers.sqlite import Database
from labkit.profile.readers.times import usable
from labkit.profile.table import Device, Profile, empty, events

_COLUMNS = {
    "name": "Name",
    "start_ns": "BeginNs",
    "end_ns": "EndNs",
    **v1_json.ROWS,  # the tool writes its rows under the same names into either file
}
_CSV = {
    "name": "KernelName",
    "start_ns": "BeginNs",
    "end_ns": "EndNs",
    "device": "gpu-id",
    "queue": "queue-id",
    "process": "pid",
    "dispatch": "Index",
    "grid_x": "grd",
    "workgroup_x": "wgr",
    "lds_bytes": "lds",
    "scratch_bytes": "scr",
    "vgpr": "vgpr",
    "accum_vgpr": "accum_vgpr",
    "sgpr": "sgpr",
}
_HOST = {"HIP": "api", "HSA": "api", "KFD": "api", "ROCTX": "marker"}


def is_there(database: Database) -> bool:
    """Whether this is such a database: one of its tables, with its time columns."""
    for table in database.tables:
        if table.upper() in (*_HOST, "OPS", "COPY", "A"):
            names = {name.lower() for name in database.columns(table)}
            if {"beginns", "endns"} <= names:
                return True
    return False


def read(database: Database, name: str = "") -> Profile:
    """The profile in this database."""
    tables = {table.upper(): table for table in database.tables}
    frames = []
    for key, kind in {"OPS": "dispatch", "COPY": "copy", **_HOST}.items():
        if key in tables:
            found = database.take(tables[key], _COLUMNS)
            if not {"start_ns", "end_ns"} <= set(found.columns):
                continue
            if kind in ("dispatch", "copy"):
                found = found.drop("thread", strict=False)
            else:
                found = found.drop("device", "queue", "stream", strict=False)
            frames.append(events(found.to_dict(), kind=kind))
    if not any((f["kind"] == "dispatch").any() for f in frames) and "A" in tables:
        found = database.take(tables["A"], _CSV)
        if {"name", "start_ns"} <= set(found.columns):
            frames.append(events(found.to_dict(), kind="dispatch"))
    frame, odd = usable(pl.concat([empty(), *frames], how="diagonal"))
    used = frame.filter(frame["kind"] == "dispatch")["device"].drop_nulls().unique().sort().to_list()
    return Profile(
        kind="rocprof-v1",
        events=frame,
        tool="rocprof",
        devices=tuple(Device(index) for index in used),
        odd=(*database.odd, *odd),
        simulated="SIMULATED" in tables,
        sources=(name,) if name else (),
    )
