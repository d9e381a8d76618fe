"""Measured collectives and a file of rccl-tests in one figure; the same numbers in words."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from labkit.comm.results import Results, Series, point
from labkit.errors import LabkitError
from labkit.show.comm.collectives import collectives_curve, collectives_table

FILE = {
    "kind": "rccl-tests",
    "collective": "all_reduce",
    "ranks": 8,
    "rows": [
        {"bytes": 8, "time_us": 20.0, "algbw_gbps": 0.0, "busbw_gbps": 0.0, "wrong": 0},
        {"bytes": 2**20, "time_us": 40.0, "algbw_gbps": 26.2, "busbw_gbps": 45.9, "wrong": None},
        {"bytes": 2**30, "time_us": 6000.0, "algbw_gbps": 179.0, "busbw_gbps": 313.2, "wrong": 7},
    ],
}


def series(name: str = "all_reduce", ranks: int = 4, wrong: int | None = 0) -> Series:
    points = tuple(point(size, [size / 1e9, size / 0.9e9, size / 1.1e9], wrong=wrong) for size in (8, 2**20))
    return Series(
        "collective", "all-reduce", "cpu", f"{ranks} ranks", "float32", points, name, ranks=ranks, notes=("gloo",)
    )


def test_busbw_is_the_rate_times_the_factor_and_the_file_s_own_stays() -> None:
    picture = collectives_curve(Results((series(),)), FILE, against_name="node7.txt")
    here, there = picture.values.values()
    assert here == [(8, pytest.approx(1.5)), (2**20, pytest.approx(1.5))], "2(n-1)/n of 1 GB/s"
    assert there == [(8, 0.0), (2**20, 45.9), (2**30, 313.2)]
    assert list(picture.values) == ["all-reduce, 4 ranks, measured here", "all-reduce, 8 ranks, node7.txt"]
    assert "node7.txt: as the file says" in picture.text and "313" in picture.text and "313" in picture.alt
    assert len(picture.png()) > 10_000


def test_wrong_values_are_words_and_crosses() -> None:
    text = collectives_table(series(wrong=3))
    assert [line.split()[-1] for line in text.splitlines()[1:]] == ["wrong", "3", "3"]
    picture = collectives_curve(series(wrong=3))
    assert any(line.get_marker() == "x" for line in picture.axes.lines)
    assert not any(line.get_marker() == "x" for line in collectives_curve(series()).axes.lines)
    assert collectives_table(series(wrong=None)).endswith("not checked")


def test_what_is_no_collective_or_no_rccl_tests_is_said() -> None:
    with pytest.raises(LabkitError, match="no measured collective"):
        collectives_curve(Results(()))
    for odd in ({"kind": "rccl-log"}, {"kind": "rccl-tests", "rows": []}, {**FILE, "rows": FILE["rows"][:1]}):
        with pytest.raises(LabkitError, match="no table of rccl-tests"):
            collectives_curve(series(), odd)


def test_a_file_that_does_not_name_its_collective_is_drawn_all_the_same() -> None:
    picture = collectives_curve(series(), {**FILE, "collective": None, "ranks": None})
    assert list(picture.values)[1] == "collective not named, rccl-tests"
