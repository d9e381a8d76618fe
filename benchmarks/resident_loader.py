"""One epoch of the guides' MNIST loop against the same maths on tensors that are already there.

Theirs: a Dataset that makes a PIL image of each sample, ToTensor, Normalize, a shuffling DataLoader of 64, an MLP 784-128-64-10,
SGD, and ``.item()`` on every step. Ours, in the same order with the same updates: all pictures normalised once, ``index_select``
by the same permutation, no ``.item()``; with torch.optim.SGD, with SGD's one line written out, and with forward and backward
written out as well (no autograd). Every run compares the weights bit by bit. The floor is the time that the matrix products of
the epoch alone take, measured in the same run.

    python -m benchmarks.resident_loader                 pairs over 6,400 pictures, then one over all 60,000
    python -m benchmarks.resident_loader --threads 2     with two CPU threads for both (0: as a probe chooses)
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from benchmarks import record
from labkit import data, threads
from labkit.errors import LabkitError

BATCH, RATE = 64, 0.01
OURS = ("resident", "written_out", "by_hand")
FLOP_PER_SAMPLE = 2 * (
    2 * (784 * 128 + 128 * 64 + 64 * 10) + (128 * 64 + 64 * 10)
)  # forward, weights' gradients, inputs' gradients


class PilPictures(Dataset[tuple[Tensor, int]]):
    """What torchvision's own MNIST classes do for a sample: a PIL image, then the transforms, one sample at a time."""

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.images, self.labels = images[:, 0], labels
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        picture, label = self.images[index], int(self.labels[index])
        return self.transform(Image.fromarray(picture.numpy())), label


def model(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def shuffled(n: int, seed: int) -> Tensor:
    """The order in which DataLoader(shuffle=True, generator=...) visits n samples in its first epoch."""
    generator = torch.Generator().manual_seed(seed)
    torch.empty((), dtype=torch.int64).random_(generator=generator)  # the loader draws a seed for its workers first
    return torch.randperm(n, generator=generator)


def guides(images: Tensor, labels: Tensor, seed: int) -> tuple[float, nn.Module]:
    """One epoch as the guides write it; returns its seconds and the trained model."""
    net = model(seed)
    loader = DataLoader(
        PilPictures(images, labels), batch_size=BATCH, shuffle=True, generator=torch.Generator().manual_seed(seed)
    )
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=RATE)
    start = time.perf_counter()
    running_loss = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    return time.perf_counter() - start, net


def normalised(images: Tensor) -> Tensor:
    """Every picture as a row of 784, normalised at once: the same bits as ToTensor and Normalize for each."""
    return ((images.float() / 255 - 0.5) / 0.5).reshape(len(images), 784)


def resident(pixels: Tensor, labels: Tensor, seed: int) -> tuple[float, nn.Module]:
    """The same epoch from resident tensors."""
    net = model(seed)
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=RATE)
    start = time.perf_counter()
    losses = []
    for batch in shuffled(len(pixels), seed).split(BATCH):
        optimizer.zero_grad()
        loss = criterion(net(pixels.index_select(0, batch)), labels.index_select(0, batch))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    float(torch.stack(losses).mean())
    return time.perf_counter() - start, net


def written_out(pixels: Tensor, labels: Tensor, seed: int) -> tuple[float, nn.Module]:
    """The same epoch, with the one line that SGD is in place of the optimiser object."""
    net = model(seed)
    weights = list(net.parameters())
    start = time.perf_counter()
    losses = []
    for batch in shuffled(len(pixels), seed).split(BATCH):
        loss = F.cross_entropy(net(pixels.index_select(0, batch)), labels.index_select(0, batch))
        loss.backward()
        with torch.no_grad():
            for weight in weights:
                assert weight.grad is not None
                weight.add_(weight.grad, alpha=-RATE)
                weight.grad = None
        losses.append(loss.detach())
    float(torch.stack(losses).mean())
    return time.perf_counter() - start, net


def by_hand(pixels: Tensor, labels: Tensor, seed: int) -> tuple[float, nn.Module]:
    """The same epoch without autograd: the very operations that it would call, one after the other, in place where that is possible."""
    net = model(seed)
    (w1, b1), (w2, b2), (w3, b3) = (
        (layer.weight.detach(), layer.bias.detach()) for layer in net if isinstance(layer, nn.Linear)
    )
    t1, t2, t3 = w1.t(), w2.t(), w3.t()
    start = time.perf_counter()
    losses = []
    for batch in shuffled(len(pixels), seed).split(BATCH):
        x, y = pixels.index_select(0, batch), labels.index_select(0, batch)
        h1 = torch.addmm(b1, x, t1).relu_()
        h2 = torch.addmm(b2, h1, t2).relu_()
        log_p = F.log_softmax(torch.addmm(b3, h2, t3), 1)
        losses.append(F.nll_loss(log_p, y))
        towards_labels = torch.zeros_like(log_p).scatter_(1, y[:, None], -1 / len(y))
        # exp(log_p) / len(y) minus the labels' share; this operation, which autograd also calls, rounds exactly as it does
        g3 = torch._log_softmax_backward_data(towards_labels, log_p, 1, torch.float32)
        g2 = (g3 @ w3).mul_(h2 > 0)
        g1 = (g2 @ w2).mul_(h1 > 0)
        for weight, bias, above, below in ((w3, b3, g3, h2), (w2, b2, g2, h1), (w1, b1, g1, x)):
            weight.add_(above.t() @ below, alpha=-RATE)
            bias.add_(above.sum(0), alpha=-RATE)
    float(torch.stack(losses).mean())
    return time.perf_counter() - start, net


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


