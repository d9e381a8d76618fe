"""Reading a profile by hand: the kernel that costs most."""

from __future__ import annotations

from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

# (name, start, end) in ns: 'gemm' costs most, 'setup' is the longest single one, 'add' is called most often, 'bias' costs least, and
# 'zero' is the last in the alphabet
_KERNELS = (
    ("setup", 1_000, 1_500), ("gemm", 2_000, 2_400), ("add", 2_500, 2_520), ("gemm", 3_000, 3_400), ("add", 3_450, 3_470),
    ("add", 3_500, 3_520), ("add", 3_600, 3_620), ("zero", 3_700, 3_800), ("bias", 3_850, 3_880),
    ("norm", 4_000, 4_420),
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
    if name == "bias":
        raise Wrong("smallest")
    if name == "zero":
        raise Wrong("by_name")
    whole = sum(end - start for _, start, end in _KERNELS)
    if name != "gemm":
        raise Wrong("other", got=name, share=800 / whole)
    got = float(one_number(share, "not_a_pair"))
    right = 800 / whole
    if got == 800:
        raise Wrong("a_time", got=got)
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
            "that kernel has one call, the longest of all. Are the calls of the same name added up? Many short ones may cost more.",
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
        "smallest": Hint(
            "that kernel costs the *least*. Does a sorted list begin with the smallest, or did start and end change places?",
            "`int(end) - int(start)` is the duration, and `max(total, key=total.get)` the name with the largest sum.",
        ),
        "by_name": Hint(
            "that kernel is not the largest sum, it is the last in the alphabet: `max` of a dictionary looks at the names.",
            "`max(total, key=total.get)` compares the sums.",
        ),
        "a_time": Hint(
            "{got:.0f} ns is the kernel's time; asked is its share of all kernels' time.",
            "divide by `sum(total.values())`: a number from 0 to 1, not {got:.0f}.",
        ),
        "no_start": Hint(
            "a dictionary has no entry for a name that it has not seen yet{where}.",
            "`total[name] = total.get(name, 0) + duration` begins at 0 by itself ({error}).",
        ),
        "no_column": Hint(
            "the rows have no such column{where}. Which names did the header above have?",
            "`Kernel_Name`, `Start_Timestamp` and `End_Timestamp` ({error}).",
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
        "'setup'": "no_start",
        "'Name'": "no_column",
        "'name'": "no_column",
        "'Kernel'": "no_column",
        "'Start'": "no_column",
        "'End'": "no_column",
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
            "the first of a sorted list",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        took = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
        total[row["Kernel_Name"]] = total.get(row["Kernel_Name"], 0) + took
    name, least = sorted(total.items(), key=lambda item: item[1])[0]
    return name, least / sum(total.values())
""",
            "smallest",
        ),
        KnownMistake(
            "max of the names",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        took = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
        total[row["Kernel_Name"]] = total.get(row["Kernel_Name"], 0) + took
    best = max(total)
    return best, total[best] / sum(total.values())
""",
            "by_name",
        ),
        KnownMistake(
            "each call replaces the one before",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        total[row["Kernel_Name"]] = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
    best = max(total, key=total.get)
    return best, total[best] / sum(total.values())
""",
            "longest_single",
        ),
        KnownMistake(
            "added to nothing",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        total[row["Kernel_Name"]] += int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
    best = max(total, key=total.get)
    return best, total[best] / sum(total.values())
""",
            "no_start",
        ),
        KnownMistake(
            "columns by another name",
            "def hottest_kernel(rows):\n    return max((row['Name'], int(row['End']) - int(row['Start'])) for row in rows)",
            "no_column",
        ),
        KnownMistake(
            "a time in place of a share",
            """
def hottest_kernel(rows):
    total = {}
    for row in rows:
        took = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
        total[row["Kernel_Name"]] = total.get(row["Kernel_Name"], 0) + took
    best = max(total, key=total.get)
    return best, total[best]
""",
            "a_time",
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
