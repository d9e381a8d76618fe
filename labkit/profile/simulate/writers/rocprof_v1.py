"""rocprof v1's files: CSV with statistics, the Chrome-like JSON, and the SQLite database behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from labkit.profile.simulate.writers import files, rows, sqlite_file
from labkit.profile.table import Profile

_COPIES = {
    "MEMORY_COPY_HOST_TO_DEVICE": "CopyHostToDevice",
    "MEMORY_COPY_DEVICE_TO_HOST": "CopyDeviceToHost",
    "MEMORY_COPY_DEVICE_TO_DEVICE": "CopyDeviceToDevice",
}


def _tables(profile: Profile) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    copies = rows.of_kind(profile, "copy").with_columns(pl.col("name").replace(_COPIES))
    return rows.dispatches(profile), rows.of_kind(profile, "api"), copies


def _per_dispatch(kernels: pl.DataFrame, wave: int) -> pl.DataFrame:
    c = pl.col
    product = lambda what: c(f"{what}_x") * c(f"{what}_y") * c(f"{what}_z")  # noqa: E731
    return kernels.select(
        (c("dispatch") - 1).alias("Index"), (c("name") + ".kd").alias("KernelName"), c("device").alias("gpu-id"),
        c("queue").alias("queue-id"), (2 * (c("dispatch") - 1)).alias("queue-index"), c("process").alias("pid"), c("thread").alias("tid"),
        product("grid").alias("grd"), product("workgroup").alias("wgr"), c("lds_bytes").alias("lds"), c("scratch_bytes").alias("scr"),
        c("vgpr").alias("arch_vgpr"), c("accum_vgpr"), c("sgpr"), pl.lit(wave).alias("wave_size"), pl.lit("0x0").alias("sig"),
        pl.lit("0x7f0000001240").alias("obj"), (c("start_ns") - 6_000).alias("DispatchNs"), c("start_ns").alias("BeginNs"),
        c("end_ns").alias("EndNs"), (c("end_ns") + 5_000).alias("CompleteNs"), (c("end_ns") - c("start_ns")).alias("DurationNs"),
    )  # fmt: skip


def _five(frame: pl.DataFrame) -> pl.DataFrame:
    total = max(1, (frame["end_ns"] - frame["start_ns"]).sum())
    found = rows.statistics(frame).select("Name", "Calls", "TotalDurationNs")
    mean = (pl.col("TotalDurationNs") // pl.col("Calls")).alias("AverageNs")
    return found.with_columns(mean, (100.0 * pl.col("TotalDurationNs") / total).alias("Percentage"))


def _csv(profile: Profile, folder: Path, name: str) -> list[Path]:
    kernels, apis, copies = _tables(profile)
    wave = profile.devices[0].wavefront_size or 64 if profile.devices else 64
    paths = [files.write_csv(folder / f"{name}.csv", _per_dispatch(kernels, wave))]
    for part, frame in (("stats", kernels), ("hip_stats", apis), ("copy_stats", copies)):
        if frame.height:
            paths.append(files.write_csv(folder / f"{name}.{part}.csv", _five(frame)))
    return paths


def _json(profile: Profile, folder: Path, name: str) -> list[Path]:
    kernels, apis, copies = _tables(profile)
    events: list[dict[str, Any]] = [{}]
    for title, pid in (("CPU HIP API", 2), ("COPY", 1), *((f"GPU{d.index}", 6 + d.index) for d in profile.devices)):
        events.append(
            {"args": {"name": title}, "ph": "M", "pid": pid, "name": "process_name", "sort_index": len(events) - 1}
        )

    def event(row: dict[str, Any], pid: int, tid: int, **more: Any) -> dict[str, Any]:
        ns = row["end_ns"] - row["start_ns"]
        args = {
            "BeginNs": str(row["start_ns"]),
            "EndNs": str(row["end_ns"]),
            "pid": str(row["process"]),
            "tid": str(row["thread"]),
        }
        args.update({"Name": row["name"], "Data": "", "DurationNs": str(ns)}, **more)
        return {"ph": "X", "name": row["name"], "pid": str(pid), "tid": str(tid), "ts": str(row["start_ns"] // 1000),
                "dur": str(ns // 1000), "args": args}  # fmt: skip

    for row in copies.iter_rows(named=True):
        events.append(
            event(
                row,
                1,
                1,
                **{"dev-id": str(row["device"]), "queue-id": str(row["queue"]), "stream-id": str(row["stream"])},
            )
        )
    for row in apis.iter_rows(named=True):
        events.append(event(row, 2, row["thread"], args="()"))
    for row in kernels.iter_rows(named=True):
        more = {"dev-id": str(row["device"]), "queue-id": str(row["queue"]), "stream-id": str(row["stream"])}
        events.append(event(row, 6 + row["device"], 1, **more))
    calls = {(row["process"], row["correlation"]): row for row in apis.iter_rows(named=True)}
    for frame, pid in ((copies, 0), (kernels, 6)):  # arrows from the call to its work
        for row in frame.iter_rows(named=True):
            call = calls.get((row["process"], row["correlation"]))
            if call:
                flow = {"cat": "DataFlow", "id": row["correlation"], "name": "dep"}
                events.append({"ts": call["start_ns"] // 1000, "ph": "s", **flow, "pid": 2, "tid": call["thread"]})
                where = 1 if pid == 0 else pid + row["device"]
                events.append({"ts": row["start_ns"] // 1000, "ph": "t", **flow, "pid": where, "tid": 1})
    text = json.dumps({"traceEvents": events, "otherData": {"simulated": 1}}, separators=(",", ":"))
    return [files.write_text(folder / f"{name}.json", text)]


def _database(profile: Profile, folder: Path, name: str) -> list[Path]:
    kernels, apis, copies = _tables(profile)
    path = folder / f"{name}.db"
    shared = '"BeginNs" INTEGER, "EndNs" INTEGER'
    end = '"Index" INTEGER, "Data" TEXT, "__section" INTEGER, "__lane" INTEGER, "DurationNs" INTEGER'
    device = f'({shared}, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, "pid" INTEGER, "tid" INTEGER, ' + (
        f'"roctx-range" TEXT, "stream-id" INTEGER, {end})'
    )
    with sqlite_file.database(path) as db:
        db.execute(f'CREATE TABLE HIP ({shared}, "pid" INTEGER, "tid" INTEGER, "Name" TEXT, "args" TEXT, {end})')
        db.execute(f"CREATE TABLE OPS {device}")
        db.execute(f"CREATE TABLE COPY {device}")
        db.execute('CREATE TABLE KERN ("Index" INTEGER, "KernelName" TEXT)')
        db.execute("CREATE TABLE SIMULATED (note TEXT)")
        db.execute("INSERT INTO SIMULATED VALUES ('no GPU made this file')")
        host = apis.select("start_ns", "end_ns", "process", "thread", "name", pl.lit("()"), "correlation", pl.lit("").alias("d"),
                           pl.lit(2).alias("s"), pl.col("thread").alias("l"),
                           (pl.col("end_ns") - pl.col("start_ns")).alias("n"))  # fmt: skip
        sqlite_file.insert(
            db, "HIP", "BeginNs,EndNs,pid,tid,Name,args,Index,Data,__section,__lane,DurationNs", host.iter_rows()
        )
        for table, frame, section in (("OPS", kernels, pl.col("device") + 6), ("COPY", copies, pl.lit(1))):
            out = frame.select("start_ns", "end_ns", "device", "queue", "name", "process", "thread", pl.col("name").alias("r"), "stream",
                               "correlation", pl.lit("").alias("d"), section.alias("s"), pl.lit(1).alias("l"),
                               (pl.col("end_ns") - pl.col("start_ns")).alias("n"))  # fmt: skip
            columns = "BeginNs,EndNs,dev-id,queue-id,Name,pid,tid,roctx-range,stream-id,Index,Data,__section,__lane,DurationNs"
            sqlite_file.insert(db, table, columns, out.iter_rows())
    return [path]


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """The files of one variant (csv, json, db) and the mark."""
    make = {"csv": _csv, "json": _json, "db": _database}[variant]
    return [*make(profile, folder, f"{name}_results"), files.note(folder, rows.about(profile))]
