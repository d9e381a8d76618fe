"""What the benchmarks share: ratios with their spread, busy neighbours, and results written in one piece."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from labkit.timing.conditions import conditions
from labkit.timing.statistics import bootstrap_interval

RESULTS = Path(__file__).resolve().parent / "results"


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, bootstrap 95 % interval of it, smallest and largest of ``values`` (any unit, at least one)."""
    low, high = bootstrap_interval(values)
    return {
        "median": float(np.median(values)),
        "low": low,
        "high": high,
        "smallest": min(values),
        "largest": max(values),
        "n": len(values),
    }


def told(name: str, values: dict[str, float], unit: str = "") -> str:
    """One line for people: the median, its interval and the range."""
    return (
        f"{name}: {values['median']:.4g}{unit} [95 % interval {values['low']:.4g} to {values['high']:.4g}; "
        f"range {values['smallest']:.4g} to {values['largest']:.4g}; n = {values['n']}]"
    )


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """``count`` processes that do nothing but use a core each, for as long as the block lasts."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(0.3 if count else 0)
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def idle_share(seconds: float = 0.5) -> float | None:
    """The share of all cores' time (0 to 1) that nobody used during ``seconds``; None where the system does not tell (not Linux)."""

    def read() -> list[int]:
        return [int(part) for part in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]

    try:
        before = read()
        time.sleep(seconds)
        after = read()
    except OSError:
        return None
    total = sum(after) - sum(before)
    return (after[3] - before[3]) / total if total else None


def write(name: str, result: dict[str, Any], folder: Path | None = None) -> Path:
    """Writes ``result`` with the conditions to results/NAME.json: complete, or not at all."""
    folder = RESULTS if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    where = conditions()
    whole = {
        "benchmark": name,
        "when": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "conditions": {"machine": where.machine, "torch": where.torch, "python": where.python},
        **result,
    }
    path = folder / f"{name}.json"
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)
    return path
