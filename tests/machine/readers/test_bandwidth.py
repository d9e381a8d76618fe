"""rocm-bandwidth-test and TransferBench in the forms that people paste. All numbers are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.machine.readers import printing, recognise
from labkit.profile.readers import command

N = None
UNI = [
    [N, N, 28.31, 26.875],
    [N, N, 24.861, 28.351],
    [28.527, 25.018, 925.889, 48.902],
    [11.283, 28.531, 49.92, 887.683],
]
BI = [[N, N, 51.807, 26.001], [N, N, 24.885, 51.804], [51.807, 24.885, N, 92.5], [26.001, 51.804, 92.5, N]]


def cell(value: float | None) -> str:
    return f"{'N/A' if value is None else f'{value:.3f}':<12}"


def matrix(title: str, values: list[list[float | None]]) -> str:
    text = f"          {title}\n\n          D/D       " + "".join(f"{i:<12}" for i in range(len(values))) + "\n\n"
    return (
        text + "".join(f"          {i:<10}" + "".join(map(cell, row)) + "\n\n" for i, row in enumerate(values)) + "\n"
    )


HEAD = """\
........................................
          RocmBandwidthTest Version: 2.6.0

          Launch Command is: rocm-bandwidth-test (rocm_bandwidth -a + rocm_bandwidth -A)


          Device: 0,  AMD EPYC 7003 64-Core Processor
          Device: 1,  AMD EPYC 7003 64-Core Processor
          Device: 2,  AMD Instinct MI100,  GPU-0123,  23:0.0
          Device: 3,  AMD Instinct MI100,  GPU-4567,  83:0.0

"""
ACCESS = """\
          Inter-Device Access

          D/D       0         1         2         3

          0         1         1         1         1

          1         1         1         1         1

          2         1         1         1         1

          3         1         1         1         1


          Inter-Device Numa Distance

          D/D       0         1         2         3

          0         0         32        20        52

          1         32        0         52        20

          2         20        52        0         72

          3         52        20        72        0


"""
UNI_TEXT = matrix("Unidirectional copy peak bandwidth GB/s", UNI)
BI_TEXT = matrix("Bidirectional copy peak bandwidth GB/s", BI)
RBT = HEAD + ACCESS + UNI_TEXT + BI_TEXT


def read(text: str) -> dict[str, Any]:
    return recognise.read_text(text)


def both(facts: dict[str, Any]) -> tuple[Any, Any]:
    return facts.get("unidirectional_gbps"), facts.get("bidirectional_gbps")


def squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def wrapped(text: str, width: int) -> str:
    """As a narrow terminal does it, at blanks."""
    out = []
    for line in text.split("\n"):
        while len(line) > width:
            at = line.rfind(" ", 1, width)
            at = at if line[:at].strip() else width
            out.append(line[:at])
            line = line[at:]
        out.append(line)
    return "\n".join(out)


@pytest.mark.parametrize(
    "text",
    [
        RBT,
        RBT.replace("\n", "\r\n"),
        squeezed(RBT),
        "\n".join(line for line in RBT.split("\n") if line.strip()),
        "\n".join("> " + line for line in RBT.split("\n")),
        "\n".join("[1,0]<stdout>:" + line for line in RBT.split("\n")),
        "\n".join(f"\x1b[1m{line}\x1b[0m" for line in RBT.split("\n")),
        wrapped(RBT, 50),
        RBT.replace("\n\n", " "),
        RBT.rstrip(),
        HEAD + UNI_TEXT + BI_TEXT,
        RBT.replace("Bidirectional", "Bdirectional"),  # as versions 1 and 2.0 spelled it
        RBT.replace("peak", "average"),
        UNI_TEXT + BI_TEXT,
        "Memory access is slow on my box, see:\n\n```\n" + RBT + "\n```\nWhat now?\n",
        "\n".join("| " + line for line in RBT.split("\n")),
    ],
    ids=range(16),
)
def test_the_same_matrices_however_they_were_pasted(text: str) -> None:
    facts = read(text)
    assert facts["kind"] == "rocm-bandwidth-test"
    assert both(facts) == (UNI, BI) and facts["devices"] == 4


LISTING = """\
RocmBandwidthTest Version: 2.6.0

   Launch Command is: rocm-bandwidth-test -e

   Device Index:                             0
   Device Type:                            CPU
   Device Name:                            Some CPU

   Device Index:                             1
   Device Type:                            GPU
