"""A kernel's time on the roofline, recomputed by hand from the catalog's row."""

from __future__ import annotations

import pytest

from labkit.catalog.peaks import PEAKS
from labkit.errors import LabkitError
from labkit.profile.simulate import gpus
from labkit.profile.simulate.gpus import gpu
from labkit.profile.simulate.layers import Work
from labkit.profile.simulate.models import network
from labkit.profile.simulate.names import kernel_of


def test_every_gpu_of_the_catalog() -> None:
    assert tuple(row.product for row in PEAKS) == gpus.GPUS
    for name in gpus.GPUS:
        assert gpu(name).peak.product == name and gpu(name).name == f"simulated {name}"


def test_memory_bound() -> None:
    card = gpu("Radeon RX 7900 XTX")
    work = Work("add", "aten::add", 1e6, 960_000_000, 1_000_000)
    assert card.duration_ns(work, "fp32") == pytest.approx(gpus.KERNEL_MINIMUM_NS + 1e6 / gpus.BANDWIDTH_SHARE)


def test_compute_bound() -> None:
    card = gpu("Instinct MI300X")
    work = Work("gemm", "aten::mm", 1e12, 1, 10**8, (10_000, 10_000, 5_000))
    assert card.duration_ns(work, "bf16") == pytest.approx(
        gpus.KERNEL_MINIMUM_NS + 1e12 / (gpus.MATRIX_SHARE * 1307.4e12) * 1e9, rel=1e-3
    )
    assert card.duration_ns(work, "fp32") == pytest.approx(
        gpus.KERNEL_MINIMUM_NS + 1e12 / (gpus.MATRIX_SHARE * 163.4e12) * 1e9, rel=1e-3
    )


def test_few_tiles_leave_units_idle() -> None:
    card = gpu("Instinct MI300X")
    full = Work("gemm", "aten::mm", 1e12, 1, gpus.TILE * 304, (64, 64 * 304, 64))
    tenth = Work("gemm", "aten::mm", 1e12, 1, gpus.TILE * 304 // 10, (64, 64 * 30, 64))
    assert card.duration_ns(tenth, "fp32") / card.duration_ns(full, "fp32") == pytest.approx(10, rel=0.02)


def test_nothing_is_faster_than_the_roof() -> None:
    for name in ("Instinct MI300X", "Radeon RX 7600", "Radeon RX 9070 XT"):
        card = gpu(name)
        for work in network("resnet50", 8, "bf16").forward:
            seconds = card.duration_ns(work, "bf16") * 1e-9
            assert work.bytes / seconds < card.peak.mem_bw_gbs * 1e9
            assert work.flops / seconds < card.tflops("bf16", matrix=bool(work.shape)) * 1e12


def test_rdna2_has_no_bf16() -> None:
    with pytest.raises(LabkitError, match="bf16"):
        gpu("Radeon RX 6800").tflops("bf16", matrix=True)
    with pytest.raises(LabkitError, match="nothing"):
        gpu("nothing")
    with pytest.raises(LabkitError):
        gpu("")


@pytest.mark.parametrize(
    "name", ["Instinct MI100", "Instinct MI210", "Instinct MI355X", "Radeon RX 6800", "Radeon RX 9060 XT"]
)
def test_names_and_shapes(name: str) -> None:
    card = gpu(name)
    names = set()
    for model in ("cnn", "transformer", "resnet50"):
        net = network(model, 4, "fp16")
        for work in (*net.forward, *net.backward, *net.optimiser):
            kernel = kernel_of(work, card, "fp16")
            names.add(kernel.name)
            assert "$" not in kernel.name and kernel.grid[0] % kernel.workgroup[0] == 0
            assert 0 < kernel.workgroup[0] <= 1024 and kernel.lds_bytes <= 65_536 and 0 < kernel.vgpr <= 256
    assert any(n.startswith("Cijk_") and f"ISA{card.gfx[3:]}" in n for n in names)
    assert any(n.startswith("igemm_fwd_gtcx") for n in names) == (card.wavefront == 64)
    assert any(n.startswith("miopenSp3AsmConv") for n in names) == (card.wavefront == 32)
    assert {"attn_fwd", "MIOpenBatchNormFwdTrainSpatial"} <= names
