"""Scaling's picture and table carry every round, the interval and the law."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from labkit.comm.scaling import amdahl, efficiency
from labkit.show.comm.scaling import scaling_curve

TIMES = {1: [1.0, 1.1, 1.0], 2: [0.6, 0.7, 0.6], 4: [0.4, 0.45, 0.5]}


def test_the_table_has_interval_range_and_rounds() -> None:
    scaling = efficiency(TIMES)
    picture = scaling_curve(scaling, amdahl(scaling))
    head, *rows = picture.text.splitlines()[1:5]
    assert "95 % interval" in head and [row.split()[0] for row in rows] == ["1", "2", "4"]
    assert all(row.rstrip().endswith("3") for row in rows)
    assert "Amdahl: serial share" in picture.text and picture.values[2] == scaling.at(2)
    assert "95 % interval" in picture.alt


def test_every_round_is_a_dot_and_weak_scaling_has_no_law() -> None:
    scaling = efficiency(TIMES)
    dots = [line for line in scaling_curve(scaling).axes.lines if line.get_marker() == "."]
    assert [len(line.get_xdata()) for line in dots] == [3, 3, 3]
    weak = scaling_curve(efficiency(TIMES, "weak"), amdahl(scaling))
    assert weak.axes.get_ylabel() == "efficiency"
    assert not any("Amdahl" in str(line.get_label()) for line in weak.axes.lines)


def test_of_an_even_number_of_rounds_the_median_lies_between_the_two_in_the_middle() -> None:
    rows = scaling_curve(efficiency({1: [1.0, 1.0, 3.0, 4.0], 2: [1.0, 1.0, 1.0, 1.0]})).text.splitlines()
    assert rows[2].split()[:2] == ["1", "2"]
