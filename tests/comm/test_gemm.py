"""Products: FLOP counted, every dtype right, and no dtype that is slow here takes the time of the others."""

from __future__ import annotations

import pytest
import torch

from labkit.comm import gemm
from labkit.errors import LabkitError
from tests.comm.stand_ins import GpuTorch, Watch


def test_two_m_n_k_per_product() -> None:
    (found,) = gemm.measure_gemm("cpu", dtypes=["float32"], sizes=[8, 16], seconds=1.0, stopwatch=Watch(lambda: 1e-3))
    assert gemm.flop(2, 3, 5) == 60
    assert [(p.size, p.work, p.bytes) for p in found.points] == [(8, 1024.0, 768), (16, 8192.0, 3072)]
    assert found.unit == "FLOP/s" and found.points[1].rate == pytest.approx(8192 / 1e-3)


def test_the_products_are_right() -> None:
    factors, out = gemm._matrices(4, torch.float32, "cpu", torch)
    gemm._product(3, factors, out, torch)()
    a, b = factors[:9].view(3, 3), factors[9:18].view(3, 3)
    assert torch.allclose(out[:9].view(3, 3), a @ b) and float(out[:9].abs().sum()) > 0


def test_the_programs_own_random_numbers_stay_as_they_are() -> None:
    before = torch.get_rng_state()
    gemm.measure_gemm("cpu", dtypes=["float32"], sizes=[8], seconds=0.01, stopwatch=Watch())
    assert torch.equal(before, torch.get_rng_state())


def test_a_slow_dtype_ends_before_a_product_that_would_take_too_long() -> None:
    class Emulated(Watch):
        def lap(self, function, calls):
            self.n = 0.0
            lap = super().lap(function, calls)
            return lap

    size = {"n": 0}
    real = gemm._product

    def product(n, factors, out, torch):
        size["n"] = n
        return real(n, factors, out, torch)

    gemm._product = product
    try:
        watch = Emulated(lambda: 1e-3 * (size["n"] / 8) ** 3)
        (found,) = gemm.measure_gemm("cpu", dtypes=["float16"], sizes=[8, 16, 32, 64], seconds=0.1, stopwatch=watch)
    finally:
        gemm._product = real
    assert [p.size for p in found.points] == [8, 16]
    assert any("ends at n = 16: a product of n = 32 would take about 64.0 ms" in note for note in found.notes)


def test_a_first_product_that_is_too_slow_is_kept_once() -> None:
    watch = Watch(lambda: 5.0)
    (found,) = gemm.measure_gemm("cpu", dtypes=["float16"], sizes=[8, 16], seconds=0.1, stopwatch=watch)
    assert [(p.size, p.repetitions) for p in found.points] == [(8, 1)] and watch.laps == 2
    assert any("timed once only" in note for note in found.notes)


def test_a_dtype_that_is_not_there_leaves_the_others(monkeypatch) -> None:
    real = torch.mm

    def mm(a, b, out):
        if a.dtype == torch.bfloat16:
            raise RuntimeError("\"addmm_impl\" not implemented for 'BFloat16'")
        return real(a, b, out=out)

    monkeypatch.setattr(torch, "mm", mm)
    found = gemm.measure_gemm("cpu", dtypes=["float32", "bfloat16"], sizes=[8], seconds=0.01, stopwatch=Watch())
    assert [s.dtype for s in found] == ["float32"]
    with pytest.raises(LabkitError, match="multiplies none of bfloat16"):
        gemm.measure_gemm("cpu", dtypes=["bfloat16"], sizes=[8], seconds=0.01, stopwatch=Watch())


def test_on_a_gpu_rounded_float32_is_said() -> None:
    found = gemm.measure_gemm("cuda:0", sizes=[8], seconds=0.01, stopwatch=Watch(), torch=GpuTorch())
    assert any("set to 'high'" in note for note in found[0].notes)
    assert gemm.compute_roofs(found).keys() == {"float32", "bfloat16", "float16"}


@pytest.mark.parametrize(
    "wrong", [{"dtypes": ["int3"]}, {"dtypes": []}, {"sizes": []}, {"sizes": [0]}, {"sizes": [10**8]}]
)
def test_what_cannot_be_measured_is_said(wrong) -> None:
    with pytest.raises(LabkitError):
        gemm.measure_gemm("cpu", stopwatch=Watch(), **wrong)
