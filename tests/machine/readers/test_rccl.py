"""rccl-tests in the forms that people paste. All numbers are made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labkit.machine.readers.labels import unlabelled
from tests.machine.readers.pasting import folded, labelled, read

HEAD = "# nThread 1 nGpus 4 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n"
DEVICES = "# Using devices\n" + "".join(
    f"#  Rank {rank:2d} Group  0 Pid   77{rank} on     box-{rank // 2} device {rank:2d} [0000:{rank}3:00] AMD Radeon PRO W7900\n"
    for rank in range(4)
)
NAMES = (
    "#\n#                                                              out-of-place                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
)
ROWS = (
    "     1048576        262144     float     sum      -1    62.50   16.78   25.17      0    61.10   17.16   25.74      0\n"
    "     2097152        524288     float     sum      -1    101.0   20.76   31.15      0    100.2   20.93   31.39      0\n"
    "     4194304       1048576     float     sum      -1    12345    0.34    0.51      0    12300    0.34    0.51      0\n"
)
FOOT = "# Errors with asterisks indicate errors that have exceeded the maximum threshold.\n"
FOOT += "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 18.9433 \n#\n"
RUN = "$ ./build/all_reduce_perf -b 1M -e 4M -f 2 -g 4\n" + HEAD + DEVICES + NAMES + ROWS + FOOT
WANT = [(1048576, 62.5, 16.78, 25.17, 0), (2097152, 101.0, 20.76, 31.15, 0), (4194304, 12345.0, 0.34, 0.51, 0)]


def rows_of(facts: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(r["bytes"], r["time_us"], r["algbw_gbps"], r["busbw_gbps"], r["wrong"]) for r in facts.get("rows", [])]


def test_a_plain_run() -> None:
    facts = read(RUN)
    assert (facts["kind"], facts["problem"], facts["collective"], facts["ranks"]) == (
        "rccl-tests",
        None,
        "all_reduce",
        4,
    )
    assert rows_of(facts) == WANT
    assert facts["avg_busbw_gbps"] == 18.9433
    assert facts["gpu_names"] == ["AMD Radeon PRO W7900"] and facts["hosts"] == 2 and facts["checked"] is True


PER_ITERATION = RUN.replace("#wrong", "#wrong   i_min   i_max   i_p99   i_cv%")
for start in ("    61.10", "    100.2", "    12300"):
    PER_ITERATION = PER_ITERATION.replace(f"      0{start}", f"      0    1.0     2.0     3.0     4.0{start}")
STAMPED = RUN.replace("\n", "  2026-05-19 17:33:42\n")
SUFFIXED = RUN
for size, short in (("1048576", "     1M"), ("2097152", "  2048K"), ("4194304", "    4MB")):
    SUFFIXED = SUFFIXED.replace(f"\n     {size} ", f"\n     {short} ")


@pytest.mark.parametrize(
    "text",
    [
        labelled(RUN, "[1,0]<stdout>:"),
        labelled(RUN, "[1,0]<stdout>: "),
        labelled(RUN, "0: "),
        labelled(RUN, " 0: "),
        labelled(RUN, "[rank0]: "),
        labelled(RUN, "> "),
        labelled(RUN, "    "),
        labelled(RUN, "2026-05-19T17:33:42.123Z "),
        labelled(RUN, "[2026-05-19 17:33:42] "),
        labelled(RUN, "launcher-0  | "),
        RUN.replace("\n", "\r\n"),
        "".join(f"\x1b[32m{line}\x1b[0m\n" for line in RUN.split("\n")),
        "\n".join(" ".join(line.split()) for line in RUN.split("\n")),  # as a web page squeezes it
        folded(RUN, 80),
        RUN.replace("      0    61.10", " \n      0    61.10"),
        RUN.replace("\n", "   \n"),
        "```\n" + RUN + "```\n",
        RUN.replace(ROWS, ROWS.replace("\n", "\nbox-0:771:790 [0] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f\n")),
        RUN.replace("-1    62.50", "-1box-0:771:790 [0] NCCL INFO Channel 00/08\n    62.50"),
        RUN.replace(" sum      -1", " sum").replace("redop    root", "redop"),  # no root column
        RUN.replace("   -1  ", "    3  "),  # a root that is a rank
        RUN.replace(NAMES, ""),
        RUN.replace(NAMES, "").replace("   -1  ", "    0  "),
        PER_ITERATION,
        STAMPED,
        SUFFIXED,
        ROWS + FOOT,
        RUN.rstrip(),
    ],
    ids=lambda text: repr(text[:24]),
)  # fmt: skip
def test_the_same_rows_however_they_were_pasted(text: str) -> None:
    assert rows_of(read(text)) == WANT


@pytest.mark.parametrize(
    ("change", "expect"),
    [
        ({"      0    61.10": "     12    61.10"}, {"problem": "rccl-data-errors"}),
        ({"17.16   25.74      0": "17.16   25.74      7"}, {"problem": "rccl-data-errors"}),
        ({"values : 0 OK": "values : 1 FAILED"}, {"problem": "rccl-data-errors"}),
        ({"18.9433 ": "18.9433 FAILED"}, {"problem": None}),  # slower than asked for is no wrong datum
        ({"#\n$": "x"}, {"problem": None}),
        ({"# Avg bus bandwidth    : 18.9433 \n": ""}, {"avg_busbw_gbps": None}),
        ({": 18.9433": ": -nan"}, {"avg_busbw_gbps": None}),
        ({"$ ./build/all_reduce_perf -b 1M -e 4M -f 2 -g 4\n": ""}, {"collective": None}),
        (
            {"$ ./build/all_reduce_perf": "# Collective test starting: alltoallv_perf\n$ sh"},
            {"collective": "alltoallv"},
        ),
        ({DEVICES: ""}, {"ranks": None, "gpu_names": []}),
        ({" Group  0": "", "[0000:": "["}, {"ranks": 4}),
        ({"on     box-": "", ":00]": ":00.0]"}, {"ranks": 4}),
        ({FOOT: "mpirun noticed that process rank 2 exited on signal 6 (Aborted).\n"}, {"problem": "rccl-crash"}),
        ({FOOT: "srun: error: box-1: task 3: Exited with exit code 1\n"}, {"problem": "rccl-crash"}),
        ({FOOT: "box-1: Test NCCL failure common.cu:1285 'unhandled cuda error'\n"}, {"problem": "rccl-crash"}),
        (
            {FOOT: "slurmstepd: error: *** STEP 12.0 ON box CANCELLED AT 2026-05-19T17:33:42 ***\n"},
            {"problem": "rccl-crash"},
        ),
        ({FOOT: "Invalid number of GPUs: 8 requested but only 4 were found.\n"}, {"problem": "rccl-crash"}),
        ({FOOT: "Exit code: 139\n"}, {"problem": "rccl-crash"}),
        ({FOOT: FOOT + "a non-fatal warning\n"}, {"problem": None}),
        ({FOOT: FOOT + "exit code: 0\n"}, {"problem": None}),
        ({FOOT: FOOT + "[phase2] exited with code 0\n"}, {"problem": None}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_a_change_of_the_text_changes(change: dict[str, str], expect: dict[str, Any]) -> None:
    text = RUN
    for old, new in change.items():
        text = text.replace(old, new)
    facts = read(text)
    assert {key: facts[key] for key in expect} == expect


def test_not_checked_is_null() -> None:
    facts = read(RUN.replace("      0    ", "    N/A    ").replace("      0\n", "    N/A\n"))
    assert [row[4] for row in rows_of(facts)] == [None] * 3 and facts["checked"] is False


def test_a_large_count_in_exponent_notation() -> None:
    facts = read(RUN.replace("25.17      0", "25.17  1.05e+06"))
    assert rows_of(facts)[0][4] == 1050000 and facts["problem"] == "rccl-data-errors"


OLD = """\
# nThread 1 nGpus 2 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#   Rank  0 Pid  4711 on       hugo device  0 [0x45] Vega 20
#   Rank  1 Pid  4711 on       hugo device  1 [0xc4] Vega 20
#                                             out-of-place                       in-place
#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        4096           512   float    21.03    0.19    0.10  0e+00    20.68    0.20    0.10  0e+00
     8388608       1048576   float   1000.0    8.39    4.19  2e-07   1001.0    8.38    4.19  2e-07
