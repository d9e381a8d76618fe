"""The overhead benchmark runs, in a tiny configuration, and writes what it says."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")


@pytest.fixture
def overhead(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    import torch

    before = torch.get_num_threads()
    yield import_module("benchmarks.bandwidth_overhead")
    torch.set_num_threads(before)


def test_every_measure_has_its_ratio_and_its_floor(overhead: Any, tmp_path: Path) -> None:
    arguments = ["--rounds", "2", "--seconds", "0.005", "--small", "--output", str(tmp_path)]
    assert overhead.main(arguments) == 0
    told = json.loads((tmp_path / "bandwidth_overhead.json").read_text(encoding="utf-8"))
    assert len(told["measures"]) == 4
    for measure in told["measures"].values():
        assert measure["ratio"]["n"] == measure["floor"]["n"] == 2
        assert all(value > 0 for reading in measure["seconds_per_call"] for value in reading.values())


def test_the_bare_loop_tells_seconds_per_call(overhead: Any) -> None:
    calls: list[int] = []
    spent = overhead.bare(lambda: calls.append(1), 0.01)
    assert 0 < spent < 1e-3 and len(calls) > 1000
