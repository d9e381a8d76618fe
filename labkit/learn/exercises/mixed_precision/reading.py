"""Reading results: a ratio with its interval, and accuracies of several seeds."""

from __future__ import annotations

from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call

_INTERVALS: tuple[tuple[float, float, str], ...] = (
    (0.45, 0.55, "faster"),
    (1.8, 2.4, "slower"),
    (0.7, 1.2, "unclear"),
    (0.9, 1.4, "unclear"),
    (0.96, 0.99, "faster"),
    (1.01, 1.05, "slower"),
    (1.0, 1.3, "unclear"),
)


def _probe_read_speedup(answer: Any) -> None:
    given = []
    for low, high, right in _INTERVALS:
        got = call(answer, low, high)
        if not isinstance(got, str):
            raise Wrong("not_a_word", kind=type(got).__name__)
        given.append((low, high, got.strip().lower(), right))
    for low, high, got, _ in given:
        if got not in ("faster", "slower", "unclear"):
            raise Wrong("unknown_word", got=got, low=low, high=high)
    wrong = [row for row in given if row[2] != row[3]]
    if not wrong:
        return
    low, high, got, right = wrong[0]
    values = {"low": low, "high": high, "got": got, "right": right}
    if given[0][2] == "slower" and given[1][2] == "faster":
        raise Wrong("turned_round", **values)
    if all(row[2] != "unclear" for row in given):
        low, high, got, right = next(row for row in given if row[3] == "unclear")
        raise Wrong("never_unclear", low=low, high=high, got=got, right=right)
    if len(wrong) == 1 and (low, high) == (1.0, 1.3):
        raise Wrong("touches", **values)
    if all(row[3] != "unclear" and row[2] == "unclear" for row in wrong):
        raise Wrong("too_shy", **values)
    raise Wrong("other", **values)


read_speedup = Exercise(
    name="read_speedup",
    lesson="03",
    probe=_probe_read_speedup,
    hints={
        "not_a_word": Hint(
            "give back one of the three words (this was: {kind}).", 'for example `return "faster"`, not a {kind}.'
        ),
        "unknown_word": Hint(
            "'{got}' is none of the three words.", 'write "faster", "slower" or "unclear", not \'{got}\'.'
        ),
        "turned_round": Hint(
            "the ratio is *time over float32's time*. From {low:g} to {high:g}: is that less time or more?",
            "below 1 means less time: {low:g} to {high:g} is '{right}', not '{got}'.",
        ),
        "never_unclear": Hint(
            "from {low:g} to {high:g}: both less and more time are possible, and you say '{got}'.",
            "say '{right}' where the interval holds 1: `low <= 1 <= high` (as {low:g} to {high:g}), not '{got}'.",
        ),
        "touches": Hint(
            "from {low:g} to {high:g}: 1 belongs to the interval, so 'no difference' is still possible ('{got}' is too much).",
            "`high < 1` and `low > 1`, with `<` and `>`: an interval that touches 1 ({low:g} to {high:g}) is '{right}', not '{got}'.",
        ),
        "too_shy": Hint(
            "from {low:g} to {high:g} lies wholly on one side of 1, and you say '{got}'. Small is not the same as unclear.",
            "only whether 1 is inside counts, not how far away it is: {low:g} to {high:g} is '{right}', not '{got}'.",
        ),
        "other": Hint(
            "from {low:g} to {high:g} should be '{right}', not '{got}'.",
            "`high < 1`: faster. `low > 1`: slower. Else unclear ({low:g} to {high:g}: '{right}', not '{got}').",
        ),
    },
    push=("Where does 1 lie: below, above, or inside the interval?", "Two `if`s: `high < 1` and `low > 1`."),
    mistakes=(
        KnownMistake(
            "by the middle",
            'def read_speedup(low, high):\n    return "faster" if (low + high) / 2 < 1 else "slower"',
            "never_unclear",
        ),
        KnownMistake(
            "the two ends compared with each other",
            'def read_speedup(low, high):\n    return "faster" if high < low else "slower"',
            "never_unclear",
        ),
        KnownMistake(
            "the ratio read as a speed",
            """
def read_speedup(low, high):
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "unclear"
""",
            "turned_round",
        ),
        KnownMistake(
            "an interval that touches 1",
            """
def read_speedup(low, high):
    if high <= 1:
        return "faster"
    return "slower" if low >= 1 else "unclear"
""",
            "touches",
        ),
        KnownMistake(
            "a threshold of its own",
            """
def read_speedup(low, high):
    if high < 0.9:
        return "faster"
    return "slower" if low > 1.1 else "unclear"
""",
            "too_shy",
        ),
    ),
    variants=(
        """
def read_speedup(low, high):
    sides = {edge > 1 for edge in (low, high)}
    if low == 1 or high == 1 or len(sides) == 2:
        return "unclear"
    return "slower" if sides == {True} else "faster"
""",
    ),
)

