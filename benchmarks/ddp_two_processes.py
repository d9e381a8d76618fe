"""How much faster do two processes train with DistributedDataParallel than one, on the same two cores, at an equal result?

A small network with GroupNorm on 32 × 32 pictures made of random numbers (no step looks at what they show), one CPU thread for each
process, gloo on loopback. Three ways take turns in random order, within the same two processes:

one    rank 0 trains on the whole batch, the other rank waits without using a core
ddp    each rank trains on its half, DistributedDataParallel averages the gradients
apart  each rank trains on its half, and nothing is sent: the most that two processes can reach on these cores. What is missing from
       2 here is memory, caches and clock speed that the cores share; what is missing from this in ddp is communication.

The result of ddp is compared with that of one: the same pictures in the same order, so the same weights to rounding.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import record
from labkit.comm.team import Team

WANTED = 1.6
WARM_UP = 2
TOLERANCE = 1e-4  # of the largest weight's size; two orders of summation differ by rounding only


def network(seed: int, width: int) -> Any:
    import torch
    from torch import nn

    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.Conv2d(3, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU()),
        *(nn.Conv2d(width, 2 * width, 3, padding=1, stride=2), nn.GroupNorm(4, 2 * width), nn.ReLU()),
        *(nn.Conv2d(2 * width, 4 * width, 3, padding=1, stride=2), nn.GroupNorm(4, 4 * width), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10)),
    )


def pictures(steps: int, batch: int) -> tuple[Any, Any]:
    """(float32 [steps, batch, 3, 32, 32], int64 [steps, batch]), the same in every rank."""
    import torch

    draw = torch.Generator().manual_seed(1)
    x = torch.randn(steps, batch, 3, 32, 32, generator=draw)
    return x, torch.randint(0, 10, (steps, batch), generator=draw)


def train(way: str, steps: int, batch: int, width: int) -> tuple[float, list[Any]]:
    """(seconds of ``steps`` steps after the warm-up, the weights) of this rank; rank 1 has (0, []) where one rank works alone."""
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    rank = dist.get_rank()
    net = network(0, width)
    model = torch.nn.parallel.DistributedDataParallel(net) if way == "ddp" else net
    x, y = pictures(WARM_UP + steps, batch)
    if way != "one":  # rank r takes every second picture from r on
        x, y = x[:, rank::2].contiguous(), y[:, rank::2].contiguous()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(number: int) -> None:
        optimiser.zero_grad()
        F.cross_entropy(model(x[number]), y[number]).backward()
        optimiser.step()

    idle = way == "one" and rank == 1
    for number in range(0 if idle else WARM_UP):
        step(number)
    dist.barrier()
    begun = time.perf_counter()
    for number in range(0 if idle else steps):
        step(WARM_UP + number)
    seconds = 0.0 if idle else time.perf_counter() - begun
    dist.barrier()
    return seconds, [] if idle else [p.detach().clone() for p in net.parameters()]


def difference(first: Sequence[Any], second: Sequence[Any]) -> float:
    """The largest difference of two lists of weights, as a share of the largest weight."""
    first, second = ([a.detach() for a in weights] for weights in (first, second))
    size = max(float(a.abs().max()) for a in first)
    return max(float((a - b).abs().max()) for a, b in zip(first, second, strict=True)) / size


def measure(rounds: int, steps: int, batch: int, width: int, seed: int = 0) -> dict[str, Any]:
    shuffler = random.Random(seed)
    seconds: dict[str, list[float]] = {"one": [], "ddp": [], "apart": []}
    apart, ranks_equal = 0.0, True
    with Team(2, backend="gloo") as team:
        for _ in range(rounds):
            weights = {}
            for way in shuffler.sample(list(seconds), 3):
                told = team.run(train, way, steps, batch, width, seconds=280)
                seconds[way].append(max(one[0] for one in told))
                weights[way] = told[0][1]
                if way == "ddp":
                    ranks_equal &= difference(told[0][1], told[1][1]) == 0
            apart = max(apart, difference(weights["one"], weights["ddp"]))

    def ratio(over: str, under: str) -> dict[str, float]:
        return record.spread([a / b for a, b in zip(seconds[over], seconds[under], strict=True)])

    return {
        "seconds": seconds,
        "images_per_s_one": record.spread([steps * batch / s for s in seconds["one"]]),
        "one_over_ddp": ratio("one", "ddp"),
        "one_over_apart": ratio("one", "apart"),
        "ddp_over_apart": ratio("ddp", "apart"),
        "largest_difference": apart,
        "ranks_bitwise_equal": ranks_equal,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int, default=128, help="pictures of both ranks together")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/ddp_two_processes.json")
    parser.add_argument("--output", type=Path, help="write into this folder instead")
    options = parser.parse_args(argv)
    if options.batch % 2:
        parser.error("--batch must be even: each rank takes half")
    idle = record.idle_share()
    shape = {"rounds": options.rounds, "steps": options.steps, "batch": options.batch, "width": options.width}
    result = {"idle_share_before": idle, **shape, **measure(**shape)}
    for name in ("images_per_s_one", "one_over_ddp", "one_over_apart", "ddp_over_apart"):
        print("  " + record.told(name, result[name]))
    equal = bool(result["ranks_bitwise_equal"] and result["largest_difference"] < TOLERANCE)
    print(
        f"weights: ranks bitwise equal: {result['ranks_bitwise_equal']}; ddp from one: {result['largest_difference']:.2g}"
    )
    fast, bound = result["one_over_ddp"]["median"], result["one_over_apart"]["median"]
    result |= {"wanted": WANTED, "equal": equal, "reached": fast >= WANTED, "bound_below_wanted": bound < WANTED}
    if fast >= WANTED:
        print(f"two processes are {fast:.2f} times one: {WANTED} is reached")
    else:
        print(
            f"two processes are {fast:.2f} times one; two that send nothing reach {bound:.2f} on these cores: the bound"
        )
    if options.store or options.output:
        print(f"written: {record.write('ddp_two_processes', result, options.output)}")
    return 0 if equal and (result["reached"] or result["bound_below_wanted"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
