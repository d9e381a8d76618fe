"""Trainings that take about a second: a small network on two moons, two spirals or small handwritten digits.

They run on the CPU with one thread, whatever the machine has: at this size a GPU would wait for its launches, and the same
settings give the same numbers. The surroundings stay as they were: random state, number of threads, gradient mode.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from labkit.errors import LabkitError
from labkit.show.charts import number

if TYPE_CHECKING:
    from torch import Tensor, nn

Task = Literal["moons", "spirals", "digits"]
TASKS: tuple[str, ...] = get_args(Task)
_MAX_STEPS = 20_000
MAP_SIDE = 48
"""Points along each side of the map of what a network answers where."""


@dataclass(frozen=True)
class Settings:
    """What can be turned: learning rate, batch size, momentum, width of both hidden layers, epochs, seed."""

    lr: float = 0.1
    batch_size: int = 32
    momentum: float = 0.9
    width: int = 32
    epochs: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise LabkitError(f"The learning rate must be above 0; it is {self.lr}.", "Try 0.1.")
        if not 0 <= self.momentum < 1:
            raise LabkitError(
                f"momentum must be at least 0 and below 1; it is {self.momentum}.", "Try 0.9, or 0 for none."
            )
        for name in ("batch_size", "width", "epochs"):
            value = getattr(self, name)
            if value != int(value) or value < 1:
                raise LabkitError(f"{name} must be a whole number from 1; it is {value}.", "Try 32.")

    def __str__(self) -> str:
        return (
            f"lr {self.lr:g}, momentum {self.momentum:g}, batch {self.batch_size}, width {self.width}, "
            f"{self.epochs} epochs" + (f", seed {self.seed}" if self.seed else "")
        )


@dataclass(frozen=True)
class Trial:
    """One training: per epoch the mean loss of its batches and the accuracy (0 to 1) on points it never saw."""

    settings: Settings
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    seconds: float
    classes: int
    interrupted: bool = False
    map: Any = None
    """uint8 [48, 48]: the class that the network answers for each point of the plane, top row first (flat tasks only)."""

    @property
    def diverged(self) -> bool:
        """The loss left the numbers, or ended far above that of guessing (ln of the number of classes)."""
        last = self.losses[-1] if self.losses else 0.0
        return not math.isfinite(last) or last > 3 * math.log(self.classes)

    @property
    def last_loss(self) -> str:
        """The loss of the last epoch, for people."""
        if not self.losses:
            return "-"
        return number(self.losses[-1]) if math.isfinite(self.losses[-1]) else "no number"

    @property
    def verdict(self) -> str:
        """In words how it went."""
        if not self.losses:
            return "interrupted before the first epoch was over"
        last, accuracy = self.losses[-1], self.accuracies[-1]
        if not math.isfinite(last):
            told = f"diverged: the loss was no number any more in epoch {len(self.losses)}"
        elif self.diverged:
            told = (
                f"diverged: the loss ended at {number(last)}, far above {number(math.log(self.classes))} for guessing"
            )
        elif accuracy < 1 / self.classes + 0.25 * (1 - 1 / self.classes):
            told = f"learned next to nothing: guessing gives {1 / self.classes:.0%}"
        elif accuracy >= 0.97:
            told = "learned it"
        else:
            told = "learned part of it"
        return f"{told}; interrupted after epoch {len(self.losses)}" if self.interrupted else told

    def __str__(self) -> str:
        head = f"{self.settings}: "
        if not self.losses:
            return head + self.verdict
        return f"{head}loss {self.last_loss}, test accuracy {self.accuracies[-1]:.1%}; {self.verdict}"


def settings(base: Settings, changes: dict[str, Any]) -> Settings:
    """``base`` with some settings changed; LabkitError for a name that does not exist."""
    known = asdict(base)
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise LabkitError(f"There is no setting '{unknown[0]}'.", f"Use {', '.join(known)}.")
    return Settings(**{**known, **changes})


@lru_cache(maxsize=4)
def points(task: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs and classes to train with, inputs and classes to test with: float32 [N, D], int64 [N].

    'moons' and 'spirals' are 600 + 400 made-up points of the plane, always the same; 'digits' are the 1,397 + 400 real
    handwritten ones of labkit.data, averaged to 7x7. LabkitError for any other name.
    """
    import torch

    if task == "digits":
        from labkit.data.digits import digits

        train, train_classes, test, test_classes = digits()
        small = [
            torch.nn.functional.avg_pool2d(torch.from_numpy(part)[:, None].float() / 255, 4).flatten(1) * 2 - 0.5
            for part in (train, test)
        ]
        return small[0], torch.from_numpy(train_classes).long(), small[1], torch.from_numpy(test_classes).long()
    if task not in TASKS:
        raise LabkitError(f"There is no task '{task}'.", f"Use {', '.join(TASKS)}.")
    draw = torch.Generator().manual_seed(1)
    count = 1000
    classes = torch.arange(count) % 2
    along = torch.rand(count, generator=draw)
    noise = torch.randn(count, 2, generator=draw)
    if task == "moons":
        angle = math.pi * along
        upper = torch.stack([angle.cos(), angle.sin()], 1)
        lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], 1)
        flat = torch.where(classes[:, None] == 0, upper, lower) - torch.tensor([0.5, 0.25]) + 0.12 * noise
    else:
        angle = 0.6 + 2.5 * math.pi * along.sqrt()
        radius = 0.15 + 1.25 * along.sqrt()
        turn = angle + math.pi * classes
        flat = torch.stack([radius * turn.cos(), radius * turn.sin()], 1) + 0.05 * noise
    return flat[:600], classes[:600], flat[600:], classes[600:]


