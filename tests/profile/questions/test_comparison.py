"""Before and after: matched by kernel, per step where the number of steps differs."""

from __future__ import annotations

import pytest

from labkit.profile import questions as ask
from labkit.profile import simulate
from tests.profile.questions import slow


def kernels(*took: tuple[str, int]) -> list[slow.Row]:
    return [
        {"kind": "dispatch", "device": 0, "name": name, "start_ns": 1_000 * i, "end_ns": 1_000 * i + ns}
        for i, (name, ns) in enumerate(took)
    ]


def test_kernel_by_kernel() -> None:
    found = ask.compare(
        slow.profile(kernels(("a", 100), ("b", 10), ("a", 100))), slow.profile(kernels(("a", 50), ("c", 7)))
    )
    assert found.kernels.select(
        "name", "before_count", "after_count", "before_ns", "after_ns", "ratio", "delta_ns", "status"
    ).rows() == [
        ("a", 2, 1, 200, 50, 0.25, -150, "both"),
        ("b", 1, None, 10, None, None, -10, "vanished"),
        ("c", None, 1, None, 7, None, 7, "new"),
    ]
    assert found.step_ratio is None and not found.per_step


def test_a_mended_run() -> None:
    sick = simulate.training("cnn", "Radeon RX 7900 XTX", "synchronising", steps=6)
    well = simulate.training("cnn", "Radeon RX 7900 XTX", steps=12)
    found = ask.compare(sick, well)
    assert found.per_step and found.step_ratio is not None and found.step_ratio < 0.7
    assert found.before.idle_share is not None and found.after.idle_share is not None
    assert found.after.idle_share < found.before.idle_share / 3
    both = found.kernels.filter(found.kernels["status"] == "both")
    assert both["ratio"].to_list() == pytest.approx(
        [1.0] * both.height, abs=0.15
    )  # the kernels themselves did not change


def test_a_profile_with_itself() -> None:
    run = simulate.training("mlp", "Radeon RX 7600", steps=3)
    found = ask.compare(run, run)
    assert (
        found.step_ratio == 1.0 and set(found.kernels["delta_ns"]) == {0} and set(found.kernels["status"]) == {"both"}
    )
