"""A network as small as the probes need, built as residual networks are: stem, layers with batch norm, ``fc``."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Toy(nn.Module):
    """[N, 3, H, W] -> [N, classes]. ``fc`` is the head; ``width`` features reach it."""

    def __init__(self, classes: int = 5, width: int = 12) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(6)
        inner = nn.Sequential(nn.Conv2d(6, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.layer1 = nn.Sequential(inner, nn.Dropout(0.5))
        self.fc = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer1(torch.relu(self.bn1(self.conv1(x))))
        out: Tensor = self.fc(x.mean((2, 3)))
        return out


def toy(classes: int = 5, width: int = 12) -> Toy:
    """A Toy with fixed weights and running statistics that are not the ones a new batch would give."""
    draw = torch.Generator().manual_seed(11)
    model = Toy(classes, width)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.4 * torch.randn(p.shape, generator=draw))
        for norm in norms(model):
            norm.running_mean.fill_(0.3)  # type: ignore[union-attr]
            norm.running_var.fill_(2.0)  # type: ignore[union-attr]
    return model


def norms(model: nn.Module) -> list[nn.BatchNorm2d]:
    """The batch norms of a Toy, from the outermost inwards."""
    return [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]


def batch(count: int = 8) -> Tensor:
    """Random pictures, float32 [count, 3, 6, 6], the same on every call."""
    return torch.randn(count, 3, 6, 6, generator=torch.Generator().manual_seed(5))
