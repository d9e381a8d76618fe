"""Measured collectives beside a file of rccl-tests: every size of either side, a ratio only where both have one."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("matplotlib")

from labkit.comm.against import matching, reference
from labkit.comm.results import Results, Series, point
from labkit.errors import LabkitError
from labkit.show.comm.beside import picture, size_by_size

FACTS: dict[str, Any] = {
    "kind": "rccl-tests",
    "collective": "all_reduce",
    "ranks": 8,
    "gpu_names": ["AMD Instinct MI300X"],
    "rows": [
        {"bytes": 8, "time_us": 20.0, "algbw_gbps": 0.0, "busbw_gbps": 0.0, "wrong": 0},
        {"bytes": 2**20, "time_us": 40.0, "algbw_gbps": 26.2, "busbw_gbps": 45.0, "wrong": None},
        {"bytes": 2**30, "time_us": None, "algbw_gbps": None, "busbw_gbps": 313.2, "wrong": 0},
    ],
}


def series(name: str = "all_reduce", sizes: tuple[int, ...] = (8, 2**20)) -> Series:
    points = tuple(point(at, [at / 1e9, at / 0.9e9, at / 1.1e9], wrong=0) for at in sizes)
    return Series("collective", name, "cpu", "4 ranks", "float32", points, name, ranks=4)


def rows_of(text: str) -> dict[str, list[str]]:
    lines = [line.split("  ") for line in text.splitlines() if line.startswith("  ")]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {row[0]: row[1:] for row in cells if len(row) == 7}


def test_sizes_of_both_sides_and_the_ratio_where_both_have_one() -> None:
    text = size_by_size(Results((series(), series("broadcast"))), reference(FACTS, "node7.txt"))
    rows = rows_of(text)
    assert list(rows)[1:] == ["8 B", "1 MiB", "1 GiB"]
    assert rows["1 MiB"][2] == "1.50" and rows["1 MiB"][4] == "45.0" and rows["1 MiB"][5] == "0.0333"
    assert rows["8 B"][1] == "20.0 µs" and rows["8 B"][5] == "-", "0.00 in a file is rounded, not a ratio's bottom"
    assert rows["1 GiB"] == ["-", "-", "-", "-", "313", "-"]
    assert "8 ranks, AMD Instinct MI300X" in text and "4 ranks, cpu" in text and "broadcast" not in text


def test_no_common_size_is_said() -> None:
    assert "No size stands on both sides" in size_by_size(Results((series(sizes=(64,)),)), reference(FACTS, "a"))


def test_a_file_that_does_not_name_its_collective_stands_beside_all() -> None:
    other = reference({**FACTS, "collective": None, "ranks": None}, "a.txt")
    found = Results((series(), series("broadcast")))
    assert size_by_size(found, other).count("beside a.txt") == 2 and "ranks not told" in size_by_size(found, other)


def test_one_figure_has_both_curves_and_without_a_file_all_that_was_measured() -> None:
    found = Results((series(), series("broadcast")))
    both = picture(found, reference(FACTS, "node7.txt"))
    assert list(both.values) == ["all_reduce, 4 ranks, measured here", "all-reduce, 8 ranks, node7.txt"]
    assert len(picture(found).values) == 2


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"kind": "unknown"}, "no output of rccl-tests but nothing"),
        ({"kind": "rccl-log"}, "but 'rccl-log'"),
        ({**FACTS, "rows": []}, "no size with a bandwidth"),
        ({**FACTS, "rows": FACTS["rows"][:1]}, "no size with a bandwidth"),
        ({**FACTS, "collective": "hypercube"}, "about hypercube, which is not measured"),
    ],
)
def test_what_cannot_be_compared_is_said(facts: dict[str, Any], told: str) -> None:
    with pytest.raises(LabkitError, match=told):
        reference(facts, "x.txt")


def test_a_file_about_what_was_not_measured_is_said() -> None:
    with pytest.raises(LabkitError, match="about all-reduce, of which there is no measurement"):
        matching([series("broadcast")], reference(FACTS, "x.txt"))
