"""The benchmark of the live view runs in a real kernel, and its drawings really reach a client."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("ipykernel")


def test_the_view_is_watched_and_its_drawings_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    view = import_module("benchmarks.live_curve")
    found = view.measure("mlp", 2, 700)
    assert found["live"] and found["drawings_received"] >= 2
    assert len(found["pairs"]) == 2 and set(found["pairs"][0]) == {"bare", "again", "shown"}
    assert {"view_wall", "view_cpu", "same_twice_wall", "same_twice_cpu", "step_ms"} <= set(found)


def test_the_curve_s_clock_stands_still_during_the_bare_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    clock = import_module("benchmarks.live_curve").Paused()
    clock.stop()
    stopped = clock()
    sum(range(300_000))
    assert clock() == stopped
    clock.go_on()
    sum(range(300_000))
    assert clock() > stopped
