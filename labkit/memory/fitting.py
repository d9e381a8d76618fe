"""The largest batch that fits: doubling, then bisection, within a budget or until memory runs out."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass

import torch

from labkit.errors import LabkitError
from labkit.memory.parts import size


@dataclass(frozen=True)
class Try:
    """One batch size that was tried; ``bytes`` is None where memory ran out before it could be said."""

    batch: int
    bytes: int | None
    fits: bool


@dataclass(frozen=True)
class Fit:
    """The largest batch that fitted, 0 where not even the smallest did, and every try in its order."""

    batch: int
    tries: tuple[Try, ...]
    budget_bytes: int | None

    def __str__(self) -> str:
        told = [
            f"{t.batch:,}: {'out of memory' if t.bytes is None else size(t.bytes)}, {'fits' if t.fits else 'too much'}"
            for t in self.tries
        ]
        budget = f" within {size(self.budget_bytes)}" if self.budget_bytes is not None else ""
        return "\n".join([*told, f"largest batch{budget}: {self.batch:,}"])

    __repr__ = __str__


def largest_batch(
    attempt: Callable[[int], int | None],
    *,
    budget_bytes: int | None = None,
    step: int = 1,
    most: int = 65_536,
) -> Fit:
    """The largest multiple of ``step``, at most ``most``, with which ``attempt`` stays within the budget.

    attempt: runs one whole training step with this batch (forward, backward, optimizer) and returns its peak in bytes; it may
    raise torch.OutOfMemoryError, which counts as too much. budget_bytes: None leaves the device's memory as the only
    limit, so on a CPU give one: a machine that runs out of RAM does not say so politely. It takes about 2 log2(n) tries.
    Raises LabkitError without any limit on a CPU-only machine, and for step or most below 1.
    """
    if step < 1 or most < step:
        raise LabkitError("step must be at least 1, and most at least step.", "For example step=8, most=4096.")
    if budget_bytes is None and not torch.cuda.is_available():
        raise LabkitError(
            "Without a GPU there is no limit to run into but the machine's own memory.",
            "Pass budget_bytes, for example 200 * 2**20.",
        )
    tries: list[Try] = []

    def fits(count: int) -> bool:
        found = _try(attempt, count * step)
        ok = found is not None and (budget_bytes is None or found <= budget_bytes)
        tries.append(Try(count * step, found, ok))
        return ok

    good, bad, limit = 0, None, most // step
    count = 1
    while bad is None and good < limit:
        if fits(count):
            good, count = count, min(2 * count, limit)
        else:
            bad = count
    while bad is not None and bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return Fit(good * step, tuple(tries), budget_bytes)


def _try(attempt: Callable[[int], int | None], batch: int) -> int | None:
    """Bytes of one attempt, None when memory ran out. The error is gone before memory is given back: its traceback holds
    the tensors of the failed step."""
    try:
        return int(attempt(batch) or 0)
    except torch.OutOfMemoryError:
        pass
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None
