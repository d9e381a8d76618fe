"""Reading a profile by hand: the kernel that costs most, and how long a GPU was busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

# (name, start, end) in ns: 'gemm' costs most, 'setup' is the longest single one, 'add' is called most often
_KERNELS = (
    ("setup", 1_000, 1_500), ("gemm", 2_000, 2_400), ("add", 2_500, 2_520), ("gemm", 3_000, 3_400), ("add", 3_450, 3_470),
    ("add", 3_500, 3_520), ("add", 3_600, 3_620), ("norm", 4_000, 4_420),
)  # fmt: skip


def _row(name: str, start: int, end: int, number: int) -> dict[str, str]:
    return {
        "Kind": "KERNEL_DISPATCH",
        "Queue_Id": "1",
        "Dispatch_Id": str(number),
        "Kernel_Name": name,
        "Start_Timestamp": str(start),
        "End_Timestamp": str(end),
    }


def _probe_hottest_kernel(answer: Any) -> None:
    rows = [_row(name, start, end, k) for k, (name, start, end) in enumerate(_KERNELS)]
    found = call(answer, rows)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise Wrong("not_a_pair", kind=type(found).__name__)
    name, share = found
    if name == "setup":
        raise Wrong("longest_single")
    if name == "add":
        raise Wrong("most_calls")
    if name == "norm":
        raise Wrong("mean_or_last")
    if name != "gemm":
        raise Wrong("other", got=name, share=800 / 1_800)
    got = float(one_number(share, "not_a_pair"))
    right = 800 / sum(end - start for _, start, end in _KERNELS)
    if abs(got - 100 * right) < 0.5:
        raise Wrong("percent", got=got)
    if abs(got - 800 / (4_420 - 1_000)) < 0.005:
        raise Wrong("of_the_wall", got=got)
    if abs(got - 2 / len(_KERNELS)) < 0.005:
        raise Wrong("of_the_calls", got=got)
    if abs(got - right) > 0.005:
        raise Wrong("other", got=f"{name}, {got:.3g}", share=right)
    more = [_row(name, start, end, k) for k, (name, start, end) in enumerate((("b", 0, 10), ("a", 20, 50)))]
    name, share = call(answer, more)
    if name != "a" or abs(float(share) - 0.75) > 0.005:
        raise Wrong("other", got=f"{name}, {share}", share=0.75)


hottest_kernel = Exercise(
    name="hottest_kernel",
    lesson="04",
    probe=_probe_hottest_kernel,
    hints={
        "not_a_pair": Hint(
            "give back two things, the kernel's name and its share (this was: {kind}).",
            "end with `return name, share`, where share is a number from 0 to 1 (this was: {kind}).",
        ),
        "strings": Hint(
            "a CSV holds text only: '2400' - '2000' cannot be computed.",
            "`int(row['End_Timestamp']) - int(row['Start_Timestamp'])` is the duration of one call.",
        ),
        "longest_single": Hint(
            "that is the kernel with the longest single call. One that is short and called often may cost more.",
            "first add the durations up by name, in a dictionary; then take the largest sum.",
        ),
        "most_calls": Hint(
            "that is the kernel that is called most often. Its calls are short.",
            "add up durations, not calls: `total[name] = total.get(name, 0) + end - start`.",
        ),
        "mean_or_last": Hint(
            "that kernel is called once. Are durations of the same name added up, or does a later one replace the earlier?",
            "`total[name] = total.get(name, 0) + duration`: without the old value only the last call is left. No means either.",
        ),
        "percent": Hint(
            "the share should be a number from 0 to 1, not {got:.0f}.",
            "leave out the `100 *`: then {got:.0f} becomes a share from 0 to 1.",
        ),
        "of_the_wall": Hint(
            "{got:.2f} is the share of the time from the first start to the last end. Asked is the share of all kernels' time.",
            "divide by `sum(total.values())`, not by the distance from first to last ({got:.2f}).",
        ),
        "of_the_calls": Hint(
            "the name is right, but {got:.2f} is its share of the calls, not of the time.",
            "divide its summed time by all kernels' summed time; {got:.2f} counts rows.",
        ),
        "other": Hint(
            "in the check's small table you found {got}, which is not right. Add up durations by name first.",
            "with durations summed by name the largest has a share of {share:.2f}; you found {got}.",
        ),
    },
    push=(
        "Three steps: the duration of each row, the sum for each name, the largest sum over the sum of all.",
        "`total[name] = total.get(name, 0) + int(end) - int(start)`, then `max(total, key=total.get)`.",
    ),
    errors={
        "unsupported operand type(s) for -: 'str'": "strings",
        "unsupported operand type(s) for +: 'int' and 'str'": "strings",
        'can only concatenate str (not "int")': "strings",
    },
    mistakes=(
        KnownMistake(
            "text not turned into numbers",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        name = row["Kernel_Name"]
        total[name] = total.get(name, 0) + (row["End_Timestamp"] - row["Start_Timestamp"])
    best = max(total, key=total.get)
    return best, total[best] / sum(total.values())
""",
            "strings",
        ),
        KnownMistake(
            "the longest single call",
            """
def hottest_kernel(rows):
    took = [(int(r["End_Timestamp"]) - int(r["Start_Timestamp"]), r["Kernel_Name"]) for r in rows]
    longest, name = max(took)
    return name, longest / sum(t for t, _ in took)
""",
            "longest_single",
        ),
        KnownMistake(
            "calls counted",
            """
def hottest_kernel(rows):
    calls = {}
    for row in rows:
        calls[row["Kernel_Name"]] = calls.get(row["Kernel_Name"], 0) + 1
    best = max(calls, key=calls.get)
    return best, calls[best] / len(rows)
""",
            "most_calls",
        ),
        KnownMistake(
            "means compared instead of sums, and the first one left out as warm-up",
            """
def hottest_kernel(rows):
    times = {}
    for row in rows[1:]:
        times.setdefault(row["Kernel_Name"], []).append(int(row["End_Timestamp"]) - int(row["Start_Timestamp"]))
    best = max(times, key=lambda name: sum(times[name]) / len(times[name]))
    return best, sum(times[best]) / sum(map(sum, times.values()))
""",
            "mean_or_last",
        ),
        KnownMistake(
            "a percentage",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        took = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
        total[row["Kernel_Name"]] = total.get(row["Kernel_Name"], 0) + took
    best = max(total, key=total.get)
    return best, 100 * total[best] / sum(total.values())
""",
            "percent",
        ),
        KnownMistake(
            "the share of the wall time",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        took = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
        total[row["Kernel_Name"]] = total.get(row["Kernel_Name"], 0) + took
    best = max(total, key=total.get)
    wall = max(int(r["End_Timestamp"]) for r in rows) - min(int(r["Start_Timestamp"]) for r in rows)
    return best, total[best] / wall
""",
            "of_the_wall",
        ),
    ),
    variants=(
        """
def hottest_kernel(rows):
    from collections import Counter
    total = Counter()
    for row in rows:
        total[row["Kernel_Name"]] += int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
    (name, most), = total.most_common(1)
    return name, most / total.total() if hasattr(total, "total") else most / sum(total.values())
""",
        """
def hottest_kernel(rows):
    import polars as pl
    t = pl.DataFrame(rows).select("Kernel_Name", ns=pl.col("End_Timestamp").cast(int) - pl.col("Start_Timestamp").cast(int))
    t = t.group_by("Kernel_Name").agg(pl.col("ns").sum()).sort("ns", descending=True)
    return t["Kernel_Name"][0], t["ns"][0] / t["ns"].sum()
""",
    ),
)


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
