"""What a measured time says about a kernel: at the memory's ceiling, at the arithmetic's, above or far below both."""

from __future__ import annotations

from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call

_WORDS = ("memory", "compute", "cache", "neither")


def _say(answer: Any, *case: float) -> str:
    got = call(answer, *case)
    if not isinstance(got, str):
        raise Wrong("not_a_word", kind=type(got).__name__)
    word = got.strip().lower()
    if word not in _WORDS:
        raise Wrong("unknown_word", got=got)
    return word


def _probe_which_bound(answer: Any) -> None:
    # (flops, moved, measured_s, flops_per_s, bytes_per_s): 1000 bytes take 10 s, 200 FLOPs 1 s, 4000 FLOPs 20 s
    rates = (200.0, 100.0)
    memory = _say(answer, 200, 1000, 12.0, *rates)
    compute = _say(answer, 4000, 1000, 30.0, *rates)
    if (memory, compute) == ("compute", "memory"):
        raise Wrong("exchanged")
    late = _say(answer, 200, 1000, 31.0, *rates)
    early = _say(answer, 200, 1000, 7.0, *rates)
    if memory == compute and memory in ("memory", "compute"):
        raise Wrong("always_one", got=memory)
    if memory == "neither":
        raise Wrong("neither_too_soon", took=12, roof=10)
    if late == "memory":
        raise Wrong("never_neither", took=31, roof=10)
    if early == "memory":
        raise Wrong("never_cache", took=7, roof=10)
    if early == "neither":
        raise Wrong("cache_as_neither", took=7, roof=10)
    if memory == "cache":
        raise Wrong("cache_too_soon", took=12, roof=10)
    if (memory, compute, late, early) != ("memory", "compute", "neither", "cache"):
        raise Wrong("other", got=", ".join((memory, compute, late, early)))
    slow = _say(answer, 4000, 1000, 59.0, *rates)
    if slow == "neither":
        raise Wrong("wrong_roof", took=59, roof=20)
    near = _say(answer, 200, 1000, 8.5, *rates)
    if near == "cache":
        raise Wrong("cache_margin", took=8.5, roof=10)
    dense = _say(answer, 4000, 1000, 15.0, *rates)
    if dense == "cache":
        raise Wrong("cache_by_flops", took=15, moving=10)
    if (slow, near, dense) != ("compute", "memory", "compute"):
        raise Wrong("other", got=", ".join((slow, near, dense)))


