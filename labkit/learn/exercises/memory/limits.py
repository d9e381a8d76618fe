"""When memory ends: why it did, and how much would have fitted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

_GIB = 2**30
# (requested, capacity, free, allocated, unallocated) in GiB, and the cause
_CASES: tuple[tuple[tuple[float, ...], str], ...] = (
    ((16.0, 15.24, 15.09, 0.0, 0.0), "too much"),
    ((6.64, 19.92, 6.22, 5.34, 7.10), "fragmentation"),
    ((0.074, 287.98, 0.0, 8.51, 0.002), "others"),
    ((2.0, 24.0, 1.5, 20.5, 1.0), "too much"),
    ((1.0, 16.0, 0.2, 3.0, 2.0), "fragmentation"),
    ((4.0, 16.0, 1.0, 3.0, 0.5), "others"),
    ((4.0, 16.0, 1.0, 6.5, 1.0), "too much"),
    ((1.0, 16.0, 0.5, 12.0, 1.0), "fragmentation"),
)


def _probe_why_oom(answer: Any) -> None:
    given: list[tuple[str, str]] = []
    for amounts, right in _CASES:
        got = call(answer, *(round(amount * _GIB) for amount in amounts))
        if not isinstance(got, str):
            raise Wrong("not_a_word", kind=type(got).__name__)
        given.append((" ".join(got.lower().replace("-", " ").replace("_", " ").split()), right))
    words = {got for got, _ in given}
    if not words <= {"too much", "fragmentation", "others"}:
        raise Wrong("unknown_word", got=sorted(words - {"too much", "fragmentation", "others"})[0])
    if len(words) == 1:
        raise Wrong("always_same", got=given[0][0])
    wrong = [(amounts, got, right) for (amounts, _), (got, right) in zip(_CASES, given, strict=True) if got != right]
    if not wrong:
        return
    said = {(got, right) for _, got, right in wrong}
    pieces = [case for case in wrong if case[1] == "fragmentation"]
    outvoted = [case for case in wrong if case[1:] == ("others", "fragmentation")]
    if pieces:
        raise Wrong("pieces", **_told(*pieces[0]))
    if outvoted:
        raise Wrong("others_first", **_told(*outvoted[0]))
    if said == {("too much", "others")}:
        raise Wrong("others_never", **_told(*wrong[0]))
    if given[-1] == ("too much", "fragmentation") and len(wrong) == 1:
        raise Wrong("exactly", **_told(*wrong[0]))
    if said == {("too much", "fragmentation")}:
        raise Wrong("pieces", **_told(*wrong[0]))
    if said == {("others", "too much")}:
        raise Wrong("not_half", **_told(*wrong[0]))
    raise Wrong("other", **_told(*wrong[0]))


def _told(amounts: tuple[float, ...], got: str, right: str) -> dict[str, Any]:
    names = ("requested", "capacity", "free", "allocated", "unallocated")
    elsewhere = round(amounts[1] - sum(amounts[2:]), 2)
    return {**dict(zip(names, amounts, strict=True)), "elsewhere": elsewhere, "got": got, "right": right}


why_oom = Exercise(
    name="why_oom",
    lesson="05",
    probe=_probe_why_oom,
    hints={
        "not_a_word": Hint(
            "give back one of the three words (this was: {kind}).", 'for example `return "fragmentation"`.'
        ),
        "unknown_word": Hint(
            "'{got}' is none of the three words.", 'the words are "fragmentation", "others", "too much"; not \'{got}\'.'
        ),
        "always_same": Hint(
            "the answer is '{got}' whatever the numbers are. Compare them.",
            "three answers need two `if`s; at the moment every message gets '{got}'.",
        ),
        "others_first": Hint(
            "a message with {unallocated} GiB reserved and unused, {requested} GiB asked for, gets 'others'. Look at what this "
            "process could still use of its own first.",
            "ask `if unallocated >= requested` before anything else ({unallocated} ≥ {requested} GiB is fragmentation).",
        ),
        "others_never": Hint(
            "of {capacity} GiB this process holds {allocated} GiB, and {free} GiB are free. Where is the rest?",
            "`capacity - free - allocated - unallocated` is held elsewhere; if that is more than half of the device, say "
            "'others' ({capacity} GiB in all, {allocated} GiB here).",
        ),
        "not_half": Hint(
            "of {capacity} GiB, {free} are free, {allocated} in use and {unallocated} reserved and unused. Is more than half held "
            "elsewhere? You say 'others'.",
            "`capacity - free - allocated - unallocated` is {elsewhere} GiB here, and half of the capacity is more: '{right}'.",
        ),
        "exactly": Hint(
            "if exactly as much is unused as was asked for ({requested} GiB), it would have been enough in one piece.",
            "write `>=`, not `>`: {unallocated} GiB unused, {requested} GiB asked for.",
        ),
        "pieces": Hint(
            "asked for {requested} GiB, {unallocated} GiB reserved and unused: that is '{right}', you say '{got}'.",
            "fragmentation is when `unallocated >= requested`: enough was there, in pieces. Compare these two, no others.",
        ),
        "other": Hint(
            "asked for {requested}, of {capacity} free {free}, in use {allocated}, unused {unallocated} GiB: '{right}', not "
            "'{got}'.",
            "first `unallocated >= requested`, then what is held elsewhere against half the device ('{right}', not '{got}').",
        ),
    },
    push=(
        "Two comparisons. Was enough reserved and unused? If not: who holds the memory?",
        "`elsewhere = capacity - free - allocated - unallocated`; is it more than half of the capacity?",
    ),
    mistakes=(
        KnownMistake(
            "others never looked for",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    return "fragmentation" if unallocated >= requested else "too much"
""",
            "others_never",
        ),
        KnownMistake(
            "free memory counted as this process's pieces",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    if unallocated + free >= requested:
        return "fragmentation"
    if capacity - free - allocated - unallocated > capacity / 2:
        return "others"
    return "too much"
""",
            "pieces",
        ),
        KnownMistake(
            "the others asked first, by what is not allocated",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    if capacity - free - allocated > capacity / 2:
        return "others"
    return "fragmentation" if unallocated >= requested else "too much"
""",
            "others_first",
        ),
        KnownMistake(
            "the unused part counted as elsewhere",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    if unallocated >= requested:
        return "fragmentation"
    return "others" if capacity - free - allocated > capacity / 2 else "too much"
""",
            "not_half",
        ),
        KnownMistake(
            "elsewhere against what was asked for",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    if unallocated >= requested:
        return "fragmentation"
    return "others" if capacity - free - allocated - unallocated > requested else "too much"
""",
            "not_half",
        ),
        KnownMistake(
            "the comparison the wrong way round",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    if unallocated < requested:
        return "fragmentation"
    return "others" if capacity - free - allocated - unallocated > capacity / 2 else "too much"
""",
            "pieces",
        ),
        KnownMistake(
            "greater instead of greater or equal",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    if unallocated > requested:
        return "fragmentation"
    if capacity - free - allocated - unallocated > capacity / 2:
        return "others"
    return "too much"
""",
            "exactly",
        ),
        KnownMistake(
            "one answer for all",
            'def why_oom(requested, capacity, free, allocated, unallocated):\n    return "too much"',
            "always_same",
        ),
        KnownMistake(
            "a word of one's own",
            """
def why_oom(requested, capacity, free, allocated, unallocated):
    return "fragmented" if unallocated >= requested else "too much"
""",
            "unknown_word",
        ),
    ),
    variants=(
        """
def why_oom(requested, capacity, free, allocated, unallocated):
    if requested <= unallocated:
        return "Fragmentation"
    known = free + allocated + unallocated
    return "others" if 2 * known < capacity else "too_much"
""",
    ),
)


