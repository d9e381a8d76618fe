"""The whole course against five epochs of the guides' MNIST loop.

Every lesson, quick profile, two at a time (``labkit run --workers 2``), start of the kernels included; beside it, in the same run
and in turns, the guides' loop for five epochs of 60,000 pictures on one thread, start of Python and torch included. Each side is a
process of its own.

    python -m benchmarks.course_time             three pairs, some six minutes
    python -m benchmarks.course_time --pairs 1
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import record
from labkit import data
from labkit.errors import LabkitError

ROOT = Path(__file__).resolve().parent.parent
EPOCHS, WORKERS = 5, 2


def guides_epochs(epochs: int) -> None:
    """What the child process of the guides' side does."""
    import torch

    from benchmarks import mnist_loops

    torch.set_num_threads(1)
    pictures = data.fashion_mnist()
    net, generator = mnist_loops.model(0), torch.Generator().manual_seed(0)
    for _ in range(epochs):
        mnist_loops.guides(pictures.train_images, pictures.train_labels, net, generator)


def timed(command: Sequence[str]) -> float:
    """Seconds of one process; raises LabkitError where it fails, with what it said."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        raise LabkitError(
            f"One side of the comparison failed:\n{(done.stdout + done.stderr)[-2000:]}",
            "run that part alone: python3 -m labkit run --workers 2",
        )
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the pairs, prints the ratios, writes results/course_time.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--guides-side", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--lessons", nargs="*", default=[], help="only these lessons (default: all)")
    parser.add_argument("--output", type=Path, default=None, help="folder of the result (default: benchmarks/results)")
    options = parser.parse_args(arguments)
    if options.guides_side:
        guides_epochs(options.guides_side)
        return 0
    data.fashion_mnist()  # absent data is told before anything is measured
    idle = record.idle_share()
    order = random.Random(0)
    readings: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="labkit-") as folder:
        sides = {
            "course": [
                sys.executable,
                "-m",
                "labkit",
                "run",
                "--workers",
                str(WORKERS),
                "-o",
                str(Path(folder) / "out"),
                *options.lessons,
            ],
            "guides": [sys.executable, "-m", "benchmarks.course_time", "--guides-side", str(options.epochs)],
        }
        lessons: list[dict[str, object]] = []
        for _ in range(options.pairs):
            names = list(sides)
            order.shuffle(names)
            readings.append({name: timed(sides[name]) for name in names})
            print(", ".join(f"{name} {seconds:.1f} s" for name, seconds in readings[-1].items()), flush=True)
        report = json.loads((Path(folder) / "out" / "report.json").read_text(encoding="utf-8"))
        lessons = [{"lesson": row["id"], "seconds": row["seconds"]} for row in report["lessons"]]
    ratio = record.spread([reading["course"] / reading["guides"] for reading in readings])
    seconds = {name: record.spread([reading[name] for reading in readings]) for name in sides}
    path = record.write(
        "course_time",
        {
            "question": "How long does the whole course take (quick profile, two workers), in units of the guides' five epochs?",
            "epochs": options.epochs,
            "workers": WORKERS,
            "idle_share_before": idle,
            "ratio": ratio,
            "seconds": seconds,
            "last_run": lessons,
            "readings": readings,
        },
        options.output,
    )
    print(record.told("the course over the guides' five epochs", ratio))
    for name, values in seconds.items():
        print(record.told(name, values, " s"))
    print(f"Written: {path}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabkitError as error:
        sys.exit(f"labkit: {error}")
