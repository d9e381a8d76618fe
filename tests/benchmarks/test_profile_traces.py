"""The benchmark of profiles runs in a tiny configuration, and what it says about results (not about times) holds."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    return import_module("benchmarks.profile_traces")


def test_all_ways_give_the_same_counts_and_the_same_busy_time(benchmark: Any, tmp_path: Path) -> None:
    options = ["--events", "1800", "--operator-events", "900", "--rounds", "1", "--output", str(tmp_path)]
    assert benchmark.main(options) == 0
    told = json.loads((tmp_path / "profile_traces.json").read_text(encoding="utf-8"))
    assert told["trace"]["same_calls"] and told["trace"]["same_busy"] and told["trace"]["kernels"] == 300
    assert "skipped" in told["trace"]["hta"], "what was not compared is said to be skipped"
    assert told["rocpd"]["same_calls"] and told["rocpd"]["same_kernels"]
    assert told["operators"]["equal"]


def test_the_trace_is_json_and_in_the_layout_of_kineto(benchmark: Any, tmp_path: Path) -> None:
    from benchmarks import profile_data
    from labkit.profile.readers import chrome

    kernels = profile_data.torch_trace(tmp_path / "t.json", 600)
    text = (tmp_path / "t.json").read_bytes()
    events = json.loads(text)["traceEvents"]
    assert sum(event.get("cat") == "kernel" for event in events) == kernels == 100
    begin = text.index(b'"traceEvents": [') + 16
    assert text[begin:].lstrip().startswith(chrome.LAYOUT)


def test_a_way_that_counts_otherwise_is_noticed(benchmark: Any) -> None:
    found = {"a": [{"calls": 3}, {"calls": 3}], "b": [{"calls": 3}, {"calls": 4}]}
    assert benchmark.same(found, "calls", ["a"]) and not benchmark.same(found, "calls", ["a", "b"])
    assert sys.modules["benchmarks.profile_traces"] is benchmark
