"""Logs of NCCL and RCCL and reports of their RAS service, as people paste them. All numbers are made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.machine.readers import printing
from tests.machine.readers.pasting import labelled, read

RUN = """\
# nThread 1 nGpus 4 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  3 Group  0 Pid   773 on     box-1 device  3 [0000:33:00] AMD Radeon PRO W7900
     1048576        262144     float     sum      -1    62.50   16.78   25.17      0    61.10   17.16   25.74      0
"""


LOG = (
    "box:9:9 [0] NCCL INFO Bootstrap : Using eno1:192.0.2.1<0>\n"
    "box:9:20 [0] /src/rccl/init.cc:99 NCCL WARN Missing \"iommu=pt\" from kernel command line "
    "which can lead to system instablity or hang!\n"
    "box:9:20 [0] NCCL INFO comm 0x7f rank 3 nRanks 016 nNodes 2 localRanks 8 localRank 3 MNNVL 0\n"
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expect"),
    [
        (LOG, {"kind": "rccl-log", "problem": "rccl-iommu", "ranks": 16}),
        (labelled(LOG, "3: "), {"kind": "rccl-log", "problem": "rccl-iommu", "ranks": 16}),
        (labelled(LOG, "(TrainWorker pid=11, ip=192.0.2.3) "), {"kind": "rccl-log", "ranks": 16}),
        ("Epoch 1 loss 2.3\n" + LOG.split("\n")[0] + "\nEpoch 2\n", {"kind": "rccl-log", "problem": None, "ranks": None}),
        ("NCCL INFO comm 0x55a nranks 8 cudaDev 0 - Init COMPLETE\n", {"kind": "rccl-log", "ranks": 8}),
        ("[rank1]:[E1130 10:11:12.5 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught a timeout\n", {"kind": "rccl-log"}),
        (LOG + RUN, {"kind": "rccl-tests", "ranks": 4}),  # the log belongs to the run
        ("My log says 'NCCL WARN Missing iommu=pt', and then it hangs. NCCL INFO is on.\n", {"kind": "unknown"}),
        ("USAGE: all_reduce_perf \n\t[-t,--nthreads <num threads>] \n\t[-c,--check <check iteration count>] \n", {"kind": "unknown"}),
        ("I ran all_reduce_perf; the avg bus bandwidth was 300 GB/s and 8 GPUs, busbw fine.\n", {"kind": "unknown"}),
        ("size count type\n1 2 float\n", {"kind": "unknown"}),
        ("read socket: Connection reset by peer\n", {"kind": "unknown"}),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_logs_and_what_only_speaks_of_them(text: str, expect: dict[str, Any]) -> None:
    facts = read(text)
    assert {key: facts.get(key) for key in expect} == expect


RAS = """\
NCCL version 2.27.7 compiled with ROCm "7.1.0.0-1"

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (2.05s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2       3-4         8         8   RUNNING  INCOMPLETE

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 34 on node 192.0.2.9 managing GPU 3

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 7

Warnings
========
"""


MANY = "    0         8         2         1         4         8   RUNNING      OK\n\n"


TABLE_END = "       3-4         8         8   RUNNING  INCOMPLETE" + RAS.partition("  INCOMPLETE")[2]


@pytest.mark.parametrize(
    ("old", "new", "expect"),
    [
        ("", "", (8, 7, "rccl-missing-rank")),
        ("   RUNNING  INCOMPLETE", "   RUNNING      OK", (8, 7, "rccl-missing-rank")),
        (RAS[RAS.index("INCOMPLETE\n  Missing") : RAS.index("Warnings")], "", (8, 7, "rccl-missing-rank")),
        ("8         8   RUNNING", "8         5   RUNNING", (8, 5, "rccl-missing-rank")),
        ("managing GPU 3", "managing GPUs 2,3", (8, 6, "rccl-missing-rank")),
        (RAS[RAS.index("Communicators") :], "", (8, None, None)),
        (RAS[: RAS.index("Communicators")], "", (8, 7, "rccl-missing-rank")),
        (RAS[RAS.index("Errors\n=") :], "", (8, 7, "rccl-missing-rank")),
        (TABLE_END, "         4         8         8   RUNNING      OK\n", (8, 8, None)),
        (TABLE_END, "         4         8         8   RUNNING  INCOMPLETE\n", (8, None, "rccl-missing-rank")),
        (RAS[RAS.index("    0         1") : RAS.index("Errors\n=")], MANY, (8, 7, "rccl-missing-rank")),
    ],
    ids=range(11),
)  # fmt: skip
def test_a_status_report(old: str, new: str, expect: tuple[Any, ...]) -> None:
    facts = read(RAS.replace(old, new) if old else RAS)
    assert facts["kind"] == "rccl-ras"
    assert (facts["ranks"], facts["ranks_present"], facts["problem"]) == expect
    assert facts["version"] in ("2.27.7", None)


def test_a_status_report_as_json() -> None:
    report = {
        "nccl_version": "2.29.1", "communicators_count": 1, "communicators": [
            {"hash": "0xae", "size": 4, "ranks_count": 3, "missing_ranks_count": 1,
             "ranks": [{"rank": r, "host": "192.0.2.5", "pid": 9 + r, "cuda_dev": r} for r in range(3)],
             "missing_ranks": [{"rank": 3, "host": "192.0.2.5", "pid": 12, "cuda_dev": 3}]},
            {"hash": "0xaf", "size": 2, "ranks_count": 2, "missing_ranks_count": 0,
             "ranks": [{"rank": r, "host": "192.0.2.5", "pid": 9 + r, "cuda_dev": r} for r in range(2)], "missing_ranks": []}],
    }  # fmt: skip
    facts = read("$ rcclras -f json\n" + json.dumps(report, indent=2))
    assert facts == {
        "kind": "rccl-ras",
        "problem": "rccl-missing-rank",
        "version": "2.29.1",
        "ranks": 4,
        "ranks_present": 3,
    }
    report["communicators"] = report["communicators"][1:]  # type: ignore[index]
    assert read(json.dumps(report))["problem"] is None
    assert read(json.dumps(report)[:-9])["kind"] == "unknown"


PIECES = (RUN + LOG + RAS).split("\n")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), max_size=40), st.integers(0, 5))
def test_no_mixture_raises_and_no_rank_is_invented(pieces: list[str], cut: int) -> None:
    facts = read("\n".join(piece[cut:] for piece in pieces))
    json.dumps(facts, allow_nan=False)
    if facts["kind"] == "rccl-ras" and facts["ranks_present"] is not None:
        assert 0 <= facts["ranks_present"] <= facts["ranks"]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(RAS)))
def test_a_cut_report_never_has_more_ranks_than_the_whole(cut: int) -> None:
    facts = read(RAS[:cut])
    if facts["kind"] == "rccl-ras":
        assert facts["ranks"] in (None, 8) and facts["ranks_present"] in (None, 7, 8)


@pytest.mark.parametrize("lines", [1, 10_000])
def test_the_text_form_says_what_a_report_does_not_say(lines: int) -> None:
    said = printing.as_text(read("\n".join(RAS.split("\n")[:lines])))
    want = "expected: 8; answered: 7." if lines > 1 else "expected: not said; answered: not said."
    assert said.startswith("This is a status report") and said.endswith(f"Ranks {want}")


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
KEYS = ("ranks", "missing_ranks", "size", "ranks_count", "missing_ranks_count", "rank", "host", "pid")
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=80, deadline=None)
@given(TREES)
def test_no_json_raises(report: Any) -> None:
    for found in ({"communicators": report}, {"communicators": [report, report]}):
        json.dumps(read(json.dumps(found)), allow_nan=False)
