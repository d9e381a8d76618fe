"""The report of a run: its schema, its table, and that nothing personal is in it."""

from __future__ import annotations

import getpass
import json
import platform
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from labkit.course import report
from labkit.course.report import LessonError, LessonResult

STARTED = datetime(2026, 11, 30, 12, 0, 0, tzinfo=timezone(timedelta(hours=2)))
PASSED = LessonResult("01", "mnist", "MNIST", "passed", 12.3456, 20, 20, 600 * 2**20, 0, 0)
EXERCISE = LessonResult(
    "02",
    "cifar10",
    "CIFAR-10",
    "passed",
    20.0,
    30,
    30,
    None,
    1,
    7,
    None,
    {"profile": "quick", "seeds": 3, "folder": "/home/user/data"},
    True,
    "02_cifar10.ipynb",
    STARTED,
)
FAILED = LessonResult(
    "03",
    "mixed",
    "Mixed",
    "failed",
    3.0,
    2,
    30,
    5 * 2**20,
    0,
    0,
    LessonError("cell", "cell 4 failed. KeyError: 'x'", 4, "a"),
)


def test_the_schema() -> None:
    made = json.loads(json.dumps(report.as_json([PASSED, EXERCISE, FAILED], "quick", {"system": "Linux"}, STARTED)))
    assert set(made) == {
        *("schema", "version", "labkit", "profile", "started", "seconds", "workers", "status", "machine", "lessons")
    }
    assert (made["schema"], made["version"], made["status"], made["started"]) == (
        "rocm-labs-report",
        2,
        "failed",
        "2026-11-30T10:00:00Z",
    )
    assert set(made["lessons"][0]) == {
        "id",
        "name",
        "title",
        "status",
        "seconds",
        "cells",
        "cells_total",
        "peak_memory_bytes",
        "checks",
        "error",
        "parameters",
        "stand_in",
        "notebook",
        "executed",
    }
    assert made["lessons"][1]["parameters"] == {"profile": "quick", "seeds": 3, "folder": "(a path, left out)"}
    assert [row["stand_in"] for row in made["lessons"]] == [None, True, None]
    assert (made["lessons"][1]["notebook"], made["lessons"][1]["executed"]) == (
        "02_cifar10.ipynb",
        "2026-11-30T10:00:00Z",
    )
    assert made["lessons"][2]["notebook"] is None and made["lessons"][2]["executed"] is None
    assert made["lessons"][0]["seconds"] == 12.35
    assert made["lessons"][1]["checks"] == {"passed": 1, "todo": 7}
    assert made["lessons"][2]["error"] == {
        "kind": "cell",
        "message": "cell 4 failed. KeyError: 'x'",
        "cell": 4,
        "source": "a",
    }


def test_open_exercises_fail_nothing_and_an_empty_run_does() -> None:
    assert report.as_json([PASSED, EXERCISE], "quick", {}, STARTED)["status"] == "passed"
    assert report.as_json([], "quick", {}, STARTED)["status"] == "failed"


def test_the_table() -> None:
    text = report.as_text([PASSED, EXERCISE, FAILED], "quick")
    lines = text.splitlines()
    assert lines[0].split() == ["lesson", "cells", "seconds", "peak", "memory", "checks", "data", "result"]
    assert "600 MiB" in lines[2] and "12.3" in lines[2] and lines[2].endswith("passed")
    assert "1/8" in lines[3] and "wait for the learner" in text
    assert "stand-in" in lines[3] and "stand-in" not in lines[2] and "took its place" in text
    assert "  02_cifar10.ipynb  2026-11-30T10:00:00Z" in lines
    assert lines[4].endswith("FAILED (cell)") and "2/30" in lines[4]
    assert "03 Mixed: cell 4 failed. KeyError: 'x'" in text and "1 of 3 lessons failed" in text


@pytest.mark.parametrize("value", ["mnist", "3, 4", 0.5, 7, True, None])
def test_what_a_report_may_hold_stays(value: Any) -> None:
    assert report.shareable(value) == value


@pytest.mark.parametrize("value", ["/data/mnist", "~ann", r"C:\data", "data/mnist", ["/data"]])
def test_a_path_is_left_out(value: Any) -> None:
    assert report.shareable(value) == "(a path, left out)"


def test_machine_facts_name_torch_and_nobody() -> None:
    facts = report.machine_facts()
    assert facts["system"] == platform.system()
    assert (
        facts["torch"]["version"].startswith("2.")
        and facts["torch"]["build"] in ("rocm", "cuda", "cpu")
        and facts["torch"]["device"]
    )
    text = json.dumps(facts)
    assert str(Path.home()) not in text
    assert platform.node() == "" or platform.node() not in text
    assert getpass.getuser() not in text.replace("processor", "")


@pytest.mark.parametrize(
    "answer",
    [
        subprocess.CompletedProcess([], -11, "", "boom"),
        subprocess.CompletedProcess([], 0, "no json\n", ""),
        subprocess.TimeoutExpired("python", 1),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_a_torch_that_crashes_costs_one_line(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    def run(*_: Any, **__: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(report.subprocess, "run", run)
    facts = report.machine_facts()
    assert facts["torch"] is None and facts["torch_error"].endswith(".")


def test_both_files_are_written_whole(tmp_path: Path) -> None:
    report.write(tmp_path / "new", [PASSED], "quick", {}, STARTED)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["report.json", "report.txt"]
    assert json.loads((tmp_path / "new" / "report.json").read_text(encoding="utf-8"))["status"] == "passed"