def network(inputs: int, width: int, classes: int) -> nn.Sequential:
    """The network of every trial: two hidden layers of that width with ReLU."""
    from torch import nn

    return nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes)
    )


def train(task: str, chosen: Settings, progress: Callable[[int], None] | None = None) -> Trial:
    """Trains once, the same way for the same settings; ``progress`` is called with the number of finished epochs.

    Stops early when the loss is no number any more, and at a KeyboardInterrupt, which ends in a Trial that says so.
    """
    import torch
    from torch.nn.functional import cross_entropy

    inputs, classes, test_inputs, test_classes = points(task)
    kinds = int(classes.max()) + 1
    steps = -(-len(inputs) // chosen.batch_size) * chosen.epochs
    if steps > _MAX_STEPS:
        raise LabkitError(
            f"{steps:,} steps would take too long for a playground (at most {_MAX_STEPS:,}).",
            "Use a larger batch_size or fewer epochs.",
        )
    losses: list[float] = []
    accuracies: list[float] = []
    interrupted = False
    start = time.perf_counter()
    with _apart(chosen.seed):
        net = network(inputs.shape[1], chosen.width, kinds)
        optimizer = torch.optim.SGD(net.parameters(), lr=chosen.lr, momentum=chosen.momentum, foreach=True)
        try:
            for epoch in range(chosen.epochs):
                seen = []
                for batch in torch.randperm(len(inputs)).split(chosen.batch_size):
                    optimizer.zero_grad()
                    loss = cross_entropy(net(inputs[batch]), classes[batch])
                    loss.backward()
                    optimizer.step()
                    seen.append(loss.detach())
                mean = float(torch.stack(seen).mean())
                with torch.no_grad():
                    right = float((net(test_inputs).argmax(1) == test_classes).float().mean())
                losses.append(mean)
                accuracies.append(right)
                if progress is not None:
                    progress(epoch + 1)
                if not math.isfinite(mean):
                    break
        except KeyboardInterrupt:
            interrupted = True
            del losses[len(accuracies) :]
        plane = _answers(net) if inputs.shape[1] == 2 else None
    return Trial(chosen, tuple(losses), tuple(accuracies), time.perf_counter() - start, kinds, interrupted, plane)


def _answers(net: nn.Sequential) -> Any:
    """uint8 [MAP_SIDE, MAP_SIDE]: the class for each point of the square from -1.6 to 1.6, the top row first."""
    import torch

    along = torch.linspace(-1.6, 1.6, MAP_SIDE)
    up, right = torch.meshgrid(-along, along, indexing="ij")
    with torch.no_grad():
        return net(torch.stack([right, up], -1).reshape(-1, 2)).argmax(1).reshape(MAP_SIDE, MAP_SIDE).byte().numpy()


@contextmanager
def _apart(seed: int) -> Iterator[None]:
    """A block with a random state, one thread and gradients of its own; everything is put back afterwards."""
    import torch

    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), torch.device("cpu"):
        torch.random.default_generator.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
