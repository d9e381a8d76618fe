"""Operations and bytes from counters and from shapes, and how far from the roof that is."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from labkit.catalog.peaks import peak
from labkit.profile import questions as ask
from labkit.profile import read, simulate
from labkit.profile.questions.work import precision, work
from labkit.profile.table import Device, Profile, empty, events


def counted(gfx: str, values: dict[str, float], *, ns: int = 1_000) -> Profile:
    n = len(values)
    numbers = [float(v) for v in values.values()]
    rows = pl.DataFrame({"dispatch": [1] * n, "name": ["k"] * n, "counter": list(values), "value": numbers})
    table = events({"device": [0], "name": ["k"], "start_ns": [0], "end_ns": [ns], "dispatch": [1]}, kind="dispatch")
    return Profile("rocprofv3-counters", table, "rocprofv3", devices=(Device(0, gfx),), counters=rows)


VALU = {"SQ_INSTS_VALU_ADD_F32": 10, "SQ_INSTS_VALU_FMA_F32": 100, "SQ_INSTS_VALU_MFMA_MOPS_F16": 3}
READS = {"TCC_EA_RDREQ_sum": 100, "TCC_EA_RDREQ_32B_sum": 20, "TCC_EA_WRREQ_sum": 50, "TCC_EA_WRREQ_64B_sum": 30}
READS_3 = {key.replace("EA_", "EA0_"): value for key, value in READS.items()}
STORED = 30 * 64 + 20 * 32


@pytest.mark.parametrize(
    ("gfx", "counters", "moved"),
    [
        ("gfx90a", READS, 20 * 32 + 80 * 64 + STORED),
        ("gfx942", {**READS_3, "TCC_BUBBLE_sum": 10}, 20 * 32 + 10 * 128 + 70 * 64 + STORED),
        ("gfx942", READS_3, None),  # without the count of 128-byte reads the sum would be wrong
        ("gfx950", {**READS_3, "TCC_BUBBLE_sum": 10}, None),  # which there are counted by another counter
        ("gfx950", {**READS_3, "TCC_EA0_RDREQ_128B_sum": 10}, 20 * 32 + 10 * 128 + 70 * 64 + STORED),
        ("gfx1100", {"FETCH_SIZE": 3.0, "WRITE_SIZE": 1.5}, 4_608),
        ("gfx942", {"FETCH_SIZE": 3.0}, None),
    ],
)
def test_counters(gfx: str, counters: dict[str, float], moved: float | None) -> None:
    row = work(counted(gfx, {**VALU, **counters})).row(0, named=True)
    lanes = 32 if gfx == "gfx1100" else 64
    assert row["flops"] == lanes * (10 + 200) + 512 * 3 and row["bytes"] == moved
    assert row["precision"] == "fp32" and row["source"] == "counters"
    point = ask.roofline(counted(gfx, {**VALU, **counters})).points.row(0, named=True)
    assert point["tflops"] == pytest.approx(row["flops"] / 1e-6 / 1e12)
    assert point["intensity"] == (pytest.approx(row["flops"] / moved) if moved else None)


def test_channels_add_up_and_passes_are_averaged() -> None:
    p = counted("gfx942", {**VALU, "TCC_EA0_RDREQ[0]": 60, "TCC_EA0_RDREQ[1]": 40, "TCC_EA0_RDREQ_32B_sum": 20, "TCC_BUBBLE_sum": 10,
                           "TCC_EA0_WRREQ_sum": 50, "TCC_EA0_WRREQ_64B_sum": 30})  # fmt: skip
    assert p.counters is not None
    assert work(p)["bytes"][0] == 20 * 32 + 10 * 128 + 70 * 64 + STORED
    twice = Profile("x", p.events, "x", devices=p.devices, counters=pl.concat([p.counters, p.counters]))
    assert work(twice).rows() == work(p).rows()


def test_memory_bound_and_compute_bound() -> None:
    row = peak("Instinct MI300X")
    assert row is not None
    few = counted("gfx942", {"SQ_INSTS_VALU_ADD_F32": 1_000, "FETCH_SIZE": 1_000, "WRITE_SIZE": 0})
    found = ask.roofline(few, "Instinct MI300X")
    point = found.points.row(0, named=True)
    assert point["bound"] == "memory" and point["roof_tflops"] == pytest.approx(
        row.mem_bw_gbs * point["intensity"] / 1e3
    )
    many = counted("gfx942", {"SQ_INSTS_VALU_ADD_F32": 1e9, "FETCH_SIZE": 1, "WRITE_SIZE": 0}, ns=10**9)
    point = ask.roofline(many, "Instinct MI300X").points.row(0, named=True)
    assert point["bound"] == "compute" and point["roof_tflops"] == row.fp32_vector_tflops
    assert point["share"] == pytest.approx(64e9 / 1e12 / row.fp32_vector_tflops)
    assert found.achievable_tflops == {"fp16": 654, "bf16": 708}


def test_an_unknown_gpu_has_no_roof() -> None:
    found = ask.roofline(counted("gfx1100", {**VALU, "FETCH_SIZE": 3.0, "WRITE_SIZE": 1.5}))
    assert found.gpu is None and found.points["roof_tflops"].null_count() == 1 and "name the product" in found.note


def test_flops_of_operators_go_to_their_longest_kernel() -> None:
    gemm = "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32"
    operator = {"thread": [1], "name": ["aten::mm"], "start_ns": [0], "end_ns": [100], "flops": [8e6]}
    calls = {"thread": [1] * 3, "name": ["hipLaunchKernel"] * 3, "start_ns": [10, 20, 200], "end_ns": [12, 22, 202]}
    kernels = {"name": ["transpose", gemm, "later"], "start_ns": [1_000, 2_000, 9_000], "end_ns": [1_100, 4_000, 9_999]}
    joined = {"correlation": [1, 2, 3]}
    parts = (("operator", operator), ("api", calls | joined), ("dispatch", kernels | joined))
    table = pl.concat([events(columns, kind=kind) for kind, columns in parts], how="diagonal")
    found = work(Profile("torch-trace", table, "torch.profiler"))
    assert found.select("name", "device_ns", "flops", "precision", "source").rows() == [
        (gemm, 2_000, 8e6, "fp16", "shapes")
    ]


def test_a_simulated_gemm_is_as_fast_as_the_roofline_that_it_was_placed_on() -> None:
    run = simulate.training("transformer", "Instinct MI300X", steps=2)
    points = ask.roofline(run).points.filter((pl.col("category") == "gemm") & pl.col("share").is_not_null())
    assert points.height and points["share"].max() <= 1.05 and points["tflops"].max() > 50


@pytest.mark.parametrize("gpu", ["Instinct MI210", "Instinct MI300X", "Instinct MI355X"])
def test_counters_written_by_the_simulator_are_read_back_as_its_operations_and_bytes(gpu: str, tmp_path: Path) -> None:
    run = simulate.training("transformer", gpu, steps=2)
    simulate.write(run, tmp_path, "rocprof-compute-csv")
    found, meant = work(read(tmp_path)), work(run)
    assert set(found["source"]) == {"counters"} and found.height == meant.height
    both = found.join(meant, on="name", suffix="_meant")
    assert both.height == meant.height
    assert ((both["flops"] - both["flops_meant"]).abs() <= 512 * both["count"]).all()
    assert ((both["bytes"] - both["bytes_meant"]).abs() <= 64 * both["count"]).all()
    roof = ask.roofline(read(tmp_path))
    assert roof.gpu is not None and roof.gpu.product == gpu and not roof.note
    points = roof.points.filter(pl.col("flops") > 0)
    assert set(points["bound"]) == {"memory", "compute"} and points["share"].max() <= 1.05
    gemm = points.filter(pl.col("category") == "gemm").sort("flops")
    assert gemm["precision"][-1] == "bf16" and gemm["bound"][-1] == "compute"


def test_a_radeon_has_no_such_counters(tmp_path: Path) -> None:
    simulate.write(simulate.training("cnn", "Radeon RX 7900 XTX", steps=2), tmp_path, "rocprof-compute-csv")
    assert set(read(tmp_path).counters["counter"]) == {"SQ_WAVES", "GRBM_GUI_ACTIVE"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Cijk_Ailk_Bljk_SB_MT128x64x16", "fp32-matrix"),
        ("Cijk_Alik_Bljk_B_BS_BH_MT64x64x64", "bf16"),
        ("igemm_fwd_gtcx3_nhwc_fp16_bx0", "fp16"),
        ("void k<c10::BFloat16, float>()", "bf16"),
        ("attn_fwd", None),
    ],
)
def test_precision_from_the_name(name: str, kind: str | None) -> None:
    assert precision(name) == kind


def test_nothing_to_compute_with() -> None:
    assert ask.roofline(Profile("x", empty(), "x")).points.height == 0