which_bound = Exercise(
    name="which_bound",
    lesson="07",
    probe=_probe_which_bound,
    hints={
        "not_a_word": Hint(
            "give back a word, a str (this was: {kind}).",
            'end with `return "memory"`, or one of the other three words; not a {kind}.',
        ),
        "unknown_word": Hint(
            "{got!r} is none of the four words.", '"memory", "compute", "cache" or "neither", and not {got!r}.'
        ),
        "exchanged": Hint(
            'both are exchanged: if moving the bytes takes longer, it is "memory".',
            '`"memory" if moved / bytes_per_s > flops / flops_per_s else "compute"`.',
        ),
        "always_one": Hint(
            "your function says {got!r} to a kernel bound by memory and to one bound by arithmetic alike.",
            "compare `moved / bytes_per_s` with `flops / flops_per_s`; the larger one names the bound.",
        ),
        "neither_too_soon": Hint(
            "a kernel that took {took} s under a roof of {roof} s is near it. No kernel hits the roof exactly.",
            '"neither" only above 3 times the larger of both times ({took} s is less than 3 × {roof} s).',
        ),
        "never_neither": Hint(
            "{took} s where the roof allows {roof} s: neither memory nor arithmetic explains that.",
            '`if measured_s > 3 * max(…): return "neither"`, before "memory" and "compute" ({took} s, roof {roof} s).',
        ),
        "never_cache": Hint(
            "{took} s, but from memory the bytes alone take {roof} s. Where did they come from?",
            '`if measured_s < 0.8 * moved / bytes_per_s: return "cache"` ({took} s against {roof} s).',
        ),
        "cache_as_neither": Hint(
            "{took} s is *less* than the {roof} s that the bytes take from memory. Which word is for that?",
            'less than 0.8 times the time of the bytes is "cache" ({took} s against {roof} s).',
        ),
        "cache_too_soon": Hint(
            "{took} s is longer than the {roof} s that the bytes take from memory: that is no cache.",
            '"cache" only below 0.8 times `moved / bytes_per_s` ({took} s against {roof} s).',
        ),
        "wrong_roof": Hint(
            "this one is bound by arithmetic, and its roof is {roof} s. It took {took} s, less than 3 times that.",
            '"neither" above 3 times the *larger* of both times: 3 × {roof} s, and it took {took} s.',
        ),
        "cache_margin": Hint(
            "{took} s against {roof} s is within what measurements scatter. The rule leaves a margin.",
            '"cache" only below 0.8 times the time of the bytes ({took} s is more than 0.8 × {roof} s).',
        ),
        "cache_by_flops": Hint(
            "this one had time enough to move its bytes ({moving} s of {took} s). Being under the arithmetic's time is no cache.",
            'for "cache" compare with `moved / bytes_per_s` alone ({moving} s; it took {took} s).',
        ),
        "other": Hint(
            "these answers do not follow from the rule: {got}.",
            "in this order: cache below 0.8 × time of the bytes; neither above 3 × the larger time; else the larger (yours: {got}).",
        ),
    },
    push=(
        "First compute both times: of the bytes and of the FLOPs. Then compare the measured time with them.",
        "Three questions in order: faster than memory allows? Far slower than the larger time? Which of both is larger?",
    ),
    mistakes=(
        KnownMistake(
            "exchanged",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    return "compute" if moved / bytes_per_s > flops / flops_per_s else "memory"
""",
            "exchanged",
        ),
        KnownMistake(
            "memory always",
            'def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):\n    return "memory"',
            "always_one",
        ),
        KnownMistake(
            "intensity compared with 1",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    return "memory" if flops / moved < 10 else "compute"
""",
            "always_one",
        ),
        KnownMistake(
            "slower than the roof is neither",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    memory, compute = moved / bytes_per_s, flops / flops_per_s
    if measured_s < 0.8 * memory:
        return "cache"
    if measured_s > max(memory, compute):
        return "neither"
    return "memory" if memory > compute else "compute"
""",
            "neither_too_soon",
        ),
        KnownMistake(
            "only the larger time",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    return "memory" if moved / bytes_per_s > flops / flops_per_s else "compute"
""",
            "never_neither",
        ),
        KnownMistake(
            "no cache",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    memory, compute = moved / bytes_per_s, flops / flops_per_s
    if measured_s > 3 * max(memory, compute):
        return "neither"
    return "memory" if memory > compute else "compute"
""",
            "never_cache",
        ),
        KnownMistake(
            "far by the bytes alone",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    memory, compute = moved / bytes_per_s, flops / flops_per_s
    if measured_s < 0.8 * memory:
        return "cache"
    if measured_s > 3 * memory:
        return "neither"
    return "memory" if memory > compute else "compute"
""",
            "wrong_roof",
        ),
        KnownMistake(
            "no margin",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    memory, compute = moved / bytes_per_s, flops / flops_per_s
    if measured_s < memory:
        return "cache"
    if measured_s > 3 * max(memory, compute):
        return "neither"
    return "memory" if memory > compute else "compute"
""",
            "cache_margin",
        ),
        KnownMistake(
            "cache below the larger time",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    memory, compute = moved / bytes_per_s, flops / flops_per_s
    if measured_s < 0.8 * memory or measured_s < compute:
        return "cache"
    if measured_s > 3 * max(memory, compute):
        return "neither"
    return "memory" if memory > compute else "compute"
""",
            "cache_by_flops",
        ),
        KnownMistake(
            "cache below 0.8 times the larger time",
            """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    memory, compute = moved / bytes_per_s, flops / flops_per_s
    if measured_s < 0.8 * max(memory, compute):
        return "cache"
    if measured_s > 3 * max(memory, compute):
        return "neither"
    return "memory" if memory > compute else "compute"
""",
            "cache_by_flops",
        ),
    ),
    variants=(
        """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    times = {"memory": moved / bytes_per_s, "compute": flops / flops_per_s}
    longest = max(times, key=times.get)
    if measured_s / times[longest] > 3:
        return "neither"
    return "cache" if measured_s < 0.8 * times["memory"] else longest
""",
        """
def which_bound(flops, moved, measured_s, flops_per_s, bytes_per_s):
    if moved / measured_s > bytes_per_s / 0.8:
        return "CACHE"
    ridge = flops_per_s / bytes_per_s
    bound, roof = ("Memory", moved / bytes_per_s) if flops < ridge * moved else ("Compute", flops / flops_per_s)
    return bound if measured_s <= 3 * roof else "Neither"
""",
    ),
)