_ACCURACIES: tuple[tuple[str, list[float], list[float], bool], ...] = (
    ("inside", [90.0, 91.0, 92.0], [90.5, 91.5, 92.5], True),
    ("worse", [80.0, 81.0, 80.5], [90.0, 91.0, 92.0], False),
    ("lucky", [70.0, 92.5, 80.0], [90.0, 91.0, 92.0], False),
    ("better", [94.0, 95.0, 96.0], [90.0, 91.0, 90.5], True),
    ("tight", [89.0, 89.2, 89.1], [90.0, 90.2, 90.1], False),
    ("equal", [90.0, 90.0, 90.0], [90.0, 90.0, 90.0], True),
    ("low", [89.5, 89.5, 89.5], [90.0, 91.0, 92.0], True),
    ("wide", [60.0, 89.0, 75.0], [90.0, 91.0, 92.0], False),
    ("fallen", [70.0, 92.0, 92.5], [90.0, 91.0, 92.0], False),
    ("one seed", [90.0], [90.0], False),
)


def _probe_as_accurate(answer: Any) -> None:
    given: dict[str, bool] = {}
    for name, mine, reference, _ in _ACCURACIES:
        got = call(answer, list(mine), list(reference))
        if hasattr(got, "item"):
            got = got.item()
        if not isinstance(got, bool):
            raise Wrong("not_a_bool", kind=type(got).__name__)
        given[name] = got
    if given == {name: right for name, *_, right in _ACCURACIES}:
        return
    if len(set(given.values())) == 1:
        raise Wrong("always", got=next(iter(given.values())))
    if given["one seed"] and all(given[name] == right for name, *_, right in _ACCURACIES[:-1]):
        raise Wrong("one_seed")
    if given["wide"]:
        raise Wrong("own_spread")
    if given["lucky"]:
        raise Wrong("best_seed")
    if not given["inside"]:
        raise Wrong("exactly")
    if not given["low"]:
        raise Wrong("narrow")
    if given["fallen"]:
        raise Wrong("middle_seed")
    if not given["better"]:
        raise Wrong("better")
    if given["tight"]:
        raise Wrong("own_limit")
    if not given["equal"]:
        raise Wrong("strict")
    raise Wrong("other", names=", ".join(name for name, *_, right in _ACCURACIES if given[name] != right))


