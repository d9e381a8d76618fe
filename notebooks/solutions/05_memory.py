"""Solutions to lesson 05, one per exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints one of them.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def fixed_bytes(model: nn.Module, copies: int) -> int:
    """Bytes of weights, gradients, and of the copies that an optimizer keeps."""
    total = 0
    for p in model.parameters():
        size = p.numel() * p.element_size()
        total += size  # the weights
        if p.requires_grad:
            total += size * (1 + copies)  # the gradient, and what the optimizer keeps
    return total


def mlp_activations(widths: list[int], batch: int) -> int:
    """Bytes that Linear, ReLU, Linear, … keep for the backward pass, in float32."""
    return 4 * batch * sum(widths[:-1])  # each Linear keeps its input; ReLU's output is the next one's input


def accumulate(
    model: nn.Module,
    loss_fn: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: list[tuple[torch.Tensor, torch.Tensor]],
    every: int,
) -> int:
    """One exact step per window of ``every`` micro-batches; the last window may be shorter. Gives back the steps."""
    steps = 0
    for i in range(0, len(batches), every):
        window = batches[i : i + every]
        total = sum(len(y) for _, y in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = loss_fn(model(x), y) * len(y) / total  # its share of the window's mean
            loss.backward()
        optimizer.step()
        steps += 1
    return steps


def checkpoint_blocks(blocks: list[nn.Module], x: torch.Tensor, count: int) -> torch.Tensor:
    """All blocks in order; the first ``count`` keep only their input and are computed again in the backward pass."""
    for number, block in enumerate(blocks):
        x = checkpoint(block, x, use_reentrant=False) if number < count else block(x)
    return x


def why_oom(requested: int, capacity: int, free: int, allocated: int, unallocated: int) -> str:
    """Why memory ran out: 'fragmentation', 'others' or 'too much'."""
    if unallocated >= requested:
        return "fragmentation"
    elsewhere = capacity - free - allocated - unallocated
    return "others" if elsewhere > capacity / 2 else "too much"


def largest_fit(fits, most: int) -> int:  # fits: a function of one number
    """The largest batch from 0 to ``most`` that fits, by bisection."""
    good, bad = 0, most + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good
