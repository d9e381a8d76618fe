"""The stand-in for CIFAR-10: drawn pictures, 32x32 in colour, of ten shapes.

Every picture has one shape at a random place, size and angle, in random colours, on a background with its own random
gradient and stripes, under noise. Colour and place say nothing about the class, so a model has to look at form.

The bytes are the same everywhere: random bits come straight from PCG64 (whose stream NumPy keeps fixed), and the
arithmetic uses only + - * / sqrt, min, max, floor, which IEEE 754 defines to the last bit. No sin, cos or sums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

CLASSES = ("circle", "ring", "square", "triangle", "cross", "star", "crescent", "corner", "bars", "dots")
SEED = 20261130
_SIDE = 32
Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]


def pictures(
    train: int = 10_000, test: int = 2_000, seed: int = SEED
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Train images, train labels, test images, test labels: uint8 [N, 3, 32, 32], int64 [N]; classes in equal parts.

    The same numbers and seed give the same bytes on every machine.
    """
    train_images, train_labels = draw(train, seed)
    test_images, test_labels = draw(test, seed + 1)
    return train_images, train_labels, test_images, test_labels


def draw(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """count pictures, uint8 [count, 3, 32, 32], and labels, int64 [count]: picture i shows class i modulo 10."""
    bits = np.random.PCG64(seed)
    images = np.empty((count, 3, _SIDE, _SIDE), dtype=np.uint8)
    labels = np.arange(count, dtype=np.int64) % len(CLASSES)
    for start in range(0, count, 500):  # a piece that stays in the processor's cache
        for label in range(len(CLASSES)):
            rows = np.arange(start + label, min(start + 500, count), len(CLASSES))
            if len(rows):
                images[rows] = _draw_class(len(rows), DISTANCES[label], bits)
    return images, labels


def checksum(*arrays: np.ndarray) -> str:
    """SHA-256 over the bytes of the arrays, in order."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def uniform(bits: np.random.PCG64, count: int, low: float, high: float) -> np.ndarray:
    """count numbers from low to high, float32 [count, 1, 1], each from the upper 24 of 64 random bits."""
    raw = bits.random_raw(count) >> np.uint64(40)
    unit = raw.astype(np.float32) * np.float32(2.0**-24)
    return (np.float32(low) + np.float32(high - low) * unit).reshape(-1, 1, 1)


def direction(bits: np.random.PCG64, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random unit vectors, cosine and sine of an angle within 45 degrees: (1 - t^2, 2 t) / (1 + t^2)."""
    t = uniform(bits, count, -0.41421357, 0.41421357)  # t is the tangent of half the angle
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


def _draw_class(count: int, distance: Distance, bits: np.random.PCG64) -> np.ndarray:
    """count pictures of one shape: uint8 [count, 3, 32, 32]."""
    axis = (np.arange(_SIDE, dtype=np.float32) - np.float32(15.5)).reshape(1, 1, _SIDE)
    x0, y0 = axis, axis.reshape(1, _SIDE, 1)
    cos, sin = direction(bits, count)
    size = uniform(bits, count, 7.0, 12.0)
    room = 12 - size * np.float32(0.65)  # small shapes wander further; none is cut off by much
    x = x0 - room * uniform(bits, count, -1, 1)
    y = y0 - room * uniform(bits, count, -1, 1)
    inside = distance((x * cos + y * sin) / size, (y * cos - x * sin) / size) * size
    cover = np.clip(np.float32(0.5) - inside, 0, 1)  # anti-aliased edge of one pixel

    stripes = _stripes(x0, y0, bits, count)
    fill = _stripes(x0, y0, bits, count)
    gradient = x0 * uniform(bits, count, -0.05, 0.05) + y0 * uniform(bits, count, -0.05, 0.05)

    ground = [uniform(bits, count, 40, 215) for _ in range(3)]
    shade = [uniform(bits, count, -45, 45) for _ in range(3)]
    # the shape is lighter than the ground (in one picture of four darker), by a step for all channels plus a tint
    darker = uniform(bits, count, 0, 1) < 0.25
    step = uniform(bits, count, 55, 110) * np.where(darker, np.float32(-1), np.float32(1))
    tint = [uniform(bits, count, -45, 45) for _ in range(3)]
    noise = bits.random_raw(count * 3 * _SIDE * _SIDE // 8).astype("<u8").view(np.uint8)
    picture = (noise.reshape(count, 3, _SIDE, _SIDE).astype(np.float32) - np.float32(127.5)) * np.float32(0.25)
    for channel in range(3):
        behind = ground[channel] + shade[channel] * gradient + stripes
        picture[:, channel] += behind + cover * (step + tint[channel] + fill - stripes)
    return np.clip(np.floor(picture + np.float32(0.5)), 0, 255).astype(np.uint8)


def _stripes(x: np.ndarray, y: np.ndarray, bits: np.random.PCG64, count: int) -> np.ndarray:
    """Soft stripes of a random width, angle and strength: float32 [count, 32, 32], grey levels around 0."""
    along, across = direction(bits, count)
    upright = uniform(bits, count, 0, 1) < 0.5
    along, across = np.where(upright, along, -across), np.where(upright, across, along)
    period = uniform(bits, count, 4, 14)
    phase = (x * along + y * across) / period + uniform(bits, count, 0, 1)
    wave = np.abs(phase - np.floor(phase) - np.float32(0.5)) * 4 - 1  # a triangle wave from -1 to 1
    return wave * uniform(bits, count, 0, 28)


# The shapes: signed distance to the outline, negative inside, for a shape that reaches to about 1 from its centre.


def _length(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.sqrt(x * x + y * y)


def _box(x: np.ndarray, y: np.ndarray, half_width: float, half_height: float) -> np.ndarray:
    return np.maximum(np.abs(x) - np.float32(half_width), np.abs(y) - np.float32(half_height))


def _circle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _length(x, y) - np.float32(0.8)


def _ring(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(_length(x, y) - np.float32(0.7)) - np.float32(0.2)


def _square(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _box(x, y, 0.72, 0.72)


def _triangle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(-y, np.abs(x) * np.float32(0.8660254) + y * np.float32(0.5)) - np.float32(0.5)


def _cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.minimum(_box(x, y, 0.95, 0.24), _box(x, y, 0.24, 0.95))


def _star(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Five points: mirrors fold the plane into one tenth of a turn, where the outline is one straight line."""
    x = np.abs(x)
    for normal_x in (0.809017, -0.809017):
        beyond = 2 * np.maximum(x * np.float32(normal_x) - y * np.float32(0.5877853), 0)
        x, y = x - beyond * np.float32(normal_x), y + beyond * np.float32(0.5877853)
    x = np.abs(x)
    # from the tip (0, 1) to the notch at radius 0.42, a tenth of a turn away: (0.2469, 0.3398)
    return (x * np.float32(0.6602) + (y - 1) * np.float32(0.2469)) / np.float32(0.70486)


def _crescent(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(_length(x, y) - np.float32(0.92), np.float32(0.72) - _length(x - np.float32(0.42), y))


def _corner(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.minimum(_box(x, y + np.float32(0.5), 0.75, 0.25), _box(x + np.float32(0.5), y, 0.25, 0.75))


def _bars(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _box(np.abs(x) - np.float32(0.45), y, 0.22, 0.8)


def _dots(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _length(np.abs(x) - np.float32(0.5), y) - np.float32(0.36)


DISTANCES: tuple[Distance, ...] = (_circle, _ring, _square, _triangle, _cross, _star, _crescent, _corner, _bars, _dots)
