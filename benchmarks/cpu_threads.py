"""Is the number of CPU threads that labkit.threads chooses good enough? Beside one busy process, and without.

For several training steps: seconds per step with one thread, with all threads that spin while they wait (torch's default), with
all that sleep (OMP_WAIT_POLICY=passive, which only a process's start can set), and with what ``choose`` picks. Each round measures
all four in random order; two worker processes, one for each way of waiting, take turns. The floor is the best of the three.

    python -m benchmarks.cpu_threads
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import record

STEPS = ("tiny", "mlp", "wide", "cnn")
FIXED = ("one", "spinning", "passive")
ROOT = Path(__file__).resolve().parent.parent


def training_step(kind: str) -> Callable[[], None]:
    """A step of plain SGD: a linear layer; the guides' MLP; a wide MLP; a small CNN."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    steps: dict[str, tuple[Callable[[], list[nn.Module]], tuple[int, ...]]] = {
        "tiny": (lambda: [nn.Linear(8, 10)], (16, 8)),
        "mlp": (lambda: [nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)], (64, 784)),
        "wide": (
            lambda: [nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)],
            (256, 784),
        ),
        "cnn": (
            lambda: [
                nn.Conv2d(3, 16, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(16, 32, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(2048, 10),
            ],
            (64, 3, 32, 32),
        ),
    }
    layers, shape = steps[kind]
    net, x = nn.Sequential(*layers()), torch.randn(*shape)
    y = torch.randint(0, 10, (shape[0],))
    optimizer, criterion = torch.optim.SGD(net.parameters(), lr=0.01), nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

    return step


def worker() -> None:
    """Reads orders (a line of JSON each) and answers them: mean seconds per step, and what was chosen."""
    import torch

    from labkit import threads

    every = torch.get_num_threads()
    steps = {kind: training_step(kind) for kind in STEPS}
    for line in sys.stdin:
        order = json.loads(line)
        step = steps[order["kind"]]
        answer: dict[str, Any] = {}
        if order["threads"] == "choose":
            torch.set_num_threads(every)
            choice = threads.choose(step)
            answer = {"chosen": choice.threads, "probe_s": choice.probe_s}
        else:
            torch.set_num_threads(1 if order["threads"] == "one" else every)
        step()
        start = time.perf_counter()
        count = 0
        while count < 2 or time.perf_counter() - start < order["seconds"]:
            step()
            count += 1
        print(json.dumps({**answer, "step_s": (time.perf_counter() - start) / count}), flush=True)


class Worker:
    """One worker process with its way of waiting."""

    def __init__(self, passive: bool) -> None:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        }
        if passive:
            environment["OMP_WAIT_POLICY"] = "passive"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.cpu_threads", "--worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, kind: str, threads: str, seconds: float) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"kind": kind, "threads": threads, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("a worker of the benchmark ended early; its own message stands above")
        return dict(json.loads(line))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def over_best(rounds: Sequence[dict[str, float]], seed: int = 0, resamples: int = 2000) -> dict[str, float]:
    """Median of the chosen step time over the best of the three fixed ways' medians; the interval resamples whole rounds."""
    table = np.array([[one[name] for name in (*FIXED, "chosen")] for one in rounds])

    def ratio(rows: Any) -> float:
        medians = np.median(rows, axis=0)
        return float(medians[3] / medians[:3].min())

    generator = np.random.default_rng(seed)
    drawn = [ratio(table[generator.integers(0, len(table), len(table))]) for _ in range(resamples)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"median": ratio(table), "low": float(low), "high": float(high), "n": len(rounds)}


def run(rounds: int, seconds: float, kinds: Sequence[str]) -> dict[str, Any]:
    """The whole measurement, as plain values."""
    spinning, passive = Worker(passive=False), Worker(passive=True)
    shuffler = random.Random(0)
    result: dict[str, Any] = {"seconds_per_reading": seconds, "idle_share_before": record.idle_share(), "cases": []}
    try:
        for kind in kinds:  # first steps pay for set-up
            spinning.ask(kind, "spinning", 0.05)
            passive.ask(kind, "passive", 0.05)
        for busy in (0, 1):
            with record.busy_processes(busy):
                for kind in kinds:
                    seen: list[dict[str, float]] = []
                    numbers, probes = [], []
                    for _ in range(rounds):
                        one: dict[str, float] = {}
                        for name in shuffler.sample([*FIXED, "choose"], 4):
                            answer = (passive if name == "passive" else spinning).ask(kind, name, seconds)
                            one["chosen" if name == "choose" else name] = answer["step_s"]
                            if name == "choose":
                                numbers.append(answer["chosen"])
                                probes.append(answer["probe_s"])
                        seen.append(one)
                    case = {
                        "step": kind,
                        "busy_processes": busy,
                        "over_best": over_best(seen),
                        "chosen_threads": numbers,
                        "probe_s": record.spread(probes),
                        "step_s": {name: record.spread([one[name] for one in seen]) for name in (*FIXED, "chosen")},
                        "rounds": seen,
                    }
                    result["cases"].append(case)
                    print(line(case), flush=True)
    finally:
        spinning.close()
        passive.close()
    return result


def line(case: dict[str, Any]) -> str:
    times = ", ".join(
        f"{name} {case['step_s'][name]['median'] * 1e3:.3g} ms [{case['step_s'][name]['low'] * 1e3:.3g}, "
        f"{case['step_s'][name]['high'] * 1e3:.3g}]"
        for name in (*FIXED, "chosen")
    )
    best = case["over_best"]
    return (
        f"{case['step']:5s} beside {case['busy_processes']} busy: {times}; chosen over best {best['median']:.2f} "
        f"[{best['low']:.2f}, {best['high']:.2f}]; threads chosen {case['chosen_threads']}; probe {case['probe_s']['median']:.3f} s"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each reading (default: 0.3)")
    parser.add_argument("--steps", nargs="+", default=list(STEPS), choices=STEPS)
    parser.add_argument("--output", type=Path, help="folder for the result (default: benchmarks/results)")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker:
        worker()
        return 0
    result = run(options.rounds, options.seconds, options.steps)
    print(f"written: {record.write('cpu_threads', result, options.output)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
