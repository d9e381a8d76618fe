"""The benchmarks of several processes, tiny: what they claim about results holds; nothing is said about times."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from labkit.comm.available import distributed_missing

pytestmark = pytest.mark.skipif(bool(distributed_missing()), reason="this torch has no distributed")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    return lambda name: import_module(f"benchmarks.{name}")


def test_ddp_ends_with_the_weights_of_one_process(load: Any, tmp_path: Path) -> None:
    tiny = ["--rounds", "2", "--steps", "3", "--batch", "8", "--width", "4", "--output", str(tmp_path)]
    load("ddp_two_processes").main(tiny)
    told = json.loads((tmp_path / "ddp_two_processes.json").read_text(encoding="utf-8"))
    assert told["equal"] and told["ranks_bitwise_equal"] and told["largest_difference"] < 1e-4
    assert {way: len(seconds) for way, seconds in told["seconds"].items()} == {"one": 2, "ddp": 2, "apart": 2}


def test_other_weights_are_noticed(load: Any) -> None:
    ddp = load("ddp_two_processes")
    one, other = (list(ddp.network(seed, 4).parameters()) for seed in (0, 1))
    assert ddp.difference(one, one) == 0 and ddp.difference(one, other) > 0.01


def test_both_sides_of_the_collectives_are_measured_and_the_lap_costs_little(load: Any, tmp_path: Path) -> None:
    load("collectives_agree").main(["--rounds", "2", "--sizes", "8", "4096", "--output", str(tmp_path)])
    told = json.loads((tmp_path / "collectives_agree.json").read_text(encoding="utf-8"))
    for size in ("8", "4096"):
        one = told["sizes"][size]
        assert {side: len(values) for side, values in one["readings_s"].items()} == {
            "labkit": 2,
            "plain": 2,
            "again": 2,
        }
        assert 0 < one["adds"] < told["limit"]


@pytest.mark.parametrize(
    ("ratio", "same", "told"),
    [
        ((0.95, 1.05), (0.96, 1.02), "agrees"),
        ((0.40, 1.60), (0.96, 1.02), "inconclusive"),
        ((0.95, 1.05), (0.30, 3.00), "inconclusive"),
        ((0.60, 0.80), (0.96, 1.02), "disagrees"),
        ((0.10, 0.80), (0.96, 3.00), "disagrees"),
    ],
)
def test_only_narrow_intervals_that_overlap_agree(load: Any, ratio: Any, same: Any, told: str) -> None:
    intervals = [dict(zip(("low", "high"), one, strict=True)) for one in (ratio, same)]
    assert load("collectives_agree").verdict(*intervals) == told


def test_a_turn_is_the_fastest_of_equally_many_laps(load: Any) -> None:
    assert load("collectives_agree").ratios([[4.0, 2.0, 0.1]], [[1.0, 2.0]], min) == [2.0]
