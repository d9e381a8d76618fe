"""Verdicts on matrices: silent on healthy machines, and on sick ones they name the device."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.comm.verdict import Verdict
from labkit.comm.verdicts import judge
from labkit.machine.readers import recognise

N = None
CARD = "Radeon RX 7900 XTX"
Table = list[list["float | None"]]


def rbt(
    uni: Table | None,
    bi: Table | None = None,
    cards: tuple[str, ...] = (CARD, CARD),
) -> str:
    """An output of rocm-bandwidth-test with one processor and these cards."""
    out = ["RocmBandwidthTest Version: 2.6.0", "", "Device: 0,  AMD EPYC 7542 32-Core Processor"]
    out += [f"Device: {at},  {name},  GPU-XX,  {at}3:0.0" for at, name in enumerate(cards, 1)]
    for title, matrix in (("Unidirectional", uni), ("Bidirectional", bi)):
        if matrix:
            out += ["", f"{title} copy peak bandwidth GB/s", "", "D/D  " + "  ".join(map(str, range(len(matrix)))), ""]
            out += [
                f"{at}  " + "  ".join("N/A" if c is None else f"{c:.3f}" for c in row) + "\n"
                for at, row in enumerate(matrix)
            ]
    return "\n".join(out) + "\n"


def judged(text: str) -> dict[str, Verdict]:
    return {verdict.code: verdict for verdict in judge(recognise.read_text(text))}


def alarms(text: str) -> list[str]:
    return [verdict.code for verdict in judge(recognise.read_text(text)) if not verdict.is_note]


EVEN: Table = [[N, 28.4, 28.4], [29.0, 649.5, 25.1], [29.0, 25.3, 636.4]]
BOTH: Table = [[N, 48.2, 48.1], [48.2, N, 40.1], [48.1, 40.1, N]]


def test_a_healthy_machine_gets_no_alarm() -> None:
    assert alarms(rbt(EVEN, BOTH)) == [] and alarms(rbt(N, BOTH)) == []


def test_processors_between_which_nothing_is_measured_are_no_gpus() -> None:
    """-A on two sockets, pasted without the list of devices: the bidirectional diagonal says nothing."""
    matrix: Table = [[N, N, 47.7, 38.3], [N, N, 38.4, 47.5], [47.7, 38.4, N, 101.4], [38.3, 47.5, 101.4, N]]
    text = rbt(N, matrix, ()).replace("Device: 0,  AMD EPYC 7542 32-Core Processor", "")
    assert alarms(text) == []
    matrix[2][3] = matrix[3][2] = N
    text = rbt(N, matrix, ()).replace("Device: 0,  AMD EPYC 7542 32-Core Processor", "")
    assert alarms(text) == ["missing-cells"] and "2 of 2" in judged(text)["missing-cells"].sentence


def test_cards_that_do_not_reach_each_other_although_a_row_is_cut() -> None:
    matrix: Table = [[N, 28.4, 28.4], [29.0, 649.5, N], [N, N, N]]
    assert alarms(rbt(matrix)) == ["missing-cells"]


@pytest.mark.parametrize(("slow", "code"), [(7.2, "uneven-host-links"), (0.34, "narrow-host-link")])
def test_a_slot_that_is_too_narrow(slow: float, code: str) -> None:
    matrix: Table = [[N, slow, 28.4], [slow, 594.0, 25.1], [29.0, 25.3, 636.4]]
    assert alarms(rbt(matrix)) == [code]
    assert "device 1" in judged(rbt(matrix))[code].sentence and "LnkSta" in judged(rbt(matrix))[code].sentence


def test_another_model_may_have_another_slot() -> None:
    matrix: Table = [[N, 7.2, 28.4], [7.2, 594.0, 25.1], [29.0, 25.3, 636.4]]
    assert alarms(rbt(matrix, cards=("Radeon RX 6600", CARD))) == []


def test_both_ways_together_are_halved_before_they_are_compared() -> None:
    matrix: Table = [[N, 6.8, 6.8], [6.8, N, 40.1], [6.8, 40.1, N]]
    assert alarms(rbt(N, matrix)) == ["narrow-host-link"]


def links(slow: dict[tuple[int, int], float], gpus: int = 8) -> dict[str, Any]:
    matrix = [[slow.get((at, to), 48.0) if at != to else 2000.0 for to in range(gpus)] for at in range(gpus)]
    names = [f"GPU {at:02d}" for at in range(gpus)]
    return {"kind": "transferbench", "unidirectional_gbps": matrix, "bidirectional_gbps": None, "names": names}


def test_one_slow_link_is_an_alarm_and_a_topology_is_a_note() -> None:
    one = [v for v in judge(links({(2, 5): 11.0, (5, 2): 11.0})) if v.code == "uneven-links"]
    assert [verdict.is_note for verdict in one] == [False] and "2 of 56" in one[0].sentence
    hives = {(at, to): 12.0 for at in range(8) for to in range(8) if at // 4 != to // 4}
    many = [v for v in judge(links(hives)) if v.code == "uneven-links"]
    assert [verdict.is_note for verdict in many] == [True] and "not to a fault" in many[0].sentence


def test_all_to_all_is_judged_where_nothing_else_is_there() -> None:
    facts = links({(2, 5): 11.0, (5, 2): 11.0})
    across = facts | {"unidirectional_gbps": None, "all_to_all_gbps": facts["unidirectional_gbps"]}
    assert "GPU 02 to GPU 05" in {v.code: v.sentence for v in judge(across)}["uneven-links"]


def test_what_is_wrong_comes_first() -> None:
    found = judge(recognise.read_text(rbt([[N, 0.34, 28.4], [0.34, 594.0, 25.1], [29.0, 25.3, 636.4]])))
    assert [verdict.is_note for verdict in found] == [False, True]


RANK = "#  Rank  0 Group  0 Pid   {0} on     box-{0} device  0 [0000:05:00] AMD Instinct MI300X"
ROW = "     1048576        262144     float     sum      -1    12.50   83.88    0.00      0    11.10   94.46    0.00      0"


def test_processes_that_never_met() -> None:
    text = "\n".join(
        ["mpirun -np 2 ./all_reduce_perf", RANK.format(1), RANK.format(2), ROW, ROW, "# Avg bus bandwidth    : 0"]
    )
    assert "built-without-mpi" in judged(text) and "one-gpu-tested" not in judged(text)
    apart = "\n".join(
        [RANK.format(1), ROW, "# Avg bus bandwidth    : 0", RANK.format(2), ROW, "# Avg bus bandwidth    : 0"]
    )
    assert "built-without-mpi" not in judged(apart) and "one-gpu-tested" in judged(apart)