as_accurate = Exercise(
    name="as_accurate",
    lesson="03",
    probe=_probe_as_accurate,
    errors={
        "StatisticsError": "one_seed",
        "at least two data points": "one_seed",
        "'list' object has no attribute 'mean'": "list_mean",
    },
    hints={
        "not_a_bool": Hint(
            "give back True or False (this was: {kind}).", "a comparison is True or False; `return` it, not a {kind}."
        ),
        "always": Hint(
            "you say {got} to everything.", "compare the two means with the reference's spread; now it is always {got}."
        ),
        "one_seed": Hint(
            "one training each, and you draw a conclusion. Its spread is not known.",
            "`if len(reference) < 2: return False`: one seed bears nothing out.",
        ),
        "best_seed": Hint(
            "70, 92.5 and 80 against 90, 91 and 92: one lucky seed is not as accurate.",
            "compare the means of all seeds, `sum(mine) / len(mine)`, not the best ones.",
        ),
        "exactly": Hint(
            "0.5 points less on average, while the reference itself moves by 2 points from seed to seed. Is that a difference?",
            "allow the reference's own spread, `max(reference) - min(reference)`.",
        ),
        "own_spread": Hint(
            "60, 89 and 75 against 90, 91 and 92 count as accurate for you. Whose spread do you allow?",
            "`max(reference) - min(reference)`: with the spread of `mine` a training that fails at times would be excused.",
        ),
        "narrow": Hint(
            "1.5 points less on average, where the reference's own seeds lie 2 points apart: within their spread.",
            "the limit is the largest minus the smallest of the reference, `max(reference) - min(reference)`, nothing narrower.",
        ),
        "middle_seed": Hint(
            "70, 92 and 92.5 against 90, 91 and 92: one training failed, and you do not see it.",
            "compare the means, `sum(mine) / len(mine)`: the seed in the middle hides the one that failed.",
        ),
        "strict": Hint(
            "three times 90 against three times 90: as accurate, although the spread is 0.",
            "`>=` (or `<=`), not `>`: a loss as large as the spread is still allowed.",
        ),
        "list_mean": Hint(
            "these are plain lists; a list has no `mean`{where}.",
            "`sum(mine) / len(mine)` is the mean of a list.",
        ),
        "better": Hint(
            "being *more* accurate counts as accurate too.",
            "no `abs`: only a mean that lies too far below is a problem.",
        ),
        "own_limit": Hint(
            "a point less, where the seeds move by 0.2 only: the spread does not explain that.",
            "the limit is the reference's own spread, `max(reference) - min(reference)`, not a number of your own.",
        ),
        "other": Hint(
            "not all of the small cases come out right: {names}.",
            "`mean(mine) >= mean(reference) - (max(reference) - min(reference))`, with two seeds at least ({names} are wrong now).",
        ),
    },
    push=(
        "How far may the mean fall before chance among the seeds no longer explains it?",
        "`spread = max(reference) - min(reference)`; compare `mean(reference) - mean(mine)` with it.",
    ),
    mistakes=(
        KnownMistake(
            "the best seeds", "def as_accurate(mine, reference):\n    return max(mine) >= max(reference)", "best_seed"
        ),
        KnownMistake(
            "no spread allowed",
            "def as_accurate(mine, reference):\n    return len(mine) > 1 and sum(mine) / len(mine) >= sum(reference) / len(reference)",
            "exactly",
        ),
        KnownMistake(
            "the standard deviation",
            """
def as_accurate(mine, reference):
    import statistics
    lost = statistics.mean(reference) - statistics.mean(mine)
    return len(reference) > 1 and lost <= statistics.stdev(reference)
""",
            "narrow",
        ),
        KnownMistake(
            "the spread of the wrong list",
            """
def as_accurate(mine, reference):
    spread = max(mine) - min(mine)
    return len(mine) > 1 and sum(mine) / len(mine) >= sum(reference) / len(reference) - spread
""",
            "own_spread",
        ),
        KnownMistake(
            "medians",
            """
def as_accurate(mine, reference):
    import statistics
    lost = statistics.median(reference) - statistics.median(mine)
    return len(reference) > 1 and lost <= max(reference) - min(reference)
""",
            "middle_seed",
        ),
        KnownMistake(
            "smaller than",
            """
def as_accurate(mine, reference):
    spread = max(reference) - min(reference)
    return len(mine) > 1 and sum(mine) / len(mine) > sum(reference) / len(reference) - spread
""",
            "strict",
        ),
        KnownMistake(
            "as with a tensor",
            "def as_accurate(mine, reference):\n    return mine.mean() >= reference.mean()",
            "list_mean",
        ),
        KnownMistake(
            "both directions",
            """
def as_accurate(mine, reference):
    spread = max(reference) - min(reference)
    return len(mine) > 1 and abs(sum(mine) / len(mine) - sum(reference) / len(reference)) <= spread
""",
            "better",
        ),
        KnownMistake(
            "a limit of its own",
            "def as_accurate(mine, reference):\n    return sum(mine) / len(mine) >= sum(reference) / len(reference) - 2",
            "own_limit",
        ),
        KnownMistake(
            "one seed will do",
            """
def as_accurate(mine, reference):
    spread = max(reference) - min(reference)
    return sum(mine) / len(mine) >= sum(reference) / len(reference) - spread
""",
            "one_seed",
        ),
    ),
    variants=(
        """
def as_accurate(mine, reference):
    import statistics
    if min(len(mine), len(reference)) < 2:
        return False
    lost = statistics.mean(reference) - statistics.mean(mine)
    return not lost > max(reference) - min(reference) + 1e-9
""",
    ),
)
