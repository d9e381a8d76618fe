"""Reading a profile by hand: how long a GPU was busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

_SCENES: tuple[tuple[str, Sequence[int], Sequence[int], int], ...] = (
    ("one after the other", (0, 20), (10, 50), 40),
    ("overlapping", (0, 5), (10, 15), 15),
    ("one within the other, then a third", (0, 10, 50), (100, 20, 120), 120),
    ("touching", (0, 10), (10, 25), 25),
    ("not in order", (60, 0, 20), (70, 10, 30), 30),
    ("not in order, overlapping", (20, 0, 8), (40, 10, 25), 40),
    ("not beginning at zero", (1_000, 1_200), (1_100, 1_260), 160),
)


def _probe_busy_time(answer: Any) -> None:
    got = {
        what: one_number(call(answer, list(starts), list(ends)), "not_a_number") for what, starts, ends, _ in _SCENES
    }
    right = {what: busy for what, _, _, busy in _SCENES}
    if got == right:
        empty = one_number(call(answer, [], []), "not_a_number")
        if empty != 0:
            raise Wrong("empty", got=empty)
        return
    known = {what: got[what] == right[what] for what in right}
    if got["overlapping"] == 20:
        raise Wrong("summed")
    if got["one after the other"] == 50:
        raise Wrong("span")
    if got["one after the other"] == 10 and got["overlapping"] == 0:
        raise Wrong("idle")
    if all(0 <= value < 2 for value in got.values()):
        raise Wrong("a_share", got=got["one after the other"])
    inside, unsorted = "one within the other, then a third", "not in order"
    if not known[inside] and known["overlapping"]:
        raise Wrong("nested", got=got[inside])
    if not known[unsorted] or not known["not in order, overlapping"]:
        where = unsorted if not known[unsorted] else "not in order, overlapping"
        raise Wrong("unsorted", got=got[where], expected=right[where])
    if not known["not beginning at zero"]:
        raise Wrong("from_zero", got=got["not beginning at zero"])
    wrong = next(what for what in right if not known[what])
    raise Wrong("other", what=wrong, got=got[wrong], expected=right[wrong])


busy_time = Exercise(
    name="busy_time",
    lesson="04",
    probe=_probe_busy_time,
    hints={
        "not_a_number": Hint(
            "give back one number, in ns (this was: {kind}).", "end with `return busy`, a number, not a {kind}."
        ),
        "summed": Hint(
            "two kernels from 0 to 10 and from 5 to 15 keep the GPU busy for 15 ns, not 20: side by side counts once.",
            "keep the end of what is covered so far; a kernel adds only what lies behind it: 0-10 and 5-15 make 10 + 5.",
        ),
        "span": Hint(
            "0 to 10 and 20 to 50: between 10 and 20 nothing runs. Busy are 40 ns, not 50.",
            "do not subtract the first start from the last end: add up, kernel by kernel, what is newly covered.",
        ),
        "idle": Hint(
            "0 to 10 and 20 to 50: the gap between them is 10 ns. Asked is how long some kernel *runs*: 40 ns.",
            "from first start to last end, minus the gaps: 50 - 10 = 40 in that example.",
        ),
        "a_share": Hint(
            "0 to 10 and 20 to 50 keep the GPU busy for 40 ns; you give {got:.2g}. A share is another question.",
            "give back the nanoseconds themselves; do not divide by the time from first to last (40, not {got:.2g}).",
        ),
        "no_subtraction": Hint(
            "`starts` and `ends` are lists; a list minus a list is not defined{where}.",
            "go through both at once: `for start, end in zip(starts, ends):` ({error}).",
        ),
        "nested": Hint(
            "0 to 100, within it 10 to 20, then 50 to 120: busy for 120, you say {got}. A short kernel ends before a longer one.",
            "what is covered reaches to the *largest* end so far: `reach = max(reach, end)` ({got} is not 120).",
        ),
        "unsorted": Hint(
            "the rows of a profile are in no particular order. With such rows you say {got}; {expected} is right.",
            "walk through `sorted(zip(starts, ends))`: then {got} becomes {expected}.",
        ),
        "from_zero": Hint(
            "time stamps do not begin at 0: kernels from 1,000 to 1,100 and 1,200 to 1,260 are 160 ns, you say {got}.",
            "begin with the first start, or with minus infinity, not with 0 (you say {got} where 160 is right).",
        ),
        "empty": Hint(
            "without any kernel the busy time is 0; you give {got}.", "an empty list should give 0, not {got}."
        ),
        "empty_error": Hint(
            "with no kernel at all your code stops with an error; the answer there is 0.",
            "begin with `busy = 0` and no look at the first element: an empty list then gives 0.",
        ),
        "other": Hint(
            "kernels that lie like this: {what}. You say {got}, {expected} is right.",
            "({what}: {got} instead of {expected}.) For each kernel, in order: add `end - max(start, reach)` if that is above 0.",
        ),
    },
    push=(
        "Sort by start. Remember how far time is covered already. What does each kernel add?",
        "`for start, end in sorted(zip(starts, ends)):` adds `max(0, end - max(start, reach))`; then `reach = max(reach, end)`.",
    ),
    errors={
        "for -: 'list' and 'list'": "no_subtraction",
        "max() arg is an empty sequence": "empty_error",
        "min() arg is an empty sequence": "empty_error",
        "iterable argument is empty": "empty_error",
        "list index out of range": "empty_error",
    },
    mistakes=(
        KnownMistake(
            "durations added up",
            "def busy_time(starts, ends):\n    return sum(end - start for start, end in zip(starts, ends))",
            "summed",
        ),
        KnownMistake(
            "from first to last",
            "def busy_time(starts, ends):\n    return max(ends) - min(starts)",
            "span",
        ),
        KnownMistake(
            "the idle time",
            """
