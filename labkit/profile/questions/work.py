"""Floating-point operations and bytes of kernels: from hardware counters, or from the shapes that torch.profiler
recorded.

Counters: a wavefront's lanes (64, or 32) for each vector instruction, a fused multiply-add twice; 512 operations for each count of
MFMA_MOPS; bytes between L2 and memory from the 32-, 64- and 128-byte requests. Source: ROCm documentation of
rocprofiler-compute ('FLOP counting conventions', 'Roofline'), its analysis configuration 0400_roofline.yaml, and
rocprofv3's derived FETCH_SIZE and WRITE_SIZE (KiB).
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from labkit.catalog.gfx import target
from labkit.profile.questions import nesting
from labkit.profile.questions.selection import launched, name_order, timed
from labkit.profile.table import Profile, with_columns

SCHEMA = {
    "name": pl.String,
    "count": pl.Int64,
    "device_ns": pl.Int64,
    "flops": pl.Float64,
    "bytes": pl.Float64,
    "precision": pl.String,
    "source": pl.String,
}
_TYPES = {"F16": "fp16", "BF16": "bf16", "F32": "fp32", "F64": "fp64", "F8": "fp8", "I8": "int8"}


def work(p: Profile) -> pl.DataFrame:
    """What each kernel computed and moved. Columns: name, count, device_ns (null where the times are not usable),
    flops, bytes (null where unknown), precision (of the arithmetic that dominates: ``fp16`` … or ``fp32-matrix``;
    null where unknown), source (``counters``, ``shapes`` or ``profile``). Empty where the profile has neither."""
    if p.counters is not None and p.counters.height:
        found = _from_counters(p)
        if found.height:
            return found
    if "flops" not in p.events.columns:
        return pl.DataFrame(schema=SCHEMA)
    own = timed(p, ("dispatch",), ("name", "start_ns", "end_ns", "flops", "bytes"))
    own = own.filter(pl.col("flops").is_not_null())
    if own.height:
        return _tidy(
            own.group_by(pl.col("name").cast(pl.String)).agg(
                pl.len().alias("count"),
                (pl.col("end_ns") - pl.col("start_ns")).sum().alias("device_ns"),
                pl.col("flops").sum(),
                pl.when(pl.col("bytes").is_not_null().any()).then(pl.col("bytes").sum()).alias("bytes"),
            ),
            "profile",
        )
    return _from_shapes(p)


def _tidy(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    names = frame["name"].to_list()
    if "precision" not in frame.columns:
        frame = frame.with_columns(pl.Series("precision", [precision(name) for name in names], dtype=pl.String))
    frame = frame.with_columns(pl.lit(source).alias("source"))
    return frame.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()).sort(
        ["device_ns", "name"], descending=[True, False], nulls_last=True
    )


def precision(name: str) -> str | None:
    """The number format that a kernel's name tells; None where it tells none.

    Tensile's types: B bfloat16, H half, S single, D double (first letter after the layouts: the inputs).
    """
    tensile = re.search(r"C[a-z]{2,}_A[a-z]{2,}_B[a-z]{2,}_([A-Z0-9]+)", name)
    if tensile:
        return {"B": "bf16", "H": "fp16", "S": "fp32-matrix", "D": "fp64", "F": "fp8"}.get(tensile.group(1)[0])
    for pattern, found in (
        (r"bf16|bfloat16|BFloat16|DF16b", "bf16"),
        (r"fp16|f16|[Hh]alf|DF16_", "fp16"),
        (r"fp32|f32|float", "fp32"),
    ):
        if re.search(pattern, name):
            return found
    return None


def _from_shapes(p: Profile) -> pl.DataFrame:
    """An operator's operations go to the longest kernel that was launched inside it: the others prepare its data."""
    rows = timed(p, ("operator",), ("name", "thread", "start_ns", "end_ns", "flops")).filter(pl.col("flops") > 0)
    calls = launched(p).filter(pl.col("call_start_ns").is_not_null())
    if rows.height == 0 or calls.height == 0:
        return pl.DataFrame(schema=SCHEMA)
    thread, asked = rows["thread"].fill_null(-1).to_numpy(), calls["call_thread"].fill_null(-1).to_numpy()
    start, end, at = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy(), calls["call_start_ns"].to_numpy()
    order = name_order(rows)
    owner = np.full(calls.height, -1, np.int64)
    for one in np.unique(thread):
        mine, which = np.flatnonzero(thread == one), np.flatnonzero(asked == one)
        place = nesting.nest(start[mine], end[mine], order[mine]).innermost(at[which])
        owner[which[place >= 0]] = mine[place[place >= 0]]
    joined = calls.select(
        pl.col("name").cast(pl.String), (pl.col("end_ns") - pl.col("start_ns")).alias("took"), pl.Series("owner", owner)
    )
    longest = joined.filter(pl.col("owner") >= 0).sort(["owner", "took", "name"], descending=[False, True, False])
    longest = longest.unique("owner", keep="first", maintain_order=True)
    flops = rows["flops"].to_numpy()[longest["owner"].to_numpy()]
    return _tidy(
        longest.with_columns(pl.Series("flops", flops))
        .group_by("name")
        .agg(pl.len().alias("count"), pl.col("took").sum().alias("device_ns"), pl.col("flops").sum())
        .with_columns(pl.lit(None, dtype=pl.Float64).alias("bytes")),
        "shapes",
    )


