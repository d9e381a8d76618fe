"""Lesson 07: what it claims is what its run shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labkit.catalog import links, peaks
from labkit.course import table
from tests.notebooks.outputs import cells, cells_that_bind, numbers, until, words_of_figures

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("07")


def test_bytes_over_time_is_the_bandwidth_that_it_names(text: str) -> None:
    moved, milliseconds, rate = numbers(r"([\d.e-]+) GB in ([\d.e+]+) ms: \*\*([\d.,]+) GB/s\*\*", text)
    assert rate == pytest.approx(moved / milliseconds * 1000, rel=0.05)
    work, milliseconds, rate = numbers(r"([\d.,]+) GFLOP in ([\d.e+]+) ms: \*\*([\d.,]+) GFLOP/s\*\*", text)
    assert rate == pytest.approx(work / milliseconds * 1000, rel=0.05)


def test_the_ridge_is_the_quotient_of_the_two_ceilings(text: str) -> None:
    memory, flops, ridge = numbers(
        r"The ceilings of .+?:\*\* ([\d.,]+) GB/s .+? and ([\d.,]+) GFLOP/s .+? \*\*([\d.e+]+) FLOP per byte", text
    )
    assert ridge == pytest.approx(flops / memory, rel=0.02)


def rows_of(text: str) -> list[list[str]]:
    """The table of layers: name, roof, measured, interval, measured over roof, bound."""
    body = text.split("held back by", 1)[1].splitlines()[1:15]
    return [re.split(r"\s{2,}", line.strip()) for line in body]


def test_every_layer_is_placed_and_named_by_the_rule(text: str) -> None:
    rows = rows_of(text)
    assert len(rows) == 14 and {row[0] for row in rows} >= {"convolution 1", "batch norm 3", "ReLU 2", "linear"}
    for name, roof, measured, interval, ratio, bound in rows:
        least, median = (float(value.replace(",", "")) for value in (roof, measured))
        low, high = (float(value.replace(",", "")) for value in interval.split(" to "))
        assert low <= median <= high, name
        assert float(ratio) == pytest.approx(median / least, rel=0.03, abs=0.01), name
        if bound == "neither":
            assert median > 2.9 * least, name
        else:
            assert bound in ("memory", "compute", "cache") and median < 3.1 * least, name
        if name.startswith(("ReLU", "batch norm", "max pool")):
            assert bound != "compute", name


def test_the_counts_are_those_of_the_shapes(text: str) -> None:
    assert "convolution 2   150,994,944   3,164,288          47.72" in text
    assert 2 * 64 * 32 * 16 * 16 * 16 * 9 == 150_994_944


def test_layers_that_the_roof_does_not_explain_are_named_with_a_reason(text: str) -> None:
    strange = [row[0] for row in rows_of(text) if row[5] == "neither"]
    told = text.split("A call that does nothing takes at least", 1)[1].split("The whole network", 1)[0]
    assert all(name in told for name in strange)
    assert ("*Far below the roof*" in told or "*Too small*" in told) == bool(strange)
    assert ("*Faster than memory allows*" in told) == any(row[5] == "cache" for row in rows_of(text))


def test_what_more_bandwidth_would_bring_follows_from_the_model(text: str) -> None:
    memory, arithmetic = numbers(r"takes \*\*(\d+)%\*\* less time, with \*\*twice the FLOP/s\*\* \*\*(\d+)%\*\*", text)
    assert 0 <= memory <= 50 and 0 <= arithmetic <= 50 and memory + arithmetic > 0
    assert "A model, not measured" in text


def test_the_largest_cell_is_local_memory(text: str) -> None:
    assert "the largest cell: 2144.053 GB/s, from device 7 to device 7" in text
    assert "made up in the form of rocm-bandwidth-test" in text
    assert "2144.05 GB/s is a copy inside device 7: its local memory, not a link" in text.replace("\n", " ")


def test_a_real_all_reduce_is_amds_own_figure(text: str) -> None:
    found = links.reference("all_reduce", "Instinct MI300X", 8)[0]
    assert f"AMD's all-reduce over 8 {found.product}: {found.busbw_gbps} GB/s bus bandwidth" in text


def test_two_cards_with_eight_lanes_each_cannot_reach_fifty(text: str) -> None:
    sixteen, eight = numbers(r"x16: [\d.]+ GB/s each way, ([\d.]+)[^\0]+?x8 : [\d.]+ GB/s each way, ([\d.]+)", text)
    assert eight < 50 < sixteen


def test_peaks_are_the_catalogs(text: str) -> None:
    found = peaks.peak("Instinct MI300X")
    assert found and re.search(rf"Instinct MI300X +{found.mem_bw_gbs:,.0f} ", text)


def test_every_figure_has_a_text_form(notebook: dict[str, Any]) -> None:
    alts = words_of_figures(notebook)
    assert len(alts) >= 12 and all(alts)


def test_it_claims_nothing_for_rocm_that_nobody_ran() -> None:
    source = "\n".join("".join(cell["source"]) for cell in cells(LESSON))
    assert "ot yet verified on ROCm" in source and "torchvision" not in source


def test_the_exercises_stay_open_in_the_course_s_run(text: str) -> None:
    assert len(re.findall(r"^TODO \w+: not started", text, re.MULTILINE)) == 6
    assert "0 of 10 passed" in text


@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": "fast"},
        {"batch_size": 0},
        {"width": 0},
        {"width": 1.5},
        {"triad_mib": -1},
        {"triad_mib": 0.5},
        {"matrix": -1},
        {"matrix": 512.0},
        {"seconds": 0},
    ],
)
def test_a_parameter_that_cannot_be_is_named_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=next(iter(wrong))):
        until(LESSON, "assert profile in", **wrong)


KEPT = (
    "a",
    "b",
    "c",
    "triad",
    "triad_bytes",
    "matrix",
    "product",
    "product_flops",
    "placed",
    "walk",
    "chained",
    "gbps",
)


def test_no_later_cell_takes_a_name_that_an_earlier_one_needs_when_it_runs_again() -> None:
    assert cells_that_bind(LESSON, KEPT) == dict.fromkeys(KEPT, 1)
