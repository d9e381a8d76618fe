"""A snapshot of the real allocator becomes the same values as the simulation's."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.errors import LabkitError
from labkit.memory import segments
from labkit.memory.segments import from_snapshot, totals

SNAPSHOT: list[dict[str, Any]] = [
    {
        "device": 0, "address": 9000, "total_size": 100, "segment_type": "large", "is_expandable": True,
        "blocks": [{"size": 60, "state": "active_allocated"}, {"size": 40, "state": "inactive"}],
    },
    {
        "device": 0, "address": 1000, "total_size": 20, "segment_type": "small",
        "blocks": [{"size": 5, "state": "active_pending_free"}, {"size": 15, "state": "inactive"}],
    },
]  # fmt: skip


def test_a_snapshot_is_read_in_the_order_of_addresses() -> None:
    found = from_snapshot(SNAPSHOT)
    assert [(s.kind, s.expandable, s.reserved, s.allocated, s.largest_free) for s in found] == [
        ("small", False, 20, 5, 15),
        ("large", True, 100, 60, 40),
    ]
    assert totals(found) == (120, 65, 40) and totals(()) == (0, 0, 0)


def test_without_a_gpu_it_points_to_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(LabkitError, match="simulation"):
        segments()


def test_only_the_wanted_gpu_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.current_device", lambda: 0)
    monkeypatch.setattr("torch.cuda.memory_snapshot", lambda: [*SNAPSHOT, {**SNAPSHOT[0], "device": 1}])
    assert len(segments()) == 2 and len(segments("cuda:1")) == 1
