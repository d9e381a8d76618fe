"""The stand-in for transfer learning: two groups of drawn classes."""

from __future__ import annotations

import numpy as np
import torch

from labkit.data import outlines


def test_the_groups_share_no_class_and_hold_all() -> None:
    assert set(outlines.SOURCE).isdisjoint(outlines.TARGET)
    assert set(outlines.SOURCE) | set(outlines.TARGET) == set(outlines.NAMES) and len(outlines.NAMES) == 20


def test_both_groups_have_equal_classes_and_say_that_they_are_stand_ins() -> None:
    for group, classes in ((outlines.source(5, 2), 14), (outlines.target(5, 2), 6)):
        assert group.train_images.shape == (5 * classes, 3, 16, 16) and group.test_images.shape == (
            2 * classes,
            3,
            16,
            16,
        )
        assert group.train_images.dtype == torch.uint8 and group.train_labels.dtype == torch.int64
        assert torch.bincount(group.train_labels).tolist() == [5] * classes
        assert group.provenance.stand_in and "stand-in" in group.label and "ImageNet" not in str(group)


def test_the_bytes_are_fixed() -> None:
    assert torch.equal(outlines.target(4, 2).train_images, outlines.target(4, 2).train_images)
    assert not torch.equal(outlines.target(4, 2).train_images, outlines.target(4, 2, seed=1).train_images)
    assert outlines.target().provenance.checksum == "sha256 bf721e565ff8a80a... of the drawn pictures"


def test_a_hollow_shape_is_dark_within() -> None:
    filled, hollow = (outlines.draw(f"{how} square", 200, np.random.PCG64(1)).mean() for how in ("filled", "hollow"))
    assert filled > hollow + 10


def test_the_two_parts_of_a_group_do_not_overlap() -> None:
    group = outlines.target(20, 20)
    seen = {picture.numpy().tobytes() for picture in group.train_images}
    assert len(seen) == len(group.train_images)
    assert not any(picture.numpy().tobytes() in seen for picture in group.test_images)