def same_bits(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def one_pair(images: Tensor, pixels: Tensor, labels: Tensor, seed: int, shuffler: random.Random) -> dict[str, Any]:
    """Each loop once, in random order, with the floor; seconds, and whether the weights agree bit by bit."""
    n = len(labels)
    runs: dict[str, Callable[[], tuple[float, nn.Module]]] = {
        "guides": lambda: guides(images, labels, seed),
        "resident": lambda: resident(pixels, labels, seed),
        "written_out": lambda: written_out(pixels, labels, seed),
        "by_hand": lambda: by_hand(pixels, labels, seed),
    }
    names = [*runs, "floor"]
    shuffler.shuffle(names)
    seconds: dict[str, float] = {}
    nets: dict[str, nn.Module] = {}
    for name in names:
        if name == "floor":
            seconds[name] = products_only(n)
        else:
            seconds[name], nets[name] = runs[name]()
    return {"seconds": seconds, "bitwise_equal": {name: same_bits(nets["guides"], nets[name]) for name in OURS}}


def ratios(pairs: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The guides' seconds over those of the others, pair by pair."""
    return {
        name: record.spread([pair["seconds"]["guides"] / pair["seconds"][name] for pair in pairs])
        for name in (*OURS, "floor")
    }


def run(images: int, pairs: int, full: bool, thread_count: int, dataset: str) -> dict[str, Any]:
    """The whole measurement, as plain values."""
    try:
        chosen = data.load(dataset)
    except LabkitError as error:
        print(f"{error}\nUsing mnist in its place.")
        chosen = data.load("mnist")
    all_images, all_labels = chosen.train_images, chosen.train_labels
    start = time.perf_counter()
    all_pixels = normalised(all_images)
    preparation = time.perf_counter() - start
    part = (all_images[:images], all_pixels[:images], all_labels[:images])
    choice = "given"
    if thread_count > 0:
        torch.set_num_threads(thread_count)
    else:
        step_net, step_labels = model(0), all_labels[:BATCH]
        choice = str(threads.choose(lambda: F.cross_entropy(step_net(all_pixels[:BATCH]), step_labels).backward()))
        print(choice)
    idle = record.idle_share()
    shuffler = random.Random(0)
    one_pair(part[0][:640], part[1][:640], part[2][:640], 0, shuffler)  # warm-up
    measured = []
    for seed in range(pairs):
        measured.append(one_pair(*part, seed, shuffler))
        print(
            f"pair {seed + 1}: " + ", ".join(f"{name} {s:.3f} s" for name, s in sorted(measured[-1]["seconds"].items()))
        )
    result: dict[str, Any] = {
        "dataset": chosen.label,
        "stand_in": chosen.provenance.stand_in,
        "threads": torch.get_num_threads(),
        "threads_chosen": choice,
        "idle_share_before": idle,
        "images": len(part[0]),
        "pairs": measured,
        "ratios": ratios(measured),
        "normalise_once_s": preparation,
        "normalised_images": len(all_images),
        "gflop_per_epoch": FLOP_PER_SAMPLE * len(all_images) / 1e9,
    }
    if full:
        result["full_epoch"] = one_pair(all_images, all_pixels, all_labels, 0, shuffler)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=6400, help="pictures in each pair (default: 6400)")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--no-full", action="store_true", help="leave out the pair over the whole training set")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads for all loops; 0: as labkit.threads chooses (default: 1)"
    )
    parser.add_argument("--dataset", default="fashion_mnist")
    parser.add_argument("--output", type=Path, help="folder for the result (default: benchmarks/results)")
    options = parser.parse_args(argv)
    result = run(options.images, options.pairs, not options.no_full, options.threads, options.dataset)
    print(
        f"{result['dataset']}, {result['threads']} thread(s), {len(result['pairs'])} pairs over {result['images']} pictures; "
        "the guides' loop takes"
    )
    for name, words in (
        ("resident", "as long as the resident loop"),
        ("written_out", "as long with SGD written out"),
        ("by_hand", "as long with the backward pass written out too"),
        ("floor", "as long as the matrix products alone"),
    ):
        print("  " + record.told(f"times {words}", result["ratios"][name]))
    if "full_epoch" in result:
        whole = result["full_epoch"]["seconds"]
        print(
            "  one whole epoch (a single pair, no spread): "
            + ", ".join(f"{name} {s:.3f} s ({whole['guides'] / s:.1f} times)" for name, s in sorted(whole.items()))
        )
    every = [*result["pairs"], *([result["full_epoch"]] if "full_epoch" in result else [])]
    equal = all(all(pair["bitwise_equal"].values()) for pair in every)
    print(f"  weights bitwise equal in every pair: {'yes' if equal else 'NO'}")
    result["bitwise_equal"] = equal
    name = "resident_loader" if options.threads == 1 else f"resident_loader_threads_{options.threads or 'chosen'}"
    print(f"written: {record.write(name, result, options.output)}")
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