def busy_time(starts, ends):
    idle, reach = 0, float("inf")
    for start, end in sorted(zip(starts, ends)):
        idle += max(0, start - reach)
        reach = end if reach == float("inf") else max(reach, end)
    return idle
""",
            "idle",
        ),
        KnownMistake(
            "a share",
            "def busy_time(starts, ends):\n    return sum(e - s for s, e in zip(starts, ends)) / (max(ends) - min(starts))",
            "a_share",
        ),
        KnownMistake(
            "a list minus a list", "def busy_time(starts, ends):\n    return sum(ends - starts)", "no_subtraction"
        ),
        KnownMistake(
            "compared with the kernel before only",
            """
def busy_time(starts, ends):
    busy, last = 0, float("-inf")
    for start, end in sorted(zip(starts, ends)):
        busy += max(0, end - max(start, last))
        last = end
    return busy
""",
            "nested",
        ),
        KnownMistake(
            "not sorted",
            """
def busy_time(starts, ends):
    busy, reach = 0, float("-inf")
    for start, end in zip(starts, ends):
        busy += max(0, end - max(start, reach))
        reach = max(reach, end)
    return busy
""",
            "unsorted",
        ),
        KnownMistake(
            "the first element, whether there is one or not",
            """
def busy_time(starts, ends):
    pairs = sorted(zip(starts, ends))
    reach, busy = pairs[0][0], 0
    for start, end in pairs:
        busy += max(0, end - max(start, reach))
        reach = max(reach, end)
    return busy
""",
            "empty_error",
        ),
    ),
    variants=(
        """
def busy_time(starts, ends):
    marks = sorted([(t, 1) for t in starts] + [(t, -1) for t in ends])
    running, since, busy = 0, 0, 0
    for t, change in marks:
        if running > 0:
            busy += t - since
        running, since = running + change, t
    return busy
""",
        """
def busy_time(starts, ends):
    merged = []
    for start, end in sorted(zip(starts, ends)):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return sum(end - start for start, end in merged)
""",
    ),
)