"""


@pytest.mark.parametrize(
    ("text", "devices", "uni", "bi"),
    [
        (HEAD + ACCESS, 4, N, N),
        (ACCESS, 4, N, N),
        (HEAD, 4, N, N),
        (HEAD + ACCESS + UNI_TEXT, 4, UNI, N),
        (HEAD + ACCESS + BI_TEXT, 4, N, BI),
        (HEAD + matrix("Data Path Validation", [[N, N], [N, N]]).replace("N/A", "PASS"), 4, N, N),
        (UNI_TEXT[: UNI_TEXT.index("          2         28")], 4, [*UNI[:2], [N] * 4, [N] * 4], N),
        (UNI_TEXT.replace("24.861      28.351", "..."), 4, [UNI[0], [N] * 4, *UNI[2:]], N),
        (UNI_TEXT.replace("0           1           2           3", "0    1    ...    3"), 4, UNI, N),
        (UNI_TEXT.replace("25.018      925.889    ", "..."), 4, [*UNI[:2], [28.527, N, N, 48.902], UNI[3]], N),
        (UNI_TEXT[: UNI_TEXT.index("925.889") + 5], 4, [*UNI[:2], [28.527, 25.018, N, N], [N] * 4], N),
        (LISTING, 2, N, N),
        ("          RocmBandwidthTest Version: 2.6.0\n\n          Launch Command is: x -t\n", N, N, N),
    ],
    ids=range(13),
)  # fmt: skip
def test_parts_of_an_output(text: str, devices: int | None, uni: Any, bi: Any) -> None:
    facts = read(text)
    assert facts["kind"] == "rocm-bandwidth-test"
    assert (facts["devices"], *both(facts)) == (devices, uni, bi)


SWEEP = """\
          RocmBandwidthTest Version: 2.6.0

          Launch Command is: rocm-bandwidth-test -s 0 -d 4


================    Unidirectional Benchmark Result    ================
================ Src Device Id: 0 Src Device Type: Cpu ================
================ Dst Device Id: 4 Dst Device Type: Gpu ================

Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)
1 KB           5.400          0.190          5.280          0.194
512 KB         23.560         22.253         23.520         22.291
64 MB          2346.730       28.597         2346.730       28.612
"""


def test_a_sweep_has_no_matrix() -> None:
    second = SWEEP[SWEEP.index("=====") :].replace("Id: 4", "Id: 5").replace("Unid", "Bid")
    facts = read(SWEEP + "\n" + second)
    assert (facts["kind"], facts["devices"], *both(facts)) == ("rocm-bandwidth-test", N, N, N)
    assert [(t["src"], t["dst"], t["bytes"], t["avg_gbps"], t["peak_gbps"]) for t in facts["transfers"]] == [
        (0, to, size, avg, peak)
        for to in (4, 5)
        for size, avg, peak in ((1024, 0.19, 0.194), (524288, 22.253, 22.291), (67108864, 28.597, 28.612))
    ]
    assert [t["both_ways"] for t in facts["transfers"]] == [False] * 3 + [True] * 3
    old = (
        SWEEP.replace("Unidirectional ", "")
        .replace("Device Id", "Pool Id")
        .replace("Device Type", "Agent Type")
        .replace("1 KB", "8 Bytes")
    )
    assert [t["bytes"] for t in read(old)["transfers"]] == [8, 524288, 67108864]


P2P_UNI = [[42.75, 41.97, 42.33], [55.23, 1689.85, 48.46], [55.24, 48.51, 1672.91]]
P2P_BI = [[N, 96.03, 96.70], [95.97, N, 92.20], [95.53, 92.37, N]]
TB = r"""
TransferBench v1.62.00
===============================================================
[Common]                              (Suppress by setting HIDE_ENV=1)
ALWAYS_VALIDATE      =            0 : Validating after all iterations

Bytes Per Direction 67108864
Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 SRC+EXE\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->     42.75        41.97     42.33

  GPU 00  ->     55.23      1689.85     48.46
  GPU 00 min     50.00      1600.00     40.00
  GPU 00 max     60.00      1700.00     50.00
  GPU 00  sd      0.10         0.20      0.30
  GPU 01  ->     55.24        48.51   1672.91
                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU
