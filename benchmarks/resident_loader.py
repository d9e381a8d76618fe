"""One epoch of the guides' MNIST loop against the same maths on tensors that are already there.

Theirs: torchvision's MNIST class (a PIL image of each sample, ToTensor, Normalize), a shuffling DataLoader of 64, an MLP
784-128-64-10, SGD, and ``.item()`` on every step. Ours, in the same order with the same updates: all pictures normalised
once, ``index_select`` by the same permutation, no ``.item()``; with torch.optim.SGD, with SGD's one line written out, and
with forward and backward written out into kept memory (no autograd). These train the same weights bit by bit, and every
run compares them. Last, the update folded into the matrix product: faster, and not the same bits. The floor is the time
that the matrix products of the epoch alone take. Everything is measured with one CPU thread for all loops, and with one
for each core.

    python -m benchmarks.resident_loader                 pairs over 6,400 pictures, then one over all 60,000
    python -m benchmarks.resident_loader --threads 4     with four CPU threads for all loops
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import mnist_loops, record
from labkit import data
from labkit.errors import LabkitError

EXACT = ("resident", "written_out", "by_hand")
OURS = (*EXACT, "folded")
WORDS = {
    "resident": "as the resident loop, torch.optim.SGD (lesson 01, section 9)",
    "written_out": "with SGD written out",
    "by_hand": 'with the backward pass written out too (lesson 01, "Going further")',
    "folded": "with the update folded into the product (not the same bits)",
    "floor": "as the matrix products alone (floor)",
}


def one_pair(images: Tensor, pixels: Tensor, labels: Tensor, seed: int, shuffler: random.Random) -> dict[str, Any]:
    """Each loop once, in random order, with the floor; seconds, and how far the weights are from the guides'."""
    runs: dict[str, Callable[[], tuple[float, nn.Module]]] = {
        "guides": partial(mnist_loops.timed, mnist_loops.guides, images, labels, seed),
        **{name: partial(mnist_loops.timed, getattr(mnist_loops, name), pixels, labels, seed) for name in OURS},
    }
    names = [*runs, "floor"]
    shuffler.shuffle(names)
    seconds: dict[str, float] = {}
    nets: dict[str, nn.Module] = {}
    for name in names:
        if name == "floor":
            seconds[name] = mnist_loops.products_only(len(labels))
        else:
            seconds[name], nets[name] = runs[name]()
    return {
        "seconds": seconds,
        "difference": {name: mnist_loops.largest_difference(nets["guides"], nets[name]) for name in OURS},
    }


def ratios(pairs: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The guides' seconds over those of the others, pair by pair; ``over_floor``: the seconds by hand over the floor's."""
    told = {
        name: record.spread([pair["seconds"]["guides"] / pair["seconds"][name] for pair in pairs]) for name in WORDS
    }
    told["over_floor"] = record.spread([pair["seconds"]["by_hand"] / pair["seconds"]["floor"] for pair in pairs])
    return told


def measure(images: Tensor, pixels: Tensor, labels: Tensor, part: int, pairs: int, full: bool) -> dict[str, Any]:
    """All pairs with the number of threads that is set, as plain values."""
    some = (images[:part], pixels[:part], labels[:part])
    shuffler = random.Random(0)
    one_pair(some[0][:640], some[1][:640], some[2][:640], 0, shuffler)  # warm-up
    measured = []
    for seed in range(pairs):
        measured.append(one_pair(*some, seed, shuffler))
        print(
            f"pair {seed + 1}: " + ", ".join(f"{name} {s:.3f} s" for name, s in sorted(measured[-1]["seconds"].items()))
        )
    result: dict[str, Any] = {"pairs": measured, "ratios": ratios(measured)}
    if full:
        result["full_epoch"] = one_pair(images, pixels, labels, 0, shuffler)
    every = [*measured, *([result["full_epoch"]] if full else [])]
    result["bitwise_equal"] = all(pair["difference"][name] == 0 for pair in every for name in EXACT)
    return result


def run(part: int, pairs: int, full: bool, threads: Sequence[int], dataset: str) -> dict[str, Any]:
    """The whole measurement, as plain values."""
    try:
        chosen = data.load(dataset)
    except LabkitError as error:
        print(f"{error}\nUsing mnist in its place.")
        chosen = data.load("mnist")
    images, labels = chosen.train_images, chosen.train_labels
    start = time.perf_counter()
    pixels = mnist_loops.normalised(images)
    preparation = time.perf_counter() - start
    idle = record.idle_share()
    by_threads = {}
    for count in threads:
        torch.set_num_threads(count)
        print(f"{count} thread(s)")
        by_threads[str(count)] = measure(images, pixels, labels, part, pairs, full)
    return {
        "dataset": chosen.label,
        "stand_in": chosen.provenance.stand_in,
        "idle_share_before": idle,
        "images": min(part, len(images)),
        "normalise_once_s": preparation,
        "normalised_images": len(images),
        "gflop_per_epoch": mnist_loops.FLOP_PER_SAMPLE * len(images) / 1e9,
        "by_threads": by_threads,
        "bitwise_equal": all(one["bitwise_equal"] for one in by_threads.values()),
    }


def tell(result: dict[str, Any]) -> None:
    """Prints what was measured."""
    for count, one in result["by_threads"].items():
        print(
            f"{result['dataset']}, {count} thread(s), {len(one['pairs'])} pairs over {result['images']} pictures; "
            "the guides' loop takes times as long"
        )
        for name, words in WORDS.items():
            print("  " + record.told(words, one["ratios"][name]))
        print("  " + record.told("backward pass written out, over the floor", one["ratios"]["over_floor"]))
        if "full_epoch" in one:
            whole = one["full_epoch"]["seconds"]
            print(
                "  one whole epoch (a single pair, no spread): "
                + ", ".join(f"{name} {s:.3f} s ({whole['guides'] / s:.1f} times)" for name, s in sorted(whole.items()))
            )
            print(f"  largest difference, folded: {one['full_epoch']['difference']['folded']:.1e}")
        print(f"  weights bitwise equal in every pair: {'yes' if one['bitwise_equal'] else 'NO'}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=6400, help="pictures in each pair (default: 6400)")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--no-full", action="store_true", help="leave out the pair over the whole training set")
    parser.add_argument(
        "--threads", type=int, nargs="+", help="CPU threads for all loops (default: 1, then one for each core)"
    )
    parser.add_argument("--dataset", default="fashion_mnist")
    parser.add_argument("--output", type=Path, help="folder for the result (default: benchmarks/results)")
    options = parser.parse_args(argv)
    threads = options.threads or sorted({1, os.cpu_count() or 1})
    result = run(options.images, options.pairs, not options.no_full, threads, options.dataset)
    tell(result)
    print(f"written: {record.write('resident_loader', result, options.output)}")
    return 0 if result["bitwise_equal"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
