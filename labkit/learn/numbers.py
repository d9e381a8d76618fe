"""Numbers from whatever a learner hands over, for probes."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from labkit.learn.exercise import Wrong


def as_numbers(value: Any, key: str, **values: Any) -> Tensor:
    """A float64 tensor on the CPU from a tensor on any device, a number, a list or an array; Wrong(key) otherwise."""
    if isinstance(value, Tensor):
        return value.detach().cpu().double()
    if isinstance(value, (str, bytes, Mapping, set, frozenset)) or value is None:
        raise Wrong(key, kind=type(value).__name__, **values)
    try:
        return torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        try:
            return torch.stack([as_numbers(v, key, **values) for v in value])
        except (TypeError, RuntimeError, Wrong):  # a Wrong here would speak of what lies inside
            raise Wrong(key, kind=type(value).__name__, **values) from None


def one_number(value: Any, key: str) -> int | float:
    """A plain number from a Python, NumPy or torch number or a tensor or array with one element; Wrong(key, kind=…) otherwise."""
    shape = getattr(value, "shape", None)
    if callable(getattr(value, "item", None)) and shape is not None and all(side == 1 for side in shape):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise Wrong(key, kind=type(value).__name__)
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def pair(value: Any, key: str) -> tuple[float, float]:
    """Two plain numbers from whatever ``as_numbers`` reads; Wrong(key, kind=…) otherwise."""
    got = as_numbers(value, key)
    if got.shape != (2,):
        raise Wrong(key, kind=f"{got.numel()} numbers" if got.ndim else "one number")
    return float(got[0]), float(got[1])


def close(a: Tensor, b: Tensor, relative: float = 5e-3, absolute: float = 1e-5) -> bool:
    """Same shape and nearly the same numbers?"""
    return a.shape == b.shape and torch.allclose(a, b, rtol=relative, atol=absolute)


def times(a: Tensor, b: Tensor, relative: float = 1e-3, absolute: float = 1e-5) -> float | None:
    """The factor by which a is b; None where a is nearly zero or no multiple of b."""
    factor = float((a * b).sum() / (b * b).sum())
    return factor if abs(factor) > 1e-6 and torch.allclose(a, factor * b, rtol=relative, atol=absolute) else None
