"""Thirty learners come to the hub at the same time: how long does each wait, and what does it take?

Each round is a new hub (``labkit workshop hub``, pretended GPUs) to which all learners log in at once, over HTTP, ask for a GPU, and
take 'CPU only' where they get none. Nobody runs a cell: the servers alone are what is measured. Linux; as root, as a teacher would.

    python -m benchmarks.hub_thirty             three rounds, some eight minutes
    python -m benchmarks.hub_thirty --rounds 1 --learners 4 --output /tmp
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import psutil

from benchmarks import record
from tests.workshop.hub.crowd import arrive
from tests.workshop.hub.live_hub import Hub, running

LEARNERS, GPUS, ROUNDS = 30, 8, 3


def uses(hub: Hub) -> dict[str, dict[str, float]]:
    """CPU seconds so far and resident MB now, of the hub, the proxy, and all servers together. Shared pages count in each process."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: {"processes": 0, "cpu_s": 0.0, "resident_mb": 0.0})
    for process in hub.processes():
        with contextlib.suppress(psutil.Error):
            words = " ".join(process.cmdline())
            part = "servers" if "singleuser" in words else "proxy" if "configurable-http-proxy" in words else "hub"
            times = process.cpu_times()
            found[part]["processes"] += 1
            found[part]["cpu_s"] += (
                times.user + times.system + (times.children_user + times.children_system if part == "hub" else 0)
            )
            found[part]["resident_mb"] += process.memory_info().rss / 1e6
    return {part: {name: round(value, 1) for name, value in values.items()} for part, values in sorted(found.items())}


def one_round(learners: int, gpus: int) -> dict[str, object]:
    """Waits in seconds since the class came, failures, and what the machine gave."""
    with running("--pretend-gpus", str(gpus), "--memory", "1G") as hub:
        came = arrive(hub, learners, 900)
        ready = sorted(arrival.ready_s for arrival in came)
        return {
            "logged_in_last_s": round(max(arrival.logged_in_s for arrival in came), 1),
            "ready_first_s": round(ready[0], 1),
            "ready_median_s": round(statistics.median(ready), 1),
            "ready_last_s": round(ready[-1], 1),
            "with_a_gpu": sum(not arrival.refused for arrival in came),
            "failed": [arrival.failed for arrival in came if arrival.failed],
            "uses": uses(hub),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the rounds, prints them, writes results/hub_thirty.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", type=int, default=LEARNERS)
    parser.add_argument("--gpus", type=int, default=GPUS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, default=None, help="folder of the result (default: benchmarks/results)")
    options = parser.parse_args(arguments)
    idle = record.idle_share()
    rounds = []
    for number in range(options.rounds):
        rounds.append(one_round(options.learners, options.gpus))
        print(f"round {number + 1}: {rounds[-1]}", flush=True)
    waits = {
        name: record.spread([float(str(one[name])) for one in rounds])
        for name in ("logged_in_last_s", "ready_first_s", "ready_median_s", "ready_last_s")
    }
    path = record.write(
        "hub_thirty",
        {
            "question": "How long do learners wait for their servers when all come to the hub at the same time?",
            "learners": options.learners,
            "pretended_gpus": options.gpus,
            "root": os.geteuid() == 0,
            "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
            "idle_share_before": idle,
            "seconds": waits,
            "rounds": rounds,
        },
        options.output,
    )
    for name, values in waits.items():
        print(record.told(name, values, " s"))
    print(f"Written: {path}")
    return 1 if any(one["failed"] for one in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
