"""rocprofv3's CSV files: the headers of ROCm 7, those of ROCm 6.2, and those converted from rocpd (with Guid)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from labkit.profile.simulate.writers import files, rows
from labkit.profile.table import Profile


def kernel_trace(frame: pl.DataFrame, variant: str) -> pl.DataFrame:
    """The columns of ``*_kernel_trace.csv`` from dispatch rows (``rows.dispatches``)."""
    c = pl.col
    agent = c("device") if variant == "old" else pl.format("Agent {}", "device")
    columns = [
        pl.lit("KERNEL_DISPATCH").alias("Kind"), agent.alias("Agent_Id"), c("queue").alias("Queue_Id"),
        c("stream").alias("Stream_Id"), c("thread").alias("Thread_Id"), c("dispatch").alias("Dispatch_Id"),
        c("kernel").alias("Kernel_Id"), c("name").alias("Kernel_Name"), c("correlation").alias("Correlation_Id"),
        c("start_ns").alias("Start_Timestamp"), c("end_ns").alias("End_Timestamp"),
    ]  # fmt: skip
    if variant == "old":
        del columns[3]
        columns += [c("scratch_bytes").alias("Private_Segment_Size"), c("lds_bytes").alias("Group_Segment_Size")]
    else:
        columns += [
            c("lds_bytes").alias("LDS_Block_Size"), c("scratch_bytes").alias("Scratch_Size"), c("vgpr").alias("VGPR_Count"),
            c("accum_vgpr").alias("Accum_VGPR_Count"), c("sgpr").alias("SGPR_Count"),
        ]  # fmt: skip
    columns += [c(f"workgroup_{x}").alias(f"Workgroup_Size_{x.upper()}") for x in "xyz"]
    columns += [c(f"grid_{x}").alias(f"Grid_Size_{x.upper()}") for x in "xyz"]
    return frame.select(columns)


def _calls(frame: pl.DataFrame, domain: str) -> pl.DataFrame:
    c = pl.col
    return frame.select(
        pl.lit(domain).alias("Domain"), c("name").alias("Function"), c("process").alias("Process_Id"),
        c("thread").alias("Thread_Id"), c("correlation").alias("Correlation_Id"), c("start_ns").alias("Start_Timestamp"),
        c("end_ns").alias("End_Timestamp"),
    )  # fmt: skip


def _copies(frame: pl.DataFrame, variant: str) -> pl.DataFrame:
    c = pl.col
    to_host = c("name").str.ends_with("DEVICE_TO_HOST")
    here = c("device") if variant == "old" else pl.format("Agent {}", "device")
    cpu = pl.lit(0) if variant == "old" else pl.lit("Agent 0")
    columns = [
        pl.lit("MEMORY_COPY").alias("Kind"), c("name").alias("Direction"), c("stream").alias("Stream_Id"),
        pl.when(to_host).then(here).otherwise(cpu).alias("Source_Agent_Id"),
        pl.when(to_host).then(cpu).otherwise(here).alias("Destination_Agent_Id"),
        c("correlation").alias("Correlation_Id"), c("start_ns").alias("Start_Timestamp"), c("end_ns").alias("End_Timestamp"),
    ]  # fmt: skip
    if variant == "old":
        del columns[2]
    return frame.select(columns)


def _agents(profile: Profile) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "Node_Id": a["index"], "Logical_Node_Id": a["index"], "Agent_Type": a["type"],
                "Cpu_Cores_Count": 16 if a["type"] == "CPU" else 0, "Simd_Count": 2 * a["cus"], "Cu_Count": a["cus"] or 16,
                "Gfx_Target_Version": rows.target_version(a["gfx"]), "Vendor_Id": 4098 if a["type"] == "GPU" else 0,
                "Device_Id": 0, "Name": a["gfx"], "Vendor_Name": "AMD" if a["type"] == "GPU" else "CPU",
                "Product_Name": a["name"], "Model_Name": "simulated",
            }
            for a in rows.agents(profile)
        ]
    )  # fmt: skip


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """The traces that have rows, statistics of kernels and domains, the agents, and the mark."""
    kernels = rows.dispatches(profile)
    apis, markers, copies = (rows.of_kind(profile, kind) for kind in ("api", "marker", "copy"))
    tables = {
        "kernel_trace": kernel_trace(kernels, variant),
        "kernel_stats": rows.statistics(kernels),
        "hip_api_trace": _calls(apis, "HIP_RUNTIME_API" if variant == "old" else "HIP_RUNTIME_API_EXT"),
        "hip_api_stats": rows.statistics(apis),
        "marker_api_trace": _calls(markers, "MARKER_CORE_API" if variant == "old" else "MARKER_CORE_RANGE_API"),
        "memory_copy_trace": _copies(copies, variant),
        "domain_stats": _domains({"KERNEL_DISPATCH": kernels, "HIP_API": apis, "MARKER_API": markers, "MEMORY_COPY": copies}),
        "agent_info": _agents(profile),
    }  # fmt: skip
    prefix = "out" if variant == "guid" else name
    paths = []
    for table, frame in tables.items():
        if not frame.height or (variant == "guid" and table.endswith("_stats")):
            continue
        if variant == "guid":
            frame = frame.select(pl.lit(rows.guid(profile)).alias("Guid"), pl.all())
        paths.append(files.write_csv(folder / f"{prefix}_{table}.csv", frame))
    paths.append(files.note(folder, rows.about(profile)))
    return paths


def _domains(frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
    together = [frame.select(pl.lit(domain).alias("domain"), "start_ns", "end_ns") for domain, frame in frames.items()]
    return rows.statistics(pl.concat(together), by="domain")
