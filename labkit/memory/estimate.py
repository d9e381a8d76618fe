"""Predicting what training needs, before anything is allocated.

Weights, gradients and optimizer state are arithmetic on the parameters. Activations follow from one rule per kind of
layer: what its backward pass needs (the derivatives in PyTorch's tools/autograd/derivatives.yaml name it). Shapes come
from a pass on the 'meta' device, where tensors have a shape and no content.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from labkit.errors import LabkitError
from labkit.memory.parts import Parts, storage_bytes
from labkit.memory.saved import Kept, SavedTensors, saved_tensors

_OWN_OUTPUT = (nn.ReLU, nn.ReLU6, nn.Tanh, nn.Sigmoid, nn.Softmax, nn.LogSoftmax)
_OWN_INPUT = (nn.GELU, nn.SiLU, nn.LeakyReLU, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
_WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_BATCH_NORM = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_MAX_POOL = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d)
_DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
_FREE = (nn.Flatten, nn.Unflatten, nn.Identity)
_OTHERS = (nn.LayerNorm, nn.GroupNorm, nn.AdaptiveAvgPool2d)
KNOWN: tuple[type[nn.Module], ...] = (
    *(*_OWN_OUTPUT, *_OWN_INPUT, *_WEIGHTED, *_BATCH_NORM, *_MAX_POOL, *_DROPOUT, *_FREE, *_OTHERS),
)

Item = Tensor | tuple[tuple[int, ...], str, int]  # a tensor of the pass, or (shape, dtype, bytes) of an extra one


def _extra(shape: tuple[int, ...], dtype: str, each: int) -> Item:
    return shape, dtype, math.prod(shape) * each


def _keeps(layer: nn.Module, x: Tensor, out: Tensor, on_gpu: bool) -> list[Item]:
    """What one layer keeps for its backward pass, beside its own parameters."""
    if isinstance(layer, _FREE) or not out.requires_grad:
        return []
    if isinstance(layer, _WEIGHTED):
        return [x]
    if isinstance(layer, _OWN_OUTPUT):
        return [out]
    if isinstance(layer, _OWN_INPUT):
        return [x]
    if isinstance(layer, _BATCH_NORM):
        if not (layer.training or layer.running_mean is None):
            return [x]
        return [x, *[_extra((x.shape[1],), "float32", 4)] * 2]  # mean and 1/std of this batch
    if isinstance(layer, nn.LayerNorm):
        rows = tuple(x.shape[: x.ndim - len(layer.normalized_shape)]) + (1,) * len(layer.normalized_shape)
        return [x, *[_extra(rows, "float32", 4)] * 2]
    if isinstance(layer, nn.GroupNorm):
        return [x, *[_extra((x.shape[0], layer.num_groups), "float32", 4)] * 2]
    if isinstance(layer, _MAX_POOL):
        return [x, _extra(tuple(out.shape), "int64", 8)]  # where each maximum was
    if isinstance(layer, nn.AdaptiveAvgPool2d):
        return [] if layer.output_size in (1, (1, 1)) else [x]  # to one pixel it is a mean, which needs no values
    if isinstance(layer, _DROPOUT):
        if not layer.training or layer.p == 0:
            return []
        whole = type(layer) is nn.Dropout
        shape = tuple(x.shape) if whole else (*x.shape[:2], *(1,) * (x.ndim - 2))
        if on_gpu and whole:  # the GPU's own kernel keeps one byte per element
            return [_extra(shape, "bool", 1)]
        kept: list[Item] = [_extra(shape, str(x.dtype)[6:], x.element_size())]
        return kept
    raise AssertionError(f"no rule for {type(layer).__name__}")


def _loss_keeps(loss: nn.Module, scores: Tensor, target: Tensor) -> list[Item]:
    if isinstance(loss, nn.CrossEntropyLoss) and not loss.label_smoothing and loss.weight is None:
        return [_extra(tuple(scores.shape), str(scores.dtype)[6:], scores.element_size()), target, ((), "float32", 4)]
    if isinstance(loss, nn.MSELoss):
        return [scores, target]
    raise LabkitError(
        f"The arithmetic does not know what {type(loss).__name__} keeps.",
        "Use a plain nn.CrossEntropyLoss() or nn.MSELoss(), or count with labkit.memory.saved_tensors.",
    )


def _check_layers(model: nn.Module) -> None:
    for module in model.modules():
        if not isinstance(module, (nn.Sequential, *KNOWN)):
            raise LabkitError(
                f"The arithmetic has no rule for the layer {type(module).__name__}.",
                "It knows nn.Sequential of the usual layers. For any model: labkit.memory.dry_run(model, example), which "
                "passes tensors without content through it, or count a real step with labkit.memory.saved_tensors(model).",
            )


def kept_by_layers(
    model: nn.Module, example: Tensor, loss: nn.Module | None = None, target: Tensor | None = None
) -> SavedTensors:
    """The activations that a training step keeps, by one rule per layer; nothing is computed and nothing allocated.

    model: nn.Sequential of known layers (KNOWN), nested as you like, in training mode as it stands. example: a batch
    [N, …]; only shape, type and device are used, so one on the 'meta' device will do. loss, target: count the loss's
    part too. Raises LabkitError for a layer or a loss without a rule.
    """
    _check_layers(model)
    found, seen = SavedTensors(), dict[int, Any]()
    on_gpu = example.device.type == "cuda"

    def add(label: str, items: list[Item]) -> None:
        for item in items:
            if isinstance(item, Tensor):
                storage = item.untyped_storage()
                if storage._cdata in seen:
                    continue
                seen[storage._cdata] = storage
                found.rows.append(Kept(label, tuple(item.shape), str(item.dtype)[6:], storage.nbytes()))
            else:
                found.rows.append(Kept(label, *item))

    def note(label: str) -> Any:
        return lambda layer, args, out: add(label, _keeps(layer, args[0], out, on_gpu))

    handles = [
        module.register_forward_hook(note(f"{name} {type(module).__name__}"))
        for name, module in model.named_modules()
        if isinstance(module, KNOWN)
    ]
    try:
        scores = _on_meta(model, example)
        if loss is not None and target is not None:
            add("", _loss_keeps(loss, scores, torch.empty_like(target, device="meta")))
    finally:
        for handle in handles:
            handle.remove()
    return found


def _on_meta(model: nn.Module, example: Tensor) -> Tensor:
    """The model's output for a batch without content; the model itself is not touched."""

    def ghost(tensor: Tensor) -> Tensor:
        return torch.empty_like(tensor, device="meta").requires_grad_(tensor.requires_grad)

    ghosts: Mapping[str, Tensor] = {
        name: ghost(tensor) for name, tensor in (*model.named_parameters(), *model.named_buffers())
    }
    with torch.enable_grad():
        out = torch.func.functional_call(model, dict(ghosts), (ghost(example),))
    if not isinstance(out, Tensor):
        raise LabkitError("The model gives back more than one tensor.", "Wrap it, so that it gives back one tensor.")
    return out


