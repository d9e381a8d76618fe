"""Probes of code (verification, training, memory, mixed precision): another subject, another answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from labkit.folklore.observation import Observation
from labkit.folklore.probes import (
    memory,
    precision,
    training,
    verification,
)
from tests.folklore.turning import Patch, Turned, says

THEMES = {"verification", "training", "memory", "precision"}
turned = Turned()


# verification


@turned("1.21", "holds")
def an_answer_that_means_rocm(patch: Patch) -> Observation:
    patch.setattr(torch.cuda, "is_available", lambda: torch.version.hip is not None)
    return verification.available_without_rocm()


@turned("2.16", "holds")
def a_module_that_exists(patch: Patch) -> Observation:
    patch.setattr(torch.backends, "hip", SimpleNamespace(is_available=lambda: True), raising=False)
    return verification.backends_hip()


def _everything_is_a_device(patch: Patch) -> None:
    patch.setattr(torch, "device", lambda name: "cpu")


@turned("2.22", "holds")
def hip_works(patch: Patch) -> Observation:
    _everything_is_a_device(patch)
    return verification.hip_as_device()


@turned("2.14", "holds")
def opencl_works(patch: Patch) -> Observation:
    _everything_is_a_device(patch)
    return verification.torch_and_opencl()


@turned("2.35", "holds")
def opencl_works_again(patch: Patch) -> Observation:
    _everything_is_a_device(patch)
    return verification.opencl_runtime_for_torch()


@turned("2.30", "holds")
def a_text_that_is_there(patch: Patch) -> Observation:
    return verification.error_text("is not linked with support for")


# training


@turned("1.22", "holds")
def a_command_line_that_reads_options(patch: Patch) -> Observation:
    says(patch, "usage: dataloader.py\ndataloader.py: error: unrecognized arguments: --no-such-option", 2)
    return training.dataloader_command_line()


@turned("1.23", "holds")
def an_argument_without_a_warning(patch: Patch) -> Observation:
    models = pytest.importorskip("torchvision").models
    patch.setattr(models, "squeezenet1_1", lambda pretrained: None)
    return training.pretrained_argument()


@turned("1.25", "holds")
def a_head_for_ten(patch: Patch) -> Observation:
    return training.old_head_stays(outputs_kept=10)


@turned("1.26", "holds")
def the_same_rate_everywhere(patch: Patch) -> Observation:
    patch.setattr(training, "_seconds", lambda net, pictures: len(pictures) / 800)
    return training.rate_needs_conditions()


@turned("1.28", "holds")
def whatever_does_not_crash_learns(patch: Patch) -> Observation:
    patch.setattr(training, "_train", lambda epochs, rate: (1.0, 0.1))
    return training.no_crash_is_no_measure()


@turned("2.20", "fails")
def constants_that_do_not_fit(patch: Patch) -> Observation:
    return training.half_and_half(mean=50.0)


@turned("2.21", "holds")
def a_block_that_needs_none(patch: Patch) -> Observation:
    return training.block_without_indentation("loss = 1\nprint(loss)\n")


@turned("2.23", "fails")
def a_loop_that_stands_still(patch: Patch) -> Observation:
    return training.five_lines_train(rate=0.0)


@turned("2.24", "holds")
def one_step_only(patch: Patch) -> Observation:
    return training.reads_per_step(steps=1)


# memory, precision


@turned("1.27", "holds")
def one_set_of_conditions(patch: Patch) -> Observation:
    return memory.memory_needs_conditions(cases=((4, 32),))


@turned("1.42", "fails")
def an_allocator_without_the_option(patch: Patch) -> Observation:
    import labkit.memory as room

    real = room.CachingAllocator
    patch.setattr(room, "CachingAllocator", lambda capacity, max_split: real(capacity=capacity))
    return memory.fragmentation_needs_conditions()


@turned("2.25", "holds")
def full_groups_of_equal_size(patch: Patch) -> Observation:
    return memory.accumulation_tail(batches=8, last=8)


@turned("2.26", "holds")
def a_checkpoint_that_warns_no_more(patch: Patch) -> Observation:
    import torch.utils.checkpoint as module

    real = module.checkpoint
    patch.setattr(
        module, "checkpoint", lambda block, x, use_reentrant=False: real(block, x, use_reentrant=use_reentrant)
    )
    return memory.checkpoint_flag()


@turned("2.27", "holds")
def names_without_warnings(patch: Patch) -> Observation:
    patch.setattr(torch.cuda.amp, "GradScaler", lambda enabled: None)
    patch.setattr(torch.cuda.amp, "autocast", lambda enabled: None)
    return precision.cuda_amp_names()


@turned("2.28", "fails")
def gradients_that_are_not_small(patch: Patch) -> Observation:
    return precision.who_needs_a_scaler(lowest=-4)


@turned("2.29", "fails")
def a_scaler_that_does_not_divide(patch: Patch) -> Observation:
    patch.setattr(torch.amp.GradScaler, "step", lambda self, optimizer: optimizer.step())
    patch.setattr(torch.amp.GradScaler, "update", lambda self: None)
    return precision.scaler_order()


@pytest.mark.parametrize("claim", sorted(turned))
def test_another_subject_another_answer(claim: str, monkeypatch: Patch) -> None:
    turned.looks_different(claim, monkeypatch)


def test_every_probe_of_these_themes_that_runs_on_a_cpu_is_turned_round() -> None:
    turned.has_all_of(THEMES)
