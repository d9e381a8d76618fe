"""Counting saved tensors: views once, parameters never."""

from __future__ import annotations

import gc
import weakref

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from labkit.memory import saved_tensors


def test_views_of_one_storage_count_once() -> None:
    x = torch.randn(10, 10, requires_grad=True) * 1
    with saved_tensors() as saved:
        y = x[0].sin() + x[1].sin() + x.t()[0].exp().sum()
    assert {row.bytes for row in saved.rows if row.shape == (10,)} >= {400}
    assert sum(row.bytes == 400 for row in saved.rows) == 1 and saved.bytes == 400 + 40
    y.sum().backward()


def test_parameters_and_buffers_do_not_count_and_layers_are_named() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    with saved_tensors(model) as saved:
        loss = model(torch.randn(3, 4)).square().mean()
    assert saved.by_layer() == {"0 Linear": 48, "1 ReLU": 48, "": 24}
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())
    loss.backward()


def test_it_keeps_nothing_alive() -> None:
    model = nn.Linear(4, 4)
    with saved_tensors(model) as saved:
        x = torch.randn(3, 4)
        out = model(x)
    watch = weakref.ref(x)
    del x, out
    gc.collect()
    assert watch() is None and saved.bytes == 48


def test_hooks_are_removed_when_the_forward_pass_fails() -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    try:
        with saved_tensors(model):
            model(torch.randn(3, 5))
    except RuntimeError:
        pass
    assert not model[0]._forward_hooks
    assert model(torch.randn(3, 4)).shape == (3, 4)


def test_a_checkpointed_region_counts_with_its_input_only() -> None:
    block = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(16, 16), nn.Tanh())])
    x = torch.randn(8, 16)
    with saved_tensors(block) as whole:
        block(x)
    with saved_tensors(block) as kept:
        out = checkpoint(block, x, use_reentrant=False)
    assert kept.bytes == x.nbytes and whole.bytes == 5 * x.nbytes
    out.sum().backward()
