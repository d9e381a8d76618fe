"""The table that every reader makes."""

from __future__ import annotations

import polars as pl
import pytest

from labkit.profile.table import CORE, Device, Entry, Profile, combine, conform, empty, events, with_columns

pytestmark = pytest.mark.light


def test_core_columns_are_always_there_and_typed() -> None:
    table = events({"name": ["a"], "start_ns": [1], "end_ns": [2], "vgpr": [8]}, kind="dispatch")
    assert list(table.columns) == [*CORE, "vgpr"] and table.schema["vgpr"] == pl.Int32
    assert dict(empty().schema) == dict(CORE) and table["queue"].null_count() == 1


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        events({"colour": [1]})


def test_what_does_not_fit_is_null() -> None:
    assert conform(pl.DataFrame({"device": [2**40], "start_ns": ["x"]})).row(0) == (None,) * len(CORE)


def test_only_timed_events_are_asked() -> None:
    table = events({"name": ["a", "b"], "start_ns": [1, None], "end_ns": [2, 3]}, kind="dispatch")
    assert Profile("x", table, tool="t").dispatches.height == 1
    assert with_columns(table, ["lds_bytes"])["lds_bytes"].null_count() == 2


def test_files_of_one_run_become_one_profile() -> None:
    api = Profile(
        "rocprofv3-api-trace",
        events({"name": ["f"], "start_ns": [1], "end_ns": [2]}, kind="api"),
        tool="rocprofv3",
        sources=("a",),
    )
    agents = Profile("rocprofv3-agent-info", empty(), tool="rocprofv3", devices=(Device(4, "gfx942"),), odd=("x",))
    kernels = Profile(
        "rocprofv3-kernel-trace", events({"name": ["k"], "vgpr": [8]}, kind="dispatch"), tool="rocprofv3",
        devices=(Device(4),), sources=("k",),
        statistics={"kernels": (Entry("k", 1),)},
    )  # fmt: skip
    whole = combine([api, kernels, agents])
    assert (
        whole.kind == "rocprofv3-kernel-trace" and whole.devices == (Device(4, "gfx942"),) and whole.events.height == 2
    )
    assert whole.odd == ("x",) and whole.sources == ("a", "k") and whole.statistics["kernels"][0].name == "k"
    with pytest.raises(ValueError, match="nothing"):
        combine([])
