"""Every form that the simulator writes is read back as what was simulated."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from labkit.profile import Profile, questions, read, simulate
from labkit.profile.facts import facts

RUNS = {
    "one device": {"model": "cnn", "gpu": "Radeon RX 7900 XTX", "sickness": "copies", "steps": 4, "seed": 11},
    "two devices": {"model": "mlp", "gpu": "Instinct MI250X (per GCD)", "steps": 3, "seed": 12, "devices": 2},
    "two streams": {
        "model": "transformer",
        "gpu": "Radeon RX 9070 XT",
        "sickness": "communication",
        "steps": 2,
        "seed": 13,
    },
}
KINDS = {
    "rocprofv3-json": "rocprofv3-json", "rocpd": "rocpd", "rpd": "rpd", "rocprofv2-csv": "rocprofv2",
    "rocprof-compute-csv": "rocprof-compute",
}  # fmt: skip
# What a form keeps besides dispatches. Columns are compared where the form has them.
HOST = (*(form for form in simulate.FORMS if form not in ("rocprof-v1-csv", "rocprofv2-csv", "rocprof-compute-csv")),)
JOINED = tuple(form for form in HOST if form != "rocprof-v1-json")  # v1's arrows carry no number that is in the rows
MARKERS = tuple(form for form in HOST if not form.startswith("rocprof-v1"))
SHAPES = ("rocprofv3-csv", "rocpd-csv", "rocprofv3-json", "rocpd")


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest) -> Profile:
    return simulate.training(**RUNS[request.param])  # type: ignore[arg-type]


def spans(profile: Profile, kind: str) -> list[tuple[int, int]]:
    return profile.of(kind).select("start_ns", "end_ns").sort("start_ns", "end_ns").rows()


def named(profile: Profile, *kinds: str) -> list[tuple[str, int, int]]:
    frame = profile.of(*kinds).select(pl.col("name").cast(pl.String), "start_ns", "end_ns")
    return frame.sort("start_ns", "end_ns", "name").rows()


@pytest.mark.parametrize("form", simulate.FORMS)
def test_read_back(form: str, run: Profile, tmp_path: Path) -> None:
    paths = simulate.write(run, tmp_path, form)
    found = read(tmp_path)
    assert found.simulated and read(paths[0]).simulated
    expected = KINDS.get(form) or (
        "torch-trace" if form.startswith("torch") else "rocprof-v1" if "v1" in form else "rocprofv3-kernel-trace"
    )
    assert found.kind == expected
    assert named(found, "dispatch") == named(run, "dispatch")
    mine, theirs = facts(run), facts(found)
    for key in ("dispatches", "kernels", "span_ns", "busy_ns", "devices"):
        assert theirs[key] == mine[key], key
    if form in HOST:
        assert spans(found, "copy") == spans(run, "copy")
        assert spans(found, "api") == spans(run, "api")
    if form in JOINED:
        joined = found.dispatches.join(found.of("api"), on="correlation", how="semi")
        assert joined.height == run.dispatches.height
    if form in MARKERS:
        assert spans(found, "marker") == spans(run, "marker")
        assert questions.steps(found).count == questions.steps(run).count
    if form in SHAPES:
        assert found.dispatches["stream"].n_unique() == run.dispatches["stream"].n_unique()
        columns = ["start_ns", "grid_x", "workgroup_x", "vgpr", "accum_vgpr", "sgpr", "lds_bytes"]
        assert (
            found.dispatches.select(columns).sort(columns).rows() == run.dispatches.select(columns).sort(columns).rows()
        )


def test_operators_survive_in_a_trace(tmp_path: Path) -> None:
    run = simulate.training("cnn", "Radeon RX 7600", steps=2)
    simulate.write(run, tmp_path, "torch-trace")
    assert named(read(tmp_path), "operator") == named(run, "operator")


@pytest.mark.parametrize("form", [form for form in JOINED if form in MARKERS])
def test_two_processes_keep_their_own_calls(form: str, tmp_path: Path) -> None:
    """A kernel is joined to the call of its own process, whether or not the form names processes."""
    run = simulate.training("mlp", "Radeon RX 9070", "synchronising", steps=4, devices=2, severity=0.5)
    simulate.write(run, tmp_path, form)
    found = questions.losses(read(tmp_path)).drop("device").rows()
    assert found == questions.losses(run).drop("device").rows()
