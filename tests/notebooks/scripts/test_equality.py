"""As many processes as you like give the parameters of one, to rounding; each mistake really loses that; a resumed run loses no bit."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from labkit.comm import Team

SMALL = {"pictures": 166, "global_batch": 32, "width": 4, "device": "cpu"}  # the last batch has 6: parts of 2, or of 3
ROUNDING = 1e-12  # of float64, after a dozen steps
Weights = dict[str, torch.Tensor]


def weights(team: Team, equality: ModuleType, **options: Any) -> Weights:
    report = team.run(equality.train_once, echo=False, **{**SMALL, "double": True, **options})[0]
    assert report["steps"] == 12 and report["world"] == team.ranks
    assert report["same_on_all_ranks"] is not False
    found: Weights = report["weights"]
    return found


@pytest.fixture(scope="module")
def reference(alone: Team, equality: ModuleType) -> Weights:
    return weights(alone, equality)


@pytest.mark.parametrize(
    "options",
    [{}, {"accumulate": 3}, {"accumulate": 40}, {"bucket_mb": 0.001}, {"fsdp": True}, {"fsdp": True, "accumulate": 2}],
)
def test_three_processes_give_what_one_gives(
    three: Team, equality: ModuleType, reference: Weights, options: dict[str, Any]
) -> None:
    assert equality.largest_difference(weights(three, equality, **options), reference) < ROUNDING


def test_uneven_parts_count_as_they_should(three: Team, equality: ModuleType, alone: Team) -> None:
    options = {"global_batch": 31}  # parts of 11, 10 and 10, and at the end 4, 4 and 3
    one, many = (weights(team, equality, **options) for team in (alone, three))
    assert equality.largest_difference(one, many) < ROUNDING
    wrong = weights(three, equality, mean_of_means=True, **options)
    assert equality.largest_difference(one, wrong) > 1e-5
    assert equality.largest_difference(one, weights(alone, equality, mean_of_means=True, **options)) < ROUNDING


def test_parts_may_be_empty(three: Team, equality: ModuleType, alone: Team) -> None:
    options = {"pictures": 353}  # 11 batches of 32, and one picture that only rank 0 has
    one, many = (
        team.run(equality.train_once, echo=False, **{**SMALL, "double": True, "epochs": 1, **options})[0]
        for team in (alone, three)
    )
    assert one["steps"] == 12
    assert equality.largest_difference(one["weights"], many["weights"]) < ROUNDING


def test_without_set_epoch_it_is_another_training(three: Team, equality: ModuleType, reference: Weights) -> None:
    wrong = weights(three, equality, set_epoch=False)
    assert equality.largest_difference(wrong, reference) > 1e-3


def test_plain_batch_norm_depends_on_the_number_of_processes(three: Team, alone: Team, equality: ModuleType) -> None:
    one = weights(alone, equality, batch_norm="plain")
    assert equality.largest_difference(weights(three, equality, batch_norm="plain"), one) > 1e-3
    for team in (alone, three):  # by hand over all ranks: as one process would
        assert equality.largest_difference(weights(team, equality, whole_batch_norm=True), one) < ROUNDING


def test_resumed_training_ends_bit_by_bit_like_one_without_a_break(
    three: Team, equality: ModuleType, tmp_path: Path
) -> None:
    for options in ({}, {"fsdp": True}, {"batch_norm": "plain"}):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        found = three.run(
            equality.resumed, folder, stop_at=8, echo=False, **{**SMALL, "epochs": 3, "save_every": 3, **options}
        )[0]
        assert (found["stopped_at"], found["resumed_from"]) == (8, 6), options
        assert found["resumed"] == found["whole"], options


def test_three_may_go_on_from_the_checkpoint_of_one(
    three: Team, alone: Team, equality: ModuleType, reference: Weights, tmp_path: Path
) -> None:
    options = {**SMALL, "double": True, "checkpoint": str(tmp_path / "run.pt"), "save_every": 4}
    alone.run(equality.train_once, stop_at=9, echo=False, **options)
    report = three.run(equality.train_once, echo=False, **options)[0]
    assert (report["resumed_from"], report["steps"]) == (8, 12)
    assert equality.largest_difference(report["weights"], reference) < ROUNDING


def test_torchs_sampler_repeats_pictures_and_without_set_epoch_orders(three: Team, equality: ModuleType) -> None:
    forgotten, right = (three.run(equality.sampler_orders, 7, 2, kept) for kept in (False, True))
    assert all(first == second for first, second in forgotten)
    assert all(first != second for first, second in right)
    seen = sorted(picture for orders in right for picture in orders[0])
    assert len(seen) == 9 and set(seen) == set(range(7))


def test_fsdp_keeps_a_part_on_each_rank(pair: Team, equality: ModuleType) -> None:
    report = pair.run(equality.train_once, echo=False, fsdp=True, **SMALL)[0]
    assert report["parameter_bytes"] / 2 <= max(report["parameter_bytes_per_rank"]) < 0.7 * report["parameter_bytes"]
    report = pair.run(equality.train_once, echo=False, **SMALL)[0]
    assert report["parameter_bytes_per_rank"] == 2 * [report["parameter_bytes"]]


def test_differences_are_measured_over_the_same_names(equality: ModuleType) -> None:
    a, b = {"w": torch.tensor([1.0, -3.0])}, {"w": torch.tensor([1.5, -3.0])}
    assert equality.largest_difference(a, b) == 0.5
    assert equality.spread(a) == 3.0
    with pytest.raises(ValueError):
        equality.largest_difference(a, {"v": b["w"]})


def test_whole_batch_norm_replaces_every_batch_norm(equality: ModuleType, ddp_train: ModuleType) -> None:
    model = equality.with_whole_batch_norm(ddp_train.make_model(4, batch_norm="plain"))
    assert sum(isinstance(layer, equality.WholeBatchNorm) for layer in model) == 3
    assert sum(isinstance(layer, nn.BatchNorm2d) for layer in model) == 3
