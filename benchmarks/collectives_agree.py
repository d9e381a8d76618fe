"""Does ``labkit.comm`` time collectives as a plain loop does, and what does the measuring itself add?

Three pairs of processes at once, each with one CPU thread and gloo on loopback: a labkit Team, and two pairs started here by
multiprocessing that share no measuring code with it: ``init_process_group``, a barrier, a loop around ``dist.all_reduce``. While one
pair measures, the others wait for a message and use no core. They take turns in random order; a lap counts as long as the slower
rank needs. Both have equally many calls in a lap (labkit's number), and a turn is the fastest of equally many laps: small messages to
and fro are slowed by whatever else runs, never quickened (on a busy machine medians of the plain loop over itself went from 0.2 to
3.4 at 8 B); ratios of medians are told as well. The two plain pairs tell how far the ratio of a thing to
itself goes. What a lap costs without any collective in it is measured in the ranks, per call.

How processes begin matters: the same plain loop needs 183 to 189 µs for 8 B in processes forked from a server that has torch loaded,
as labkit's ranks are on Linux, and 221 to 232 µs in freshly started interpreters (2 cores, torch 2.14.1, 2026-11-30; the cause is not
established). So the plain pair begins as labkit's does; ``--start spawn`` shows the difference.

'agrees' needs intervals that overlap and are narrow; wide ones that overlap are 'inconclusive', which is no success.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import record
from labkit.comm import collectives
from labkit.comm.available import loopback_settings
from labkit.comm.processes import context_for_ranks
from labkit.comm.team import Team

SIZES = (8, 32 * 2**10, 2**20, 2**24)
LIMIT = 0.02
NARROW = 0.1  # half an interval's width, at most, of what is said to agree
LAPS, LAP_S = 9, 0.01


def plain(rank: int, port: int, orders: Any) -> None:
    """The independent side: answers (bytes, laps, calls) with the seconds per call of each lap, until None comes."""
    import os

    os.environ.update(loopback_settings())
    if hasattr(os, "setsid"):
        os.setsid()  # as labkit's ranks: Linux shares the cores between sessions first
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    while (order := orders.recv()) is not None:
        size, laps, calls = order
        x = torch.zeros(size // 4)
        dist.all_reduce(x)
        seconds = []
        for _ in range(laps):
            dist.barrier()
            begun = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(x)
            seconds.append((time.perf_counter() - begun) / calls)
        orders.send(seconds)
    dist.destroy_process_group()


def empty_laps(calls: int, laps: int) -> float:
    """Seconds per call of labkit's lap around nothing: the loop and two looks at the clock (in a rank)."""
    return statistics.median(collectives._lap(lambda: None, calls, "cpu") for _ in range(laps))


