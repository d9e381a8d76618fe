"""rocprof-compute's counter table and description of the system, with the counters that a simulation knows.

SQ_WAVES and GRBM_GUI_ACTIVE for every GPU. For gfx90a, gfx942 and gfx950 also those that the roofline needs, made from the
operations and bytes of each kernel: matrix kernels as MFMA operations (512 for each count), all others as additions of 64
lanes; bytes as requests of 64 bytes between L2 and memory. That a third of them is written is an **assumption**: a
simulation knows only their sum. Names of the counters: ROCm documentation, MI200 and MI300 performance counters.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from labkit.catalog.peaks import peak
from labkit.profile.categories import category
from labkit.profile.simulate.writers import files, rows
from labkit.profile.table import Profile

COUNTED = ("gfx90a", "gfx942", "gfx950")
MATRIX = ("gemm", "convolution", "attention")
_MOPS = {"fp16": "F16", "bf16": "BF16", "fp32": "F32"}
_WRITTEN = 3  # one of so many bytes is written


def _work(frame: pl.DataFrame, gfx: str, precision: str) -> list[pl.Expr]:
    """The counters of operations and bytes, as columns; none for a target without them or rows without both."""
    if gfx not in COUNTED or frame["flops"].null_count() == frame.height:
        return []
    names = frame["name"].cast(pl.String).unique().to_list()
    matrix = pl.col("name").cast(pl.String).is_in([name for name in names if category(name) in MATRIX])
    flops, requests = pl.col("flops").fill_null(0.0), (pl.col("bytes").fill_null(0) + 63) // 64
    vector = pl.when(matrix).then(0).otherwise((flops / 64).ceil())
    products = pl.when(matrix).then((flops / 512).ceil()).otherwise(0)
    nothing, written = pl.lit(0), requests // _WRITTEN
    columns = {
        f"SQ_INSTS_VALU_{op}_{kind}": nothing for op in ("ADD", "MUL", "FMA", "TRANS") for kind in ("F16", "F32", "F64")
    }
    columns["SQ_INSTS_VALU_ADD_F32"] = vector  # PyTorch computes in float32 what it stores in half the bits
    columns |= {f"SQ_INSTS_VALU_MFMA_MOPS_{kind}": nothing for kind in ("F16", "BF16", "F32", "F64")}
    columns[f"SQ_INSTS_VALU_MFMA_MOPS_{_MOPS.get(precision, 'F32')}"] = products
    edge = "TCC_EA" if gfx == "gfx90a" else "TCC_EA0"
    columns |= {f"{edge}_RDREQ_sum": requests - written, f"{edge}_RDREQ_32B_sum": nothing}
    columns |= {f"{edge}_WRREQ_sum": written, f"{edge}_WRREQ_64B_sum": written}
    if gfx != "gfx90a":
        columns |= {"TCC_BUBBLE_sum" if gfx == "gfx942" else f"{edge}_RDREQ_128B_sum": nothing}
    return [value.cast(pl.Int64).alias(name) for name, value in columns.items()]


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """``pmc_perf.csv``, ``sysinfo.csv``, and the mark."""
    c = pl.col
    gpu = next((a for a in rows.agents(profile) if a["type"] == "GPU"), None)
    wave = gpu["wave"] if gpu else 64
    row = peak(gpu["name"].removeprefix("simulated ")) if gpu else None
    clock = row.clock_mhz if row else 2_000
    items = c("grid_x") * c("grid_y") * c("grid_z")
    group = c("workgroup_x") * c("workgroup_y") * c("workgroup_z")
    table = rows.dispatches(profile)
    precision = str(profile.extras.get("simulation", {}).get("precision", "fp32"))
    frame = table.select(
        (c("dispatch") - 1).alias("Dispatch_ID"), c("device").alias("GPU_ID"), c("queue").alias("Queue_ID"), c("process").alias("PID"),
        c("thread").alias("TID"), items.alias("Grid_Size"), group.alias("Workgroup_Size"), c("lds_bytes").alias("LDS_Per_Workgroup"),
        c("scratch_bytes").alias("Scratch_Per_Workitem"), c("vgpr").alias("Arch_VGPR"), c("accum_vgpr").alias("Accum_VGPR"),
        c("sgpr").alias("SGPR"), pl.lit(wave).alias("Wave_Size"), c("name").alias("Kernel_Name"), c("start_ns").alias("Start_Timestamp"),
        c("end_ns").alias("End_Timestamp"), c("correlation").alias("Correlation_ID"), (items // wave).alias("SQ_WAVES"),
        ((c("end_ns") - c("start_ns")) * clock // 1000).alias("GRBM_GUI_ACTIVE"),
        *_work(table, gpu["gfx"] if gpu else "", precision),
    )  # fmt: skip
    system = pl.DataFrame(
        {
            "workload_name": [name], "command": ["simulated"], "version": [2], "hostname": ["simulated"], "cpu_model": [rows.CPU],
            "rocm_version": ["7.0.0-0"], "gpu_model": [gpu["name"] if gpu else ""], "gpu_arch": [gpu["gfx"] if gpu else ""],
            "cu_per_gpu": [gpu["cus"] if gpu else 0], "wave_size": [wave], "max_sclk": [clock],
        }
    )  # fmt: skip
    return [
        files.write_csv(folder / "pmc_perf.csv", frame, quoted=False),
        files.write_csv(folder / "sysinfo.csv", system, quoted=False),
        files.note(folder, rows.about(profile)),
    ]
