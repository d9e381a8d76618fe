"""Many events by repetition: as many as asked for, in order, the same as a run written whole."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.profile import simulate
from labkit.profile.simulate import many


def test_repeat_counts_on() -> None:
    run = simulate.training("mlp", "Radeon RX 7600", steps=2)
    twice = simulate.repeat(run, 2 * run.events.height)
    assert twice.events.height == 2 * run.events.height and twice.simulated
    work = twice.dispatches.sort("start_ns")
    assert work["correlation"].n_unique() == work.height == 2 * run.dispatches.height
    for _, rows in work.group_by("stream"):
        assert (rows.sort("start_ns")["start_ns"][1:] >= rows.sort("start_ns")["end_ns"][:-1]).all()
    assert simulate.repeat(run, 7).events.height == 7
    with pytest.raises(LabkitError):
        simulate.repeat(run, 0)


def test_large_csv_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_CHUNK", 1000)
    path = simulate.large(5_001, tmp_path, model="mlp")[0]
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert len(rows) == 5_001 and len({row["Correlation_Id"] for row in rows}) == 5_001
    starts = [int(row["Start_Timestamp"]) for row in rows]
    assert starts == sorted(starts) and [int(row["Dispatch_Id"]) for row in rows] == list(range(1, 5_002))


def test_large_trace_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_CHUNK", 3_000)
    path = simulate.large(10_000, tmp_path, "torch-trace", model="mlp")[0]
    events = [e for e in json.loads(path.read_text(encoding="utf-8"))["traceEvents"] if e["ph"] == "X"]
    assert len(events) >= 10_000
    operators = [e["args"]["External id"] for e in events if e["cat"] == "cpu_op"]
    assert len(set(operators)) == len(operators)
    kernels = [e for e in events if e["cat"] == "kernel"]
    assert len({e["args"]["correlation"] for e in kernels}) == len(kernels)


def test_other_forms_are_written_whole(tmp_path: Path) -> None:
    path = simulate.large(500, tmp_path, "rpd", model="mlp")[0]
    db = sqlite3.connect(path)
    ((found,),) = db.execute("SELECT count(*) FROM kernel").fetchall()
    db.close()
    assert found >= 500
    with pytest.raises(LabkitError):
        simulate.large(500, tmp_path, "nsys")