class _TooManyTries(Exception):
    pass


def _search(answer: Callable[..., Any], limit: int, most: int) -> tuple[Any, list[int]]:
    """What the answer finds where everything up to ``limit`` fits, and what it tried."""
    tried: list[int] = []

    def fits(batch: int) -> bool:
        tried.append(int(batch))
        if len(tried) > 3 * most + 100:  # more than counting up or down takes
            raise _TooManyTries
        return 1 <= batch <= limit

    return call(answer, fits, most), tried


def _probe_largest_fit(answer: Any) -> None:
    for limit, most in ((45, 512), (8, 512), (1, 64), (200, 256), (100, 1000)):
        try:
            found, tried = _search(answer, limit, most)
        except _TooManyTries:
            raise Wrong("endless", limit=limit, most=most) from None
        if isinstance(found, bool):
            raise Wrong("not_a_number", kind="bool")
        got = one_number(found, "not_a_number")
        if got != int(got):
            raise Wrong("fraction", got=got, limit=limit)
        if got == limit + 1:
            raise Wrong("one_too_many", got=got, limit=limit)
        if got == limit - 1:
            raise Wrong("one_too_few", got=got, limit=limit)
        if got == 2 ** int(math.log2(limit)) != limit:
            raise Wrong("power_of_two", got=got, limit=limit)
        if got != limit:
            raise Wrong("other", got=got, limit=limit, most=most)
        if len(tried) > 2 * math.log2(most) + 4:
            raise Wrong("too_many", count=len(tried), limit=limit, most=most)
    for limit, most, right, key in ((0, 64, 0, "nothing_fits"), (1000, 100, 100, "beyond")):
        try:
            found, tried = _search(answer, limit, most)
        except _TooManyTries:
            raise Wrong(key, got="no answer at all", most=most) from None
        got = one_number(found, "not_a_number")
        if got != right or (key == "beyond" and max(tried) > most):
            raise Wrong(key, got=got, most=most)


