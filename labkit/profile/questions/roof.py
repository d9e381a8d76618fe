"""How far each kernel is from what the GPU could do: the roofline. A peak is a ceiling, never a grade."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from labkit.catalog.peaks import Peak, peak
from labkit.profile.categories import category
from labkit.profile.names import shorten
from labkit.profile.questions.work import work
from labkit.profile.table import Profile


@dataclass(frozen=True)
class Roofline:
    """points: name, short, category, count, device_ns, flops, bytes, intensity (FLOP per byte), tflops (10^12
    FLOP/s), gbs (10^9 B/s), precision, roof_tflops (what the roofline allows at this intensity; the peak alone
    where bytes are unknown), share (tflops over roof_tflops), bound (``memory`` or ``compute``; null where bytes
    are unknown), source; most time first.

    gpu: the catalog's row, None where the GPU is unknown (then roof_tflops is null). compute_tflops: peaks by
    precision, bandwidth_gbs; achievable_tflops: AMD's own 'max achievable' figures where there are some. note: what
    is missing, in words.
    """

    points: pl.DataFrame
    gpu: Peak | None
    compute_tflops: dict[str, float]
    achievable_tflops: dict[str, float]
    bandwidth_gbs: float | None
    note: str


SCHEMA = {
    "name": pl.String, "short": pl.String, "category": pl.String, "count": pl.Int64, "device_ns": pl.Int64, "flops": pl.Float64,
    "bytes": pl.Float64, "intensity": pl.Float64, "tflops": pl.Float64, "gbs": pl.Float64, "precision": pl.String,
    "roof_tflops": pl.Float64, "share": pl.Float64, "bound": pl.String, "source": pl.String,
}  # fmt: skip


def peaks_of(gpu: Peak) -> tuple[dict[str, float], dict[str, float]]:
    """(peaks, max achievable) in TFLOP/s by precision; what does not exist is left out."""
    theoretical = {
        "fp32": gpu.fp32_vector_tflops,
        "fp32-matrix": gpu.fp32_matrix_tflops or gpu.fp32_vector_tflops,
        "fp16": gpu.fp16_matrix_dense_tflops,
        "bf16": gpu.bf16_matrix_dense_tflops,
    }
    achievable = {"fp16": gpu.fp16_achievable_tflops, "bf16": gpu.bf16_achievable_tflops}
    return {k: v for k, v in theoretical.items() if v}, {k: v for k, v in achievable.items() if v}


def roofline(p: Profile, gpu: str | None = None) -> Roofline:
    """The roofline of a profile's kernels. gpu: the product, where the profile does not name it (``'AMD Radeon RX
    7900 XTX'``)."""
    row = peak(gpu) if gpu else None
    if gpu is None:
        names = [
            name.removeprefix("simulated ").removesuffix(" VF") for d in p.devices for name in (d.name, d.gfx) if name
        ]
        row = next((found for found in map(peak, names) if found), None)
    compute, achievable = peaks_of(row) if row else ({}, {})
    bandwidth = float(row.mem_bw_gbs) if row else None
    found = work(p)
    notes = []
    if found.height == 0:
        notes.append("The profile has neither counters of operations and bytes nor operators with their shapes.")
    elif found["bytes"].null_count() == found.height:
        notes.append(
            "The profile does not say how many bytes the kernels moved: only their rate can be compared with the peak."
        )
    if row is None:
        notes.append(f"The catalog has no peak for {gpu or 'this GPU'}: name the product.")
    top = pl.Series([compute.get(kind or "") for kind in found["precision"].to_list()], dtype=pl.Float64)
    by_memory = pl.lit(bandwidth, dtype=pl.Float64) * pl.col("intensity") / 1e3
    seconds = pl.when(pl.col("device_ns") > 0).then(pl.col("device_ns") / 1e9)
    points = (
        found.with_columns(
            pl.Series("short", [shorten(name) for name in found["name"]], dtype=pl.String),
            pl.Series("category", [category(name) for name in found["name"]], dtype=pl.String),
            pl.when(pl.col("bytes") > 0).then(pl.col("flops") / pl.col("bytes")).alias("intensity"),
            (pl.col("flops") / seconds / 1e12).alias("tflops"),
            (pl.col("bytes") / seconds / 1e9).alias("gbs"),
            top.alias("top"),
        )
        .with_columns(pl.min_horizontal("top", by_memory).alias("lower"))
        .with_columns(
            pl.when(pl.col("top").is_not_null()).then("lower").alias("roof_tflops"),
            pl.when(pl.col("top").is_not_null() & by_memory.is_not_null())
            .then(pl.when(by_memory < pl.col("top")).then(pl.lit("memory")).otherwise(pl.lit("compute")))
            .alias("bound"),
        )
        .with_columns(pl.when(pl.col("roof_tflops") > 0).then(pl.col("tflops") / pl.col("roof_tflops")).alias("share"))
        .select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    )
    return Roofline(points, row, compute, achievable, bandwidth, " ".join(notes))