Averages (During UniDir):     35.85     41.98     55.24     48.44

Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
     SRC\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->       N/A        41.37     42.07
  CPU 00 <-        N/A        54.66     54.63
  CPU 00 <->       N/A        96.03     96.70


  GPU 00  ->     54.51          N/A     46.11
  GPU 00 <-      41.46          N/A     46.09
  GPU 00 <->     95.97          N/A     92.20

  GPU 01  ->     54.53        46.22       N/A
  GPU 01 <-      41.00        46.15       N/A
  GPU 01 <->     95.53        92.37       N/A
                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU
Averages (During  BiDir):       N/A     43.84     43.75     46.24
"""


def as_csv(text: str) -> str:
    """USE the tool's own CSV: a comma behind the label and behind each cell."""
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


A2A = r"""
GPU-GFX All-To-All benchmark:
Test 1:
 Executor: GPU 00 |  315.552 GB/s |    1.489 ms |    469762048 bytes | 326.317 GB/s (sum)
     Transfer 00  |   47.056 GB/s |    1.426 ms |     67108864 bytes | F0 -> G000:008 -> F1

Summary: [67108864 bytes per Transfer]
==========================================================
SRC\DST  GPU 00     GPU 01     GPU 02        STotal      Actual
GPU 00      N/A     47.056     46.826       93.882      93.652
GPU 01   47.000        N/A     46.751       93.751      93.502
GPU 02   47.098     46.785        N/A       93.883      93.570

RTotal   94.098     93.841     93.577      281.516      93.502     93.652

Average   bandwidth (GPU Timed):   46.919 GB/s
"""
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


def test_all_to_all_is_kept_beside_the_matrices() -> None:
    facts = read(A2A)
    assert facts["all_to_all_gbps"] == ACROSS
    assert facts["transfers"] == [{"src": "F0", "dst": "F1", "bytes": 67108864, "avg_gbps": 47.056, "peak_gbps": None}]


@pytest.mark.parametrize(
    "text",
    [
        "rocm-bandwidth-test shows 84 GB/s unidirectional copy peak bandwidth GB/s on my laptop.\n",
        "Run TransferBench p2p and look at GPU 0 -> GPU 1.\n",
        "TransferBench v1.50\nUsage: ./TransferBench config <N>\n  config: Either:\n  - Filename of configFile\n",
        "RocmBandwidthTest Version: 2.6.0\n\n          Supported arguments:\n\n            -h    Prints the help screen\n",
        "GPU 00  ->\n",
        "0         N/A         83.715\n1         85.476      212.588\n",
        "[RESULT] [1148200.53] [action_1] p2p 0 4  peers:true distance:20\n",
    ],
    ids=range(7),
)
def test_what_only_speaks_of_the_tools_is_unknown(text: str) -> None:
    assert read(text)["kind"] == "unknown"


def test_the_text_form_shows_the_matrix_and_names_what_is_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "paste.txt"
    file.write_text(TB, encoding="utf-8")
    assert command.run(str(file), as_json=False, root=tmp_path) == 0
    out = capsys.readouterr().out
    assert "Devices: 3." in out and "GPU 01     55.24     48.51   1672.91" in out
    assert "! 1689.85 GB/s is a copy inside GPU 00: its local memory, not a link." in out


@pytest.mark.parametrize("text", [RBT, HEAD, SWEEP, TB, A2A, TB[:60]], ids=range(6))
def test_every_part_has_a_text_form(text: str) -> None:
    said = printing.as_text(read(text))
    assert said.startswith("This is the output of") and "None" not in said


def is_part(have: Any, want: list[list[float | None]]) -> bool:
    return have is None or all(
        h is None or h == w for hs, ws in zip(have, want, strict=False) for h, w in zip(hs, ws, strict=False)
    )


@settings(max_examples=250, deadline=None)
@given(st.sampled_from([(RBT, UNI, BI), (TB, P2P_UNI, P2P_BI)]), st.data())
def test_a_cut_gives_a_part_of_the_matrices(sample: tuple[str, Any, Any], data: st.DataObject) -> None:
    text, uni, bi = sample
    facts = read(text[: data.draw(st.integers(0, len(text)))])
    got = both(facts)
    assert is_part(got[0], uni) and is_part(got[1], bi)


PIECES = (RBT + SWEEP + TB + A2A).split("\n")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), max_size=50), st.integers(0, 8))
def test_no_mixture_raises_and_matrices_are_square(pieces: list[str], cut: int) -> None:
    facts = read("\n".join(piece[cut:] for piece in pieces))
    json.dumps(facts, allow_nan=False)
    for found in both(facts):
        assert found is None or {len(row) for row in found} == {len(found)}
