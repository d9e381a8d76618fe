"""What does labkit's way of measuring add to what it measures? A copy, a triad and a product, in rounds of random order.

Each round times the same buffers twice: by ``labkit.comm``'s own measurement of one point, and by the barest loop there
is (two readings of the clock around as many calls). The ratio of the two, round by round, should be 1 within two per
cent. The floor is the bare loop against itself.

    python -m benchmarks.bandwidth_overhead                       about three minutes
    python -m benchmarks.bandwidth_overhead --rounds 3            for a quick look
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import record
from labkit.comm.pace import Pace
from labkit.timing.stopwatch import stopwatch_for

SECONDS = 0.25  # of one reading
LEAST_S = 1e-3  # of one repetition of the bare loop, as of labkit's


def functions(small: bool) -> dict[str, tuple[Callable[[], object], int]]:
    """name -> (function, bytes), each on buffers of its own that are touched."""
    n = 2**14 if small else 2**24
    a, b, c = (torch.full((n,), float(k)) for k in (1, 2, 3))
    side = 64 if small else 512
    x, y, out = torch.randn(side, side), torch.randn(side, side), torch.empty(side, side)
    few, into = torch.full((2**12,), 1.0), torch.full((2**12,), 2.0)
    return {
        "copy of 16 KiB": (lambda: into.copy_(few), 4 * 2**12),
        f"copy of {4 * n // 1024} KiB": (lambda: a.copy_(b), 4 * n),
        f"triad over {12 * n // 1024} KiB": (lambda: torch.add(b, c, alpha=2.0, out=a), 12 * n),
        f"product of n = {side}": (lambda: torch.mm(x, y, out=out), 12 * side * side),
    }


def bare(function: Callable[[], object], seconds: float) -> float:
    """Median seconds per call by two readings of the clock around as many calls as fill a millisecond."""
    calls, took = 1, 0.0
    while took < LEAST_S:  # repetitions as long as labkit's: on a shared machine the length itself matters
        calls = max(calls + 1, min(10 * calls, round(1.1 * LEAST_S / max(took / calls, 1e-9)))) if took else calls
        start = time.perf_counter()
        for _ in range(calls):
            function()
        took = time.perf_counter() - start
    end = time.perf_counter() + seconds
    times = []
    repeat = range(calls)
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in repeat:
            function()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def run(rounds: int, seconds: float, *, small: bool = False, seed: int = 0) -> dict[str, Any]:
    """The ratios of all functions, as plain values."""
    torch.set_num_threads(1)
    idle = record.idle_share()
    shuffler = random.Random(seed)
    result: dict[str, Any] = {}
    for name, (function, moved) in functions(small).items():
        readings = [_round(function, moved, seconds, shuffler) for _ in range(rounds)]
        ratios = record.spread([r["labkit"] / r["bare"] for r in readings])
        floor = record.spread([r["bare again"] / r["bare"] for r in readings])
        print(record.told(f"{name}: labkit over the bare loop", ratios))
        print(record.told(f"{name}: the bare loop over itself", floor))
        result[name] = {"ratio": ratios, "floor": floor, "seconds_per_call": readings}
    return {"idle_share_before": idle, "threads": 1, "measures": result}


def _round(function: Callable[[], object], moved: int, seconds: float, shuffler: random.Random) -> dict[str, float]:
    """Seconds per call by each way, read in random order."""
    ways: list[tuple[str, Callable[[], float]]] = [
        ("labkit", lambda: _by_labkit(function, moved, seconds)),
        ("bare", lambda: bare(function, seconds)),
        ("bare again", lambda: bare(function, seconds)),
    ]
    shuffler.shuffle(ways)
    return {way: measure() for way, measure in ways}


def _by_labkit(function: Callable[[], object], moved: int, seconds: float) -> float:
    return Pace(seconds, 1, stopwatch_for("cpu")).point(function, moved, work=moved).median_s


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of each reading (default: {SECONDS})")
    parser.add_argument("--small", action="store_true", help="small buffers, for the test")
    parser.add_argument("--output", type=Path, help="folder for the result (default: benchmarks/results)")
    options = parser.parse_args(argv)
    result = run(options.rounds, options.seconds, small=options.small)
    print(f"written: {record.write('bandwidth_overhead', result, options.output)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
