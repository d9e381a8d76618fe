"""rocprof-compute's counter table and description of the system. Two counters only: those that a simulation knows."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from labkit.catalog.peaks import peak
from labkit.profile.simulate.writers import files, rows
from labkit.profile.table import Profile


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """``pmc_perf.csv`` with SQ_WAVES and GRBM_GUI_ACTIVE, ``sysinfo.csv``, and the mark."""
    c = pl.col
    gpu = next((a for a in rows.agents(profile) if a["type"] == "GPU"), None)
    wave = gpu["wave"] if gpu else 64
    row = peak(gpu["name"].removeprefix("simulated ")) if gpu else None
    clock = row.clock_mhz if row else 2_000
    items = c("grid_x") * c("grid_y") * c("grid_z")
    group = c("workgroup_x") * c("workgroup_y") * c("workgroup_z")
    frame = rows.dispatches(profile).select(
        (c("dispatch") - 1).alias("Dispatch_ID"), c("device").alias("GPU_ID"), c("queue").alias("Queue_ID"), c("process").alias("PID"),
        c("thread").alias("TID"), items.alias("Grid_Size"), group.alias("Workgroup_Size"), c("lds_bytes").alias("LDS_Per_Workgroup"),
        c("scratch_bytes").alias("Scratch_Per_Workitem"), c("vgpr").alias("Arch_VGPR"), c("accum_vgpr").alias("Accum_VGPR"),
        c("sgpr").alias("SGPR"), pl.lit(wave).alias("Wave_Size"), c("name").alias("Kernel_Name"), c("start_ns").alias("Start_Timestamp"),
        c("end_ns").alias("End_Timestamp"), c("correlation").alias("Correlation_ID"), (items // wave).alias("SQ_WAVES"),
        ((c("end_ns") - c("start_ns")) * clock // 1000).alias("GRBM_GUI_ACTIVE"),
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
