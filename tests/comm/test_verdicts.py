"""Verdicts: each is given for what it is about, quotes the number, and is silent where nothing is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.comm.verdicts import claimed, judge

N = None


def run(rates: list[float], **more: Any) -> dict[str, Any]:
    """A run whose sizes go up to 8 GiB, with these bus bandwidths."""
    rows = [
        {
            "bytes": 1 << (33 - 2 * (len(rates) - 1 - at)),
            "time_us": 10.0,
            "algbw_gbps": rate / 2,
            "busbw_gbps": rate,
            "wrong": 0,
        }
        for at, rate in enumerate(rates)
    ]
    facts = {
        "kind": "rccl-tests",
        "problem": None,
        "collective": "all_reduce",
        "ranks": 8,
        "rows": rows,
        "avg_busbw_gbps": None,
    }
    return facts | {"gpu_names": ["AMD Instinct MI300X"], "hosts": 1, "checked": True} | more


def table(matrix: list[list[float | None]], names: list[str] | None = None, **more: Any) -> dict[str, Any]:
    kind = "transferbench" if names else "rocm-bandwidth-test"
    facts = {
        "kind": kind,
        "devices": len(matrix),
        "unidirectional_gbps": matrix,
        "bidirectional_gbps": None,
        "names": names,
    }
    return facts | more


def codes(facts: dict[str, Any], **context: Any) -> list[str]:
    return [verdict.code for verdict in judge(facts, **context)]


def test_a_healthy_run_gets_none() -> None:
    assert codes(run([300.0, 310.0, 315.0])) == []


@pytest.mark.parametrize(
    ("facts", "context", "code", "words"),
    [
        (run([300.0], problem="rccl-data-errors"), {}, "data-errors", "do not train"),
        (run([0.0], ranks=1), {"gpus": 8}, "one-gpu-tested", "-g 8"),
        (run([0.0], ranks=1), {}, "one-gpu-tested", "-g N"),
        (run([300.0], ranks=4), {"gpus": 8}, "fewer-gpus-tested", "4 of 8"),
        (run([312.0], checked=False), {}, "wrong-not-checked", "N/A"),
        (run([0.5, 20.0, 314.0], avg_busbw_gbps=102.138), {}, "latency-bound-average", "314 GB/s busbw at 8 GiB"),
        (run([314.0], avg_busbw_gbps=102.138), {}, "latency-bound-average", "does not show"),
        (run([150.0]), {}, "busbw-under-topology", "47%"),
        (run([298.0]), {}, "busbw-under-topology", "healthy from 304"),
        (run([300.0], problem="rccl-crash"), {}, "crash", "dmesg"),
        (run([0.0], ranks=1, separate_runs=2), {"gpus": 8}, "built-without-mpi", "2 processes"),
        ({"kind": "rccl-log", "problem": "rccl-iommu", "ranks": 4}, {}, "iommu", "iommu=pt"),
        (
            {"kind": "rccl-ras", "problem": "rccl-missing-rank", "ranks": 8, "ranks_present": 7},
            {},
            "missing-rank",
            "1 of 8 ranks does",
        ),
        (
            {"kind": "rccl-ras", "problem": "rccl-missing-rank", "ranks": 8, "ranks_present": 6},
            {},
            "missing-rank",
            "2 of 8 ranks do",
        ),
        (
            {"kind": "rccl-ras", "problem": "rccl-missing-rank", "ranks": 8, "ranks_present": None},
            {},
            "missing-rank",
            "Some ranks do",
        ),
        (run([150.0], gpu_names=[]), {"topology": "Instinct MI300X"}, "busbw-under-topology", "316.55"),
        (
            run([25.0], ranks=4, gpu_names=["AMD Radeon PRO W7900"]),
            {},
            "no-established-figure",
            "No established figure",
        ),
        (run([300.0], collective="all_gather"), {}, "no-established-figure", "all_gather"),
        (run([300.0], ranks=16, hosts=2), {}, "no-established-figure", "16 GPUs"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run(facts: dict[str, Any], context: dict[str, Any], code: str, words: str) -> None:
    found = {verdict.code: verdict for verdict in judge(facts, **context)}
    assert code in found and words in found[code].sentence
    assert found[code].quote


def test_wrong_values_are_quoted_with_their_size() -> None:
    facts = run([10.0, 11.0])
    facts["rows"][1]["wrong"] = 128
    first = judge(facts)[0]
    assert first.code == "data-errors" and "128 wrong values at 8 GiB" in first.sentence


@pytest.mark.parametrize(
    "facts",
    [
        run([150.0], collective=None),  # which collective, nobody says
        run([150.0], ranks=None),
        run([150.0], gpu_names=[]),
        run([150.0], gpu_names=["A", "B"]),
        run([305.0]),  # AMD calls a node healthy from 304
        run([290.0], rows=[run([290.0])["rows"][0] | {"bytes": 1 << 30}]),  # within a tenth of AMD's figure
        run([]),
        {"kind": "rccl-log", "problem": None, "ranks": 8},
        {"kind": "rocminfo", "agents": []},
    ],
    ids=range(9),
)
def test_nothing_is_said_without_grounds(facts: dict[str, Any]) -> None:
    assert not {"busbw-under-topology", "no-established-figure", "data-errors"} & set(codes(facts))


def test_one_gpu_of_a_machine_with_one_is_no_mistake() -> None:
    assert "one-gpu-tested" not in codes(run([0.0], ranks=1), gpus=1)


def test_small_messages_are_not_held_against_the_links() -> None:
    facts = run([10.0])
    facts["rows"][0]["bytes"] = 1 << 20
    assert "busbw-under-topology" not in codes(facts)


MI300A = [[N, 60.0, 60.0], [60.0, 1889.5, 92.4], [60.0, 91.8, 2144.053]]


def test_the_diagonal_is_local_memory() -> None:
    (verdict,) = [v for v in judge(table(MI300A)) if v.code == "local-memory-not-a-link"]
    assert verdict.quote == "2144.05" and "device 2" in verdict.sentence and "92.4" in verdict.sentence


def test_a_claimed_peak_that_is_a_diagonal_cell() -> None:
    ours = claimed(2144.053, table(MI300A))
    assert ours is not None and "inside device 2" in ours.sentence
    published = claimed(2144.053)
    assert published is not None and "MI300A" in published.sentence
    assert claimed(92.4, table(MI300A)) is None and claimed(316.6) is None


def test_links_that_differ() -> None:
    names = ["CPU 00", "GPU 00", "GPU 01", "GPU 02"]
    even = [[40.0, 25.0, 25.0, 25.0], [27.0, 900.0, 48.0, 47.0], [27.0, 48.0, 900.0, 48.0], [27.0, 47.0, 48.0, 900.0]]
    assert codes(table(even, names)) == ["local-memory-not-a-link"]
    even[1][3] = 11.3
    found = {verdict.code: verdict.sentence for verdict in judge(table(even, names))}
    assert "GPU 00 to GPU 02 runs at 11.3 GB/s, the way back at 47" in found["asymmetric-link"]
    assert "1 of 6 ways" in found["uneven-links"]
    even[1][3] = None
    assert "1 of 6 ways" in {v.code: v.sentence for v in judge(table(even, names))}["missing-cells"]


def test_processors_are_no_missing_links() -> None:
    facts = table([[N, N, 28.0], [N, N, 28.0], [28.0, 28.0, 900.0]])
    assert codes(facts) == ["local-memory-not-a-link"]


CELLS = st.none() | st.floats(0.01, 5000, allow_nan=False)


@settings(max_examples=120, deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=n, max_size=n)),
    st.booleans(),
)
def test_no_matrix_raises(matrix: list[list[float | None]], two: bool) -> None:
    facts = table(matrix) if two else table(matrix, [f"GPU {at:02d}" for at in range(len(matrix))])
    for verdict in judge(facts | {"bidirectional_gbps": matrix}):
        assert verdict.sentence.endswith((".", ".)")) and verdict.quote
