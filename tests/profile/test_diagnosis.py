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


def kernels(count: int, *, every: int = 20_000, took: int = 15_000, at: int = 0) -> list[Row]:
    return [
        {"kind": "dispatch", "device": 1, "name": "a", "start_ns": at + every * i, "end_ns": at + every * i + took}
        for i in range(count)
    ]


def test_a_single_pause_is_told_by_itself() -> None:
    rows = [*kernels(30), *kernels(30, at=5_000_000_000)]
    first = diagnose(slow.profile(rows)).observations[0]
    assert first.startswith("A single pause of 5.00 s is 100 % of all idle time.") and "computing 76 %" in first
    assert not any("pause" in line for line in diagnose(slow.profile(kernels(60))).observations)


def test_files_that_have_no_time_in_common_are_suspected() -> None:
    rows = [*kernels(30), *kernels(30, at=5 * 3_600_000_000_000)]
    p = slow.profile(rows)
    several = Profile(p.kind, p.events, p.tool, sources=("a.csv", "b.csv"))
    assert any("different runs" in line for line in diagnose(several).observations)
    assert not any("different runs" in line for line in diagnose(p).observations)


def test_one_kernel_says_nothing_about_busy_and_a_few_little() -> None:
    alone = diagnose(slow.profile(kernels(1)))
    assert alone.sentence.startswith("A single kernel (15.0 µs)") and not alone.shares and not alone.certain
    assert any("Only 4 kernels" in line for line in diagnose(slow.profile(kernels(4))).observations)
    assert not any("Only" in line for line in diagnose(slow.profile(kernels(40))).observations)


def test_copies_before_the_first_kernel_are_not_forgotten() -> None:
    copy: Row = {"kind": "copy", "device": 1, "name": "CopyHostToDevice", "start_ns": -9_000_000, "end_ns": -1_000_000}
    assert any(
        "Copies take 8.00 ms before" in line for line in diagnose(slow.profile([*kernels(40), copy])).observations
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Memcpy DtoD (Device -> Device)", "its own memory"),
        ("MEMORY_COPY_DEVICE_TO_DEVICE", "its own memory"),
        ("Memset (Device)", "its own memory"),
        ("FillBuffer", "its own memory"),
        ("Memcpy HtoD (Pinned -> Device)", "between host and device"),
        ("MEMORY_COPY_DEVICE_TO_HOST", "between host and device"),
        ("CopyDeviceToHost", "between host and device"),
    ],
)
def test_copies_within_the_gpu_are_no_wait_for_the_host(name: str, words: str) -> None:
    rows = kernels(30, every=100_000)
    rows += [
        {"kind": "copy", "device": 1, "name": name, "start_ns": 100_000 * i + 20_000, "end_ns": 100_000 * i + 90_000}
        for i in range(30)
    ]
    found = diagnose(slow.profile(rows))
    assert found.cause == "copies" and words in found.sentence


def test_python_stacks_are_said_to_slow_the_host() -> None:
    run = simulate.training("cnn", GPU, "launch-bound", steps=5)
    assert not any("with_stack" in line for line in diagnose(run).observations)
    stack: Row = {"kind": "python", "thread": 4_000, "name": "train.py(3): step", "start_ns": 0, "end_ns": 1}
    import polars as pl

    more = Profile("test", pl.concat([run.events, slow.profile([stack]).events], how="diagonal"), "test")
    assert any("with_stack" in line for line in diagnose(more).observations)


def test_a_launch_of_milliseconds_is_named_without_markers() -> None:
    """The host's call is recorded, so the reason is known: the code of each kernel is loaded at its first launch."""
    rows: list[Row] = []
    for i in range(1, 31):
        begin = 10_000_000 * i
        rows += [
            {"kind": "api", "thread": 1, "name": "hipLaunchKernel", "correlation": i, "start_ns": begin - 8_000_000, "end_ns": begin},
            {"kind": "dispatch", "device": 1, "name": f"k{i}", "correlation": i, "start_ns": begin, "end_ns": begin + 900_000},
            {"kind": "copy", "device": 1, "name": "HtoD", "start_ns": begin, "end_ns": begin + 1},
        ]  # fmt: skip
    found = diagnose(slow.profile(rows))
    assert "hipLaunchKernel" in found.sentence and "cannot be known" not in found.sentence
    assert found.advice == ADVICE["loading code"] and not any("hipLaunchKernel" in line for line in found.observations)


def test_a_repeating_pattern_is_not_called_a_step() -> None:
    run = simulate.training("cnn", GPU, steps=8)
    bare = diagnose(Profile("test", run.of("dispatch", "api", "copy"), "test"))
    assert not any(line.startswith("A step takes") for line in bare.observations)
    assert any("kernels return in the same order" in line for line in bare.observations)


def test_calls_alone_ask_for_the_other_files_of_the_run() -> None:
    run = simulate.training("cnn", GPU, steps=2)
    found = diagnose(Profile("test", run.of("api"), "test"))
    assert found.advice == ADVICE["no kernel"] and "kernels" in found.missing


def test_a_run_on_the_cpu_tells_its_steps() -> None:
    rows: list[Row] = []
    for i in range(4):
        begin = 1_000_000 * i
        rows += [
            {"kind": "marker", "thread": 1, "name": f"step {i}", "start_ns": begin, "end_ns": begin + 1_000_000},
            {"kind": "marker", "thread": 1, "name": "load", "start_ns": begin, "end_ns": begin + 100_000},
            {"kind": "operator", "thread": 1, "name": "aten::mm", "start_ns": begin + 200_000, "end_ns": begin + 700_000},
            {"kind": "operator", "thread": 1, "name": "aten::_local_scalar_dense", "start_ns": begin + 800_000,
             "end_ns": begin + 900_000},
        ]  # fmt: skip
    found = diagnose(slow.profile(rows))
    assert found.cause == "none" and [item.value for item in found.evidence] == [
        pytest.approx(5 / 6),
        pytest.approx(0.1),
    ]
    words = " ".join(found.observations)
    assert (
        "A step takes 1 ms" in words
        and "Operators run in 60 %" in words
        and "per step (.item(), float(t), print): 1." in words
    )
