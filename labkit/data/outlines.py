"""A stand-in for transfer learning: twenty drawn classes, 16x16 in colour, in two groups that share no class.

Ten shapes (those of ``labkit.data.shapes``), each once filled and once hollow. A network learns on one group and
is then moved to the other: new classes, drawn by the same hand. That is the relation of ImageNet to a learner's own
pictures on a small scale, and nothing more: these drawings are not ImageNet and say nothing about it.

The bytes are the same everywhere, as in ``labkit.data.shapes``: PCG64's raw bits, and + - * / sqrt, min, max, floor.
"""

from __future__ import annotations

import numpy as np

from labkit.data import shapes
from labkit.data.dataset import Dataset, Provenance

SIDE = 16
SEED = 20261203
NAMES = tuple(f"{how} {name}" for name in shapes.CLASSES for how in ("filled", "hollow"))
TARGET = ("filled ring", "hollow square", "hollow triangle", "filled cross", "filled star", "filled crescent")
SOURCE = tuple(name for name in NAMES if name not in TARGET)


def source(train: int = 180, test: int = 30, seed: int = SEED) -> Dataset:
    """The group to learn first: 14 classes, ``train`` and ``test`` pictures of each. uint8 [N, 3, 16, 16]."""
    return _group("a large data set", "drawn shapes, first group", SOURCE, train, test, seed)


def target(train: int = 110, test: int = 100, seed: int = SEED + 1) -> Dataset:
    """The group to move to: 6 other classes, ``train`` and ``test`` pictures of each. uint8 [N, 3, 16, 16]."""
    return _group("an image folder", "drawn shapes, second group", TARGET, train, test, seed)


def draw(name: str, count: int, bits: np.random.PCG64) -> np.ndarray:
    """``count`` pictures of the class ``name`` (one of NAMES) from a stream of random bits: uint8 [count, 3, 16, 16]."""
    how, _, shape = name.partition(" ")
    distance = shapes.DISTANCES[shapes.CLASSES.index(shape)]
    axis = (np.arange(SIDE, dtype=np.float32) - np.float32(SIDE / 2 - 0.5)).reshape(1, 1, SIDE)
    x0, y0 = axis, axis.reshape(1, SIDE, 1)
    cos, sin = shapes.direction(bits, count)
    size = shapes.uniform(bits, count, 4.0, 6.5)
    room = 6 - size * np.float32(0.65)
    x = x0 - room * shapes.uniform(bits, count, -1, 1)
    y = y0 - room * shapes.uniform(bits, count, -1, 1)
    inside = distance((x * cos + y * sin) / size, (y * cos - x * sin) / size) * size
    if how == "hollow":
        inside = np.abs(inside + np.float32(0.6)) - np.float32(0.6)  # a line of 1.2 pixels along the edge, inside
    cover = np.clip(np.float32(0.5) - inside, 0, 1)
    strength = shapes.uniform(bits, count, 120, 190)
    noise = bits.random_raw(count * 3 * SIDE * SIDE // 8).astype("<u8").view(np.uint8)
    picture = (noise.reshape(count, 3, SIDE, SIDE).astype(np.float32) - np.float32(127.5)) * np.float32(0.4)
    for channel in range(3):
        picture[:, channel] += 50 + cover * (strength + shapes.uniform(bits, count, -40, 40))
    return np.clip(np.floor(picture + np.float32(0.5)), 0, 255).astype(np.uint8)


def _group(name: str, words: str, names: tuple[str, ...], train: int, test: int, seed: int) -> Dataset:
    import torch

    bits = np.random.PCG64(seed)
    parts = [draw(one, train + test, bits) for one in names]
    images = np.concatenate([p[:train] for p in parts]), np.concatenate([p[train:] for p in parts])
    labels = np.repeat(np.arange(len(names)), train), np.repeat(np.arange(len(names)), test)
    provenance = Provenance(
        source=f"drawn by labkit just now, from seed {seed}",
        checksum=f"sha256 {shapes.checksum(images[0], labels[0], images[1], labels[1])[:16]}... of the drawn pictures",
        licence="MIT, as labkit",
        stand_in=True,
    )
    first, second = (torch.from_numpy(a) for a in images)
    tensors = (first, torch.from_numpy(labels[0]), second, torch.from_numpy(labels[1]))
    return Dataset(name, *tensors, names, provenance, words)
