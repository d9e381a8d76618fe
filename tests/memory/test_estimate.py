"""The prediction agrees with the count, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from labkit.errors import LabkitError
from labkit.memory import counted, dry_run, estimate, kept_by_layers, saved_tensors

MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32), nn.Tanh(), nn.Linear(32, 10)),
        (1, 8, 8),
    ),
    "cnn": (
        lambda: nn.Sequential(
            nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            nn.Sequential(nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.GroupNorm(4, 16), nn.SiLU(), nn.AvgPool2d(2)),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 10),
        ),
        (3, 16, 16),
    ),
    "in-place, dropout, layer norm": (
        lambda: nn.Sequential(
            nn.Flatten(), nn.Linear(64, 32), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.LayerNorm(32), nn.GELU(),
            nn.Linear(32, 10), nn.Sigmoid(),
        ),
        (1, 8, 8),
    ),
    "pooling to 2 by 2, leaky, spatial dropout": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.LeakyReLU(), nn.Dropout2d(0.5), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 10)
        ),
        (1, 8, 8),
    ),
    "nothing to learn at the beginning": (
        lambda: nn.Sequential(nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(16, 10)),
        (1, 8, 8),
    ),
}  # fmt: skip
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p),
    "AdamW fused": lambda p: torch.optim.AdamW(p, fused=True),
    "AdamW amsgrad": lambda p: torch.optim.AdamW(p, amsgrad=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p),
}
every_model = pytest.mark.parametrize(("make", "shape"), MODELS.values(), ids=MODELS)


@every_model
@pytest.mark.parametrize("batch", [1, 7])
def test_activations_are_predicted_exactly(make: Callable[[], nn.Module], shape: tuple[int, ...], batch: int) -> None:
    model, x, y = make(), torch.randn(batch + 1, *shape), torch.zeros(batch + 1, dtype=torch.long)
    loss_fn = nn.CrossEntropyLoss()
    with saved_tensors(model) as saved:
        loss = loss_fn(model(x), y)
    predicted = kept_by_layers(model, x, loss_fn, y)
    assert predicted.bytes == saved.bytes > 0
    assert sorted(r.bytes for r in predicted.rows) == sorted(r.bytes for r in saved.rows)
    assert predicted.by_layer() == saved.by_layer()
    assert dry_run(model, x, lambda out: loss_fn(out, y.to("meta"))) == saved.bytes
    loss.backward()


@every_model
@pytest.mark.parametrize("make_optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_other_parts_are_predicted_exactly(
    make: Callable[[], nn.Module], shape: tuple[int, ...], make_optimizer: Callable[[Any], torch.optim.Optimizer]
) -> None:
    model, x, y = make(), torch.randn(4, *shape), torch.zeros(4, dtype=torch.long)
    optimizer, loss_fn = make_optimizer(model.parameters()), nn.CrossEntropyLoss()
    predicted = estimate(model, x, optimizer, loss_fn, y)
    with saved_tensors(model) as saved:
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    found = counted(model, optimizer, saved.bytes)
    assert dict(predicted.items()) == dict(found.items())
    assert predicted.total == found.total and predicted.fixed == found.fixed > 0
    assert predicted.how != found.how


def test_mean_squared_error_and_half_the_bits() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)).bfloat16()
    x, y, loss_fn = torch.randn(3, 8).bfloat16(), torch.zeros(3, 2).bfloat16(), nn.MSELoss()
    with saved_tensors(model) as saved:
        loss_fn(model(x), y)
    assert kept_by_layers(model, x, loss_fn, y).bytes == saved.bytes


def test_frozen_layers_have_no_gradient_and_no_state() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
    model[0].requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters())
    parts = estimate(model, torch.zeros(3, 8), optimizer)
    assert parts.weights == 4 * (72 + 18) and parts.gradients == 4 * 18 and parts.optimizer == 2 * 4 * 18 + 2 * 4
    with saved_tensors(model) as saved:
        model(torch.randn(3, 8))
    assert parts.activations == saved.bytes


def test_tied_weights_count_once() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[1].weight = model[0].weight
    assert estimate(model, torch.zeros(1, 8)).weights == 4 * (64 + 8 + 8)


def test_a_model_in_evaluation_mode_keeps_no_batch_statistics() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.5)).eval()
    x = torch.randn(2, 1, 8, 8)
    with saved_tensors(model) as saved:
        model(x)
    assert kept_by_layers(model, x).bytes == saved.bytes


def test_a_prediction_takes_no_memory_and_leaves_the_model_alone() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.BatchNorm1d(64))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    huge = torch.empty(2**40, 64, device="meta")
    assert estimate(model, huge).activations == 2 * 2**40 * 64 * 4 + 2 * 64 * 4
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


class Residual(nn.Module):
    """Functions between the layers, which no rule sees."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 64), nn.Linear(64, 16)
        self.register_buffer("scale", torch.ones(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.second(nn.functional.gelu(self.first(x)))) * self.scale


def test_the_dry_run_knows_models_that_the_arithmetic_does_not() -> None:
    model, x = nn.Sequential(Residual(), Residual()), torch.randn(5, 16)
    with saved_tensors(model) as saved:
        model(x)
    assert dry_run(model, x) == saved.bytes > 0
    with pytest.raises(LabkitError, match="no rule for the layer Residual"):
        estimate(model, x)


def test_what_it_does_not_know_is_said() -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    with pytest.raises(LabkitError, match="what SmoothL1Loss keeps"):
        kept_by_layers(model, torch.zeros(1, 4), nn.SmoothL1Loss(), torch.zeros(1, 4))
    with pytest.raises(LabkitError, match="what Adadelta keeps"):
        estimate(model, torch.zeros(1, 4), torch.optim.Adadelta(model.parameters()))
