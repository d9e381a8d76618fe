"""A simulated run has what was planted, by a slow count of its own; and nothing in it says so."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest

from labkit.errors import LabkitError
from labkit.profile import simulate
from labkit.profile.simulate import schedule
from labkit.profile.table import Profile

GPU = "Radeon RX 7900 XTX"


def union(rows: pl.DataFrame) -> int:
    """Length of the union of intervals, in plain Python."""
    total, until = 0, -1
    for start, end in sorted(zip(rows["start_ns"], rows["end_ns"], strict=True)):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def names(frame: pl.DataFrame) -> list[str]:
    return [str(name) for name in frame["name"]]


def busy_share(run: Profile, *, without: str = "nothing") -> float:
    rows = run.dispatches
    span = rows["end_ns"].max() - rows["start_ns"].min()  # type: ignore[operator]
    keep = pl.Series([not name.startswith(without) for name in names(rows)])
    return union(rows.filter(keep)) / span


def waits(run: Profile) -> int:
    return sum(("Synchronize" in name or "WithStream" in name) for name in names(run.of("api")))


@pytest.mark.parametrize("model", simulate.MODELS)
@pytest.mark.parametrize("gpu", ["Instinct MI300X", "Radeon RX 7600"])
def test_a_healthy_run_keeps_the_gpu_busy(model: str, gpu: str) -> None:
    run = simulate.training(model, gpu, steps=10, seed=3)
    assert run.simulated and busy_share(run) > 0.85 and waits(run) <= 4


@pytest.mark.parametrize("severity", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("model", ["cnn", "transformer"])
def test_severity_is_what_is_lost(model: str, severity: float) -> None:
    """Idle for severity / (1 + severity) of the time, roughly; the loader loses what the host launches besides."""
    lost = severity / (1 + severity)
    for sickness in ("loader", "launch-bound", "copies"):
        run = simulate.training(model, GPU, sickness, severity=severity, seed=5)
        assert 1 - busy_share(run) >= 0.85 * lost, sickness
    run = simulate.training(model, GPU, "communication", severity=severity, seed=5)
    assert 1 - busy_share(run, without="nccl") == pytest.approx(lost, abs=0.1)
    assert busy_share(run) > 0.9
    run = simulate.training(model, GPU, "synchronising", severity=min(severity, 1.0), seed=5)
    assert 1 - busy_share(run) > 0.6 * min(lost, 0.5)


def test_each_sickness_in_its_rows() -> None:
    healthy = simulate.training("cnn", GPU, seed=1)
    runs = {name: simulate.training("cnn", GPU, name, seed=1) for name in simulate.SICKNESSES}
    load = {
        name: sum(r["end_ns"] - r["start_ns"] for r in run.of("marker").iter_rows(named=True) if r["name"] == "load")
        for name, run in {**runs, "healthy": healthy}.items()
    }
    assert load["loader"] > 10 * load["healthy"]
    assert waits(runs["synchronising"]) > 10 * 10 > 10 * waits(healthy)
    copied = {name: union(run.of("copy")) for name, run in {**runs, "healthy": healthy}.items()}
    assert (
        copied["copies"] > 20 * copied["healthy"] and names(runs["copies"].of("api")).count("hipMemcpyWithStream") >= 10
    )
    reductions = [name for name in names(runs["communication"].dispatches) if name.startswith("nccl")]
    assert len(reductions) >= 10 and runs["communication"].dispatches["stream"].n_unique() == 2
    tiny = runs["launch-bound"].dispatches
    assert float((tiny["end_ns"] - tiny["start_ns"]).median()) < schedule.LAUNCH_NS + schedule.OPERATOR_NS  # type: ignore[arg-type]


def test_nothing_in_the_rows_names_the_sickness() -> None:
    for sickness in simulate.SICKNESSES:
        run = simulate.training("mlp", GPU, sickness, steps=3)
        text = " ".join({*names(run.events), str(run.extras), run.kind, run.tool}).lower()
        assert sickness not in text and "sick" not in text


def test_overlapped_communication_hides() -> None:
    run = simulate.training("resnet50", "Instinct MI300X", steps=5, devices=2)
    assert run.dispatches["device"].unique().sort().to_list() == [1, 2] and len(run.devices) == 2
    one = Profile(run.kind, run.events.filter((pl.col("device") == 1) | pl.col("device").is_null()), run.tool)
    assert any(name.startswith("nccl") for name in names(one.dispatches))
    assert busy_share(one, without="nccl") > 0.8


def test_rows_are_in_order() -> None:
    """Streams one at a time; a kernel after its launch; correlations join one call to one piece of work."""
    for sickness in (None, *simulate.SICKNESSES):
        run = simulate.training("transformer", GPU, sickness, steps=3, seed=2)
        work = run.of("dispatch", "copy").sort("start_ns")
        for _, rows in work.group_by("stream"):
            ordered = rows.sort("start_ns")
            assert (ordered["start_ns"][1:] >= ordered["end_ns"][:-1]).all()
        calls = {r["correlation"]: r for r in run.of("api").iter_rows(named=True)}
        assert len(calls) == run.of("api").height
        for row in run.dispatches.iter_rows(named=True):
            assert calls[row["correlation"]]["name"] in ("hipLaunchKernel", "hipExtModuleLaunchKernel")
            assert row["start_ns"] >= calls[row["correlation"]]["end_ns"]
        assert Counter(work["correlation"]).most_common(1)[0][1] == 1
        assert (run.events["end_ns"] > run.events["start_ns"]).all()
        steps = [name for name in names(run.of("marker")) if name.startswith("step ")]
        assert steps == ["step 0", "step 1", "step 2"]


def test_same_arguments_same_rows() -> None:
    one, two = (simulate.training("cnn", GPU, "loader", seed=7) for _ in range(2))
    other = simulate.training("cnn", GPU, "loader", seed=8)
    assert one.events.equals(two.events) and not one.events.equals(other.events)


def test_a_tiny_batch_is_launch_bound_by_itself() -> None:
    """Lesson 01's batch of 64 on a large GPU: nothing planted, and the GPU idles."""
    assert busy_share(simulate.training("mlp", "Instinct MI300X", batch=64)) < 0.5


def test_operators_carry_flops() -> None:
    run = simulate.training("cnn", GPU, steps=2)
    found = run.of("operator")
    assert float(found["flops"].sum()) > 2 * simulate.network("cnn", run.extras["simulation"]["batch"]).matrix_flops()
    assert simulate.training("cnn", GPU, steps=2, operators=False).of("operator").height == 0


@pytest.mark.parametrize(
    "arguments",
    [{"sickness": "flu"}, {"model": "gpt9"}, {"gpu": "nothing"}, {"steps": 0}, {"severity": 0}, {"devices": 0}, {"batch": -1},
     {"gpu": "Radeon RX 6800", "precision": "bf16"}, {"besides": {"launch-bound": 0.1}}, {"besides": {"loader": -1}}],
)  # fmt: skip
def test_what_makes_no_sense(arguments: dict[str, object]) -> None:
    with pytest.raises(LabkitError):
        simulate.training(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "more", [{"severity": float("inf")}, {"severity": float("nan")}, {"batch": 0}, {"batch": -1}, {"severity": 1e9}]
)
def test_numbers_without_sense(more: dict[str, Any]) -> None:
    with pytest.raises(LabkitError, match="makes no sense"):
        simulate.training("mlp", "Radeon RX 7600", "loader", steps=2, **more)
