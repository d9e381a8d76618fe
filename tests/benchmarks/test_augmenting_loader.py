"""The loaders that are held against each other show the same pictures; a wrong one is noticed."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    return import_module("benchmarks.augmenting_loader")


def test_every_side_runs_and_the_bits_are_torchvision_s(loader: Any, tmp_path: Path) -> None:
    options = ["--pictures", "700", "--part", "600", "--pairs", "2", "--workers", "0", "--output", str(tmp_path)]
    assert loader.main(options) == 0
    told = json.loads((tmp_path / "augmenting_loader.json").read_text(encoding="utf-8"))
    names = {"theirs", *loader.OURS, *loader.FLOORS}
    assert len(told["pairs"]) == 2 and all(set(pair) == names for pair in told["pairs"])
    assert set(told["full_epoch_s"]) == names
    compared = told["compared"]
    assert compared["pictures"] == 600, "the second batch is a smaller one"
    assert compared["batches"]["exact"]["same_bits"] and compared["batches"]["lesson"]["same_bits"]
    for name in ("folded", "channels_last"):
        assert 0 < compared["batches"][name]["largest_difference"] < 1e-6
    assert told["ratios"]["exact"]["n"] == 2 and "exact_over_bytes" in told["ratios"]


def test_another_window_is_noticed(loader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = loader.Sides(40)
    assert loader.compared(sides, 40, 5)["batches"]["exact"]["same_bits"]
    right = loader.replayed(40, 40, 5)
    right.left[3] = (right.left[3] + 1) % 9
    monkeypatch.setattr(loader, "replayed", lambda *_: right)
    told = loader.compared(sides, 40, 5)["batches"]
    assert not told["exact"]["same_bits"] and told["folded"]["largest_difference"] > 0.1


def test_the_lesson_s_own_loop_is_measured(loader: Any) -> None:
    assert loader.lesson_batches().__name__ == "resident_batches"
