"""Solutions to lesson 03, one per exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints one of them.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from labkit.catalog import precision


def spacing_at(x: float, dtype: torch.dtype) -> float:
    """Distance from the positive number ``x`` to the next larger one of the format."""
    power = 2.0 ** math.floor(math.log2(x))  # the power of two at or below x
    return power * torch.finfo(dtype).eps


def autocast_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_fn: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    dtype: torch.dtype,
) -> torch.Tensor:
    """One training step with the forward pass in ``dtype``; gives back the loss."""
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=dtype):
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def pick_scale(gradient: torch.Tensor) -> float:
    """The largest power of two by which the gradient can be multiplied and still fit into float16."""
    room = 65_504 / gradient.abs().max().item()
    return 2.0 ** math.floor(math.log2(room))


def scaled_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    loss_fn: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    max_norm: float,
) -> torch.Tensor:
    """One float16 step with a scaler, its gradient clipped to ``max_norm``; gives back the loss."""
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


def read_speedup(low: float, high: float) -> str:
    """'faster', 'slower' or 'unclear', from the interval of the ratio of times."""
    if high < 1:
        return "faster"
    return "slower" if low > 1 else "unclear"


def as_accurate(mine: list[float], reference: list[float]) -> bool:
    """Is the mean no further below the reference's than the reference's own seeds lie apart?"""
    if len(mine) < 2 or len(reference) < 2:
        return False
    spread = max(reference) - min(reference)
    return sum(mine) / len(mine) >= sum(reference) / len(reference) - spread


def choose_precision(gfx: str) -> tuple[str, bool]:
    """The format for training on this target, and whether it needs a GradScaler."""
    support = precision.dtype_support(gfx)
    if support["bfloat16"].native:
        return "bfloat16", False
    if support["float16"].native:
        return "float16", True
    return "float32", False
