"""Curve, heat map and roofline: what is drawn is what was measured, and each says in words what it shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from labkit.comm.placing import Placed
from labkit.comm.results import Results, Series, point
from labkit.errors import LabkitError
from labkit.show.comm import ceilings, curves, heat
from tests.show.comm.test_tables import CACHE, LINE


def words(picture) -> str:
    """Every word in the figure."""
    return "\n".join(text.get_text() for text in picture.figure.findobj(lambda part: hasattr(part, "get_text")))


def test_a_curve_names_its_asymptote_and_its_knee() -> None:
    picture = curves.curve(LINE)
    told = words(picture)
    assert "large sizes approach 25 GB/s" in told and "knee: 293 KiB" in told and "latency 12.0 µs" in told
    assert picture.axes.get_xscale() == picture.axes.get_yscale() == "log"
    assert "host to device" in picture.alt and "latency" in str(picture)
    found = picture.values["host to device, pinned"]
    assert found.bytes_per_s == pytest.approx(2.5e10, rel=0.01)
    assert picture.png().startswith(b"\x89PNG")


def test_a_cache_is_drawn_as_two_plateaus_without_a_knee() -> None:
    told = words(curves.curve(CACHE))
    assert "up to 512 KiB: towards 40" in told and "from 1 MiB on: towards 10 GB/s" in told
    assert "One line does not fit" in told and "knee" not in told


def test_several_series_have_a_legend_and_names_of_their_own() -> None:
    picture = curves.curve((LINE, replace(LINE, src="cuda:0", dst="cpu"), CACHE))
    assert len(picture.values) == 3 and "host to device, pinned (cuda:0 to cpu, float32)" in picture.values
    assert picture.figure.legends


def test_products_over_n() -> None:
    points = tuple(point(3 * 4 * n * n, [2 * n**3 / 1e11], work=2.0 * n**3, size=n) for n in (128, 256, 512))
    picture = curves.curve(Series("gemm", "float32 product", "cpu", "cpu", "float32", points, unit="FLOP/s"))
    assert picture.values == {"float32 product": None} and "GFLOP/s" in words(picture)
    with pytest.raises(LabkitError, match="one unit"):
        curves.curve((LINE, Series("gemm", "x", "cpu", "cpu", "float32", points, unit="FLOP/s")))
    with pytest.raises(LabkitError, match="at least one"):
        curves.curve(())


FACTS = {
    "kind": "rocm-bandwidth-test",
    "unidirectional_gbps": [[None, 28.1, 28.2], [26.0, 2144.3, 14.2], [None, 14.4, 1201.0]],
}


def test_the_diagonal_is_local_memory_and_not_a_link() -> None:
    picture = heat.heat_map(FACTS)
    text = str(picture)
    assert "(2,144)" in text and "not a link" in text and "not a link" in words(picture)
    assert "slowest device 1 to device 2 with 14.2" in text and "fastest device 0 to device 2 with 28.2" in text
    assert "1 of the pairs were not measured" in text
    bar = picture.figure.axes[1]
    assert bar.get_ylim()[1] < 30  # the colours span the links, not the memory


def test_measured_results_make_a_map_too() -> None:
    picture = heat.heat_map(Results((LINE, CACHE)))
    assert picture.values.devices == ("cpu", "cuda:0") and "from \\ to" in str(picture)
    alone = heat.heat_map(Results((CACHE,)))
    assert "No link was measured" in str(alone) and "No link was measured" in words(alone)


def test_a_map_of_sixteen_devices_and_of_equal_links() -> None:
    many = {"unidirectional_gbps": [[50.0] * 16 for _ in range(16)]}
    assert "device 15" in words(heat.heat_map(many))
    with pytest.raises(LabkitError, match="matrix"):
        heat.heat_map({"kind": "rccl-tests"})
    assert "both directions" in str(heat.heat_map({"bidirectional_gbps": [[1.0, 2.0], [2.0, 1.0]]}, both=True))


def memory(rate: float) -> Series:
    points = tuple(point(n, [n / rate * f for f in (0.9, 1.0, 1.1)], work=n) for n in (3 * 2**14, 3 * 2**27))
    return Series("memory", "triad", "cpu", "cpu", "float32", points, name="triad")


def products(dtype: str, rate: float) -> Series:
    points = tuple(
        point(12 * n * n, [2 * n**3 / r], work=2.0 * n**3, size=n) for n, r in ((64, rate / 9), (1024, rate))
    )
    return Series("gemm", dtype, "cpu", "cpu", dtype, points, name="gemm", unit="FLOP/s")


CEILINGS = Results((memory(2e10), products("float32", 1.5e11), products("bfloat16", 3e11)))


def placed(name: str, flops: float, moved: float, seconds: float) -> Placed:
    return Placed(name, "a kind", flops, moved, seconds, seconds, seconds)


def test_measured_ceilings_become_roofs() -> None:
    found = ceilings.roofs_of(CEILINGS, "bfloat16")
    assert found.bytes_per_s == pytest.approx(2e10) and found.flops_per_s == pytest.approx(3e11)


def test_the_roofline_places_work_under_its_roof() -> None:
    work = [placed("convolution", 1.5e9, 1e7, 0.02), placed("batch norm", 1e7, 2e8, 0.04)]
    picture = ceilings.measured_roofline(CEILINGS, work)
    text, told = str(picture), words(picture)
    assert "50%" in text and "25%" in text and "batch norm" in told
    assert "not the maker's peaks" in text and "20.0 GB/s" in told and "300 GFLOP/s" in told
    roof = next(line for line in picture.axes.lines if "float32" in line.get_label())
    across, up = roof.get_xdata(), roof.get_ydata()
    assert np.allclose(up, np.minimum(150, across * 20), rtol=1e-6)
    assert len(picture.axes.collections) == 2 + 2  # a band for each roof, a dot for each piece of work
    assert "Roofline" in picture.alt and set(picture.values) == {"float32", "bfloat16"}
    assert ceilings.measured_roofline(CEILINGS).axes.collections


def test_a_roofline_needs_ceilings_and_work_that_can_be_placed() -> None:
    with pytest.raises(LabkitError, match="No product"):
        ceilings.measured_roofline(Results((memory(2e10),)))
    with pytest.raises(LabkitError, match="No triad"):
        ceilings.measured_roofline(Results((products("float32", 1e11),)))
    with pytest.raises(LabkitError, match="No product in float16"):
        ceilings.measured_roofline(CEILINGS, [placed("x", 1.0, 1.0, 1.0)], dtype="float16")
    with pytest.raises(LabkitError, match="no FLOP"):
        ceilings.measured_roofline(CEILINGS, [placed("x", 0.0, 1.0, 1.0)])
