"""Steps by markers and by the pattern of the kernels."""

from __future__ import annotations

import random

import pytest

from labkit.profile import questions as ask
from labkit.profile import simulate
from labkit.profile.table import Profile
from tests.profile.questions import slow
from tests.profile.questions.slow import Row


def kernels(names: list[str], *, pause: int = 100, start: int = 0, between: int = 5) -> tuple[list[Row], int]:
    rows = []
    for name in names:
        rows.append({"kind": "dispatch", "device": 0, "name": name, "start_ns": start, "end_ns": start + 50})
        start += 50 + between
    return rows, start + pause


def pattern(step: list[str], times: int, *, pause: int = 100, cut: int = 0) -> Profile:
    rows: list[Row] = []
    at = 0
    for _ in range(times):
        more, at = kernels(step, pause=pause, start=at)
        rows += more
    return slow.profile(rows[cut:])


@pytest.mark.parametrize("name", ["step {}", "ProfilerStep#{}", "Step: {}", "train_step_{}", "iteration {}"])
def test_markers_of_every_usual_name(name: str) -> None:
    rows = [
        {"kind": "marker", "thread": 1, "name": name.format(i), "start_ns": 100 * i, "end_ns": 100 * i + 90}
        for i in range(4)
    ]
    found = ask.steps(slow.profile(rows))
    assert found.found == "markers" and found.table["step"].to_list() == [0, 1, 2, 3]
    assert found.durations_ns.tolist() == [100, 100, 100, 90] and found.median_ns == 100


@pytest.mark.parametrize("name", ["step", "stepping 3", "optimizer.step 3 done", "3", "Optimizer.step#SGD.step"])
def test_other_markers_are_no_steps(name: str) -> None:
    assert ask.steps(slow.profile([{"kind": "marker", "name": name, "start_ns": 0, "end_ns": 9}])).found == "none"


def test_the_pace_is_the_gpus_where_the_host_runs_ahead() -> None:
    run = simulate.training("cnn", "Radeon RX 7900 XTX", steps=8)
    found = ask.steps(run)
    work = run.dispatches
    pace = (work["end_ns"].max() - work["start_ns"].min()) / 8
    assert found.median_ns == pytest.approx(pace, rel=0.05)
    host = found.table["end_ns"] - found.table["start_ns"]
    assert host.median() < 0.7 * found.median_ns  # the host's own marks would have told something else


LAYER = ["gemm", "bias", "relu"]
STEP = ["load", *LAYER * 4, "loss", *LAYER[::-1] * 4, "update"]


def test_the_pattern_finds_the_step_and_not_the_layer() -> None:
    found = ask.steps(pattern(STEP, 6))
    assert (found.found, found.period, found.count) == ("pattern", len(STEP), 6)
    assert found.median_ns == len(STEP) * 55 + 100


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_recording_that_begins_within_a_step(cut: int) -> None:
    found = ask.steps(pattern(STEP, 6, cut=cut))
    assert found.period == len(STEP) and found.count == 5
    assert found.table["start_ns"][0] == len(STEP) * 55 + 100  # after the pause, not where the recording began


def test_without_a_pattern_there_are_no_steps() -> None:
    die = random.Random(1)
    rows, _ = kernels([die.choice("abcdefghij") for _ in range(300)])
    assert ask.steps(slow.profile(rows)).found == "none"
    assert ask.steps(pattern(STEP, 2)).found == "none"  # seen twice only


def test_the_simulated_step_without_its_markers() -> None:
    run = simulate.training("cnn", "Radeon RX 7900 XTX", "loader", steps=8)
    bare = Profile("test", run.dispatches, "test")
    assert ask.steps(bare).found == "pattern" and ask.steps(bare).count == 8


def test_a_slow_first_step_is_left_out_of_the_window() -> None:
    rows: list[Row] = []
    begin = 0
    for i, length in enumerate((9_000, 1_000, 1_000, 1_000, 1_000)):
        rows.append({"kind": "marker", "thread": 1, "name": f"step {i}", "start_ns": begin, "end_ns": begin + length})
        rows.append({"kind": "dispatch", "device": 0, "name": "a", "start_ns": begin + 10, "end_ns": begin + length})
        begin += length
    found = ask.window(slow.profile(rows))
    assert found is not None and (found.low_ns, found.high_ns, found.left_out) == (9_000, 13_000, 1)
    even = ask.window(slow.profile(rows[2:]))
    assert even is not None and even.left_out == 0 and even.low_ns == 9_000