def dry_run(model: nn.Module, example: Tensor, loss: Callable[[Tensor], Tensor] | None = None) -> int:
    """Bytes of activations of any model, from a pass on the 'meta' device: autograd saves tensors without content, and we
    count them. Nothing is computed, so it also works for a model and a batch that would never fit.

    loss: from the output to the loss, to count its part. It counts what autograd would keep; what a fused kernel of
    your GPU keeps instead (attention, dropout) can differ. Raises what the model raises for operations that have no
    form without content.
    """
    ghost = _Ghost(model)
    with saved_tensors(ghost) as saved:
        out = ghost.run(example)
        kept = loss(out) if loss is not None else out
    del kept
    return saved.bytes


class _Ghost(nn.Module):
    """A model whose parameters have no content, so that the count can leave them out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        object.__setattr__(self, "_model", model)
        self._ghosts: dict[str, Tensor] = {
            name: torch.empty_like(tensor, device="meta").requires_grad_(tensor.requires_grad)
            for name, tensor in (*model.named_parameters(), *model.named_buffers())
        }

    def parameters(self, recurse: bool = True) -> Any:
        return iter(self._ghosts.values())

    def buffers(self, recurse: bool = True) -> Any:
        return iter(())

    def run(self, example: Tensor) -> Tensor:
        model: Any = self._model
        with torch.enable_grad():
            out: Tensor = torch.func.functional_call(model, self._ghosts, (torch.empty_like(example, device="meta"),))
        return out


def optimizer_bytes(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Bytes that an optimizer of torch.optim keeps from its first step on, by arithmetic.

    Per trained parameter of n elements: SGD nothing, with momentum n; Adam and AdamW 2 n and a step counter of 4 bytes
    (amsgrad: 3 n); RMSprop n, one more each for momentum and centered; Adagrad n. Raises LabkitError for others.
    """
    trained = {id(p): p for p in model.parameters() if p.requires_grad}
    total = 0
    for group in optimizer.param_groups:
        copies, counter = _copies(optimizer, group)
        for p in group["params"]:
            if id(p) in trained:
                total += copies * p.numel() * p.element_size() + counter
    return total


def _copies(optimizer: torch.optim.Optimizer, group: Mapping[str, Any]) -> tuple[int, int]:
    """(copies of the parameter, bytes of the step counter) for one parameter group."""
    if isinstance(optimizer, torch.optim.SGD):
        return int(bool(group["momentum"])), 0
    if isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW)):
        return 2 + int(bool(group["amsgrad"])), 4
    if isinstance(optimizer, torch.optim.RMSprop):
        return 1 + int(group["momentum"] > 0) + int(bool(group["centered"])), 4
    if isinstance(optimizer, torch.optim.Adagrad):
        return 1, 4
    raise LabkitError(
        f"The arithmetic does not know what {type(optimizer).__name__} keeps.",
        "Make one step, then ask labkit.memory.counted(model, optimizer).",
    )


def estimate(
    model: nn.Module,
    example: Tensor,
    optimizer: torch.optim.Optimizer | None = None,
    loss: nn.Module | None = None,
    target: Tensor | None = None,
) -> Parts:
    """What a training step with this batch keeps in memory, predicted: nothing is computed and nothing allocated.

    example: a batch [N, …]; only its shape, type and device matter. optimizer: None leaves its state out.
    loss, target: count what the loss keeps. Raises LabkitError for layers, losses and optimizers without a rule.
    """
    trained = [p for p in model.parameters() if p.requires_grad]
    return Parts(
        weights=storage_bytes(model.parameters()),
        buffers=storage_bytes(model.buffers()),
        gradients=storage_bytes(trained),
        optimizer=optimizer_bytes(model, optimizer) if optimizer is not None else 0,
        activations=kept_by_layers(model, example, loss, target).bytes,
        how="predicted by arithmetic",
    )
