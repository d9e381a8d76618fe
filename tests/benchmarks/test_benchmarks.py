"""The benchmarks run and what they claim about results (not about times) holds, in a tiny configuration."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    import torch

    before = torch.get_num_threads()
    yield lambda name: import_module(f"benchmarks.{name}")
    torch.set_num_threads(before)


def test_resident_tensors_train_the_same_weights_bit_by_bit(load: Any, tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    loader = load("resident_loader")
    assert (
        loader.main(["--images", "640", "--pairs", "2", "--no-full", "--dataset", "mnist", "--output", str(tmp_path)])
        == 0
    )
    told = json.loads((tmp_path / "resident_loader.json").read_text(encoding="utf-8"))
    assert all(told["pairs"][0]["bitwise_equal"][name] for name in ("resident", "written_out", "by_hand"))
    assert told["bitwise_equal"] and len(told["pairs"]) == 2
    assert set(told["pairs"][0]["seconds"]) == {"guides", "resident", "written_out", "by_hand", "floor"}
    assert told["ratios"]["floor"]["n"] == 2 and [path.name for path in tmp_path.iterdir()] == ["resident_loader.json"]


def test_other_weights_are_noticed(load: Any) -> None:
    pytest.importorskip("torchvision")
    loader = load("resident_loader")
    assert loader.same_bits(loader.model(0), loader.model(0)) and not loader.same_bits(loader.model(0), loader.model(1))


def test_the_order_is_the_loaders_own(load: Any) -> None:
    pytest.importorskip("torchvision")
    loader = load("resident_loader")
    import torch
    from torch.utils.data import DataLoader

    theirs = torch.cat(
        list(DataLoader(range(200), batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(3)))
    )
    assert torch.equal(theirs, loader.shuffled(200, 3))


def test_verdicts_are_counted(load: Any, tmp_path: Path) -> None:
    verdicts = load("compare_verdicts")
    assert (
        verdicts.main(["--trials", "2", "1", "1", "--seconds", "0.03", "0.03", "0.03", "--output", str(tmp_path)]) == 0
    )
    told = json.loads((tmp_path / "compare_verdicts.json").read_text(encoding="utf-8"))
    assert [sum(one["decisions"].values()) for one in told["series"]] == [2, 1, 1, 1]
    assert [one["true_ratio"] for one in told["series"]] == [1.0, 1.05, 1.05, 1.0]


def test_work_is_counted_exactly(load: Any) -> None:
    verdicts = load("compare_verdicts")
    assert (verdicts.UNITS + verdicts.UNITS // 20) / verdicts.UNITS == 1.05


def test_the_chosen_number_is_held_against_the_best(load: Any) -> None:
    threads = load("cpu_threads")
    rounds = [{"one": 1.0, "spinning": 0.5, "passive": 2.0, "chosen": 0.6}] * 5
    told = threads.over_best(rounds)
    assert told["median"] == pytest.approx(1.2) and told["low"] == told["high"] == pytest.approx(1.2)


@pytest.mark.skipif(sys.platform == "win32", reason="the two ways of waiting belong to GNU's OpenMP runtime")
def test_threads_are_measured_in_workers(load: Any, tmp_path: Path) -> None:
    threads = load("cpu_threads")
    assert threads.main(["--rounds", "1", "--seconds", "0.01", "--steps", "tiny", "--output", str(tmp_path)]) == 0
    told = json.loads((tmp_path / "cpu_threads.json").read_text(encoding="utf-8"))
    assert [case["busy_processes"] for case in told["cases"]] == [0, 1]
    assert all(set(case["step_s"]) == {"one", "spinning", "passive", "chosen"} for case in told["cases"])


def test_a_side_that_fails_is_no_measurement(load: Any) -> None:
    from labkit.errors import LabkitError

    course_time = load("course_time")
    assert course_time.timed([sys.executable, "-c", "pass"]) > 0
    with pytest.raises(LabkitError, match="broken here"):
        course_time.timed([sys.executable, "-c", "raise SystemExit('broken here')"])


@pytest.mark.notebooks
def test_the_course_is_timed_beside_the_guides_loop(load: Any, tmp_path: Path) -> None:
    course_time = load("course_time")
    options = ["--pairs", "1", "--epochs", "1", "--lessons", "00", "--output", str(tmp_path)]
    assert course_time.main(options) == 0
    told = json.loads((tmp_path / "course_time.json").read_text(encoding="utf-8"))
    assert told["ratio"]["n"] == 1 and [row["lesson"] for row in told["last_run"]] == ["00"]
