"""The roof's arithmetic: the least time, the ridge, and the four words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.comm.placing import CACHED, FAR, Placed, Roofs
from labkit.errors import LabkitError

ROOFS = Roofs(flops_per_s=200.0, bytes_per_s=100.0)
amount = st.floats(1e-3, 1e12)


def test_the_longer_of_both_times_decides() -> None:
    assert ROOFS.least_s(flops=400, moved_bytes=1000) == 10
    assert ROOFS.least_s(flops=4000, moved_bytes=1000) == 20
    assert ROOFS.least_s(flops=0, moved_bytes=50) == 0.5
    assert ROOFS.ridge == 2


@pytest.mark.parametrize(
    ("flops", "moved", "measured", "word"),
    [
        (200, 1000, 12.0, "memory"),
        (4000, 1000, 30.0, "compute"),
        (200, 1000, 7.9, "cache"),
        (200, 1000, 8.1, "memory"),
        (200, 1000, 30.1, "neither"),
        (4000, 1000, 59.0, "compute"),
        (4000, 1000, 60.1, "neither"),
        (4000, 1000, 9.0, "compute"),
    ],
)
def test_what_a_time_says(flops: float, moved: float, measured: float, word: str) -> None:
    assert ROOFS.bound(flops, moved, measured) == word


@given(amount, amount, amount, amount)
def test_at_the_ridge_both_take_equally_long(flops_per_s: float, bytes_per_s: float, moved: float, _: float) -> None:
    roofs = Roofs(flops_per_s, bytes_per_s)
    at = roofs.least_s(moved * roofs.ridge, moved)
    assert at == pytest.approx(moved / bytes_per_s)
    assert roofs.least_s(moved * roofs.ridge * 2, moved) == pytest.approx(2 * at)
    assert roofs.least_s(moved * roofs.ridge / 2, moved) == pytest.approx(at)


@given(amount, amount, amount)
def test_a_time_that_the_roof_allows_is_never_neither(flops: float, moved: float, factor: float) -> None:
    least = ROOFS.least_s(flops, moved)
    word = ROOFS.bound(flops, moved, least * (CACHED + factor % (FAR - CACHED)) * 0.999)
    assert word in ("memory", "compute", "cache")


@pytest.mark.parametrize("wrong", [(0.0, 1.0, None), (1.0, -1.0, None), (1.0, 1.0, -2.0)])
def test_a_ceiling_that_cannot_be(wrong: tuple[float, float, float | None]) -> None:
    with pytest.raises(LabkitError, match="positive rate"):
        Roofs(*wrong)


def test_rates_of_a_placed_operation() -> None:
    p = Placed("ReLU", "ReLU", flops=10, moved_bytes=80, median_s=2.0, low_s=1.0, high_s=3.0)
    assert (p.intensity, p.flops_per_s, p.bytes_per_s) == (0.125, 5.0, 40.0)
