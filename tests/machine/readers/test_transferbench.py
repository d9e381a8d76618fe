"""TransferBench in the forms that people paste."""

from __future__ import annotations

from typing import Any

import pytest

from tests.machine.readers.bandwidth_samples import A2A, P2P_BI, P2P_UNI, TB, N, both
from tests.machine.readers.pasting import read, squeezed, wrapped


def as_csv(text: str) -> str:
    """As the tool's own CSV has it: a comma behind the label and behind each cell."""
    out = []
    for line in text.split("\n"):
        for old, new in (
            ("  ->", "  ->,"),
            (" <- ", " <- ,"),
            ("<->", "<->,"),
            ("DST", "DST,"),
            ("Direction ", "Direction,"),
        ):
            if old in line and ("CPU 0" in line or "GPU 0" in line or "Bytes" in line):
                head, _, tail = line.partition(old)
                tail = ",   ".join(tail.replace("CPU ", "CPU_").replace("GPU ", "GPU_").split()).replace("_", " ")
                line = head + new + "   " + tail + ","
                break
        out.append(line)
    return "\n".join(out)


@pytest.mark.parametrize(
    "text",
    [
        TB,
        TB.replace("\n", "\r\n"),
        squeezed(TB),
        squeezed(TB).replace("\\", "\\\\"),
        "\n".join(f":mark:`{' '.join(line.split())}`\n" for line in TB.split("\n") if line.strip()),
        wrapped(squeezed(TB), 30),
        as_csv(TB),
        "\n".join("0: " + line for line in TB.split("\n")),
        TB[TB.index("Unidirectional") :],
        TB.replace("SRC+EXE\\DST", "SRC\\EXE+DST"),
        TB.replace("->", "-&gt;").replace("<-", "&lt;-"),
        "$ rocm-bandwidth-test run tb p2p\n" + TB,
        TB.rstrip() + "\n",
    ],
    ids=range(13),
)
def test_peer_to_peer_however_it_was_pasted(text: str) -> None:
    facts = read(text)
    assert facts["kind"] == "transferbench"
    assert both(facts) == (P2P_UNI, P2P_BI) and facts["devices"] == 3
    assert facts["names"] == ["CPU 00", "GPU 00", "GPU 01"]


ACROSS = [[N, 47.056, 46.826], [47.0, N, 46.751], [47.098, 46.785, N]]


@pytest.mark.parametrize(
    ("text", "devices", "uni", "bi"),
    [
        (A2A, 3, N, N),
        (A2A[A2A.index("GPU 01   47") :], 3, N, N),
        (A2A + TB, 3, P2P_UNI, P2P_BI),
        (TB[: TB.index("Bidirectional")], 3, P2P_UNI, N),
        (TB[TB.index("Bidirectional") :], 3, N, P2P_BI),
        (TB[TB.index("  CPU 00 <->") :], 3, N, P2P_BI),
        (TB[TB.index("  GPU 00  ->     55.23") :], 3, [[N] * 3, *P2P_UNI[1:]], P2P_BI),
        (TB[: TB.index("  GPU 01  ->     55.24")], 3, [*P2P_UNI[:2], [N] * 3], N),
        (TB[: TB.index("48.46") + 3], 3, [P2P_UNI[0], [55.23, 1689.85, N], [N] * 3], N),
        (TB.replace("     41.97     42.33", "     41.97"), 3, [[42.75, 41.97, N], *P2P_UNI[1:]], P2P_BI),
        ("TransferBench v1.50\n====\n[Common]\nALWAYS_VALIDATE = 0\n", N, N, N),
        (
            "TransferBench v1.66.00\nDetected Topology: 2 configured CPU NUMA node(s) [2 total]   8 GPU device(s)\n",
            10,
            N,
            N,
        ),
        ("Test 1:\n Executor: GPU 00 \\| 47.772 GB/s \\| 1.405 ms \\| 67108864 bytes \\| 47.774 GB/s (sum)\n", N, N, N),
    ],
    ids=range(13),
)
def test_parts_of_a_run(text: str, devices: int | None, uni: Any, bi: Any) -> None:
    facts = read(text)
    assert facts["kind"] == "transferbench"
    assert (facts["devices"], *both(facts)) == (devices, uni, bi)


FIRST = """\
TransferBench v1.02
Performing copies in each direction of 67108864 bytes
Unidirectional copy peak bandwidth GB/s [Local read / Remote write]
       D/D    CPU 00    GPU 00    GPU 01
    CPU 00     42.75     41.97     42.33
    GPU 00     55.23   1689.85     48.46
    GPU 01     55.24     48.51   1672.91
Bidirectional copy peak bandwidth GB/s [Local read / Remote write]
       D/D    CPU 00    GPU 00    GPU 01
    CPU 00       N/A     96.03     96.70
    GPU 00     95.97       N/A     92.20
    GPU 01     95.53     92.37       N/A
"""


@pytest.mark.parametrize("text", [FIRST, FIRST[FIRST.index("Unid") :], squeezed(FIRST)], ids=range(3))
def test_the_first_versions_had_no_arrows(text: str) -> None:
    facts = read(text)
    assert (facts["kind"], facts["devices"], *both(facts)) == ("transferbench", 3, P2P_UNI, P2P_BI)
    assert "all_to_all_gbps" not in facts


def test_all_to_all_is_kept_beside_the_matrices() -> None:
    facts = read(A2A)
    assert facts["all_to_all_gbps"] == ACROSS
    assert facts["transfers"] == [{"src": "F0", "dst": "F1", "bytes": 67108864, "avg_gbps": 47.056, "peak_gbps": None}]


FIRST_TESTS = """\
Run configuration (TransferBench v1.02)
=====================================================
NUM_ITERATIONS       =           10 : Running 10 timed iteration(s) per topology

Test 1: [1073741824 bytes]
 Transfer 00: G00 -> [GPU 00:004] -> G00 |     8.420 GB/s |  127.527 ms | LOCAL-LOCAL
 Transfer 01: G00 -> [GPU 00:004] -> G01 |     8.413 GB/s |  127.626 ms | LOCAL-PCIE-2
 Aggregate Bandwidth (CPU timed)         |    16.518 GB/s |  128.139 ms | Overhead: 0.397 ms
"""


@pytest.mark.parametrize("text", [FIRST_TESTS, FIRST_TESTS[FIRST_TESTS.index("Test 1") :]], ids=("whole", "no banner"))
def test_tests_of_the_first_versions(text: str) -> None:
    facts = read(text)
    assert facts["kind"] == "transferbench" and facts["unidirectional_gbps"] is None
    assert [(t["src"], t["dst"], t["bytes"], t["avg_gbps"]) for t in facts["transfers"]] == [
        ("G00", "G00", 1073741824, 8.42),
        ("G00", "G01", 1073741824, 8.413),
    ]


def test_a_size_that_is_cut_away_is_unknown() -> None:
    text = FIRST_TESTS[FIRST_TESTS.index(" Transfer 01") :]
    assert read(text)["transfers"][0]["bytes"] is None
