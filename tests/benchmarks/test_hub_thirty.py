"""The benchmark of a class that comes to the hub, with a class of two."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the hub works on Linux only", allow_module_level=True)

from benchmarks import hub_thirty


def test_a_class_of_two_gets_its_servers_and_what_they_take_is_told(tmp_path: Path) -> None:
    assert hub_thirty.main(["--rounds", "1", "--learners", "2", "--gpus", "1", "--output", str(tmp_path)]) == 0
    told = json.loads((tmp_path / "hub_thirty.json").read_text(encoding="utf-8"))
    (only,) = told["rounds"]
    assert (only["with_a_gpu"], only["failed"]) == (1, [])
    assert only["uses"]["servers"]["processes"] == 2
    assert only["uses"]["hub"]["cpu_s"] > 0
    assert 0 < only["ready_first_s"] <= only["ready_median_s"] <= only["ready_last_s"]
    assert told["seconds"]["ready_last_s"]["n"] == 1