largest_fit = Exercise(
    name="largest_fit",
    lesson="05",
    probe=_probe_largest_fit,
    hints={
        "not_a_number": Hint(
            "give back a batch size (this was: {kind}).", "end with `return` and a whole number, not a {kind}."
        ),
        "fraction": Hint(
            "{got:.2f} is no batch: a batch has a whole number of examples.",
            "`//` divides and rounds down; `/` gives fractions (you have {got:.2f}, right is {limit}).",
        ),
        "endless": Hint(
            "the search does not end (everything up to {limit} fits, most={most}). Does the range get smaller every time?",
            "stop when `bad - good == 1`; with the middle `(good + bad) // 2` the range then shrinks each time.",
        ),
        "one_too_many": Hint(
            "{got} is the first that does not fit; {limit} is the last that does.",
            "keep two numbers, `good` (fits) and `bad` (does not); give back good: {limit}, not {got}.",
        ),
        "one_too_few": Hint(
            "{limit} still fits, you stop at {got}.",
            "go on while `bad - good > 1`, then good is {limit}, not {got}.",
        ),
        "power_of_two": Hint(
            "doubling alone finds {got}; everything up to {limit} fits.",
            "after the first size that does not fit, halve the distance between the good and the bad one ({limit}, not {got}).",
        ),
        "too_many": Hint(
            "right, but it took {count} tries. Each is a whole training step: halve instead of counting up.",
            "with `good` and `bad` and their middle, most={most} needs about log2({most}) tries, not {count}.",
        ),
        "nothing_fits": Hint(
            "where not even 1 fits, the answer should be 0 (you gave {got}).",
            "begin with `good = 0`: nothing has been shown to fit yet. Then {got} becomes 0.",
        ),
        "beyond": Hint(
            "where everything fits, the answer is `most`, and nothing above it is tried (most={most}, you gave {got}).",
            "begin with `bad = most + 1`; the middle never goes beyond {most}.",
        ),
        "other": Hint(
            "everything up to {limit} fits (most={most}), and you found {got}.",
            "good = 0, bad = most + 1; while bad - good > 1 try the middle, and move one of the two ({limit}, not {got}).",
        ),
    },
    push=(
        "Keep two numbers: one that fits and one that does not. Try the middle.",
        "`good, bad = 0, most + 1`; `while bad - good > 1:` try `(good + bad) // 2` and move good or bad there.",
    ),
    mistakes=(
        KnownMistake(
            "counting up",
            """
def largest_fit(fits, most):
    batch = 0
    while batch < most and fits(batch + 1):
        batch += 1
    return batch
""",
            "too_many",
        ),
        KnownMistake(
            "counting down",
            """
def largest_fit(fits, most):
    for batch in range(most, 0, -1):
        if fits(batch):
            return batch
    return 0
""",
            "too_many",
        ),
        KnownMistake(
            "fractions",
            """
def largest_fit(fits, most):
    good, bad = 0, most + 1
    while bad - good > 1:
        middle = (good + bad) / 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
""",
            "fraction",
        ),
        KnownMistake(
            "doubling only",
            """
def largest_fit(fits, most):
    batch = 1
    while batch * 2 <= most and fits(batch * 2):
        batch *= 2
    return batch
""",
            "power_of_two",
        ),
        KnownMistake(
            "the first that does not fit",
            """
def largest_fit(fits, most):
    good, bad = 0, most + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return bad
""",
            "one_too_many",
        ),
        KnownMistake(
            "a range that does not shrink",
            """
def largest_fit(fits, most):
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
""",
            "endless",
        ),
        KnownMistake(
            "1 is taken for granted",
            """
def largest_fit(fits, most):
    good, bad = 1, most + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
""",
            "nothing_fits",
        ),
        KnownMistake(
            "doubling past the end",
            """
def largest_fit(fits, most):
    good, bad = 0, 1
    while fits(bad):
        good, bad = bad, bad * 2
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
""",
            "beyond",
        ),
    ),
    variants=(
        """
def largest_fit(fits, most):
    batch, jump = 0, 1 << most.bit_length()
    while jump:
        if batch + jump <= most and fits(batch + jump):
            batch += jump
        jump //= 2
    return batch
""",
        """
def largest_fit(fits, most):
    import bisect
    return bisect.bisect_left(range(1, most + 1), True, key=lambda batch: not fits(batch))
""",
    ),
)
