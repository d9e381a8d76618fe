"""rocpd: the SQLite database that rocprofv3 writes since ROCm 7.0."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from labkit.profile.simulate.writers import files, rows, sqlite_file
from labkit.profile.simulate.writers.rocpd_schema import statements
from labkit.profile.table import Profile

_CATEGORIES = {
    "dispatch": "KERNEL_DISPATCH",
    "copy": "MEMORY_COPY",
    "api": "HIP_RUNTIME_API_EXT",
    "marker": "MARKER_CORE_RANGE_API",
}


def _numbered(values: pl.Series) -> dict[int, int]:
    """Value -> id from 1, in order."""
    return {value: i for i, value in enumerate(sorted(values.unique().to_list()), start=1)}


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """``NAME_results.db`` and the mark. Markers are regions named by their message, which stands in ``extdata``, too."""
    guid = rows.guid(profile)
    suffix = "_" + guid.replace("-", "_")
    kernels = rows.dispatches(profile)
    copies, apis, markers = (rows.of_kind(profile, kind) for kind in ("copy", "api", "marker"))
    names = [*_CATEGORIES.values(), "", *dict.fromkeys([*copies["name"], *apis["name"], *markers["name"]])]
    string = {text: i for i, text in enumerate(dict.fromkeys(names), start=1)}
    agent = {a["index"]: i for i, a in enumerate(rows.agents(profile), start=1)}
    every = pl.concat([f.select("process", "thread", "queue", "stream") for f in (kernels, copies, apis, markers)])
    process, thread = _numbered(every["process"]), _numbered(every["thread"])
    queue, stream = _numbered(every["queue"]), _numbered(every["stream"])

    def mapped(column: str, table: dict[int, int]) -> pl.Expr:
        return pl.col(column).cast(pl.Int64).replace_strict(table, return_dtype=pl.Int64, default=None).alias(column)

    first, tables = 1, {}
    for kind, frame in (("dispatch", kernels), ("copy", copies), ("api", apis), ("marker", markers)):
        frame = frame.with_columns(
            mapped("process", process), mapped("thread", thread), mapped("queue", queue), mapped("stream", stream), mapped("device", agent),
            (pl.int_range(pl.len(), dtype=pl.Int64) + first).alias("event"), pl.lit(string[_CATEGORIES[kind]]).alias("category"),
        )  # fmt: skip
        if kind != "dispatch":
            frame = frame.with_columns(pl.col("name").replace_strict(string, return_dtype=pl.Int64).alias("name_id"))
        first += frame.height
        tables[kind] = frame
    span = (profile.events["start_ns"].min() or 0, profile.events["end_ns"].max() or 0)
    path = folder / f"{name}_results.db"
    with sqlite_file.database(path) as db:
        for statement in statements(guid):
            db.execute(statement)

        def insert(table: str, columns: str, values: object) -> None:
            sqlite_file.insert(db, f"rocpd_{table}{suffix}", columns, values)  # type: ignore[arg-type]

        insert("metadata", "tag,value", [("schema_version", "3"), ("uuid", suffix), ("guid", guid), ("simulated", "1"),
                                         *((f"simulated_{k}", str(v)) for k, v in rows.about(profile).items())])  # fmt: skip
        insert("string", "id,string", [(i, text) for text, i in string.items()])
        insert("info_node", "id,hash,machine_id,system_name,hostname", [(1, 1, "0" * 32, "Linux", "simulated")])
        command = "simulated " + " ".join(f"{k}={v}" for k, v in rows.about(profile).items() if k != "note")
        insert(
            "info_process",
            "id,nid,ppid,pid,init,fini,start,end,command",
            [(i, 1, 1, pid, *span, *span, command) for pid, i in process.items()],
        )
        insert(
            "info_thread",
            "id,nid,ppid,pid,tid,name,start,end",
            [(i, 1, 1, 1, tid, "python3", *span) for tid, i in thread.items()],
        )
        insert(
            "info_agent",
            "id,nid,pid,type,absolute_index,logical_index,type_index,uuid,name,model_name,vendor_name,product_name,user_name,extdata",
            [(agent[a["index"]], 1, 1, a["type"], a["index"], a["index"], max(0, a["index"] - 1), a["index"], a["gfx"], "simulated",
              "AMD" if a["type"] == "GPU" else "CPU", a["name"], "",
              json.dumps({"cu_count": a["cus"], "wave_front_size": a["wave"], "gfx_target_version": rows.target_version(a["gfx"])}))
             for a in rows.agents(profile)],
        )  # fmt: skip
        insert("info_queue", "id,nid,pid,name", [(i, 1, 1, f"Queue {number}") for number, i in queue.items()])
        insert("info_stream", "id,nid,pid,name", [(i, 1, 1, f"Stream {number}") for number, i in stream.items()])
        insert(
            "info_code_object",
            "id,nid,pid,agent_id,uri,load_base,load_size,load_delta,storage_type",
            [(1, 1, 1, None, "simulated", 0, 0, 0, "FILE")],
        )
        symbols = kernels.unique("kernel", keep="first", maintain_order=True)
        insert(
            "info_kernel_symbol", "id,nid,pid,code_object_id,kernel_name,display_name,kernel_object,kernarg_segment_size,"
            "kernarg_segment_alignment,group_segment_size,private_segment_size,sgpr_count,arch_vgpr_count,accum_vgpr_count",
            [(r["kernel"], 1, 1, 1, f"{r['name']}.kd", r["name"], 1, 64, 16, r["lds_bytes"], r["scratch_bytes"], r["sgpr"], r["vgpr"],
              r["accum_vgpr"]) for r in symbols.iter_rows(named=True)],
        )  # fmt: skip
        one = pl.lit(1)
        for kind, frame in tables.items():
            extra = pl.lit("{}")
            if kind == "marker":
                extra = pl.col("name").map_elements(lambda text: json.dumps({"message": text}), return_dtype=pl.String)
            events = frame.select(
                "event", "category", pl.col("correlation").alias("stack"), pl.lit(0).alias("parent"), "correlation", extra.alias("extra")
            )  # fmt: skip
            insert("event", "id,category_id,stack_id,parent_stack_id,correlation_id,extdata", events.iter_rows())
            if kind in ("api", "marker"):
                insert("region", "nid,pid,tid,start,end,name_id,event_id",
                       frame.select(one.alias("n"), "process", "thread", "start_ns", "end_ns", "name_id", "event").iter_rows())  # fmt: skip
        blank = pl.lit(string[""]).alias("region")
        insert(
            "kernel_dispatch", "nid,pid,tid,agent_id,kernel_id,dispatch_id,queue_id,stream_id,start,end,private_segment_size,"
            "group_segment_size,workgroup_size_x,workgroup_size_y,workgroup_size_z,grid_size_x,grid_size_y,grid_size_z,region_name_id,event_id",
            tables["dispatch"].select(
                one.alias("n"), "process", "thread", "device", "kernel", "dispatch", "queue", "stream", "start_ns", "end_ns",
                "scratch_bytes", "lds_bytes", "workgroup_x", "workgroup_y", "workgroup_z", "grid_x", "grid_y", "grid_z", blank, "event",
            ).iter_rows(),
        )  # fmt: skip
        to_host = pl.col("name").str.ends_with("DEVICE_TO_HOST")
        ends = [
            pl.when(to_host).then(one).otherwise("device").alias("to"),
            pl.when(to_host).then("device").otherwise(one).alias("from"),
        ]
        insert(
            "memory_copy", "nid,pid,tid,start,end,name_id,dst_agent_id,dst_address,src_agent_id,src_address,size,queue_id,stream_id,"
            "region_name_id,event_id",
            tables["copy"].select(
                one.alias("n"), "process", "thread", "start_ns", "end_ns", "name_id", ends[0], pl.lit(0).alias("a"), ends[1],
                pl.lit(0).alias("b"), pl.col("bytes").fill_null(0), "queue", "stream", blank, "event",
            ).iter_rows(),
        )  # fmt: skip
    return [path, files.note(folder, rows.about(profile))]
