"""Peaks: consistent with themselves and with the table of targets."""

from __future__ import annotations

import pytest

from labkit.catalog.gfx import by_product
from labkit.catalog.peaks import PEAKS, peak, peaks_for


def test_every_row_belongs_to_its_target_and_names_its_source() -> None:
    assert len(PEAKS) == 24
    for row in PEAKS:
        found = by_product(row.product)
        assert found is not None and found.gfx == row.gfx, row.product
        assert row.sources and row.checked and row.confidence and row.method


def test_the_ridge_is_rate_over_bandwidth() -> None:
    for row in PEAKS:
        rate = row.fp16_matrix_dense_tflops
        assert rate is not None and row.ridge_fp16_flop_per_byte is not None
        assert row.ridge_fp16_flop_per_byte == pytest.approx(rate * 1000 / row.mem_bw_gbs, rel=0.01), row.product


def test_no_bfloat16_rate_without_bfloat16() -> None:
    assert all(row.bf16_matrix_dense_tflops is None for row in peaks_for("gfx1030"))
    assert peaks_for("gfx1100") and all(row.bf16_matrix_dense_tflops for row in peaks_for("gfx1100"))


@pytest.mark.parametrize(
    ("asked", "product"),
    [
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX"),
        ("AMD Instinct MI300X", "Instinct MI300X"),
        ("AMD Instinct MI250X", "Instinct MI250X (per GCD)"),
        ("AMD Radeon(TM) 8060S Graphics", "Ryzen AI Max+ 395 (Radeon 8060S)"),
        ("gfx1151", "Ryzen AI Max+ 395 (Radeon 8060S)"),
        ("gfx908:sramecc+:xnack-", "Instinct MI100"),
        ("gfx1100", None),
        ("Radeon RX 7900", None),
        ("gfx803", None),
        ("", None),
        (None, None),
    ],
)
def test_asked_by_product_or_by_a_target_with_one_product(asked: str | None, product: str | None) -> None:
    row = peak(asked)
    assert (row.product if row else None) == product
