"""The factors of nccl-tests, and what they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.comm import formulas
from labkit.errors import LabkitError


@pytest.mark.parametrize(
    ("name", "ranks", "factor"),
    [
        ("all_reduce", 1, 0.0),
        ("all_reduce", 2, 1.0),
        ("all_reduce", 8, 1.75),
        ("all_gather", 4, 0.75),
        ("reduce_scatter", 2, 0.5),
        ("all_to_all", 8, 0.875),
        ("broadcast", 8, 1.0),
        ("send_recv", 8, 1.0),
    ],
)
def test_factors_are_those_of_the_source(name: str, ranks: int, factor: float) -> None:
    assert formulas.busbw_factor(name, ranks) == factor


def test_a_published_row_of_eight_gpus_comes_out() -> None:
    """AMD's own 8 × MI300X: 8,589,934,592 B in 47.5 ms are 180.9 GB/s algbw and 316.6 GB/s busbw."""
    size, seconds = 8_589_934_592, 8_589_934_592 / 180.9e9
    assert formulas.algbw(size, seconds) == pytest.approx(180.9e9)
    assert formulas.busbw("all_reduce_perf", size, seconds, 8) == pytest.approx(316.6e9, rel=1e-3)
    assert seconds == pytest.approx(0.0475, rel=1e-3)


@given(st.integers(2, 64), st.integers(1, 2**30))
def test_a_ring_s_bytes_are_its_messages(ranks: int, parts: int) -> None:
    """Counted one by one: 2(n-1) messages of one part each."""
    size = parts * ranks
    assert formulas.ring_bytes(size, ranks) == pytest.approx(sum(parts for _ in range(2 * (ranks - 1))))


def test_every_spelling_is_known_and_others_are_refused() -> None:
    for spelling in ("AllReduce", "all-reduce", "all_reduce_perf", "allreduce"):
        assert formulas.name_of(spelling) == "all_reduce"
    assert [formulas.name_of(s) for s in ("alltoall_perf", "send and receive", "ReduceScatter")] == [
        "all_to_all",
        "send_recv",
        "reduce_scatter",
    ]
    with pytest.raises(LabkitError, match="no formula for 'gather_all'"):
        formulas.name_of("gather_all")
    for bad in (lambda: formulas.busbw_factor("all_reduce", 0), lambda: formulas.algbw(8, 0.0)):
        with pytest.raises(LabkitError):
            bad()
