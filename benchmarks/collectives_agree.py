"""Does ``labkit.comm`` time collectives as a plain loop does, and what does the measuring itself add?

Two pairs of processes at once, each with one CPU thread and gloo on loopback: a labkit Team, and two processes started here by
multiprocessing that share no code with it: ``init_process_group``, a barrier, a loop around ``dist.all_reduce``. While one pair
measures, the other waits for a message and uses no core. They take turns in random order; each turn is a median of laps, and a
lap counts as long as the slower rank needs, on both sides. The plain loop runs twice in each round, so the ratio of a thing to itself
is known too. What a lap costs without any collective in it is measured in the ranks, per call.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import socket
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import record
from labkit.comm import collectives
from labkit.comm.available import loopback_settings
from labkit.comm.team import Team

SIZES = (8, 32 * 2**10, 2**20, 2**24)
LIMIT = 0.02
LAPS, LAP_S = 9, 0.01


def plain(rank: int, port: int, orders: Any) -> None:
    """The independent side: answers (bytes, laps, calls) with the seconds per call of each lap, until None comes."""
    import os

    os.environ.update(loopback_settings())
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
def plain_pair() -> Iterator[Any]:
    """A function (bytes, laps, calls) -> seconds per call of each lap, of the slower of two plain processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
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


def measure(rounds: int, sizes: Sequence[int], seed: int = 0) -> dict[str, Any]:
    found: dict[int, dict[str, list[float]]] = {size: {"labkit": [], "plain": [], "again": []} for size in sizes}
    shuffler = random.Random(seed)
    with Team(2) as team, plain_pair() as ask:
        team.start()
        calls = {size: max(1, min(50, round(LAP_S / statistics.median(ask(size, 3, 3))))) for size in sizes}
        for _ in range(rounds):
            for size in shuffler.sample(list(sizes), len(sizes)):
                for side in shuffler.sample(["labkit", "plain", "again"], 3):
                    if side == "labkit":
                        told = collectives.laps(team, ["all_reduce"], [size], LAPS * LAP_S)
                        laps = collectives.slowest(told, "all_reduce", size)
                    else:
                        laps = ask(size, LAPS, calls[size])
                    found[size][side].append(statistics.median(laps))
        nothing = max(team.run(empty_laps, 20, 200))
    result: dict[str, Any] = {"sizes": {}, "empty_lap_s_per_call": nothing}
    for size, sides in found.items():
        one = {
            "us": record.spread([1e6 * s for s in sides["labkit"]]),
            "labkit_over_plain": record.spread([a / b for a, b in zip(sides["labkit"], sides["plain"], strict=True)]),
            "plain_twice": record.spread([a / b for a, b in zip(sides["again"], sides["plain"], strict=True)]),
            "readings_s": sides,
        }
        one["adds"] = nothing / (one["us"]["median"] / 1e6)
        ratio, same = one["labkit_over_plain"], one["plain_twice"]
        one["agrees"] = bool(ratio["low"] <= same["high"] and same["low"] <= ratio["high"])
        result["sizes"][str(size)] = one
    return result


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="bytes")
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/collectives_agree.json")
    parser.add_argument("--output", type=Path, help="write into this folder instead")
    options = parser.parse_args(argv)
    idle = record.idle_share()
    result = {"idle_share_before": idle, "limit": LIMIT, **measure(options.rounds, options.sizes)}
    for size, one in result["sizes"].items():
        print(f"{size} B, measuring adds {one['adds']:.3%} of a call; agrees: {'yes' if one['agrees'] else 'NO'}")
        for name in ("us", "labkit_over_plain", "plain_twice"):
            print("  " + record.told(name, one[name]))
    held = all(one["agrees"] and one["adds"] < LIMIT for one in result["sizes"].values())
    result["agrees_and_adds_under_2_percent"] = held
    print(f"agrees within its spread and adds under 2 %: {'yes' if held else 'NO'}")
    if options.store or options.output:
        print(f"written: {record.write('collectives_agree', result, options.output)}")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
