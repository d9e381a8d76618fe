"""The diagnosis: sentence, evidence and advice belong to its cause, and say what the rows say."""

from __future__ import annotations

import json

import pytest

from labkit.profile import diagnose, simulate
from labkit.profile import questions as ask
from labkit.profile.diagnosis import CAUSES
from labkit.profile.diagnosis_words import ADVICE, SENTENCES, listed, of_time
from labkit.profile.table import Profile
from labkit.profile.thresholds import MENTIONED, NAMED
from tests.profile.questions import slow
from tests.profile.questions.slow import Row

GPU = "Radeon RX 7900 XTX"


def test_every_cause_has_its_words() -> None:
    assert set(SENTENCES) == set(CAUSES) - {"none"} == set(simulate.SICKNESSES)
    assert set(CAUSES) <= set(ADVICE) and 0 < MENTIONED < NAMED < 1


@pytest.mark.parametrize("cause", simulate.SICKNESSES)
def test_the_sentence_carries_the_share_and_the_evidence_its_rows(cause: str) -> None:
    found = diagnose(simulate.training("cnn", GPU, cause, steps=6))
    assert found.cause == cause and found.certain
    assert found.sentence.startswith(f"{100 * found.shares[cause]:.0f} % of the time")
    assert found.shares[cause] >= NAMED and sum(found.shares.values()) == pytest.approx(1)
    assert all(item.rows and item.what for item in found.evidence) and len(found.evidence) >= 3
    assert found.evidence[0].value == found.shares[cause]
    assert found.advice == ADVICE[cause] and found.simulated
    assert json.loads(json.dumps(found.as_json()))["cause"] == cause


def test_a_small_trouble_is_an_observation_not_the_cause() -> None:
    found = diagnose(simulate.training("cnn", GPU, "copies", steps=10, severity=0.15))
    assert found.cause == "none" and "stands out" in found.sentence
    assert any("waits for copies" in line for line in found.observations)


def test_idle_time_of_several_devices_is_their_mean() -> None:
    rows: list[Row] = [{"kind": "dispatch", "device": 0, "name": "a", "start_ns": 0, "end_ns": 1_000_000}]
    rows += [{"kind": "dispatch", "device": 1, "name": "a", "start_ns": t, "end_ns": t + 1} for t in (0, 999_999)]
    assert diagnose(slow.profile(rows)).idle_share == pytest.approx(0.5, abs=1e-4)


def test_without_markers_the_pause_is_not_called_loading() -> None:
    run = simulate.training("cnn", GPU, "loader", steps=8, operators=False, severity=3.0)
    bare = Profile("test", run.of("dispatch", "api", "copy"), "test")
    found = diagnose(bare)
    assert found.cause == "none" and not found.certain
    assert "cannot be known" in found.sentence and "no markers" in found.sentence


@pytest.mark.parametrize("cause", ["copies", "communication"])
def test_what_the_gpu_itself_shows_needs_no_host(cause: str) -> None:
    run = simulate.training("cnn", GPU, cause, steps=8)
    assert diagnose(Profile("test", run.of("dispatch", "copy"), "test")).cause == cause


def test_on_a_cpu_loading_is_still_told_from_computing() -> None:
    rows: list[Row] = []
    for i in range(4):
        rows += [
            {"kind": "marker", "thread": 1, "name": f"ProfilerStep#{i}", "start_ns": 100 * i, "end_ns": 100 * i + 100},
            {"kind": "marker", "thread": 1, "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "start_ns": 100 * i,
             "end_ns": 100 * i + 60},
            {"kind": "operator", "thread": 1, "name": "aten::mm", "start_ns": 100 * i + 60, "end_ns": 100 * i + 100},
        ]  # fmt: skip
    found = diagnose(slow.profile(rows))
    assert found.cause == "loader" and found.sentence.startswith("60 % of the time")
    assert diagnose(slow.profile([r for r in rows if r["kind"] == "operator"])).cause == "none"


def test_the_window_is_the_steps() -> None:
    """What ran before the first step and after the last is not counted."""
    run = simulate.training("cnn", GPU, steps=8)
    late = int(run.events["end_ns"].max()) + 10**9  # type: ignore[arg-type]
    rows = [{"kind": "dispatch", "device": 1, "name": "evaluation", "start_ns": late, "end_ns": late + 5}]
    import polars as pl

    more = Profile("test", pl.concat([run.events, slow.profile(rows).events], how="diagonal"), "test")
    assert diagnose(more).cause == "none"
    assert ask.window(more) == ask.window(run)


def test_words() -> None:
    assert of_time(0.624) == "62 % of the time" and of_time(0.0512) == "5.1 % of the time"
    assert listed(("a", "b", "c")) == "a, b and c" and listed(("a",)) == "a" and listed(()) == ""
