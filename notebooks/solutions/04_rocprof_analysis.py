"""Solutions to lesson 04, one per exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints one of them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


def hottest_kernel(rows: list[dict[str, str]]) -> tuple[str, float]:
    """The kernel with the largest summed time, and its share of all kernels' time."""
    total: dict[str, int] = {}
    for row in rows:
        took = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])  # a CSV holds text
        total[row["Kernel_Name"]] = total.get(row["Kernel_Name"], 0) + took
    name = max(total, key=lambda one: total[one])
    return name, total[name] / sum(total.values())


def busy_time(starts: list[int], ends: list[int]) -> int:
    """The time in ns during which at least one kernel ran."""
    busy, reach = 0, 0
    for number, (start, end) in enumerate(sorted(zip(starts, ends, strict=True))):
        if number == 0:
            reach = start
        busy += max(0, end - max(start, reach))  # only what is not covered yet
        reach = max(reach, end)
    return busy


def starved(
    images: torch.Tensor, labels: torch.Tensor, picks: torch.Tensor, mean: tuple[float, ...], std: tuple[float, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The picked pictures, normalised, all at once; and their labels."""
    pixels = images[picks].float() / 255  # pick first: nothing else is converted
    m, s = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)
    return (pixels - m) / s, labels[picks]


def tiny_batches(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> int:
    """One pass over all examples, in batches that are worth their launches. Gives back how many it saw."""
    size = 32
    for i in range(0, len(x), size):
        loss = F.cross_entropy(model(x[i : i + size]), y[i : i + size])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return len(x)


def too_many_syncs(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[float, float]:
    """Mean loss and accuracy of a pass; numbers are read once, after the loop."""
    total = torch.zeros((), device=batches[0][0].device)
    right = torch.zeros((), device=batches[0][0].device)
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()  # a tensor to a tensor: nobody waits
        right += (out.argmax(1) == y).float().mean()
    return total.item() / len(batches), right.item() / len(batches)
