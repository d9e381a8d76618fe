"""Batches of augmented pictures: the same pixels as one picture at a time, in every version."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labkit.data.augmented import Augmented, Versions, draw
from labkit.errors import LabkitError

MEAN, STD = [0.49, 0.48, 0.44], [0.25, 0.24, 0.26]


def pictures(count: int = 7, side: tuple[int, int] = (5, 6), channels: int = 3) -> tuple[Tensor, Tensor]:
    seeded = torch.Generator().manual_seed(0)
    images = torch.randint(1, 256, (count, channels, *side), dtype=torch.uint8, generator=seeded)
    return images, torch.arange(count) + 100


def one_by_one(images: Tensor, versions: Versions, pad: int, mean: Tensor, std: Tensor) -> Tensor:
    """Crop, mirror, divide, subtract, divide: each picture by itself."""
    made = []
    height, width = images.shape[2:]
    columns = zip(versions.order, versions.top, versions.left, versions.mirrored, strict=True)
    for picture, top, left, mirrored in columns:
        window = F.pad(images[picture], (pad,) * 4)[:, top : top + height, left : left + width]
        x = (window.flip(-1) if mirrored else window).float().div(255)
        made.append(x.sub(mean.view(-1, 1, 1)).div(std.view(-1, 1, 1)))
    return torch.stack(made)


def every_version(count: int, pad: int) -> Versions:
    """All windows of all pictures, plain and mirrored."""
    span = torch.arange(2 * pad + 1)
    order, top, left, mirrored = torch.cartesian_prod(torch.arange(count), span, span, torch.tensor([0, 1])).T
    return Versions(order, top, left, mirrored.bool())


@pytest.mark.parametrize("pad", [0, 1, 4])
@pytest.mark.parametrize("batch_size", [3, 50])
@pytest.mark.parametrize("channels_last", [False, True])
def test_every_version_of_every_picture_has_the_same_bits(pad: int, batch_size: int, channels_last: bool) -> None:
    images, labels = pictures()
    loader = Augmented(images, labels, MEAN, STD, batch_size=batch_size, pad=pad, channels_last=channels_last)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    assert loader.x.is_contiguous(memory_format=layout)
    versions = every_version(len(images), pad)
    told = [(x.clone(), y) for x, y in loader.batches(versions)]
    x, y = (torch.cat(parts) for parts in zip(*told, strict=True))
    assert torch.equal(x, one_by_one(images, versions, pad, torch.tensor(MEAN), torch.tensor(STD)))
    assert torch.equal(y, labels[versions.order])


@pytest.mark.parametrize("channels_last", [False, True])
def test_without_exact_only_rounding_differs(channels_last: bool) -> None:
    images, labels = pictures()
    versions = every_version(len(images), 2)
    loaders = [
        Augmented(images, labels, MEAN, STD, pad=2, exact=exact, channels_last=channels_last and not exact)
        for exact in (True, False)
    ]
    exact, folded = (torch.cat([x.clone() for x, _ in loader.batches(versions)]) for loader in loaders)
    assert 0 < float((exact - folded).abs().max()) < 1e-6


def test_an_epoch_shows_each_picture_once_and_the_next_one_another_way() -> None:
    images, labels = pictures(20)
    loader = Augmented(images, labels, MEAN, STD, batch_size=8, generator=torch.Generator().manual_seed(3))
    epochs = [[(x.clone(), y) for x, y in loader] for _ in range(2)]
    for epoch in epochs:
        assert [len(y) for _, y in epoch] == [8, 8, 4] and len(loader) == 3
        assert sorted(torch.cat([y for _, y in epoch]).tolist()) == labels.tolist()
    assert not torch.equal(epochs[0][0][0], epochs[1][0][0])
    again = Augmented(images, labels, MEAN, STD, batch_size=8, generator=torch.Generator().manual_seed(3))
    assert all(torch.equal(x, other) for (x, _), (other, _) in zip(again, epochs[0], strict=True))


def test_a_grey_picture_and_one_number_for_its_channel() -> None:
    images, labels = pictures(3, channels=1)
    (x, _), *_ = Augmented(images, labels, [0.5], [0.5], pad=1)
    assert x.shape == (3, 1, 5, 6) and x.dtype == torch.float32


def test_windows_are_drawn_evenly() -> None:
    versions = draw(20_000, pad=2, generator=torch.Generator().manual_seed(0))
    for offsets in (versions.top, versions.left):
        counts = torch.bincount(offsets, minlength=5)
        assert len(counts) == 5 and int(counts.min()) > 3_700
    assert 0.48 < float(versions.mirrored.float().mean()) < 0.52
    assert versions.order.sort().values.equal(torch.arange(20_000))


def test_what_cannot_be_loaded_is_said() -> None:
    images, labels = pictures()
    with pytest.raises(LabkitError, match="as bytes"):
        Augmented(images.float(), labels, MEAN, STD)
    with pytest.raises(LabkitError, match="as bytes"):
        Augmented(images, labels[:3], MEAN, STD)
    with pytest.raises(LabkitError, match="3 numbers"):
        Augmented(images, labels, MEAN[:2], STD)
    with pytest.raises(LabkitError, match="std above 0"):
        Augmented(images, labels, MEAN, [0.0, 1.0, 1.0])
    with pytest.raises(LabkitError, match="batch_size"):
        Augmented(images, labels, MEAN, STD, batch_size=0)


def test_batches_can_be_trained_on() -> None:
    """x is overwritten by the next batch: one step at a time is safe, and autograd notices if it is not."""
    images, labels = pictures(6, (8, 8))
    layer = torch.nn.Conv2d(3, 2, 3)
    batches = iter(Augmented(images, labels, MEAN, STD, batch_size=3))
    x, _ = next(batches)
    layer(x).sum().backward()
    kept = layer(x).sum()
    next(batches)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        kept.backward()
