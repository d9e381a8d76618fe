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
        loader.main(["--images", "640", "--pairs", "2", "--no-full", "--threads", "1", "--output", str(tmp_path)]) == 0
    )
    told = json.loads((tmp_path / "resident_loader.json").read_text(encoding="utf-8"))
    assert told["bitwise_equal"] and list(told["by_threads"]) == ["1"]
    one = told["by_threads"]["1"]
    assert len(one["pairs"]) == 2 and one["ratios"]["floor"]["n"] == 2
    assert all(pair["difference"][name] == 0 for pair in one["pairs"] for name in loader.EXACT)
    assert all(0 < pair["difference"]["folded"] < 1e-5 for pair in one["pairs"]), "near, and not the same bits"
    assert set(one["pairs"][0]["seconds"]) == {"guides", *loader.OURS, "floor"}
    assert [path.name for path in tmp_path.iterdir()] == ["resident_loader.json"]


def test_other_weights_are_noticed(load: Any) -> None:
    pytest.importorskip("torchvision")
    loops = load("mnist_loops")
    assert loops.largest_difference(loops.model(0), loops.model(0)) == 0
    assert loops.largest_difference(loops.model(0), loops.model(1)) > 0


def test_a_last_batch_that_is_smaller_and_a_second_epoch_stay_bitwise_equal(load: Any) -> None:
    pytest.importorskip("torchvision")
    import torch

    loops = load("mnist_loops")
    draw = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (150, 1, 28, 28), dtype=torch.uint8, generator=draw)
    labels = torch.randint(0, 10, (150,), generator=draw)
    nets = []
    for epoch, pictures in ((loops.guides, images), (loops.by_hand, loops.normalised(images))):
        net, generator = loops.model(3), torch.Generator().manual_seed(3)
        for _ in range(2):
            epoch(pictures, labels, net, generator)
        nets.append(net)
    assert loops.largest_difference(*nets) == 0


def test_the_order_is_the_loaders_own(load: Any) -> None:
    pytest.importorskip("torchvision")
    loops = load("mnist_loops")
    import torch
    from torch.utils.data import DataLoader

    generator = torch.Generator().manual_seed(3)
    loader = DataLoader(range(200), batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(3))
    for _ in range(2):
        assert torch.equal(torch.cat(list(loader)), loops.shuffled(200, generator))


def test_time_to_accuracy_names_what_was_missed(load: Any, tmp_path: Path) -> None:
    pytest.importorskip("torchvision")
    timed = load("mnist_88")
    arguments = [
        "--seeds",
        "2",
        "--threads",
        "1",
        "--most-epochs",
        "2",
        "--dataset",
        "mnist",
        "--output",
        str(tmp_path),
    ]
    assert timed.main([*arguments, "--target", "0.999"]) == 1
    told = json.loads((tmp_path / "mnist_88.json").read_text(encoding="utf-8"))
    assert told["guides_epochs"] == 2 and not told["guides_reach_target"]
    assert timed.main([*arguments, "--target", "0.05"]) == 0
    told = json.loads((tmp_path / "mnist_88.json").read_text(encoding="utf-8"))
    assert told["guides_epochs"] == 1 and told["by_threads"]["1"]["times"]["n"] == 2


def test_tuning_never_sees_a_picture_twice(load: Any) -> None:
    pytest.importorskip("torchvision")
    import torch

    numbers = torch.arange(60)
    rest, _, kept, _ = load("mnist_88").split(numbers, numbers, 5)
    assert sorted([*rest.tolist(), *kept.tolist()]) == list(range(60)) and len(kept) == 5


def test_the_orthogonal_step_has_rows_of_about_one_length(load: Any) -> None:
    pytest.importorskip("torchvision")
    import torch

    step = load("mnist_88").orthogonal(torch.randn(8, 20, generator=torch.Generator().manual_seed(0)), rounds=5)
    values = torch.linalg.svdvals(step)
    assert float(values.min()) > 0.6 and float(values.max()) < 1.3


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
