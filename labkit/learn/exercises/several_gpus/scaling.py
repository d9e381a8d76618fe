"""From two times to the share that did not get shorter: Amdahl's law backwards (Karp and Flatt, 1990)."""

from __future__ import annotations

import math
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number


def _time(share: float, ranks: int) -> float:
    """Amdahl: the time of ``ranks`` processes, with one process taking 8 seconds."""
    return 8.0 * (share + (1 - share) / ranks)


def _probe_serial_share(answer: Any) -> None:
    for share, ranks in ((0.1, 4), (0.25, 8), (0.0, 2), (1.0, 4), (0.05, 64)):
        many = _time(share, ranks)
        got = float(one_number(call(answer, 8.0, many, ranks), "not_a_number"))
        if math.isclose(got, share, rel_tol=1e-4, abs_tol=1e-6):
            continue
        speedup = 8.0 / many
        told = {
            "got": got, "right": share, "ranks": ranks, "many": many, "speedup": speedup,
            "efficiency": speedup / ranks, "lower": 1 / ranks,
        }  # fmt: skip
        for key, value in (
            ("complement", 1 - share),
            ("efficiency", speedup / ranks),
            ("lost", 1 - speedup / ranks),
            ("time_ratio", many / 8.0),
            ("gain", 1 - many / 8.0),
            ("speedup", speedup),
            ("percent", 100 * share),
            ("not_stretched", many / 8.0 - 1 / ranks),
        ):
            if math.isclose(got, value, rel_tol=1e-4, abs_tol=1e-6):
                raise Wrong(key, **told)
        raise Wrong("other", **told)


serial_share = Exercise(
    name="serial_share",
    lesson="08",
    probe=_probe_serial_share,
    hints={
        "not_a_number": Hint(
            "give back one number (this was: {kind}).", "end with `return` and a number, not a {kind}."
        ),
        "complement": Hint(
            "that is the part that *did* get shorter. Asked is the other one.",
            "1 minus yours: {right:.3g}, not {got:.3g}.",
        ),
        "efficiency": Hint(
            "that is the efficiency, speed-up over ranks. The share s comes from solving Amdahl's law for it.",
            "t_many / t_one = s + (1 - s) / ranks; solve for s: {right:.3g} with {ranks} ranks, not {got:.3g}.",
        ),
        "lost": Hint(
            "that is the efficiency lost, {got:.3g}. It grows with the ranks even if the share stays the same.",
            "solve t_many / t_one = s + (1 - s) / ranks for s: {right:.3g}, not {got:.3g}.",
        ),
        "time_ratio": Hint(
            "that is the time left, {got:.3g}. Even with nothing serial {lower:.3g} of it would be left.",
            "take 1/ranks away, and stretch what remains: (… - 1/ranks) / (1 - 1/ranks) = {right:.3g}, not {got:.3g}.",
        ),
        "gain": Hint(
            "that is the time saved. How much would have been saved with no serial part?",
            "solve t_many / t_one = s + (1 - s) / ranks for s: {right:.3g}, not {got:.3g}.",
        ),
        "speedup": Hint(
            "that is the speed-up, {got:.3g} times. A share lies between 0 and 1.",
            "solve 1 / speedup = s + (1 - s) / ranks for s: {right:.3g}, not {got:.3g}.",
        ),
        "percent": Hint("{got:.3g} is the share in per cent.", "between 0 and 1, please: {right:.3g}, not {got:.3g}."),
        "not_stretched": Hint(
            "nearly: {got:.3g} is s · (1 - 1/ranks), because the serial part is in 1/ranks too.",
            "divide by (1 - 1/ranks): {right:.3g}, not {got:.3g}.",
        ),
        "other": Hint(
            "8 s with one, {many:.3g} s with {ranks}: the share is {right:.3g}, you have {got:.3g}.",
            "s = (t_many/t_one - 1/ranks) / (1 - 1/ranks): {right:.3g}, not {got:.3g}.",
        ),
    },
    push=(
        "Amdahl: t_many = t_one · (s + (1 - s) / ranks). Everything but s is known.",
        "Move the 1/ranks to the left, then divide by (1 - 1/ranks).",
    ),
    mistakes=(
        KnownMistake(
            "the efficiency lost",
            "def serial_share(t_one, t_many, ranks):\n    return 1 - t_one / t_many / ranks",
            "lost",
        ),
        KnownMistake(
            "the efficiency",
            "def serial_share(t_one, t_many, ranks):\n    return t_one / (ranks * t_many)",
            "efficiency",
        ),
        KnownMistake(
            "the ratio of the times", "def serial_share(t_one, t_many, ranks):\n    return t_many / t_one", "time_ratio"
        ),
        KnownMistake(
            "what lies above 1/ranks",
            "def serial_share(t_one, t_many, ranks):\n    return t_many / t_one - 1 / ranks",
            "not_stretched",
        ),
        KnownMistake(
            "the parallel part",
            "def serial_share(t_one, t_many, ranks):\n    return (1 - t_many / t_one) / (1 - 1 / ranks)",
            "complement",
        ),
        KnownMistake("the speed-up", "def serial_share(t_one, t_many, ranks):\n    return t_one / t_many", "speedup"),
        KnownMistake(
            "upside down",
            "def serial_share(t_one, t_many, ranks):\n    return (t_one / t_many - 1 / ranks) / (1 - 1 / ranks)",
            "other",
        ),
    ),
    variants=(
        "def serial_share(t_one, t_many, ranks):\n    return (ranks * t_many - t_one) / ((ranks - 1) * t_one)",
        """
def serial_share(t_one, t_many, ranks):
    speedup = t_one / t_many
    return (1 / speedup - 1 / ranks) / (1 - 1 / ranks)
""",
    ),
)
