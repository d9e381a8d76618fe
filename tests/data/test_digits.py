"""MNIST's stand-in: real digits, enlarged with whole numbers, split the same way for everybody."""

from __future__ import annotations

import numpy as np
import pytest

from labkit.data import digits
from labkit.data.shapes import checksum
from labkit.errors import LabkitError


def test_the_split_is_fixed_and_balanced() -> None:
    train, train_labels, test, test_labels = digits.digits()
    assert train.shape == (1397, 28, 28) and test.shape == (400, 28, 28) and train.dtype == np.uint8
    assert np.bincount(test_labels).tolist() == [40] * 10
    assert np.bincount(train_labels).tolist() == [138, 142, 137, 143, 141, 142, 141, 139, 134, 140]
    assert train_labels[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    together = {row.tobytes() for row in train.reshape(len(train), -1)}
    assert not together & {row.tobytes() for row in test.reshape(len(test), -1)}, "a picture is in both parts"


def test_every_machine_gets_the_same_bytes() -> None:
    assert checksum(*digits.digits()) == "a21ba31abb7b2f836fba6e19f9d98511b9fe29f580c2ab3552af9752ccd2fc45"


def test_enlarging_keeps_what_is_there() -> None:
    counts = np.zeros((3, 8, 8), dtype=np.int64)
    counts[1] = 16
    counts[2, 2, 5] = 16
    flat, full, dot = digits.enlarge(counts)
    assert flat.max() == 0
    assert full[10:18, 10:18].min() == 255 and full[:4].max() == 0 and full[:, -4:].max() == 0
    row, column = np.unravel_index(dot.argmax(), dot.shape)
    assert abs(row - (4 + 2.5 * 2.5 - 0.5)) <= 1 and abs(column - (4 + 5.5 * 2.5 - 0.5)) <= 1
    mirrored = digits.enlarge(counts[:, :, ::-1])
    np.testing.assert_array_equal(mirrored[:, :, ::-1], np.stack([flat, full, dot]))


def test_digits_are_told_apart_by_their_nearest_neighbour() -> None:
    train, train_labels, test, test_labels = digits.digits()
    a, b = train.reshape(len(train), -1).astype(float), test.reshape(len(test), -1).astype(float)
    distance = (a**2).sum(1)[None] - 2 * b @ a.T
    assert (train_labels[distance.argmin(1)] == test_labels).mean() > 0.9


def test_a_changed_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "SHA256", "0" * 64)
    with pytest.raises(LabkitError, match="was changed"):
        digits.digits()
