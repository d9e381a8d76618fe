"""What launchers and log collectors write before a line, and what only looks like it."""

from __future__ import annotations

import pytest

from labkit.machine.readers.labels import unlabelled
from tests.machine.readers.bandwidth_samples import BI, RBT, UNI, both
from tests.machine.readers.pasting import labelled, read
from tests.machine.readers.test_rccl import RUN, WANT, rows_of

LABELS = [
    "[pod/rccl-launcher-x7x2p/main] ",
    "[prterun-node01-4711@1,0]<stdout>: ",
    "[prterun-node01-4711@1,0:node01:4712]<stdout>: ",
    "Fri Nov 14 11:22:33 2025<stdout>: ",
    "Nov  3 11:22:33 node01 rccl[4000]: ",
    "Nov 30 13:57:46 ",
    "[11:22:33.123] ",
    "11:22:33  ",
    "[1,0]<stdout>:2025-11-03 11:22:33 ",
]


@pytest.mark.parametrize("label", LABELS)
def test_a_run_behind_a_label(label: str) -> None:
    facts = read(labelled(RUN, label))
    assert facts["kind"] == "rccl-tests" and rows_of(facts) == WANT
    assert (facts["collective"], facts["ranks"], facts["avg_busbw_gbps"]) == ("all_reduce", 4, 18.9433)


@pytest.mark.parametrize("label", LABELS)
def test_matrices_behind_a_label(label: str) -> None:
    assert both(read(labelled(RBT, label))) == (UNI, BI)


def test_any_host_before_a_table() -> None:
    """As pdsh and clush write: a host's name of any form stands before the lines."""
    assert rows_of(read(labelled(RUN, "gpu-a-r17: "))) == WANT


@pytest.mark.parametrize(
    "line",
    [
        "Device: 0,  AMD EPYC 7542 32-Core Processor",
        "          0         N/A         28.411",
        "Bytes Per Direction 268435456",
        "node01:4000:4102 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4]",
        "     1048576        262144     float     sum      -1    62.50",
        "#  Rank  0 Group  0 Pid   7 on node01 device  0 [0000:05:00] AMD Instinct MI300X",
        "GPU 00  ->     55.02     54.96          N/A",
    ],
)
def test_a_tools_own_line_is_left_alone(line: str) -> None:
    assert unlabelled(line) == line
