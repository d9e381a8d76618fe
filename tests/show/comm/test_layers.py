"""Operations under measured ceilings: what is drawn is what was given, and the words say it too."""

from __future__ import annotations

import numpy as np
import pytest

from labkit.comm.placing import Placed, Roofs
from labkit.errors import LabkitError
from labkit.show.comm.layers import layers_roof

ROOFS = Roofs(90e9, 18e9, 70e9)


def placed(name: str, flops: float, moved: float, seconds: float, mark: str = "") -> Placed:
    return Placed(name, name.split()[0], flops, moved, seconds, 0.9 * seconds, 1.2 * seconds, mark)


POINTS = [
    placed("ReLU 1", 1e6, 8e6, 1e-4, "1"),
    placed("ReLU 2", 5e5, 4e6, 5e-5, "2"),
    placed("conv 1", 5e7, 5e6, 1e-3),
]


def test_points_lie_at_intensity_and_rate() -> None:
    found = layers_roof(POINTS, ROOFS, title="Layers")
    assert np.allclose(found.values, [[0.125, 1e10], [0.125, 1e10], [10, 5e10]])
    assert "GFLOP/s" in found.text and "ridge at 5.00 FLOP per byte" in found.text
    assert "ReLU 1" in found.text and "conv 1 50.0 GFLOP/s at 10.0" in found.alt


def test_marks_stand_beside_the_points_and_not_on_one_another() -> None:
    axes = layers_roof(POINTS, ROOFS).axes
    at = {a.get_text(): a.xyann for a in axes.texts}
    assert set(at) == {"1", "2", "conv 1"}
    assert abs(at["1"][1] - at["2"][1]) > 0.04, "two points at one place keep their marks apart"


def test_the_cache_has_its_own_slope() -> None:
    with_cache, without = (layers_roof(POINTS, r).axes for r in (ROOFS, Roofs(90e9, 18e9)))
    assert len(with_cache.lines) == len(without.lines) + 1


def test_a_copy_has_no_place_and_is_named() -> None:
    found = layers_roof([*POINTS, placed("copy", 0, 1e6, 1e-4)], ROOFS)
    assert len(found.values) == 3 and "copy" in found.text
    with pytest.raises(LabkitError, match="arithmetic"):
        layers_roof([placed("copy", 0, 1e6, 1e-4)], ROOFS)
