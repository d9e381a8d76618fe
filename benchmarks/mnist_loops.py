"""One epoch of the guides' MNIST training, written in several ways that train the same weights.

``guides`` is the loop that is copied everywhere; the others do its maths on pictures that are already tensors, each with
less around the matrix products than the one before. All take the same order of pictures; all but ``folded`` end with
the same weights, bit by bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

BATCH, RATE = 64, 0.01
FLOP_PER_SAMPLE = 2 * (
    2 * (784 * 128 + 128 * 64 + 64 * 10) + (128 * 64 + 64 * 10)
)  # forward, weights' gradients, inputs' gradients


class GuidesPictures(datasets.MNIST):
    """torchvision's own MNIST class with the guides' transforms, given pictures that are loaded in place of a download.

    For each sample it makes a PIL image, then ToTensor, then Normalize.
    """

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.data, self.targets = images[:, 0], labels
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
        self.target_transform = None


def model(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def shuffled(n: int, generator: torch.Generator) -> Tensor:
    """The order in which DataLoader(shuffle=True, generator=generator) visits n samples in its next epoch."""
    torch.empty((), dtype=torch.int64).random_(generator=generator)  # the loader draws a seed for its workers first
    order = torch.randperm(n, generator=generator)
    torch.randperm(n, generator=generator)  # and its sampler one more order, of which it uses nothing
    return order


def normalised(images: Tensor) -> Tensor:
    """Every picture as a row of 784, normalised at once: the same bits as ToTensor and Normalize for each."""
    return ((images.float() / 255 - 0.5) / 0.5).reshape(len(images), 784)


def guides(images: Tensor, labels: Tensor, net: nn.Module, generator: torch.Generator) -> None:
    """One epoch as the guides write it."""
    loader: DataLoader[Any] = DataLoader(
        GuidesPictures(images, labels), batch_size=BATCH, shuffle=True, generator=generator
    )
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=RATE)
    running_loss = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()


def resident(pixels: Tensor, labels: Tensor, net: nn.Module, generator: torch.Generator) -> None:
    """The same epoch from resident tensors."""
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=RATE)
    losses = []
    for batch in shuffled(len(pixels), generator).split(BATCH):
        optimizer.zero_grad()
        loss = criterion(net(pixels.index_select(0, batch)), labels.index_select(0, batch))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    float(torch.stack(losses).mean())


def written_out(pixels: Tensor, labels: Tensor, net: nn.Module, generator: torch.Generator) -> None:
    """The same epoch, with the one line that SGD is in place of the optimiser object."""
    weights = list(net.parameters())
    losses = []
    for batch in shuffled(len(pixels), generator).split(BATCH):
        loss = F.cross_entropy(net(pixels.index_select(0, batch)), labels.index_select(0, batch))
        loss.backward()
        with torch.no_grad():
            for weight in weights:
                assert weight.grad is not None
                weight.add_(weight.grad, alpha=-RATE)
                weight.grad = None
        losses.append(loss.detach())
    float(torch.stack(losses).mean())


def _layers(net: nn.Module) -> list[tuple[Tensor, Tensor]]:
    return [(layer.weight, layer.bias) for layer in net.modules() if isinstance(layer, nn.Linear)]


@torch.no_grad()
def by_hand(pixels: Tensor, labels: Tensor, net: nn.Module, generator: torch.Generator) -> None:
    """The same epoch without autograd: the operations that it would call, one after the other, into memory that is kept.

    This is the loop of lesson 01, "Going further". It rounds exactly as autograd does.
    """
    (w1, b1), (w2, b2), (w3, b3) = _layers(net)
    d1, d2, d3 = (torch.empty_like(weight) for weight in (w1, w2, w3))
    order = shuffled(len(pixels), generator)
    truth = F.one_hot(labels, 10).float()[order]
    said = torch.empty_like(truth)
    size = 0
    for batch, right, log_p in zip(order.split(BATCH), truth.split(BATCH), said.split(BATCH), strict=True):
        if len(batch) != size:  # the first batch, and the last one if it is smaller
            size = len(batch)
            x, h1, g1, s1, h2, g2, s2 = (torch.empty(size, width) for width in (784, 128, 128, 128, 64, 64, 64))
        torch.index_select(pixels, 0, batch, out=x)
        torch.addmm(b1, x, w1.t(), out=h1).relu_()
        torch.addmm(b2, h1, w2.t(), out=h2).relu_()
        torch.log_softmax(torch.addmm(b3, h2, w3.t()), 1, out=log_p)
        # exp(log_p) / size minus the labels' share; autograd calls this operation too, so it rounds alike
        g3 = torch._log_softmax_backward_data(right / -size, log_p, 1, torch.float32)
        torch.mm(g3, w3, out=g2).mul_(torch.sign(h2, out=s2))
        torch.mm(g2, w2, out=g1).mul_(torch.sign(h1, out=s1))
        for weight, bias, change, above, below in ((w3, b3, d3, g3, h2), (w2, b2, d2, g2, h1), (w1, b1, d1, g1, x)):
            weight.add_(torch.mm(above.t(), below, out=change), alpha=-RATE)
            bias.add_(above.sum(0), alpha=-RATE)
    float(-(said * truth).sum(1).mean())


@torch.no_grad()
def folded(pixels: Tensor, labels: Tensor, net: nn.Module, generator: torch.Generator) -> None:
    """``by_hand`` with each update folded into the product that makes it: no gradient is ever stored.

    It rounds once less, so a few weights in a hundred differ in their last bit after a step. A ReLU whose input is that
    close to zero then lets a gradient through in one loop and not in the other, and the weights drift apart slowly.
    """
    (w1, b1), (w2, b2), (w3, b3) = _layers(net)
    order = shuffled(len(pixels), generator)
    truth = F.one_hot(labels, 10).float()[order]
    said = torch.empty_like(truth)
    size = 0
    for batch, right, p in zip(order.split(BATCH), truth.split(BATCH), said.split(BATCH), strict=True):
        if len(batch) != size:
            size = len(batch)
            ones = torch.ones(size)
            x, h1, g1, s1, h2, g2, s2, g3 = (torch.empty(size, w) for w in (784, 128, 128, 128, 64, 64, 64, 10))
        torch.index_select(pixels, 0, batch, out=x)
        torch.addmm(b1, x, w1.t(), out=h1).relu_()
        torch.addmm(b2, h1, w2.t(), out=h2).relu_()
        torch.softmax(torch.addmm(b3, h2, w3.t(), out=g3), 1, out=p)
        torch.sub(p, right, out=g3)
        torch.mm(g3, w3, out=g2).mul_(torch.sign(h2, out=s2))
        torch.mm(g2, w2, out=g1).mul_(torch.sign(h1, out=s1))
        for weight, bias, above, below in ((w3, b3, g3, h2), (w2, b2, g2, h1), (w1, b1, g1, x)):
            weight.addmm_(above.t(), below, alpha=-RATE / size)
            bias.addmv_(above.t(), ones, alpha=-RATE / size)
    float(-(said * truth).sum(1).log().mean())


def products_only(n: int) -> float:
    """Seconds for an epoch's matrix products alone, into buffers that are there: no training loop can be faster with these."""
    x, h1, h2, out = (torch.randn(BATCH, width) for width in (784, 128, 64, 10))
    w1, w2, w3 = torch.randn(128, 784), torch.randn(64, 128), torch.randn(10, 64)
    jobs = [(x, w1.t()), (h1, w2.t()), (h2, w3.t()), (out.t(), h2), (out, w3), (h2.t(), h1), (h2, w2), (h1.t(), x)]
    ready = [(a, b, torch.empty(a.shape[0], b.shape[1])) for a, b in jobs]
    start = time.perf_counter()
    for _ in range(-(-n // BATCH)):
        for a, b, into in ready:
            torch.mm(a, b, out=into)
    return time.perf_counter() - start


def timed(epoch: Callable[..., Any], pictures: Tensor, labels: Tensor, seed: int) -> tuple[float, nn.Module]:
    """Seconds of one epoch from the starting weights of ``seed``, and the model that came of it."""
    net, generator = model(seed), torch.Generator().manual_seed(seed)
    start = time.perf_counter()
    epoch(pictures, labels, net, generator)
    return time.perf_counter() - start, net


def largest_difference(one: nn.Module, other: nn.Module) -> float:
    """The largest difference between two models' weights; 0.0 exactly where they are the same bit by bit."""
    return max(float((a - b).detach().abs().max()) for a, b in zip(one.parameters(), other.parameters(), strict=True))
