"""Numbers from whatever a learner hands over, for probes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from labkit.learn.exercise import Wrong


def as_numbers(value: Any, key: str, **values: Any) -> Tensor:
    """A float64 tensor on the CPU from a tensor on any device, a number, a list or an array; Wrong(key) otherwise."""
    if isinstance(value, Tensor):
        return value.detach().cpu().double()
    try:
        return torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        try:
            return torch.stack([as_numbers(v, key, **values) for v in value])
        except (TypeError, RuntimeError):
            raise Wrong(key, kind=type(value).__name__, **values) from None


def close(a: Tensor, b: Tensor, relative: float = 5e-3, absolute: float = 1e-5) -> bool:
    """Same shape and nearly the same numbers?"""
    return a.shape == b.shape and torch.allclose(a, b, rtol=relative, atol=absolute)
