"""A PyTorch that changed is noticed: a probe parts ways with its verdict, or says that it came to no end."""

from __future__ import annotations

import torch

from labkit.folklore import child
from labkit.folklore.probes import memory, precision, training, variables, windows
from tests.folklore.turning import Patch, says


def test_a_torch_that_does_not_compute_at_all_shows_nothing(monkeypatch: Patch) -> None:
    says(monkeypatch, "ImportError: libc10.so", 1)
    assert windows.torch_without_compiler().saw == "broken"


def test_without_the_function_that_is_asked_an_allocator_probe_shows_nothing(monkeypatch: Patch) -> None:
    said = "AttributeError: module 'torch._C' has no attribute '_accelerator_getAllocatorSettings'"
    monkeypatch.setattr(child, "apart", lambda *arguments, environment=None: said)
    assert variables.allocator_names_and_order().saw == variables.allocator_keys().saw == "broken"


def test_a_command_line_that_ends_otherwise_than_the_ledger_says_is_noticed(monkeypatch: Patch) -> None:
    says(monkeypatch, "No module named torch.utils.data.dataloader", 1)
    assert training.dataloader_command_line().saw == "broken"


def test_a_checkpoint_that_raises_and_an_import_that_is_gone_are_noticed(monkeypatch: Patch) -> None:
    import torch.utils.checkpoint as module

    real = module.checkpoint

    def strict(block: object, x: torch.Tensor, **options: bool) -> object:
        if "use_reentrant" not in options:
            raise ValueError("use_reentrant must be passed")
        return real(block, x, **options)

    monkeypatch.setattr(module, "checkpoint", strict)
    monkeypatch.delattr(torch.cuda.amp, "GradScaler")
    assert memory.checkpoint_flag().saw == precision.cuda_amp_names().saw == "fails"
