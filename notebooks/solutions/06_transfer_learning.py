"""Solutions to lesson 06, one per exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints one of them.
"""

from __future__ import annotations

import torch
from torch import nn


def new_head(model: nn.Module, classes: int) -> nn.Module:
    """The model with a fresh last layer for ``classes`` classes; everything before it stays as it was learnt."""
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model


def freeze_body(model: nn.Module) -> nn.Module:
    """The model with only its head, ``fc``, left to train."""
    model.requires_grad_(False)
    model.fc.requires_grad_(True)
    return model


def keep_bn_still(model: nn.Module) -> nn.Module:
    """The model in train mode, its batch norm layers in eval mode: they use what they keep, and keep it."""
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    return model


def parameter_groups(model: nn.Module, body_rate: float, head_rate: float) -> list[dict]:
    """Groups for an optimizer: the body learns with ``body_rate``, the head with ``head_rate``."""
    body = [p for name, p in model.named_parameters() if not name.startswith("fc.")]
    return [{"params": body, "lr": body_rate}, {"params": list(model.fc.parameters()), "lr": head_rate}]


def throughput(seconds: list[float], batch: int, warm_up: int) -> list[float]:
    """Images per second after the warm-up: lower quartile, median, upper quartile."""
    rates = torch.tensor([batch / s for s in seconds[warm_up:]])
    return torch.quantile(rates, torch.tensor([0.25, 0.5, 0.75])).tolist()
