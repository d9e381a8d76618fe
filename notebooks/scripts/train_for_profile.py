"""A small training to be profiled: lesson 02's network on random pictures, with every step and every load marked.

It runs under any profiler, or none:

    rocprofv3 --runtime-trace -d out -o run -- python notebooks/scripts/train_for_profile.py --steps 10
    python -c "from labkit.profile import record; print(record('notebooks/scripts/train_for_profile.py'))"
    python notebooks/scripts/train_for_profile.py --sick synchronising

Marks are ``torch.profiler.record_function`` for torch.profiler and ``torch.cuda.nvtx`` for the GPU's own profilers; in PyTorch's
ROCm builds the latter are ROCTx (not yet verified on ROCm). Warm-up steps come first and carry no mark.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import record_function

SICKNESSES = ("none", "loader", "launch-bound", "synchronising")
PICTURES = 2_048
TINY = 2  # examples per step of the launch-bound training


@contextmanager
def mark(name: str) -> Iterator[None]:
    """A named stretch of time that profilers show."""
    with record_function(name):
        if not torch.cuda.is_available():
            yield
            return
        torch.cuda.nvtx.range_push(name)
        try:
            yield
        finally:
            torch.cuda.nvtx.range_pop()


def make_model(width: int = 8) -> nn.Module:
    """Three blocks of convolution, batch norm, ReLU and pooling, as in lesson 02: [N, 3, 32, 32] to [N, 10]."""
    layers: list[nn.Module] = []
    before = 3
    for now in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(before, now, 3, padding=1), nn.BatchNorm2d(now), nn.ReLU(), nn.MaxPool2d(2)]
        before = now
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * before, 10))


def load(images: Tensor, labels: Tensor, picks: Tensor, *, slowly: bool) -> tuple[Tensor, Tensor]:
    """The picked pictures as float32 around zero; ``slowly``: on the host, one picture and one channel at a time."""
    if not slowly:
        return images[picks].float() / 255 - 0.5, labels[picks]
    pictures = []
    for i in picks.tolist():
        picture = torch.roll(images[i].float() / 255, (0, 0), (1, 2))  # as much work as an augmentation, no change
        for channel in range(3):
            picture[channel] = picture[channel] - 0.5
        pictures.append(picture)
    return torch.stack(pictures), labels[picks]


def train(steps: int, warmup: int, sick: str, batch: int, device: torch.device, seed: int = 0) -> float:
    """Trains for ``warmup`` unmarked and ``steps`` marked steps and gives the last loss."""
    torch.manual_seed(seed)
    where = torch.device("cpu") if sick == "loader" else device  # a healthy small data set lies where the model is
    images = torch.randint(0, 256, (PICTURES, 3, 32, 32), dtype=torch.uint8).to(where)
    labels = torch.randint(0, 10, (PICTURES,)).to(where)
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    size = TINY if sick == "launch-bound" else batch
    loss = torch.zeros(())

    def step() -> Tensor:
        with mark("load"):
            x, y = load(images, labels, torch.randint(0, PICTURES, (size,)).to(where), slowly=sick == "loader")
            x, y = x.to(device), y.to(device)
        if sick == "synchronising":
            for layer in model:  # type: ignore[attr-defined]
                x = layer(x)
                assert x.abs().max().item() < 1e6  # a well-meant check that waits after every layer
            out = x
        else:
            out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(warmup):
        loss = step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    for number in range(steps):
        with mark(f"step {number}"):
            loss = step()
    return loss.item()


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the command line, trains, prints the last loss."""
    parser = argparse.ArgumentParser(description="A small training to be profiled.")
    parser.add_argument("--steps", type=int, default=10, help="marked steps")
    parser.add_argument("--warmup", type=int, default=3, help="unmarked steps before them")
    parser.add_argument("--sick", choices=SICKNESSES, default="none", help="what shall be wrong with it")
    parser.add_argument("--batch", type=int, default=64, help="pictures per step")
    parser.add_argument("--device", default="auto", help="cpu, cuda (an AMD GPU, too) or auto")
    options = parser.parse_args(arguments)
    if options.steps < 1 or options.warmup < 0 or options.batch < 1:
        parser.error("--steps and --batch must be at least 1, --warmup at least 0")
    name = options.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    loss = train(options.steps, options.warmup, options.sick, options.batch, torch.device(name))
    print(f"{options.steps} steps on {name}, sick: {options.sick}, last loss {loss:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