def _from_counters(p: Profile) -> pl.DataFrame:
    assert p.counters is not None
    rows = p.counters.select("dispatch", "name", pl.col("counter").cast(pl.String), "value").drop_nulls(
        ["counter", "value"]
    )
    wanted = rows.filter(
        pl.col("counter").str.contains(
            r"^(?:SQ_INSTS_VALU_|TCC_(?:EA0?_|BUBBLE)|FETCH_SIZE|WRITE_SIZE|FetchSize|WriteSize)"
        )
    )
    if wanted.height == 0:
        return pl.DataFrame(schema=SCHEMA)
    # a counter that several passes collected is averaged; per-channel counters (TCC_BUBBLE[3]) add up
    wanted = wanted.group_by("dispatch", "name", "counter").agg(pl.col("value").mean())
    wanted = wanted.with_columns(
        pl.col("counter").str.replace(r"(?:\[\d+\])+$|_sum$", "").alias("counter"),
        pl.col("counter").str.contains(r"\[").alias("part"),
    )
    wanted = wanted.group_by("dispatch", "name", "counter", "part").agg(pl.col("value").sum())
    wanted = wanted.sort("part").unique(["dispatch", "name", "counter"], keep="first", maintain_order=True)
    table = wanted.pivot("counter", index=["dispatch", "name"], values="value").sort(
        "dispatch", "name", nulls_last=True
    )
    gfx = next((d.gfx for d in p.devices if d.gfx), None)
    row = target(gfx)
    lanes = (
        next((d.wavefront_size for d in p.devices if d.wavefront_size), None)
        or (row.wavefront_size if row else None)
        or 64
    )
    flops, kinds = _operations(table, lanes)
    moved = _bytes(table, gfx)
    if flops is None and moved is None:
        return pl.DataFrame(schema=SCHEMA)
    nothing = pl.Series([None] * table.height, dtype=pl.Float64)
    found = table.select(
        "dispatch",
        pl.col("name").cast(pl.String),
        (flops if flops is not None else nothing).alias("flops"),
        (moved if moved is not None else nothing).alias("bytes"),
        pl.Series("precision", kinds, dtype=pl.String),
    )
    events = with_columns(p.events, ["dispatch"]).filter(
        (pl.col("kind") == "dispatch") & (pl.col("end_ns") >= pl.col("start_ns"))
    )
    took = events.select("dispatch", (pl.col("end_ns") - pl.col("start_ns")).alias("took")).drop_nulls()
    took = took.group_by("dispatch").agg(pl.col("took").mean())
    return _tidy(
        found.join(took, on="dispatch", how="left")
        .group_by("name")
        .agg(
            pl.len().alias("count"),
            pl.when(pl.col("took").null_count() == 0).then(pl.col("took").sum()).alias("device_ns"),
            pl.when(pl.col("flops").null_count() == 0).then(pl.col("flops").sum()).alias("flops"),
            pl.when(pl.col("bytes").null_count() == 0).then(pl.col("bytes").sum()).alias("bytes"),
            pl.col("precision").drop_nulls().sort().first(),
        ),
        "counters",
    )


def _operations(table: pl.DataFrame, lanes: int) -> tuple[pl.Series | None, list[str | None]]:
    parts: dict[str, pl.Series] = {}
    for name in table.columns:
        vector = re.fullmatch(r"SQ_INSTS_VALU_(ADD|MUL|FMA|TRANS)_(F16|F32|F64)", name)
        matrix = re.fullmatch(r"SQ_INSTS_VALU_MFMA_MOPS_(F16|BF16|F32|F64|F8)", name)
        if vector:
            kind, each = _TYPES[vector.group(2)], lanes * (2 if vector.group(1) == "FMA" else 1)
        elif matrix:
            kind, each = _TYPES[matrix.group(1)] + ("-matrix" if matrix.group(1) == "F32" else ""), 512
            kind = kind if matrix.group(1) != "F64" else "fp64-matrix"
        else:
            continue
        value = table[name].fill_null(0) * each
        parts[kind] = parts[kind] + value if kind in parts else value
    if not parts:
        return None, [None] * table.height
    kinds = sorted(parts)
    stacked = np.stack([parts[kind].to_numpy() for kind in kinds])
    best = stacked.argmax(axis=0)
    whole = stacked.sum(axis=0)
    names = [kinds[i] if total > 0 else None for i, total in zip(best, whole, strict=True)]
    return pl.Series("flops", whole), names


def _bytes(table: pl.DataFrame, gfx: str | None) -> pl.Series | None:
    def of(*names: str) -> pl.Series | None:
        return next((table[name] for name in names if name in table.columns), None)

    fetched, written = of("FETCH_SIZE", "FetchSize"), of("WRITE_SIZE", "WriteSize")
    if fetched is not None and written is not None:
        return (fetched + written) * 1024
    reads, small = of("TCC_EA0_RDREQ", "TCC_EA_RDREQ"), of("TCC_EA0_RDREQ_32B", "TCC_EA_RDREQ_32B")
    writes, wide = of("TCC_EA0_WRREQ", "TCC_EA_WRREQ"), of("TCC_EA0_WRREQ_64B", "TCC_EA_WRREQ_64B")
    if reads is None or small is None or writes is None or wide is None:
        return None
    stored = wide * 64 + (writes - wide) * 32
    name = (gfx or "").split(":")[0]
    if name == "gfx950":  # TCC_BUBBLE does not count its 128-byte reads: they have a counter of their own
        large = of("TCC_EA0_RDREQ_128B")
        return None if large is None else small * 32 + large * 128 + (reads - small - large) * 64 + stored
    bubble = of("TCC_BUBBLE")
    if name == "gfx942" and bubble is None:
        return None
    large = bubble if bubble is not None and name == "gfx942" else reads * 0
    return small * 32 + large * 128 + (reads - small - large) * 64 + stored
