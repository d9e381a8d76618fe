"""Solutions to lesson 01, one per exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints one of them.
"""

from __future__ import annotations

import torch
from torch import nn


def standardise(images: torch.Tensor, mean: float, std: float) -> torch.Tensor:
    """uint8 pictures to float32: black and white to 0 and 1, then mean to 0 and std to 1."""
    return (images.float() / 255 - mean) / std


def linear_parameters(inputs: int, outputs: int) -> int:
    """How many numbers nn.Linear(inputs, outputs) learns."""
    return inputs * outputs + outputs  # a weight for each pair, a bias for each output


def training_step(model: nn.Module, images, labels, loss_fn, optimizer) -> torch.Tensor:
    """One batch; the loss, without its history."""
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


read_losses = {"A": "too large", "B": "healthy", "C": "no step", "D": "too small"}


@torch.inference_mode()
def share_right(model: nn.Module, batches) -> float:
    """The share (0 to 1) of right answers over all batches."""
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (model(images).argmax(dim=1) == labels).sum()  # stays on the device
        count += len(labels)
    return (hits / count).item()
