"""An epoch of CIFAR-10's usual augmentation: DataLoader and torchvision's transforms against bytes that are already there.

Theirs: a Dataset that gives a PIL image, RandomCrop(32, padding=4), RandomHorizontalFlip, ToTensor, Normalize, behind a
shuffling DataLoader with batches of 500. Ours: labkit.data.augmented, which lesson 02 prints, and the short loop that
stands in lesson 02 (read from the notebook, so that what is measured is what is taught). All in one process, in turns,
with one CPU thread; drawing order, windows and coins is part of each epoch. Before anything is timed, the random numbers
that torchvision drew are replayed, and the batches compared bit by bit.

The pictures are 50,000 x 3 x 32 x 32 random bytes: no step looks at the values, so they change nothing about the time. A
pair takes all of them, and theirs a random part (it needs so much longer); the ratio is that of seconds per picture.

Two floors: moving as many bytes as go in (uint8) and come out (float32) once through memory, and converting the pictures
in their stored order into one reused batch, no crop, no shuffling, no normalising.

    python -m benchmarks.augmenting_loader              pairs, then one pair over all pictures on both sides
    python -m benchmarks.augmenting_loader --no-full
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from benchmarks import record
from labkit.data.augmented import Augmented, Versions, draw

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
BATCH, PAD, SIDE = 500, 4, 32
NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "02_cifar10_exercise.ipynb"
OURS = {
    "exact": "as labkit.data.augmented (lesson 02, section 5), same bits",
    "folded": "as labkit.data.augmented with exact=False (rounding differs)",
    "channels_last": "as the same with exact=False in channels_last (rounding and layout differ)",
    "lesson": "as the short loop of lesson 02, section 5, same bits",
}
FLOORS = {
    "bytes": "moving the bytes in and out once (floor)",
    "convert": "converting in stored order into one reused batch (stricter floor)",
}


class Pictures(Dataset[tuple[Tensor, int]]):
    """As torchvision's CIFAR10 class gives them: a PIL image of each picture, then the transforms."""

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.data, self.targets = images.permute(0, 2, 3, 1).contiguous().numpy(), labels.tolist()
        self.transform = transforms.Compose(
            [
                transforms.RandomCrop(SIDE, padding=PAD),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.transform(Image.fromarray(self.data[index])), self.targets[index]


def shuffled(count: int, part: int, seed: int) -> Tensor:
    """The numbers of ``part`` pictures in random order; a generator of its own leaves the transforms' alone."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:part]


def theirs(pictures: Pictures, part: int, workers: int = 0, seed: int = 0) -> DataLoader[Any]:
    """Their loader over ``part`` random pictures."""
    order = shuffled(len(pictures), part, seed).tolist()
    own = torch.Generator().manual_seed(seed)
    return DataLoader(pictures, batch_size=BATCH, sampler=order, num_workers=workers, generator=own)


def replayed(count: int, part: int, seed: int) -> Versions:
    """The versions that ``theirs`` shows after torch.manual_seed(seed): the same calls in the same order, without pictures."""
    torch.manual_seed(seed)
    offsets, coins = [], []
    for _ in range(part):  # RandomCrop draws the row, then the column; RandomHorizontalFlip a coin
        offsets.append([int(torch.randint(0, 2 * PAD + 1, size=(1,))) for _ in range(2)])
        coins.append(bool(torch.rand(1) < 0.5))
    top, left = torch.tensor(offsets).T
    return Versions(shuffled(count, part, seed), top, left, torch.tensor(coins))


def lesson_batches() -> Callable[..., Iterator[tuple[Tensor, Tensor]]]:
    """``resident_batches`` as it stands in lesson 02."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    source = next(text for cell in cells if (text := "".join(cell["source"])).startswith("def resident_batches("))
    space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    exec(compile(source, NOTEBOOK.name, "exec"), space)
    made: Callable[..., Iterator[tuple[Tensor, Tensor]]] = space["resident_batches"]
    return made


class Sides:
    """Everything that is prepared once: their data set, our two loaders, the padded pictures of the lesson's loop."""

    def __init__(self, count: int, seed: int = 0) -> None:
        seeded = torch.Generator().manual_seed(seed)
        self.images = torch.randint(0, 256, (count, 3, SIDE, SIDE), dtype=torch.uint8, generator=seeded)
        self.labels = torch.randint(0, 10, (count,), generator=seeded)
        self.pictures = Pictures(self.images, self.labels)
        start = time.perf_counter()
        kept = (self.images, self.labels, MEAN, STD)
        self.exact = Augmented(*kept, batch_size=BATCH, pad=PAD)
        self.prepare_s = time.perf_counter() - start
        self.folded = Augmented(*kept, batch_size=BATCH, pad=PAD, exact=False)
        self.channels_last = Augmented(*kept, batch_size=BATCH, pad=PAD, exact=False, channels_last=True)
        self.padded = torch.nn.functional.pad(self.images, (PAD,) * 4)
        self.shape = [torch.tensor(v).view(3, 1, 1) for v in (MEAN, STD)]
        self.lesson = lesson_batches()

    def lesson_epoch(self, versions: Versions) -> Iterator[tuple[Tensor, Tensor]]:
        v = versions
        return self.lesson(self.padded, self.labels, v.order, v.top, v.left, v.mirrored, *self.shape, BATCH)

    def epochs(self) -> dict[str, Callable[[], Any]]:
        """Name -> a function that gives the batches of one epoch over all pictures."""
        return {
            "exact": lambda: self.exact,
            "folded": lambda: self.folded,
            "channels_last": lambda: self.channels_last,
            "lesson": lambda: self.lesson_epoch(draw(len(self.labels), PAD)),
        }


def compared(sides: Sides, part: int, seed: int) -> dict[str, Any]:
    """Their batches against ours, in the versions that they drew: the largest difference of each, and whether the bits agree."""
    versions = replayed(len(sides.labels), part, seed)
    torch.manual_seed(seed)
    right = list(theirs(sides.pictures, part, seed=seed))
    told: dict[str, Any] = {}
    for name, made in {
        "exact": sides.exact.batches(versions),
        "folded": sides.folded.batches(versions),
        "channels_last": sides.channels_last.batches(versions),
        "lesson": sides.lesson_epoch(versions),
    }.items():
        worst, same = 0.0, True
        for (x, y), (x_right, y_right) in zip(made, right, strict=True):
            worst = max(worst, float((x - x_right).abs().max()))
            same = same and torch.equal(x, x_right) and torch.equal(y, y_right)
        told[name] = {"largest_difference": worst, "same_bits": same}
    return {"pictures": part, "batches": told}


def seconds(epoch: Callable[[], Any]) -> float:
    """How long it takes to go through the batches once; nothing is done with them."""
    start = time.perf_counter()
    for _ in epoch():
        pass
    return time.perf_counter() - start


def one_pair(sides: Sides, part: int, workers: int, seed: int, shuffler: random.Random) -> dict[str, float]:
    """Each side once, in random order: seconds per picture."""
    count = len(sides.labels)
    out = torch.empty(BATCH, 3, SIDE, SIDE)
    moved = torch.zeros(2, count * 3 * SIDE * SIDE * 5 // 2, dtype=torch.uint8)  # 1 byte in and 4 out make 5, half read

    def converting() -> Iterator[Tensor]:
        for images in sides.images.split(BATCH):
            yield out[: len(images)].copy_(images)

    runs: dict[str, tuple[Callable[[], Any], int]] = {
        "theirs": (lambda: theirs(sides.pictures, part, seed=seed), part),
        **{name: (epoch, count) for name, epoch in sides.epochs().items()},
        "convert": (converting, count),
        "bytes": (lambda: [moved[0].copy_(moved[1])], count),
    }
    if workers:
        runs["workers"] = (lambda: theirs(sides.pictures, part, workers, seed), part)
    names = list(runs)
    shuffler.shuffle(names)
    return {name: seconds(runs[name][0]) / runs[name][1] for name in names}


def ratios(pairs: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Their seconds per picture over those of the others, pair by pair; and ours over the floors."""
    others = [name for name in pairs[0] if name != "theirs"]
    told = {name: record.spread([pair["theirs"] / pair[name] for pair in pairs]) for name in others}
    for name in OURS:
        for floor in FLOORS:
            told[f"{name}_over_{floor}"] = record.spread([pair[name] / pair[floor] for pair in pairs])
    return told


def run(count: int, part: int, pairs: int, workers: int, full: bool) -> dict[str, Any]:
    """The whole measurement with one CPU thread, as plain values."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        idle = record.idle_share()
        sides = Sides(count)
        same = compared(sides, min(part, 2 * BATCH), 1)
        shuffler = random.Random(0)
        one_pair(sides, min(part, BATCH), 0, 0, shuffler)  # warm-up
        measured = []
        for seed in range(pairs):
            measured.append(one_pair(sides, part, workers, seed, shuffler))
            print(f"pair {seed + 1}: " + ", ".join(f"{n} {1e6 * s:.2f} µs" for n, s in sorted(measured[-1].items())))
        whole = one_pair(sides, count, 0, pairs, shuffler) if full else None
    finally:
        torch.set_num_threads(before)
    return {
        "idle_share_before": idle,
        "pictures": count,
        "their_part": part,
        "workers": workers,
        "threads": 1,
        "prepare_s": sides.prepare_s,
        "prepared_bytes": sides.exact.runs.untyped_storage().nbytes(),
        "compared": same,
        "pairs": measured,
        "ratios": ratios(measured),
        **({"full_epoch_s": {name: s * count for name, s in whole.items()}} if whole else {}),
    }


def tell(result: dict[str, Any]) -> None:
    """Prints what was measured."""
    told = result["ratios"]
    print(
        f"{len(result['pairs'])} pairs, one thread, {result['pictures']} pictures (theirs: {result['their_part']} of them), "
        "seconds per picture; DataLoader with torchvision's transforms takes times as long"
    )
    words = {
        **OURS,
        **({"workers": f"as itself with {result['workers']} workers"} if "workers" in told else {}),
        **FLOORS,
    }
    for name, text in words.items():
        print("  " + record.told(text, told[name]))
    for name in OURS:
        for floor in FLOORS:
            print("  " + record.told(f"{name}, over the floor '{floor}'", told[f"{name}_over_{floor}"]))
    if "full_epoch_s" in result:
        whole = result["full_epoch_s"]
        print("  one whole epoch (a single pair, no spread): " + ", ".join(f"{n} {s:.3f} s" for n, s in whole.items()))
    print(f"  prepared once in {result['prepare_s']:.2f} s, {result['prepared_bytes'] / 1e6:.0f} MB")
    for name, one in result["compared"]["batches"].items():
        print(
            f"  {name}: same bits as torchvision's on {result['compared']['pictures']} replayed pictures: "
            f"{'yes' if one['same_bits'] else 'no'} (largest difference {one['largest_difference']:.1e})"
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--part", type=int, default=5000, help="pictures for their side of a pair (default: 5000)")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="also with so many workers; 0: not")
    parser.add_argument("--no-full", action="store_true", help="leave out the pair over all pictures on both sides")
    parser.add_argument("--output", type=Path, help="folder for the result (default: benchmarks/results)")
    options = parser.parse_args(argv)
    part = min(options.part, options.pictures)
    result = run(options.pictures, part, options.pairs, options.workers, not options.no_full)
    tell(result)
    print(f"written: {record.write('augmenting_loader', result, options.output)}")
    batches = result["compared"]["batches"]
    same = all(batches[name]["same_bits"] for name in ("exact", "lesson"))
    near = all(batches[name]["largest_difference"] < 1e-6 for name in ("folded", "channels_last"))
    return 0 if same and near else 1


if __name__ == "__main__":
    raise SystemExit(main())
