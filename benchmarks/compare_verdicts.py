"""How often is labkit.compare right? Functions whose true ratio is known from their exact count of work.

Three trials: the same work twice (any 'faster' or 'slower' is a false alarm); 5 % more work (how often it is found); and 5 % more
work beside two busy processes (a wrong sign must not happen, 'inconclusive' may). Work is matrix products, sums and pure Python,
in turns; the order in which the two functions are given is drawn anew in each trial.

    python -m benchmarks.compare_verdicts                        1,000 + 100 + 100 trials
    python -m benchmarks.compare_verdicts --trials 50 20 20      for a quick look
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import record
from labkit.timing import compare

UNITS = 40  # of work in the smaller function; 5 % more are two units
WORK = ("products", "sums", "python")


def function(kind: str, units: int) -> Callable[[], None]:
    """A function that does exactly ``units`` times the same piece of work, on data of its own."""
    a, b, long = torch.randn(32, 64), torch.randn(64, 64), torch.randn(20_000)
    into = torch.empty(32, 64)
    piece: Callable[[], object] = {
        "products": lambda: torch.mm(a, b, out=into),
        "sums": lambda: long.sum(),
        "python": lambda: sum(range(200)),
    }[kind]
    repeat = range(units)

    def work() -> None:
        for _ in repeat:
            piece()

    return work


def trial(kind: str, more: int, seconds: float, shuffler: random.Random) -> tuple[str, float, float, float]:
    """One comparison: the decision on the larger function, its ratio, the share of stolen time and the seconds that it all took."""
    larger_first = shuffler.random() < 0.5
    smaller, larger = function(kind, UNITS), function(kind, UNITS + more)
    pair = {"larger": larger, "smaller": smaller} if larger_first else {"smaller": smaller, "larger": larger}
    start = time.perf_counter()
    told = compare(pair, seconds=seconds, baseline="smaller", device="cpu", seed=shuffler.randrange(2**31))
    (contrast,) = told.contrasts
    return contrast.decision, contrast.ratio, told.stolen, time.perf_counter() - start


def series(name: str, trials: int, more: int, seconds: float, busy: int, seed: int) -> dict[str, Any]:
    """Many trials of one kind, counted."""
    shuffler = random.Random(seed)
    decisions: Counter[str] = Counter()
    values: list[float] = []
    stolen: list[float] = []
    took: list[float] = []
    with record.busy_processes(busy):
        for number in range(trials):
            decision, ratio, lost, elapsed = trial(WORK[number % len(WORK)], more, seconds, shuffler)
            decisions[decision] += 1
            values.append(ratio)
            stolen.append(lost)
            took.append(elapsed)
    wrong = decisions["faster"] + (decisions["slower"] if more == 0 else 0)
    result: dict[str, Any] = {
        "name": name,
        "trials": trials,
        "true_ratio": 1 + more / UNITS,
        "busy_processes": busy,
        "seconds_given": seconds,
        "decisions": dict(decisions),
        "wrong": wrong,
        "found": decisions["slower"] if more else None,
        "ratio": record.spread(values),
        "stolen": record.spread(stolen),
        "seconds_taken": record.spread(took),
    }
    print(
        f"{name}: {trials} trials, true ratio {1 + more / UNITS:.2f}, {busy} busy processes: {dict(decisions)}; wrong {wrong} "
        f"({wrong / trials:.1%})"
    )
    for what, unit in (("ratio", ""), ("seconds_taken", " s"), ("stolen", "")):
        print("  " + record.told(what.replace("_", " "), result[what], unit), flush=True)
    return result


def run(trials: Sequence[int], seconds: Sequence[float]) -> dict[str, Any]:
    """All three series, as plain values."""
    torch.set_num_threads(1)
    idle = record.idle_share()
    five_percent = UNITS // 20
    return {
        "idle_share_before": idle,
        "threads": 1,
        "series": [
            series("same work twice", trials[0], 0, seconds[0], 0, 1),
            series("5 % more work", trials[1], five_percent, seconds[1], 0, 2),
            series("5 % more work beside two busy processes", trials[2], five_percent, seconds[2], 2, 3),
            series("same work twice beside two busy processes", trials[2], 0, seconds[2], 2, 4),
        ],
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, nargs=3, default=(1000, 100, 60), metavar=("SAME", "MORE", "BUSY"))
    parser.add_argument(
        "--seconds",
        type=float,
        nargs=3,
        default=(0.3, 0.9, 0.7),
        metavar=("SAME", "MORE", "BUSY"),
        help="given to compare in each trial (default: 0.3 0.9 0.7)",
    )
    parser.add_argument("--output", type=Path, help="folder for the result (default: benchmarks/results)")
    options = parser.parse_args(argv)
    result = run(options.trials, options.seconds)
    print(f"written: {record.write('compare_verdicts', result, options.output)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
