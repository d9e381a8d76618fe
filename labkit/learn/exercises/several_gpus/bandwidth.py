"""From a time to a bus bandwidth, as nccl-tests and rccl-tests count it."""

from __future__ import annotations

import math
from typing import Any

from labkit.comm.formulas import busbw_factor
from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-4)


def _probe_bus_bandwidth(answer: Any) -> None:
    for name, ranks in (
        ("all_reduce", 8),
        ("all_reduce", 2),
        ("all_gather", 8),
        ("reduce_scatter", 4),
        ("broadcast", 8),
    ):
        size, seconds = 3 * 10**9, 0.25
        algbw = size / seconds / 1e9
        expected = algbw * busbw_factor(name, ranks)
        got = one_number(call(answer, name, size, seconds, ranks), "not_a_number")
        told = {"got": got, "expected": expected, "name_": name, "ranks": ranks, "algbw": algbw}
        if _same(got, expected):
            continue
        for unit, factor in (("bytes", 1e9), ("MB", 1e3), ("GiB", 1e9 / 2**30), ("gigabits", 8.0)):
            if _same(got, expected * factor):
                raise Wrong("unit", unit=unit, **told)
        if _same(got, algbw):
            raise Wrong("algbw", **told)
        if _same(got, 2 * algbw):
            raise Wrong("twice", **told)
        if _same(got, algbw / ranks * 2) or _same(got, algbw / ranks):
            raise Wrong("divided", **told)
        if _same(got, algbw * ranks):
            raise Wrong("times_ranks", **told)
        if name == "all_reduce" and _same(got, algbw * (ranks - 1) / ranks):
            raise Wrong("one_way", **told)
        if name != "all_reduce" and _same(got, algbw * busbw_factor("all_reduce", ranks)):
            raise Wrong("all_alike", **told)
        if name == "broadcast" and _same(got, algbw * (ranks - 1) / ranks):
            raise Wrong("root", **told)
        raise Wrong("other", **told)


bus_bandwidth = Exercise(
    name="bus_bandwidth",
    lesson="08",
    probe=_probe_bus_bandwidth,
    hints={
        "not_a_number": Hint(
            "give back one number (this was: {kind}).", "end with `return` and a number in GB/s, not a {kind}."
        ),
        "unit": Hint(
            "the factor is right, the unit is not: this looks like {unit} per second. GB here is a thousand million bytes.",
            "divide bytes per second by `1e9`: {expected:.3f} GB/s, not {got:.6g}.",
        ),
        "algbw": Hint(
            "that is algbw, size over time. For {name_} with {ranks} ranks, how much does each link really carry?",
            "times the factor of the table: {algbw:.3f} becomes {expected:.3f} GB/s for {name_} with {ranks} ranks.",
        ),
        "twice": Hint(
            "twice is what a very long ring comes near. With {ranks} ranks a rank sends less.",
            "2·(n - 1) chunks of 1/n each: times 2·(n - 1)/n, for {ranks} ranks {expected:.3f} and not {got:.3f} GB/s.",
        ),
        "divided": Hint(
            "more ranks should not make the number fall like 1/n: a rank sends n - 1 chunks, not one.",
            "the (n - 1) is missing: {expected:.3f} GB/s for {name_} with {ranks} ranks, not {got:.3f}.",
        ),
        "times_ranks": Hint(
            "busbw is what *one* link carries, not the sum over {ranks} ranks.",
            "do not multiply by the ranks: {expected:.3f} GB/s, not {got:.3f} ({name_}, {ranks} ranks).",
        ),
        "one_way": Hint(
            "an all-reduce goes round twice: once to sum, once to hand out. You counted one of them.",
            "for all_reduce 2·(n - 1)/n: {expected:.3f} GB/s with {ranks} ranks, not {got:.3f}.",
        ),
        "all_alike": Hint(
            "{name_} is half of an all-reduce at most: it goes round once.",
            "only all_reduce has the factor 2: {name_} with {ranks} ranks is {expected:.3f} GB/s, not {got:.3f}.",
        ),
        "root": Hint(
            "in a broadcast every rank but the last passes on all of the data, so a link carries all of it.",
            "the factor of broadcast is 1: {expected:.3f} GB/s, not {got:.3f}.",
        ),
        "other": Hint(
            "for {name_} with {ranks} ranks and 3·10⁹ bytes in 0.25 s expected {expected:.3f} GB/s, got {got:.6g}.",
            "`size / seconds / 1e9` is {algbw:.3f}; times the factor of {name_} it is {expected:.3f}, not {got:.6g}.",
        ),
    },
    push=(
        "First algbw: bytes over seconds over 1e9. Then one factor, which depends on the collective and the ranks.",
        'A dict helps: `{"all_reduce": 2 * (ranks - 1) / ranks, …}[collective]`.',
    ),
    mistakes=(
        KnownMistake(
            "size over time",
            "def bus_bandwidth(collective, size_bytes, seconds, ranks):\n    return size_bytes / seconds / 1e9",
            "algbw",
        ),
        KnownMistake(
            "the factor of all_reduce for all",
            """
def bus_bandwidth(collective, size_bytes, seconds, ranks):
    return size_bytes / seconds / 1e9 * 2 * (ranks - 1) / ranks
""",
            "all_alike",
        ),
        KnownMistake(
            "once round for all",
            """
def bus_bandwidth(collective, size_bytes, seconds, ranks):
    return size_bytes / seconds / 1e9 * (ranks - 1) / ranks
""",
            "one_way",
        ),
        KnownMistake(
            "simply twice",
            """
def bus_bandwidth(collective, size_bytes, seconds, ranks):
    return size_bytes / seconds / 1e9 * (2 if collective == "all_reduce" else 1)
""",
            "twice",
        ),
        KnownMistake(
            "summed over the ranks",
            "def bus_bandwidth(collective, size_bytes, seconds, ranks):\n    return size_bytes / seconds / 1e9 * ranks",
            "times_ranks",
        ),
        KnownMistake(
            "shared among the ranks",
            "def bus_bandwidth(collective, size_bytes, seconds, ranks):\n    return 2 * size_bytes / seconds / 1e9 / ranks",
            "divided",
        ),
        KnownMistake(
            "broadcast like all_gather",
            """
def bus_bandwidth(collective, size_bytes, seconds, ranks):
    rounds = 2 if collective == "all_reduce" else 1
    return size_bytes / seconds / 1e9 * rounds * (ranks - 1) / ranks
""",
            "root",
        ),
        KnownMistake(
            "GiB",
            """
def bus_bandwidth(collective, size_bytes, seconds, ranks):
    factor = {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1}.get(collective, (ranks - 1) / ranks)
    return size_bytes / seconds / 2**30 * factor
""",
            "unit",
        ),
    ),
    variants=(
        """
def bus_bandwidth(collective, size_bytes, seconds, ranks):
    once = 1 - 1 / ranks
    factor = {"all_reduce": 2 * once, "all_gather": once, "reduce_scatter": once, "broadcast": 1}
    return factor[collective] * size_bytes * 1e-9 / seconds
""",
    ),
)
