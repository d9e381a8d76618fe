"""The roof: the least time that bytes and FLOPs allow."""

from __future__ import annotations

from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number


def _near(got: float, right: float) -> bool:
    return abs(got - right) <= 1e-6 * abs(right)


def _probe_roof_time(answer: Any) -> None:
    # A memory-bound case: 1000 bytes at 100 B/s take 10 s, 400 FLOPs at 200 FLOP/s take 2 s.
    got = one_number(call(answer, 400, 1000, 200.0, 100.0), "not_a_number")
    for wrong, key in (
        (12.0, "added"),
        (2.0, "shorter"),
        (0.1, "upside_down"),
        (0.5, "upside_down"),
        (5.0, "crossed"),
        (40.0, "rate"),
        (100.0, "rate"),
        (200.0, "rate"),
        (6.0, "mean"),
    ):
        if _near(got, wrong):
            raise Wrong(key, got=got, expected=10.0)
    if not _near(got, 10.0):
        raise Wrong("other", got=got, expected=10.0)
    busy = one_number(call(answer, 4000, 100, 200.0, 100.0), "not_a_number")
    if _near(busy, 1.0):
        raise Wrong("memory_only", got=busy, expected=20.0)
    if not _near(busy, 20.0):
        raise Wrong("other", got=busy, expected=20.0)
    idle = one_number(call(answer, 0, 50, 200.0, 100.0), "not_a_number")
    if not _near(idle, 0.5):
        raise Wrong("no_arithmetic", got=idle, expected=0.5)


roof_time = Exercise(
    name="roof_time",
    lesson="07",
    probe=_probe_roof_time,
    hints={
        "not_a_number": Hint(
            "give back one number, the seconds (this was: {kind}).",
            "end with `return` and a number of seconds, not a {kind}.",
        ),
        "added": Hint(
            "you added both times. Memory and arithmetic units work at the same time.",
            "the longer one decides: `max(…, …)`, {expected} s here, not {got}.",
        ),
        "mean": Hint(
            "the mean of both is no bound: the longer one cannot be shortened by the other.",
            "the longer one decides: `max(…, …)`, {expected} s here, not {got}.",
        ),
        "shorter": Hint(
            "that is the shorter of both times. When is the kernel done?",
            "it is done when *both* are done: `max`, not `min` ({expected} s, not {got}).",
        ),
        "upside_down": Hint(
            "a time is an amount divided by a rate. Yours is the other way round.",
            "`moved / bytes_per_s` and `flops / flops_per_s`: {expected} s, not {got}.",
        ),
        "crossed": Hint(
            "bytes belong to the bytes' rate, FLOPs to the FLOPs' rate.",
            "`moved / bytes_per_s` and `flops / flops_per_s`: {expected} s, not {got}.",
        ),
        "rate": Hint(
            "that is a rate (FLOP/s), the height of the roof. The time was asked for.",
            "seconds: the larger of `moved / bytes_per_s` and `flops / flops_per_s`, {expected} here, not {got}.",
        ),
        "memory_only": Hint(
            "with much arithmetic and few bytes your answer is too short. What else takes time?",
            "the larger of both times: here `flops / flops_per_s`, {expected} s, not {got}.",
        ),
        "no_arithmetic": Hint(
            "a copy has 0 FLOPs and still takes time: expected {expected} s, got {got}.",
            "`max(moved / bytes_per_s, flops / flops_per_s)` needs no special case: {expected} s, not {got}.",
        ),
        "other": Hint(
            "expected {expected} s, got {got}. How long do the bytes take, how long the FLOPs?",
            "two quotients, and the larger of them: {expected} s, not {got}.",
        ),
    },
    push=(
        "How long would it take if it only moved the bytes? And if it only computed?",
        "`moved / bytes_per_s` and `flops / flops_per_s` run at the same time: the longer one decides.",
    ),
    mistakes=(
        KnownMistake(
            "both times added",
            "def roof_time(flops, moved, flops_per_s, bytes_per_s):\n"
            "    return flops / flops_per_s + moved / bytes_per_s",
            "added",
        ),
        KnownMistake(
            "the shorter time",
            "def roof_time(flops, moved, flops_per_s, bytes_per_s):\n"
            "    return min(flops / flops_per_s, moved / bytes_per_s)",
            "shorter",
        ),
        KnownMistake(
            "rates over amounts",
            "def roof_time(flops, moved, flops_per_s, bytes_per_s):\n"
            "    return max(flops_per_s / flops, bytes_per_s / moved)",
            "upside_down",
        ),
        KnownMistake(
            "rates exchanged",
            "def roof_time(flops, moved, flops_per_s, bytes_per_s):\n"
            "    return max(flops / bytes_per_s, moved / flops_per_s)",
            "crossed",
        ),
        KnownMistake(
            "the height of the roof",
            "def roof_time(flops, moved, flops_per_s, bytes_per_s):\n"
            "    return min(flops_per_s, bytes_per_s * flops / moved)",
            "rate",
        ),
        KnownMistake(
            "memory alone",
            "def roof_time(flops, moved, flops_per_s, bytes_per_s):\n    return moved / bytes_per_s",
            "memory_only",
        ),
        KnownMistake(
            "intensity as a divisor",
            "def roof_time(flops, moved, flops_per_s, bytes_per_s):\n"
            "    return 0.0 if not flops else flops / min(flops_per_s, bytes_per_s * flops / moved)",
            "no_arithmetic",
        ),
    ),
    variants=(
        """
def roof_time(flops, moved, flops_per_s, bytes_per_s):
    if flops * bytes_per_s > moved * flops_per_s:  # right of the ridge
        return flops / flops_per_s
    return moved / bytes_per_s
""",
        """
def roof_time(flops, moved, flops_per_s, bytes_per_s):
    return torch.tensor([flops / flops_per_s, moved / bytes_per_s], dtype=torch.float64).max()
""",
    ),
)
