"""Bytes for people."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from labkit.memory import counted, size


@pytest.mark.parametrize(
    ("amount", "told"),
    [(0, "0 B"), (512, "512 B"), (1536, "1.5 KiB"), (-(2**20), "-1.00 MiB"), (3 * 2**30, "3.00 GiB"), (2**50, "1,024.00 TiB")],
)  # fmt: skip
def test_sizes_are_told_in_binary_units(amount: int, told: str) -> None:
    assert size(amount) == told


def test_parts_are_told_without_the_empty_ones() -> None:
    model = nn.Linear(256, 1)
    parts = counted(model)
    assert str(parts) == "weights 1.0 KiB; together 1.0 KiB (counted in the tensors that exist)"
    model(torch.ones(1, 256)).sum().backward()
    assert counted(model).gradients == parts.weights == parts.fixed
