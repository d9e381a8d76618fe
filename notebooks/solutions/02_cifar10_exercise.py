"""Solutions to lesson 02, one per exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints one of them.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


def channel_stats(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and std of each colour channel, of pixels between 0 and 1."""
    x = images.float() / 255
    return x.mean(dim=(0, 2, 3)), x.std(dim=(0, 2, 3))


def normalize(images: torch.Tensor, mean: torch.Tensor, std: torch.Tensor) -> torch.Tensor:
    """uint8 pictures to float32 with about mean 0 and std 1 per channel."""
    x = images.float() / 255
    return (x - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)  # [3] -> [1, 3, 1, 1]: lines up with the channels


def output_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """Side of the feature map that a convolution or pooling makes."""
    return (size + 2 * padding - kernel) // stride + 1


def count_parameters(model: nn.Module) -> int:
    """How many numbers training can change."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def small_cnn(width: int = 16) -> nn.Module:
    """Pictures [N, 3, 32, 32] to scores [N, 10]."""
    layers: list[nn.Module] = []
    channels = 3
    for out in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, 10))


@torch.no_grad()
def evaluate(model: nn.Module, x: torch.Tensor, y: torch.Tensor, batch_size: int = 500) -> tuple[float, float]:
    """Mean loss and accuracy (0 to 1); the model is left in the mode in which it came."""
    was_training = model.training
    model.eval()
    loss, hits = 0.0, 0
    for i in range(0, len(x), batch_size):
        labels = y[i : i + batch_size]
        scores = model(x[i : i + batch_size])
        loss += F.cross_entropy(scores, labels, reduction="sum").item()
        hits += (scores.argmax(dim=1) == labels).sum().item()
    model.train(was_training)
    return loss / len(x), hits / len(x)


def augment(images: torch.Tensor, pad: int = 4) -> torch.Tensor:
    """Each picture shifted by up to pad pixels and mirrored with probability one half, all at once."""
    n, _, height, width = images.shape
    where = images.device
    padded = F.pad(images, (pad, pad, pad, pad))
    top, left = torch.randint(0, 2 * pad + 1, (2, n, 1, 1), device=where)
    rows = top + torch.arange(height, device=where).view(1, -1, 1)
    columns = left + torch.arange(width, device=where).view(1, 1, -1)
    mirrored = torch.rand(n, 1, 1, device=where) < 0.5
    columns = torch.where(mirrored, columns.flip(-1), columns)
    picture = torch.arange(n, device=where).view(-1, 1, 1)
    return padded[picture, :, rows, columns].permute(0, 3, 1, 2)


def learning_rate(step: int, total: int, peak: float, warmup: int) -> float:
    """A straight line up to the peak, then half a cosine down to nearly 0."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / (total - warmup)
    return 0.5 * peak * (1 + math.cos(math.pi * progress))


def fit(model: nn.Module, x: torch.Tensor, y: torch.Tensor, epochs: int, batch_size: int, augment, rate) -> list[float]:
    """Train; the mean training loss of each epoch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    total = epochs * math.ceil(len(x) / batch_size)
    step, history = 0, []
    model.train()
    for _ in range(epochs):
        running = torch.zeros((), device=x.device)
        for part in torch.randperm(len(x), device=x.device).split(batch_size):
            for group in optimizer.param_groups:
                group["lr"] = rate(step, total)
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.detach() * len(part)  # stays on the device: no waiting
            step += 1
        history.append(running.item() / len(x))
    return history


read_curves = {"overfits": "C", "underfits": "B", "best_epoch": 6, "gap": 1.84}


def beat_target(train_x: torch.Tensor, train_y: torch.Tensor, epochs: int, seed: int) -> nn.Module:
    """A trained model, made of the pieces above."""
    torch.manual_seed(seed)
    width = 8 if len(train_x) <= 5_000 else 16  # few pictures: small, and quick on a CPU
    model = small_cnn(width).to(train_x.device)
    fit(model, train_x, train_y, epochs, 50, augment, lambda step, total: learning_rate(step, total, 0.1, total // 5))
    return model
