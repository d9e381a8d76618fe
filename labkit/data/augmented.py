"""Batches of shifted, mirrored and normalised pictures, made from bytes that stay in one place (a CPU's memory or a GPU's).

The same as torchvision's RandomCrop(size, padding), RandomHorizontalFlip, ToTensor and Normalize behind a DataLoader, for
pictures that fit in memory; without a Python call per picture, and without a PIL image.

    from labkit.data.augmented import Augmented
    loader = Augmented(train_images, train_labels, mean, std, batch_size=500)
    for epoch in range(10):
        for x, y in loader:        # new versions in a new order, each time
            ...                    # x is overwritten by the next batch: clone() what you keep

How: all pictures lie behind each other as bytes, in a frame of zeros. A window of a picture is then one run of bytes: the
window's rows, with what lies between them. Copying 500 runs makes a batch, and the conversion to float32 steps over what
lies between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from labkit.errors import LabkitError


@dataclass(frozen=True)
class Versions:
    """What one epoch shows, one entry per picture shown.

    order:     int64 [N], which picture comes when.
    top, left: int64 [N], where the window lies in the padded picture, 0 to 2 * pad; pad is the middle.
    mirrored:  bool [N], whether the window is mirrored after it was cut out.
    """

    order: Tensor
    top: Tensor
    left: Tensor
    mirrored: Tensor


def draw(
    count: int, pad: int = 4, generator: torch.Generator | None = None, device: torch.device | str = "cpu"
) -> Versions:
    """A version of each of ``count`` pictures, in random order. ``generator`` must live on ``device``."""
    top, left = torch.randint(0, 2 * pad + 1, (2, count), generator=generator, device=device)
    coins = torch.rand(count, generator=generator, device=device)
    return Versions(torch.randperm(count, generator=generator, device=device), top, left, coins < 0.5)


class Augmented:
    """Iterating over it gives (x, y) batch by batch, one epoch long: float32 [n, C, H, W] and the labels [n].

    images: uint8 [N, C, H, W] on the device where the batches are wanted; labels: [N], on the same. mean, std: C numbers
    each (or one for all), of pixels from 0 to 1. pad: how far a picture moves at most, in pixels; black comes in at the border.
    exact: True divides, adds and divides as ToTensor and Normalize do; on a CPU the batch then has the same bits. False folds
    that into one product and one sum, which is faster and off by rounding (below 1e-6 for usual numbers).
    channels_last: the same numbers in torch.channels_last, the colours of a pixel side by side. Fewer, longer rows: faster.
    generator: of the device's kind, for an order that can be repeated; None takes torch's own.

    Two padded copies are kept, one of them mirrored: 2 * C * (H + pad) * (W + pad) bytes per picture.
    x is one block of memory that every batch overwrites. Raises LabkitError for images or numbers of another form.
    """

    def __init__(
        self,
        images: Tensor,
        labels: Tensor,
        mean: Tensor | Sequence[float],
        std: Tensor | Sequence[float],
        *,
        batch_size: int = 500,
        pad: int = 4,
        exact: bool = True,
        channels_last: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        if images.dtype != torch.uint8 or images.dim() != 4 or len(images) == 0 or len(labels) != len(images):
            raise LabkitError(
                f"Augmented needs pictures as bytes; it got {images.dtype} {list(images.shape)}, {len(labels)} labels.",
                "Pass uint8 images [N, C, H, W] and one label for each.",
            )
        if batch_size < 1 or pad < 0:
            raise LabkitError(f"batch_size is {batch_size} and pad is {pad}.", "Use at least 1, and at least 0.")
        self.labels, self.batch_size, self.pad, self.exact, self.generator = labels, batch_size, pad, exact, generator
        layout = torch.channels_last if channels_last else torch.contiguous_format
        channels, height, width = images.shape[1:]
        tall, wide = height + pad, width + pad  # a frame between two rows serves both: right of one, left of the next
        self.picture = channels * tall * wide
        # bytes from one colour, row, column of a picture to the next
        strides = (1, wide * channels, channels) if channels_last else (tall * wide, wide, 1)
        _, self.row, self.column = strides
        self.mirror = len(images) * self.picture + pad * self.row + pad * self.column  # where the mirrored ones begin

        flat = _zeros(2 * self.mirror, images.device)
        for begin, pictures in ((0, images), (self.mirror, images.flip(-1))):
            frames = flat.as_strided((len(images), channels, tall, wide), (self.picture, *strides), begin)
            frames[:, :, pad:, pad:] = pictures
        length = sum((n - 1) * step for n, step in zip((channels, height, width), strides, strict=True)) + 1
        self.runs = flat.as_strided((flat.numel() - length + 1, length), (1, 1))  # run i begins at byte i

        shape = (batch_size, channels, height, width)
        self.copied = torch.empty(batch_size, length, dtype=torch.uint8, device=images.device)
        self.windows = self.copied.as_strided(
            shape, (length, *strides)
        )  # the same bytes, without what lies between rows
        self.x = torch.empty(shape, device=images.device, memory_format=layout)

        def spread(values: Tensor) -> Tensor:  # a number for each byte of a picture: one long loop, no broadcasting
            return values.expand(shape[1:])[None].contiguous(memory_format=layout)

        m, s = (torch.as_tensor(v, dtype=torch.float32, device=images.device).reshape(-1, 1, 1) for v in (mean, std))
        if any(len(v) not in (1, channels) for v in (m, s)) or not bool((s > 0).all()):
            raise LabkitError(
                f"mean and std must hold {channels} numbers each, std above 0.",
                "Pass one for each channel, of pixels from 0 to 1.",
            )
        self.minus_mean, self.std, self.white = spread(-m), spread(s), spread(torch.full_like(m, 255))
        self.scale, self.bias = spread(1 / (255 * s)), spread(-m / s)

    def __len__(self) -> int:
        """The number of batches of an epoch; the last one may be smaller."""
        return -(-len(self.labels) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        yield from self.batches(draw(len(self.labels), self.pad, self.generator, self.labels.device))

    def batches(self, versions: Versions) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of versions that are given; ``draw`` makes some."""
        v, size = versions, self.batch_size
        left = torch.where(v.mirrored, 2 * self.pad - v.left, v.left)  # the same window in the mirrored copy
        starts = v.mirrored * self.mirror + v.order * self.picture + v.top * self.row + left * self.column
        for begins, order in zip(starts.split(size), v.order.split(size), strict=True):
            n = len(begins)
            torch.index_select(self.runs, 0, begins, out=self.copied[:n])
            x = self.x[:n].copy_(self.windows[:n])  # bytes to float32
            if self.exact:  # x / 255 - mean, then / std
                torch.addcdiv(self.minus_mean, x, self.white, out=x).div_(self.std)
            else:  # the same in one go
                torch.addcmul(self.bias, x, self.scale, out=x)
            yield x, self.labels[order]


def _zeros(count: int, device: torch.device) -> Tensor:
    """``count`` zero bytes. On a CPU they come from NumPy, which asks Linux for large pages: jumping about costs less then."""
    if device.type != "cpu":
        return torch.zeros(count, dtype=torch.uint8, device=device)
    import numpy as np

    return torch.from_numpy(np.zeros(count, dtype=np.uint8))