"""


def test_an_old_release_prints_a_deviation_and_not_a_count() -> None:
    facts = read(OLD)
    assert facts["ranks"] == 2 and facts["problem"] is None and facts["checked"] is True
    assert rows_of(facts) == [(4096, 21.03, 0.19, 0.10, 0), (8388608, 1000.0, 8.39, 4.19, None)]
    assert read(OLD.replace("2e-07 ", "5e-01*"))["problem"] == "rccl-data-errors"


def test_a_table_of_four_columns() -> None:
    short = "#       size      time   algbw   busbw\n#        (B)      (us)  (GB/s)  (GB/s)\n 17179869184   387603   44.32   22.16\n"
    facts = read(short + "# Avg bus bandwidth    : 21.9736\n")
    assert rows_of(facts) == [(17179869184, 387603.0, 44.32, 22.16, None)] and facts["avg_busbw_gbps"] == 21.9736


def test_rows_of_several_tests_are_merged_and_the_first_gives_the_name() -> None:
    second = RUN.replace("all_reduce", "all_gather").replace("18.9433", "7.5")
    facts = read(RUN + "\n" + second)
    assert rows_of(facts) == WANT * 2
    assert (facts["collective"], facts["avg_busbw_gbps"]) == ("all_reduce", 18.9433)


def test_a_half_that_was_not_measured_is_no_row() -> None:
    blank = "     1048576        262144     float     sum      -1" + " " * 32 + "    61.10   17.16   25.74      0\n"
    assert rows_of(read(HEAD + NAMES + blank)) == []


JSON_RCCL = [
    {"numCycle": 0, "name": "ReduceScatter", "nodes": 1, "ranks": 4, "ranksPerNode": 4, "gpusPerRank": 1, "size": size, "type": "float",
     "redop": "sum", "inPlace": place, "time": 50.5, "algBw": 20.76, "busBw": 15.57, "wrong": wrong}
    for size in (1024, 2048) for place, wrong in ((0, "0"), (1, "N/A"))
]  # fmt: skip
JSON_NCCL = {
    "version": 3, "args": ["/opt/build/all_gather_perf", "-g", "1"], "nccl_version": 22703,
    "config": {"nthreads": 1, "ngpus": 1, "devices": [{"rank": r, "hostname": "a", "device_info": "X"} for r in range(3)]},
    "results": [{"size": 512, "in_place": {"time": 9.0, "nwrong": None},
                 "out_of_place": {"time": 9.5, "alg_bw": 0.05, "bus_bw": 0.03, "nwrong": 0.0}},
                {"size": 1024, "out_of_place": None, "in_place": {"time": 9.0, "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": 3.0}}],
    "out_of_bounds": {"count": 3, "okay": "false"}, "average_bus_bandwidth": {"bandwidth": 0.03, "okay": "unchecked"},
}  # fmt: skip


def test_results_for_programs() -> None:
    want = [(1024, 50.5, 20.76, 15.57, 0), (2048, 50.5, 20.76, 15.57, 0)]
    listed = read("[\n" + ",\n".join(map(json.dumps, JSON_RCCL)) + "\n]\n")
    by_line = read("".join(json.dumps(record) + "\n" for record in JSON_RCCL))
    for facts in (listed, by_line):
        assert (facts["kind"], facts["collective"], facts["ranks"]) == ("rccl-tests", "reduce_scatter", 4)
        assert rows_of(facts) == want
    facts = read(json.dumps(JSON_NCCL))
    assert (facts["collective"], facts["ranks"], facts["problem"], facts["avg_busbw_gbps"]) == (
        "all_gather",
        3,
        "rccl-data-errors",
        0.03,
    )
    assert rows_of(facts) == [(512, 9.5, 0.05, 0.03, 0)]
    table = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,wrong\n"
    for place, wrong in (("0", "0"), ("1", "N/A")):
        table += f"0, AllReduce, 1, 8, 8, 1, 4096, float, sum, {place}, 22.5, 0.18, 0.32, {wrong}\n"
    facts = read(table)
    assert (facts["collective"], facts["ranks"], rows_of(facts)) == ("all_reduce", 8, [(4096, 22.5, 0.18, 0.32, 0)])
    assert read(json.dumps(JSON_NCCL)[:-20])["kind"] == "unknown"


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(RUN)))
@example(RUN.index("25.17") + 4)
def test_a_cut_gives_a_prefix_of_the_rows(cut: int) -> None:
    facts = read(RUN[:cut])
    got = rows_of(facts)
    if facts["kind"] == "unknown":
        assert not got
        return
    assert len(got) <= len(WANT)
    for have, want in zip(got, WANT, strict=False):
        assert have[:4] == want[:4] and have[4] in (want[4], None)
    assert facts["avg_busbw_gbps"] is None or "18.9433".startswith(str(facts["avg_busbw_gbps"]).removesuffix(".0"))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(RUN)))
def test_a_missing_start_gives_the_last_rows(cut: int) -> None:
    got = rows_of(read(RUN[cut:]))
    assert not got or got[1:] == WANT[len(WANT) - len(got) :][1:]


PIECES = (RUN + OLD).split("\n")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), max_size=40), st.integers(0, 5))
def test_no_mixture_raises_and_every_number_is_finite(pieces: list[str], cut: int) -> None:
    facts = read("\n".join(piece[cut:] for piece in pieces))
    json.dumps(facts, allow_nan=False)


KEYS = (
    "results",
    "config",
    "communicators",
    "ranks",
    "missing_ranks",
    "busBw",
    "size",
    "out_of_place",
    "time",
    "devices",
    "rank",
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=80, deadline=None)
@given(TREES)
def test_no_json_raises(report: Any) -> None:
    for text in (
        json.dumps({"communicators": report, "bus_bw": 1}),
        json.dumps({"results": [report], "config": report, "bus_bw": 1}),
        json.dumps([{"busBw": 1}, report]),
    ):
        json.dumps(read(text), allow_nan=False)


def test_labels_leave_other_lines_alone() -> None:
    for line in (
        "Test 1:",
        "Device: 0,  Some CPU",
        "     1024   256  float",
        "GPU 00  ->  1.0",
        "  0         N/A  83.715",
        "card0: x",
    ):
        assert unlabelled(line) == line
