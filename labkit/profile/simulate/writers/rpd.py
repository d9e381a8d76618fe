"""RPD (rocmProfileData): the SQLite database of its tracer, schema version 2."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from labkit.profile.simulate.writers import files, rows, sqlite_file
from labkit.profile.simulate.writers.rocprof_v1 import _COPIES
from labkit.profile.table import Profile

_TABLES = {
    "rocpd_string": "string varchar(4096) NOT NULL",
    "rocpd_metadata": "tag varchar(4096) NOT NULL, value varchar(4096) NOT NULL",
    "rocpd_op": "gpuId integer NOT NULL, queueId integer NOT NULL, sequenceId integer NOT NULL, completionSignal varchar(18) NOT NULL, "
    '"start" integer NOT NULL, "end" integer NOT NULL, description_id integer NOT NULL, opType_id integer NOT NULL',
    "rocpd_api": 'pid integer NOT NULL, tid integer NOT NULL, "start" integer NOT NULL, "end" integer NOT NULL, '
    "apiName_id integer NOT NULL, args_id integer NOT NULL",
    "rocpd_api_ops": "api_id integer NOT NULL, op_id integer NOT NULL",
    "rocpd_kernelcodeobject": "vgpr integer NOT NULL, sgpr integer NOT NULL, fbar integer NOT NULL",
    "rocpd_monitor": "deviceType varchar(16) NOT NULL, deviceId integer NOT NULL, monitorType varchar(16) NOT NULL, "
    '"start" integer NOT NULL, "end" integer NOT NULL, value varchar(255) NOT NULL',
}
_POINTED = {  # tables whose key points at an API row
    "rocpd_kernelapi": "stream varchar(18) NOT NULL, gridX integer NOT NULL, gridY integer NOT NULL, gridZ integer NOT NULL, "
    "workgroupX integer NOT NULL, workgroupY integer NOT NULL, workgroupZ integer NOT NULL, groupSegmentSize integer NOT NULL, "
    "privateSegmentSize integer NOT NULL, kernelArgAddress varchar(18) NOT NULL, aquireFence varchar(8) NOT NULL, "
    "releaseFence varchar(8) NOT NULL, codeObject_id integer NOT NULL, kernelName_id integer NOT NULL",
    "rocpd_copyapi": "stream varchar(18) NOT NULL, size integer NOT NULL, width integer NOT NULL, height integer NOT NULL, "
    "kind integer NOT NULL, dst varchar(18) NOT NULL, src varchar(18) NOT NULL, dstDevice integer NOT NULL, srcDevice integer NOT NULL, "
    "sync bool NOT NULL, pinned bool NOT NULL",
}
_VIEWS = {
    "api": 'SELECT a.id, pid, tid, "start", "end", n.string AS apiName, g.string AS args FROM rocpd_api a '
    "JOIN rocpd_string n ON n.id = a.apiName_id JOIN rocpd_string g ON g.id = a.args_id",
    "op": 'SELECT o.id, gpuId, queueId, sequenceId, "start", "end", d.string AS description, t.string AS opType FROM rocpd_op o '
    "JOIN rocpd_string d ON d.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id",
    "busy": 'SELECT gpuId, sum("end" - "start") AS GpuTime, (SELECT max("end") - min("start") FROM rocpd_op) AS WallTime, '
    'sum("end" - "start") * 1.0 / (SELECT max("end") - min("start") FROM rocpd_op) AS Busy FROM rocpd_op GROUP BY gpuId',
    "top": 'SELECT s.string AS Name, count(*) AS TotalCalls, sum("end" - "start") / 1000 AS TotalDuration, '
    'sum("end" - "start") / count(*) / 1000 AS Ave, sum("end" - "start") * 100.0 / (SELECT '
    'sum("end" - "start") FROM rocpd_op) AS Percentage '
    "FROM rocpd_op o JOIN rocpd_string s ON s.id = CASE WHEN o.description_id = 1 THEN o.opType_id ELSE o.description_id END "
    "GROUP BY Name ORDER BY TotalDuration DESC",
    "kernel": 'SELECT o.id, gpuId, queueId, sequenceId, "start", "end", "end" - "start" AS duration, stream, '
    "gridX, gridY, gridZ, workgroupX, "
    "workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, s.string AS kernelName FROM "
    "rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id "
    "JOIN rocpd_kernelapi k ON k.api_ptr_id = l.api_id JOIN rocpd_string s ON s.id = k.kernelName_id",
}


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """``NAME.rpd`` and the mark."""
    kernels = rows.dispatches(profile)
    apis = rows.of_kind(profile, "api").with_row_index("id", offset=1)
    copies = rows.of_kind(profile, "copy").with_columns(pl.col("name").replace(_COPIES))
    strings: dict[str, int] = {"": 1}

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings) + 1)

    callers = apis.select("process", "correlation", "id")
    kernels, copies = (
        frame.join(callers, on=["process", "correlation"], how="left", maintain_order="left")
        for frame in (kernels, copies)
    )
    ops, links, launches, transfers = [], [], [], []
    for row in kernels.iter_rows(named=True):
        ops.append(
            (
                row["device"],
                row["queue"],
                0,
                "",
                row["start_ns"],
                row["end_ns"],
                number(row["name"]),
                number("KernelExecution"),
            )
        )
        if row["id"]:
            links.append((row["id"], len(ops)))
            launches.append((row["id"], str(row["stream"]), *(row[f"{w}_{x}"] for w in ("grid", "workgroup") for x in "xyz"),
                             row["lds_bytes"], row["scratch_bytes"], "", "", "", 1, number(row["name"])))  # fmt: skip
    for row in copies.iter_rows(named=True):
        ops.append((row["device"], row["queue"], 0, "", row["start_ns"], row["end_ns"], 1, number(row["name"])))
        if row["id"]:
            links.append((row["id"], len(ops)))
            kind = 2 if row["name"] == "CopyDeviceToHost" else 1
            transfers.append((row["id"], str(row["stream"]), row["bytes"] or 0, 0, 0, kind, "", "", 0, 0, 0, 0))
    calls = [
        (r["process"], r["thread"], r["start_ns"], r["end_ns"], number(r["name"]), 1)
        for r in apis.iter_rows(named=True)
    ]
    for row in rows.of_kind(profile, "marker").iter_rows(named=True):  # RPD keeps markers as calls of UserMarker
        calls.append(
            (row["process"], row["thread"], row["start_ns"], row["end_ns"], number("UserMarker"), number(row["name"]))
        )
    path = folder / f"{name}.rpd"
    with sqlite_file.database(path) as db:
        for table, columns in _TABLES.items():
            db.execute(f"CREATE TABLE {table} (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, {columns})")
        for table, columns in _POINTED.items():
            db.execute(f"CREATE TABLE {table} (api_ptr_id integer NOT NULL PRIMARY KEY, {columns})")
        insert = sqlite_file.insert
        insert(db, "rocpd_metadata", "tag,value", [("schema_version", "2"), ("session_count", "1"), ("simulated", "1")])
        insert(db, "rocpd_string", "id,string", [(i, text) for text, i in strings.items()])
        insert(db, "rocpd_kernelcodeobject", "vgpr,sgpr,fbar", [(0, 0, 0)])
        insert(db, "rocpd_op", "gpuId,queueId,sequenceId,completionSignal,start,end,description_id,opType_id", ops)
        insert(db, "rocpd_api", "pid,tid,start,end,apiName_id,args_id", calls)
        insert(db, "rocpd_api_ops", "api_id,op_id", links)
        shape = "gridX,gridY,gridZ,workgroupX,workgroupY,workgroupZ,groupSegmentSize,privateSegmentSize"
        insert(
            db,
            "rocpd_kernelapi",
            f"api_ptr_id,stream,{shape},kernelArgAddress,aquireFence,releaseFence,codeObject_id,kernelName_id",
            launches,
        )
        insert(
            db,
            "rocpd_copyapi",
            "api_ptr_id,stream,size,width,height,kind,dst,src,dstDevice,srcDevice,sync,pinned",
            transfers,
        )
        for view, query in _VIEWS.items():
            db.execute(f"CREATE VIEW {view} AS {query}")
    return [path, files.note(folder, rows.about(profile))]
