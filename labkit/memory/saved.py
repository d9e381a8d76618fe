"""Counting what a forward pass keeps for the backward pass: autograd's own saved tensors, on any device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Kept:
    """One piece of memory that waits for the backward pass: which layer kept it first, its shape, its type, its bytes."""

    layer: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass
class SavedTensors:
    """What was kept, in the order in which it was saved. Each storage counts once, whatever views of it were saved;
    storages of the models' own parameters and buffers do not count."""

    rows: list[Kept] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """All of it together."""
        return sum(row.bytes for row in self.rows)

    def by_layer(self) -> dict[str, int]:
        """Layer -> bytes that it was the first to keep; '' holds what no layer of the models kept, as the loss does."""
        found: dict[str, int] = {}
        for row in self.rows:
            found[row.layer] = found.get(row.layer, 0) + row.bytes
        return found


@contextmanager
def saved_tensors(*models: nn.Module) -> Iterator[SavedTensors]:
    """Counts what autograd saves inside this block (torch.autograd.graph.saved_tensors_hooks).

    models: whose parameters and buffers are not counted, and whose layers give the rows their names.
    A region under torch.utils.checkpoint counts with its inputs only, which is what it keeps.
    The count is complete when the block ends; it keeps no memory alive after that.
    """
    own = {
        tensor.untyped_storage()._cdata
        for model in models
        for group in (model.parameters(), model.buffers())
        for tensor in group
    }
    found = SavedTensors()
    seen: dict[int, Any] = {}  # holds the storages, so that no address is used twice while we count
    where: list[str] = []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own and storage._cdata not in seen:
            seen[storage._cdata] = storage
            layer = where[-1] if where else ""
            found.rows.append(Kept(layer, tuple(tensor.shape), str(tensor.dtype)[6:], storage.nbytes()))
        return tensor

    def enter(name: str) -> Any:
        return lambda *_: where.append(name)

    def leave(*_: Any) -> None:
        where.pop()

    with ExitStack() as undo:
        for model in models:
            for name, module in model.named_modules():
                if name and not any(module.children()):
                    label = f"{name} {type(module).__name__}"
                    undo.callback(module.register_forward_pre_hook(enter(label)).remove)
                    undo.callback(module.register_forward_hook(leave, always_call=True).remove)
        undo.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor))
        try:
            yield found
        finally:
            seen.clear()
