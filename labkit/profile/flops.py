"""Floating-point operations of an ATen operator, from the shapes that the profiler recorded.

Only the operators that do the work are counted, not those that call them (``aten::linear`` calls ``aten::addmm``), so that a sum
over all events counts nothing twice. A multiplication and an addition are two operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

Shapes = Sequence[Any]  # one list of sizes for each argument; of a list of tensors, a list of such lists


def _matrix(first: int, second: int) -> Callable[[Shapes], float]:
    """2·b·m·k·n of arguments (…, m, k) and (…, k, n)."""

    def count(shapes: Shapes) -> float:
        a, b = shapes[first], shapes[second]
        if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
            raise ValueError
        return 2.0 * prod(a) * b[-1]

    return count


def _convolution(shapes: Shapes, output: Sequence[int]) -> float:
    """2 · output · (channels of a group · kernel): the weight is (out, in of a group, *kernel)."""
    return 2.0 * prod(output) * prod(shapes[1][1:])


def _forward(shapes: Shapes, values: Sequence[str]) -> float:
    data, weight = shapes[0], shapes[1]
    kernel = weight[2:]
    stride, padding, dilation = (_numbers(v, len(kernel)) for v in values[3:6])
    if values[6] not in ("False", "false", ""):
        return 2.0 * prod(data) * prod(weight[1:])  # transposed: every input element meets every weight of its channel
    sizes = data[len(data) - len(kernel) :]
    spatial = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
    ]
    batch = data[: len(data) - len(kernel) - 1]
    return _convolution(shapes, [*batch, weight[0], *spatial])


def _backward(shapes: Shapes, values: Sequence[str]) -> float:
    """Arguments: gradient of the output, input, weight, …, transposed (7), …, output mask (10): one product for each gradient."""
    gradient, data, weight = shapes[0], shapes[1], shapes[2]
    wanted = values[10].strip("[]").split(",")[:2] if len(values) > 10 and values[10] else ["True", "True"]
    products = sum(word.strip().lower() in ("true", "1") for word in wanted)
    transposed = len(values) > 7 and values[7].lower() == "true"
    return products * 2.0 * prod(data if transposed else gradient) * prod(weight[1:])


def _numbers(text: str, count: int) -> list[int]:
    found = [int(part) for part in text.strip("[]() ").split(",") if part.strip()]
    return found * count if len(found) == 1 else found


_MATRIX = {
    "aten::mm": _matrix(0, 1),
    "aten::bmm": _matrix(0, 1),
    "aten::_scaled_mm": _matrix(0, 1),
    "aten::addmm": _matrix(1, 2),
    "aten::baddbmm": _matrix(1, 2),
    "aten::_addmm_activation": _matrix(1, 2),
}
_OTHER = {"aten::convolution": _forward, "aten::convolution_backward": _backward}
COUNTED = frozenset({*_MATRIX, *_OTHER})


def flops(name: str, shapes: Shapes, values: Sequence[str] = ()) -> float | None:
    """Floating-point operations of one call, None where the operator is not counted or its shapes were not recorded.

    shapes: sizes of each argument ('Input Dims'). values: the arguments that are no tensors, as text ('Concrete Inputs').
    """
    try:
        if name in _MATRIX:
            return _MATRIX[name](shapes)
        if name in _OTHER:
            return _OTHER[name](shapes, values)
    except (ValueError, LookupError, TypeError, AttributeError, ZeroDivisionError, OverflowError):
        return None
    return None
