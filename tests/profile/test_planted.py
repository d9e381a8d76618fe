"""The one-page answer names what was planted: 30 sick runs and 10 healthy ones, directly and through two formats.

What the GPU loses is recomputed here in plain Python from the rows, so that a run counts as sick because of what happens in
it, not because the simulator was asked for it. Severities and batch sizes vary with a fixed seed; LABKIT_PLANTED_SEED moves
all of them.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import polars as pl
import pytest

from labkit.profile import Profile, diagnose, read, simulate
from labkit.profile.simulate.runs import batch_for

SEED = int(os.environ.get("LABKIT_PLANTED_SEED", "2024"))
GPUS = ("Instinct MI300X", "Radeon RX 7900 XTX", "Radeon RX 7600")
MODELS = {  # sickness -> two models
    "loader": ("cnn", "resnet50"),
    "launch-bound": ("mlp", "transformer"),
    "synchronising": ("cnn", "transformer"),
    "copies": ("mlp", "resnet50"),
    "communication": ("resnet50", "transformer"),
}
SICK = [(cause, gpu, model) for cause, models in MODELS.items() for gpu in GPUS for model in models]
HEALTHY = [
    ("mlp", "Radeon RX 7600", 1), ("mlp", "Instinct MI300X", 1), ("cnn", "Radeon RX 7900 XTX", 1), ("cnn", "Radeon RX 9070 XT", 1),
    ("cnn", "Instinct MI210", 1), ("resnet50", "Instinct MI300X", 2), ("resnet50", "Radeon RX 7900 XTX", 1),
    ("transformer", "Instinct MI355X", 1), ("transformer", "Radeon RX 7600", 1), ("transformer", "Instinct MI300X", 2),
]  # fmt: skip
FORMS = ("rocprofv3-csv", "torch-trace")  # every run directly and through one of them, turn and turn about


def dice(*what: object) -> random.Random:
    return random.Random(f"{SEED} {what}")


def idle_share(run: Profile, *, without: str = "nothing") -> float:
    """Share of the time, first start to last end, in which no kernel runs; in plain Python, first device only."""
    rows = [r for r in run.dispatches.iter_rows(named=True) if r["device"] == run.dispatches["device"].min()]
    begin, end = min(r["start_ns"] for r in rows), max(r["end_ns"] for r in rows)
    covered, until = 0, begin
    for r in sorted(rows, key=lambda r: r["start_ns"]):
        if not r["name"].startswith(without):
            covered += max(0, r["end_ns"] - max(r["start_ns"], until))
            until = max(until, r["end_ns"])
    return 1 - covered / (end - begin)


def sick(cause: str, gpu: str, model: str) -> Profile:
    """A run with a severity of 0.6 to 3 and mostly with small other troubles beside."""
    die = dice(cause, gpu, model)
    others = [name for name in simulate.SICKNESSES if name not in (cause, "launch-bound")]
    besides = {name: round(die.uniform(0.02, 0.1), 3) for name in others if die.random() < 0.4}
    severity = round(die.uniform(0.6, 3.0 if cause != "launch-bound" else 1.5), 2)
    precision = "fp16" if model in ("resnet50", "transformer") else "fp32"
    batch = None if cause == "launch-bound" else batch_for(model, gpu, precision) * die.choice((1, 1, 2))
    steps, seed = die.choice((3, 4) if model == "resnet50" else (4, 6, 8)), die.randrange(10**6)
    return simulate.training(
        model, gpu, cause, severity=severity, steps=steps, seed=seed, batch=batch, precision=precision, besides=besides
    )


def healthy(model: str, gpu: str, devices: int) -> Profile:
    die = dice("healthy", model, gpu)
    besides = {"loader": round(die.uniform(0.02, 0.12), 3)} if die.random() < 0.5 else None
    steps = 3 if model == "resnet50" else die.choice((4, 8, 10))
    return simulate.training(model, gpu, steps=steps, seed=die.randrange(10**6), devices=devices, besides=besides)


def through(run: Profile, number: int, folder: Path) -> Profile:
    """Written as a profiler writes it, and read back."""
    simulate.write(run, folder, FORMS[number % 2])
    return read(folder)


def test_there_are_enough() -> None:
    assert len(SICK) == 30 and len(HEALTHY) == 10 and len({cause for cause, _, _ in SICK}) == len(simulate.SICKNESSES)


@pytest.mark.parametrize(("number", "case"), list(enumerate(SICK)))
def test_the_planted_cause_is_named(number: int, case: tuple[str, str, str], tmp_path: Path) -> None:
    cause = case[0]
    run = sick(*case)
    assert idle_share(run, without="nccl" if cause == "communication" else "nothing") > 0.25  # it is sick indeed
    for found in (diagnose(run), diagnose(through(run, number, tmp_path))):
        assert found.cause == cause, f"{run.extras['simulation']}: {found.sentence} {dict(found.shares)}"
        assert found.sentence and found.evidence and found.advice


@pytest.mark.parametrize(("number", "case"), list(enumerate(HEALTHY)))
def test_a_healthy_run_has_no_cause(number: int, case: tuple[str, str, int], tmp_path: Path) -> None:
    run = healthy(*case)
    assert idle_share(run) < 0.15
    for found in (diagnose(run), diagnose(through(run, number, tmp_path))):
        assert found.cause == "none", f"{run.extras['simulation']}: {found.sentence} {dict(found.shares)}"


def test_it_does_not_read_what_was_planted() -> None:
    """The answer comes from the rows: without the simulator's notes, names of the run and operators it is the same."""
    for cause, gpu, model in SICK[::7]:
        run = sick(cause, gpu, model)
        bare = Profile(
            "rocprofv3-kernel-trace", run.events.filter(pl.col("kind") != "operator"), "rocprofv3", devices=run.devices
        )
        assert diagnose(bare).cause == cause
