"""The parts that training keeps in memory, and counting them in tensors that exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


def size(amount: float) -> str:
    """Bytes for people, in binary units: '512 B', '1.50 MiB', '23.4 GiB'."""
    step = abs(float(amount))
    for unit, digits in (("B", 0), ("KiB", 1), ("MiB", 2), ("GiB", 2)):
        if step < 1024:
            return f"{'-' if amount < 0 else ''}{step:,.{digits}f} {unit}"
        step /= 1024
    return f"{'-' if amount < 0 else ''}{step:,.2f} TiB"


@dataclass(frozen=True)
class Parts:
    """Bytes of each part. ``how``: where the numbers come from, in a few words.

    weights: the model's parameters. buffers: what else belongs to the model (running statistics). gradients: one per
    trained parameter. optimizer: what the optimizer keeps from step to step. activations: what the forward pass keeps
    for the backward pass.
    """

    weights: int
    buffers: int
    gradients: int
    optimizer: int
    activations: int
    how: str

    @property
    def total(self) -> int:
        """All parts together, in bytes."""
        return self.weights + self.buffers + self.gradients + self.optimizer + self.activations

    @property
    def fixed(self) -> int:
        """What does not depend on the batch: everything but the activations, in bytes."""
        return self.total - self.activations

    def items(self) -> tuple[tuple[str, int], ...]:
        """(name, bytes) of each part."""
        return (
            ("weights", self.weights),
            ("buffers", self.buffers),
            ("gradients", self.gradients),
            ("optimizer state", self.optimizer),
            ("activations", self.activations),
        )

    def __str__(self) -> str:
        told = ", ".join(f"{name} {size(amount)}" for name, amount in self.items() if amount)
        return f"{told}; together {size(self.total)} ({self.how})"


def storage_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of the storages behind these tensors; tensors that share one, as tied weights and views do, count once."""
    storages = {storage._cdata: storage for storage in (tensor.untyped_storage() for tensor in tensors)}
    return sum(storage.nbytes() for storage in storages.values())


def state_tensors(state: Any) -> Iterator[Tensor]:
    """Every tensor in an optimizer's state, however deep it lies."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, Mapping):
        for value in state.values():
            yield from state_tensors(value)
    elif isinstance(state, (list, tuple)):
        for value in state:
            yield from state_tensors(value)


def counted(model: nn.Module, optimizer: torch.optim.Optimizer | None = None, activations: int = 0) -> Parts:
    """The parts as they are in memory now: of the model, of its gradients where there are any, of the optimizer.

    activations: bytes that ``saved_tensors`` counted in a forward pass.
    """
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return Parts(
        weights=storage_bytes(model.parameters()),
        buffers=storage_bytes(model.buffers()),
        gradients=storage_bytes(gradients),
        optimizer=storage_bytes(state_tensors(dict(optimizer.state))) if optimizer is not None else 0,
        activations=activations,
        how="counted in the tensors that exist",
    )
