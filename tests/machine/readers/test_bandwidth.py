"""rocm-bandwidth-test and TransferBench in the forms that people paste. All numbers are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.machine.readers import printing
from labkit.profile.readers import command
from tests.machine.readers.bandwidth_samples import (
    A2A,
    ACCESS,
    BI,
    BI_TEXT,
    HEAD,
    P2P_BI,
    P2P_UNI,
    RBT,
    SWEEP,
    TB,
    UNI,
    UNI_TEXT,
    N,
    both,
    matrix,
)
from tests.machine.readers.pasting import read, squeezed, wrapped


@pytest.mark.parametrize(
    "text",
    [
        RBT,
        RBT.replace("\n", "\r\n"),
        squeezed(RBT),
        "\n".join(line for line in RBT.split("\n") if line.strip()),
        "\n".join("> " + line for line in RBT.split("\n")),
        "\n".join("[1,0]<stdout>:" + line for line in RBT.split("\n")),
        "\n".join(" 0: " + line for line in RBT.split("\n")),
        "\n".join(" 0: " + line for line in RBT.split("\n")).replace(" 0: \n", " 0:\n"),
        "\n".join("launcher-0  | " + line for line in RBT.split("\n")),
        "\n".join("2026-05-19T17:33:42.123Z " + line for line in RBT.split("\n")),
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
    ids=range(20),
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


SOME = """\
          Unidirectional copy peak bandwidth GB/s
          D/D       1           2
          1         540.849     14.045
          2         14.046      540.064
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
        (UNI_TEXT[UNI_TEXT.index("          2         28") :] + BI_TEXT, 4, [[N] * 4, [N] * 4, *UNI[2:]], BI),
        (SOME, 2, [[540.849, 14.045], [14.046, 540.064]], N),
        ("          RocmBandwidthTest Version: 2.6.0\n\n          Launch Command is: x -t\n", N, N, N),
    ],
    ids=range(15),
)  # fmt: skip
def test_parts_of_an_output(text: str, devices: int | None, uni: Any, bi: Any) -> None:
    facts = read(text)
    assert facts["kind"] == "rocm-bandwidth-test"
    assert (facts["devices"], *both(facts)) == (devices, uni, bi)


@pytest.mark.parametrize("two", ["Bdirectional peak bandwidth GB/s", "Bidirectional peak bandwidth GB/s"])
def test_the_titles_of_2018(two: str) -> None:
    text = RBT.replace("Unidirectional copy peak", "Unidirectional peak")
    assert both(read(text.replace("Bidirectional copy peak bandwidth GB/s", two))) == (UNI, BI)


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
    assert "- 1689.85 GB/s is a copy inside GPU 00: its local memory, not a link." in out


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


def test_the_order_of_the_tables_does_not_matter() -> None:
    assert both(read(HEAD + BI_TEXT + UNI_TEXT)) == (UNI, BI)


def test_a_table_of_a_page() -> None:
    cells = [[str(at), *("N/A" if cell is None else f"{cell:.3f}" for cell in row)] for at, row in enumerate(UNI)]
    rows = [["D/D", *map(str, range(len(UNI)))], ["---"] * (len(UNI) + 1), *cells]
    text = "Unidirectional copy peak bandwidth GB/s\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in rows)
    assert both(read(text)) == (UNI, None)
