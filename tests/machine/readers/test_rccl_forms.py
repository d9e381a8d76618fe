"""rccl-tests of old releases, and its tables on a page."""

from __future__ import annotations

import pytest

from tests.machine.readers.pasting import read
from tests.machine.readers.test_rccl import RUN, WANT, rows_of

PAGE = "\n".join(
    [
        "| size (B) | count | type | redop | root | time (us) | algbw (GB/s) | busbw (GB/s) | #wrong | time | algbw | busbw | #wrong |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        "| 1048576 | 262144 | float | sum | -1 | 62.50 | 16.78 | 25.17 | 0 | 61.10 | 17.16 | 25.74 | 0 |",
        "| 2097152 | 524288 | float | sum | -1 | 101.0 | 20.76 | 31.15 | 0 | 100.2 | 20.93 | 31.39 | 0 |",
        "| 4194304 | 1048576 | float | sum | -1 | 12345 | 0.34 | 0.51 | 0 | 12300 | 0.34 | 0.51 | 0 |",
    ]
)


@pytest.mark.parametrize("text", [PAGE, PAGE.replace("| ", "|").replace(" |", "|")], ids=("wide", "narrow"))
def test_a_table_of_a_page(text: str) -> None:
    facts = read(text)
    assert facts["kind"] == "rccl-tests" and rows_of(facts) == WANT and facts["ranks"] is None


FIRST = """\
nThread 1 nGpus 2 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
# NCCL Tests compiled with NCCL 1.0
# Using devices
#   Rank  0 on     box-01 device  0 [0x05] Vega 10 XT [Radeon RX Vega 64]
#   Rank  1 on     box-01 device  1 [0x08] Vega 10 XT [Radeon RX Vega 64]

#                                                 out-of-place                    in-place
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
     1048576        262144   float     sum    150.2   6.98   6.98    0e+00    149.9   7.00   7.00    0e+00
     2097152        524288   float     sum    280.1   7.49   7.49    1e-06    279.0   7.52   7.52    1e-06
 Out of bounds values : 0 OK
 Avg bus bandwidth    : 7.2475
"""


def test_the_first_releases() -> None:
    facts = read(FIRST)
    assert (facts["kind"], facts["problem"], facts["ranks"]) == ("rccl-tests", None, 2)
    assert [row[:4] for row in rows_of(facts)] == [(1048576, 150.2, 6.98, 6.98), (2097152, 280.1, 7.49, 7.49)]
    assert facts["avg_busbw_gbps"] == 7.2475


def test_the_settings_line_of_older_forks_is_enough() -> None:
    line = "# nThreads: 1 nGpus: 4 nRanks: 1 minBytes: 8 maxBytes: 134217728 step: 2(factor) warmupIters: 5 iters: 20 validation: 1"
    assert read(line)["kind"] == "rccl-tests"
    assert read("Set nGpus: 4 and nThreads: 1 in the form.")["kind"] == "unknown"
    assert read(RUN)["ranks"] == 4