@contextmanager
def plain_pair(start: str) -> Iterator[Any]:
    """A function (bytes, laps, calls) -> seconds per call of each lap, of the slower of two plain processes that began by
    multiprocessing's ``start``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context(start)
    pipes = [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=plain, args=(k, port, pipes[k][1]), daemon=True) for k in range(2)]
    for process in processes:
        process.start()
    ends = [ours for ours, _ in pipes]

    def ask(size: int, laps: int, calls: int) -> list[float]:
        for end in ends:
            end.send((size, laps, calls))
        both = [end.recv() for end in ends]
        return [max(pair) for pair in zip(*both, strict=True)]

    try:
        yield ask
        for end in ends:
            end.send(None)
        for process in processes:
            process.join(20)
    finally:
        for process in processes:
            process.kill()


def verdict(ratio: Mapping[str, float], same: Mapping[str, float]) -> str:
    """'agrees', 'disagrees' or 'inconclusive', of the intervals ('low', 'high') of two ratios: of labkit to the plain loop, and
    of the plain loop to itself."""
    if ratio["low"] > same["high"] or same["low"] > ratio["high"]:
        return "disagrees"
    wide = any((one["high"] - one["low"]) / 2 > NARROW for one in (ratio, same))
    return "inconclusive" if wide else "agrees"


def ratios(over: Sequence[Sequence[float]], under: Sequence[Sequence[float]], of: Callable[..., float]) -> list[float]:
    """of(laps) / of(laps) for each round, from equally many laps on both sides."""
    found = []
    for a, b in zip(over, under, strict=True):
        count = min(len(a), len(b))
        found.append(of(a[:count]) / of(b[:count]))
    return found


def _calls(told: Sequence[Mapping[str, Any]], size: int) -> int:
    return int(told[0]["calls"]["all_reduce"][size])


def measure(rounds: int, sizes: Sequence[int], start: str, seed: int = 0) -> dict[str, Any]:
    found: dict[int, dict[str, list[list[float]]]] = {size: {"labkit": [], "plain": [], "again": []} for size in sizes}
    shuffler = random.Random(seed)
    with Team(2) as team, plain_pair(start) as ask, plain_pair(start) as another:
        calls = {size: _calls(collectives.laps(team, ["all_reduce"], [size], 0.05), size) for size in sizes}
        for _ in range(rounds):
            for size in shuffler.sample(list(sizes), len(sizes)):
                for side in shuffler.sample(["labkit", "plain", "again"], 3):
                    if side == "labkit":
                        told = collectives.laps(team, ["all_reduce"], [size], LAPS * LAP_S)
                        laps, calls[size] = collectives.slowest(told, "all_reduce", size), _calls(told, size)
                    else:
                        laps = (ask if side == "plain" else another)(size, LAPS, calls[size])
                    found[size][side].append(list(laps))
        nothing = max(team.run(empty_laps, 20, 200))
    result: dict[str, Any] = {"sizes": {}, "empty_lap_s_per_call": nothing}
    for size, sides in found.items():
        one: dict[str, Any] = {"us": record.spread([1e6 * statistics.median(laps) for laps in sides["labkit"]])}
        for name, of in (("", min), ("_medians", statistics.median)):
            one[f"labkit_over_plain{name}"] = record.spread(ratios(sides["labkit"], sides["plain"], of))
            one[f"plain_twice{name}"] = record.spread(ratios(sides["again"], sides["plain"], of))
        one["fastest_us"] = {side: 1e6 * min(map(min, turns)) for side, turns in sides.items()}
        one["readings_s"] = {side: [min(laps) for laps in turns] for side, turns in sides.items()}
        one["adds"] = nothing / (one["us"]["median"] / 1e6)
        one["verdict"] = verdict(one["labkit_over_plain"], one["plain_twice"])
        result["sizes"][str(size)] = one
    return result


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="bytes")
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/collectives_agree.json")
    parser.add_argument("--output", type=Path, help="write into this folder instead")
    own = context_for_ranks().get_start_method()
    parser.add_argument(
        "--start", choices=multiprocessing.get_all_start_methods(), default=own, help="of the plain pair"
    )
    options = parser.parse_args(argv)
    idle = record.idle_share()
    result = {
        "idle_share_before": idle,
        "limit": LIMIT,
        "start": options.start,
        **measure(options.rounds, options.sizes, options.start),
    }
    for size, one in result["sizes"].items():
        fastest = ", ".join(f"{side} {us:.4g}" for side, us in one["fastest_us"].items())
        print(f"{size} B: {one['verdict']}; measuring adds {one['adds']:.3%} of a call; fastest laps in µs: {fastest}")
        for name in ("us", "labkit_over_plain", "plain_twice", "labkit_over_plain_medians", "plain_twice_medians"):
            print("  " + record.told(name, one[name]))
    verdicts = {one["verdict"] for one in result["sizes"].values()}
    cheap = all(one["adds"] < LIMIT for one in result["sizes"].values())
    held = "disagrees" if "disagrees" in verdicts else "inconclusive" if "inconclusive" in verdicts else "agrees"
    result["verdict"], result["adds_under_2_percent"] = held, cheap
    print(f"labkit and the plain loop: {held}; measuring adds under 2 %: {'yes' if cheap else 'NO'}")
    if options.store or options.output:
        print(f"written: {record.write('collectives_agree', result, options.output)}")
    return {"agrees": 0, "disagrees": 1, "inconclusive": 2}[held] if cheap else 1


if __name__ == "__main__":
    raise SystemExit(main())
