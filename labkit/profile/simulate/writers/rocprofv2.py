"""rocprofv2's results CSV."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from labkit.profile.simulate.writers import files, rows
from labkit.profile.table import Profile


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """``results_NAME.csv`` and the mark."""
    c = pl.col
    product = [
        pl.concat_list([c(f"{w}_{x}") for x in "xyz"]).list.eval(pl.element().product()).list.first()
        for w in ("grid", "workgroup")
    ]
    wave = profile.devices[0].wavefront_size or 64 if profile.devices else 64
    frame = rows.dispatches(profile).select(
        c("dispatch").alias("Dispatch_ID"), c("device").alias("GPU_ID"), c("queue").alias("Queue_ID"),
        (2 * (c("dispatch") - 1)).alias("Queue_Index"), c("process").alias("PID"), c("thread").alias("TID"), product[0].alias("GRD"),
        product[1].alias("WGR"), c("lds_bytes").alias("LDS"), c("scratch_bytes").alias("SCR"), c("vgpr").alias("Arch_VGPR"),
        c("accum_vgpr").alias("ACCUM_VGPR"), c("sgpr").alias("SGPR"), pl.lit(wave).alias("Wave_Size"),
        pl.lit(140_000_000_000_000).alias("SIG"),
        c("kernel").alias("OBJ"), (c("name") + " (.kd)").alias("Kernel_Name"), c("start_ns").alias("Start_Timestamp"),
        c("end_ns").alias("End_Timestamp"), c("correlation").alias("Correlation_ID"),
    )  # fmt: skip
    path = files.write_csv(folder / f"results_{name}.csv", frame, quoted=False)
    return [path, files.note(folder, rows.about(profile))]
