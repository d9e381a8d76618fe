"""The search for the largest batch."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.memory import largest_batch


@given(st.integers(0, 5000), st.integers(1, 50), st.integers(1, 64))
def test_it_finds_the_largest_multiple_that_fits(room: int, each: int, step: int) -> None:
    fit = largest_batch(lambda n: n * each, budget_bytes=room, step=step, most=4096)
    best = min(room // each, 4096)
    assert fit.batch == best // step * step
    assert len(fit.tries) <= 2 * math.log2(4096 / step) + 3 and len({t.batch for t in fit.tries}) == len(fit.tries)
    assert all(t.fits == (t.batch * each <= room) for t in fit.tries)


def test_running_out_of_memory_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)

    def attempt(batch: int) -> int:
        if batch > 37:
            raise torch.OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 GiB.")
        return batch

    fit = largest_batch(attempt, budget_bytes=10**9)
    assert fit.batch == 37 and any(t.bytes is None and not t.fits for t in fit.tries)
    assert "out of memory, too much" in str(fit) and str(fit).endswith("largest batch within 953.67 MiB: 37")


def test_other_errors_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        largest_batch(lambda n: 1 // 0, budget_bytes=1)


def test_a_cpu_needs_a_budget_and_steps_are_positive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(LabkitError, match="no limit"):
        largest_batch(lambda n: n)
    with pytest.raises(LabkitError, match="at least 1"):
        largest_batch(lambda n: n, budget_bytes=1, step=0)
