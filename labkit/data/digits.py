"""The stand-in for MNIST: 1,797 real handwritten digits, 8x8 pixels each, made 28x28.

digits.csv.gz is the file that scikit-learn 1.9.1 carries as sklearn/datasets/data/digits.csv.gz, byte for byte: the
test part of 'Optical Recognition of Handwritten Digits' (E. Alpaydin and C. Kaynak, 1998, doi:10.24432/C50P49),
written by 13 people, published by the UCI Machine Learning Repository under CC BY 4.0. Each row holds 64 counts from
0 to 16 (black pixels in a 4x4 block of the scanned 32x32 bitmap) and the digit.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np

from labkit.data.idx import gunzip
from labkit.errors import LabkitError

SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
LICENCE = "CC BY 4.0: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits (UCI, 1998)"
TEST_PER_CLASS = 40
_WEIGHTS_ONE = 1 << 12


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Train images, train labels, test images, test labels: uint8 [1397, 28, 28], int64 [1397], [400, 28, 28], [400].

    The split is fixed: of each digit the last 40 in the file are for testing. The file seems to keep
    the order of collection, so test digits are likely by other people than most training digits.
    Raises LabkitError if the embedded file was changed.
    """
    packed = files("labkit.data").joinpath("digits.csv.gz").read_bytes()
    if hashlib.sha256(packed).hexdigest() != SHA256:
        raise LabkitError(
            "labkit's own file digits.csv.gz was changed.", "Restore it: git checkout labkit/data/digits.csv.gz"
        )
    table = np.array(gunzip(packed).replace(b"\n", b",").rstrip(b",").split(b","), dtype=np.int64).reshape(-1, 65)
    images, labels = enlarge(table[:, :64].reshape(-1, 8, 8)), table[:, 64]
    test = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        test[np.flatnonzero(labels == digit)[-TEST_PER_CLASS:]] = True
    return images[~test], labels[~test], images[test], labels[test]


def enlarge(counts: np.ndarray) -> np.ndarray:
    """8x8 counts from 0 to 16 -> uint8 pictures of 28x28: [N, 8, 8] -> [N, 28, 28].

    A smooth (Catmull-Rom) enlargement to 20x20, the size of a digit in MNIST, within a margin of 4. Whole numbers only,
    so every machine makes the same bytes.
    """
    weights = _catmull_rom(8, 20)
    sums = weights @ counts.astype(np.int64) @ weights.T
    pixels = (sums * 255 + 8 * _WEIGHTS_ONE**2) // (16 * _WEIGHTS_ONE**2)
    return np.pad(np.clip(pixels, 0, 255).astype(np.uint8), ((0, 0), (4, 4), (4, 4)))


def _catmull_rom(size: int, larger: int) -> np.ndarray:
    """Weights [larger, size], whole numbers, about 4096 a row: cubic interpolation at the centres of the new pixels."""
    weights = np.zeros((larger, size))
    for row in range(larger):
        where = (row + 0.5) * size / larger - 0.5
        for column in range(int(np.floor(where)) - 1, int(np.floor(where)) + 3):
            t = abs(where - column)
            weight = (1.5 * t - 2.5) * t * t + 1 if t <= 1 else ((-0.5 * t + 2.5) * t - 4) * t + 2
            if 0 <= column < size:  # beyond the edge the paper is white
                weights[row, column] += weight
    return np.round(weights * _WEIGHTS_ONE).astype(np.int64)
