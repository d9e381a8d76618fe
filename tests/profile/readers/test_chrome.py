"""Traces of torch.profiler in all the forms in which they come."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from labkit.errors import LabkitError
from labkit.profile.readers import chrome, json_array, json_profiles
from labkit.profile.table import Profile

_spec = importlib.util.spec_from_file_location("chrome_writing", Path(__file__).with_name("chrome_writing.py"))
assert _spec is not None and _spec.loader is not None
writing = importlib.util.module_from_spec(_spec)
sys.modules["chrome_writing"] = writing
_spec.loader.exec_module(writing)
event, kernel, some, kineto, BASE = writing.event, writing.kernel, writing.some, writing.kineto, writing.BASE


def read(root: Any) -> Profile:
    return json_profiles.read(json.dumps(root).encode(), "t.json")


def rows(profile: Profile, kind: str = "dispatch") -> list[dict[str, Any]]:
    frame = profile.events.filter(pl.col("kind") == kind).with_columns(
        pl.col("name").cast(pl.String), pl.col("kind").cast(pl.String)
    )
    return frame.sort("start_ns").to_dicts()


def test_what_stands_in_args_and_what_does_not() -> None:
    profile = read({"traceEvents": [kernel("k", BASE, 1500, 3, correlation=9, grid=[4, 2, 1], block=[64, 1, 1])]})
    (row,) = rows(profile)
    assert profile.kind == "torch-trace"
    assert (row["device"], row["stream"], row["correlation"], row["thread"]) == (3, 7, 9, None)
    assert (row["start_ns"], row["end_ns"]) == (BASE, BASE + 1500)
    assert (row["grid_x"], row["grid_y"], row["workgroup_x"]) == (256, 2, 64), "groups times work items"
    bare = rows(read([{"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 5, "ts": 1, "dur": 2}]))[0]
    assert (bare["device"], bare["stream"], bare["start_ns"], bare["end_ns"]) == (2, 5, 1000, 3000)


def test_the_grid_of_functions_that_count_work_items_stays() -> None:
    call = event("cuda_runtime", "hipExtModuleLaunchKernel", BASE, 10, args={"correlation": 4})
    launched = kernel("Cijk", BASE + 50, 10, correlation=4, grid=[512, 1, 1], block=[256, 1, 1])
    assert rows(read({"traceEvents": [call, launched]}))[0]["grid_x"] == 512


@pytest.mark.parametrize(
    ("cat", "kind"),
    [
        ("kernel", "dispatch"),
        ("Kernel", "dispatch"),
        ("gpu_memcpy", "copy"),
        ("Memset", "copy"),
        ("cuda_runtime", "api"),
        ("cuda_driver", "api"),
        ("hip_runtime", "api"),
        ("Runtime", "api"),
        ("cpu_op", "operator"),
        ("Operator", "operator"),
        ("user_annotation", "marker"),
        ("gpu_user_annotation", "annotation"),
        ("python_function", "python"),
        ("overhead", "other"),
    ],
)
def test_categories_old_and_new(cat: str, kind: str) -> None:
    (found,) = rows(read([event(cat, "x", BASE, 10)]), kind)
    assert found["name"] == "x"
    assert (found["thread"] is None) == (kind in ("dispatch", "copy", "annotation"))


@pytest.mark.parametrize(
    ("ts", "dur", "start", "end"),
    [
        (1.5, 0.25, 1500, 1750),
        ("1.5", "0.25", 1500, 1750),
        (12, 3, 12_000, 15_000),
        ("12", 3, 12_000, 15_000),
        (1790857026000123.457, 1.001, None, None),  # a double has lost them; what it still says is used
        ("1790857026000123.457", "1.001", 1790857026000123457, 1790857026000124458),
        ("oops", 1, None, None),
        (None, 1, None, None),
        (5, None, 5000, None),
        (5, -1, 5000, None),
        (-5, 1, -5000, -4000),
    ],
)
def test_time_stamps(ts: Any, dur: Any, start: int | None, end: int | None) -> None:
    (row,) = rows(read([{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 0, "ts": ts, "dur": dur}]))
    if isinstance(ts, float) and ts > 1e12:
        assert abs(row["start_ns"] - ts * 1000) < 300
    else:
        assert (row["start_ns"], row["end_ns"]) == (start, end)


def test_no_nanosecond_is_lost() -> None:
    """Times of a clock that has run for months, and of an epoch, as Kineto prints them."""
    for base in (1_000_000, 8_700_000_000_000_001, 1_790_857_026_000_123_456):
        texts = [
            f'{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,"ts":{(base + i) // 1000}.{(base + i) % 1000:03d},"dur":0.001}}'
            for i in range(2000)
        ]
        found = json_profiles.read(f"[{','.join(texts)}]".encode())
        assert found.events["start_ns"].sort().to_list() == [base + i for i in range(2000)]
        assert (found.events["end_ns"] - found.events["start_ns"]).unique().to_list() == [1]


def test_devices_by_number_only_where_the_numbers_agree() -> None:
    two = [{"id": 0, "name": "A", "numSms": 10, "warpSize": 32}, {"id": 1, "name": "B", "numSms": 20, "warpSize": 32}]
    cuda = read({"deviceProperties": two, "traceEvents": [kernel("k", BASE, 1, 1)]})
    assert [(d.index, d.name, d.compute_units) for d in cuda.devices] == [(0, "A", 10), (1, "B", 20)]
    rocm = read({"roctracer_version": 4.1, "deviceProperties": two, "traceEvents": [kernel("k", BASE, 1, 1)]})
    assert {d.index: d.name for d in rocm.devices}[1] is None, "agents and devices are numbered differently"
    same = [{**two[0], "id": i} for i in range(2)]
    rocm = read({"roctracer_version": 4.1, "deviceProperties": same, "traceEvents": [kernel("k", BASE, 1, 2)]})
    assert {d.index: d.name for d in rocm.devices} == {0: "A", 1: "A", 2: "A"}


def test_metadata_before_and_behind_the_events() -> None:
    text = (
        '{"traceEvents": ['
        + json.dumps(kernel("k", BASE, 1))
        + '], "displayTimeUnit": "ms", "deviceProperties": [{"id": 0, "name": "A"}, {"id": 1}], "simulated": 1}'
    )
    found = json_profiles.read(text.encode())
    assert found.devices[0].name == "A" and found.simulated
    assert not read([kernel("k", BASE, 1)]).simulated


@pytest.mark.parametrize("piece", [64, 300, 5000])
@pytest.mark.parametrize("indent", [None, 1])
def test_pieces_change_nothing(piece: int, indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The array is cut in many places, also inside nested lists of objects and in names that look like cuts."""
    tricky = [event("cpu_op", 'a},{"ph": "X"}, {', BASE, 5, args={"x": [{"a": 1}, {"b": [{}, {}]}]})] * 30
    events = some(60) + tricky
    text = json.dumps({"traceEvents": events, "deviceProperties": [{"id": 0}, {"id": 1}]}, indent=indent).encode()
    whole = json_profiles.read(text)
    monkeypatch.setattr(json_array, "PIECE", piece)
    monkeypatch.setattr(json_array.Array.__init__, "__defaults__", (piece,))
    cut = json_profiles.read(text)
    assert whole.events.height == sum(e["ph"] == "X" for e in events)
    same(whole, cut)


def same(one: Profile, two: Profile) -> None:
    keys = ["kind", "start_ns", "end_ns", "thread", "name"]
    frames = [p.events.with_columns(pl.col("name").cast(pl.String)).sort(keys) for p in (one, two)]
    assert_frame_equal(*frames, check_column_order=False)
    assert one.devices == two.devices


@pytest.mark.parametrize("piece", [2000, 20_000, 1 << 20])
def test_by_columns_and_as_json_give_the_same(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = kineto(some(300))
    assert json.loads(text), "the fixture is JSON"
    plain = json_profiles.read(text)
    monkeypatch.setattr(chrome, "LARGE", 0)
    monkeypatch.setattr(chrome, "PIECE", piece)
    taken: list[int] = []
    parse = chrome.parse

    def watched(content: Any, first: int, behind: int) -> Any:
        found = parse(content, first, behind)
        assert found is not None
        taken.append(len(found.start))
        return found

    monkeypatch.setattr(chrome, "parse", watched)
    columns = json_profiles.read(text)
    if piece < len(text):
        assert sum(taken) > 300, "most events went by columns"
    same(plain, columns)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: {**e, "pid": "GPU 0"},
        lambda e: {**e, "tid": -1},
        lambda e: {k: v for k, v in e.items() if k != "args"},
        lambda e: {
            "ph": "X",
            "name": e["name"],
            "cat": e["cat"],
            **{k: e[k] for k in ("pid", "tid", "ts", "dur", "args")},
        },
        lambda e: {**e, "cat": "a_category_of_many_letters"},
        lambda e: {**e, "name": ""},
        lambda e: {**e, "args": {}},
    ],
)
def test_unexpected_events_among_the_expected(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [change(e) if i % 10 == 3 and e["ph"] == "X" else e for i, e in enumerate(some(100))]
    text = kineto(events)
    plain = json_profiles.read(text)
    monkeypatch.setattr(chrome, "LARGE", 0)
    monkeypatch.setattr(chrome, "PIECE", 8000)
    same(plain, json_profiles.read(text))


@pytest.mark.parametrize("piece", [3000, 1 << 20])
def test_a_trace_that_is_cut_off_is_no_trace(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = kineto(some(50))
    for large in (0, 1 << 30):
        monkeypatch.setattr(chrome, "LARGE", large)
        monkeypatch.setattr(chrome, "PIECE", piece)
        for length in (len(text) - 1, len(text) - 30, len(text) // 2, 400):
            with pytest.raises(LabkitError):
                json_profiles.read(text[:length])


@pytest.mark.parametrize(
    "root",
    [
        {},
        [],
        [1, 2],
        [{}],
        [{"a": 1}],
        {"a": {"traceEvents": [kernel("k", 1, 1)]}},
        {"a": '"traceEvents": [{}]'},
        {"traceEvents": []},
        {"traceEvents": [{"x": 1}]},
        {"traceEvents": {"ph": "X"}},
        {"traceEvents": None},
        {"cells": [], "nbformat": 4},
    ],
)
def test_other_json_is_refused(root: Any) -> None:
    with pytest.raises(LabkitError):
        read(root)


def test_flops_of_the_operators_with_shapes() -> None:
    args = {"Input Dims": [[4, 8], [8, 16]], "Concrete Inputs": ["", ""]}
    found = rows(
        read([event("cpu_op", "aten::mm", BASE, 5, args=args), event("cpu_op", "aten::add", BASE + 9, 5, args=args)]),
        "operator",
    )
    assert [row["flops"] for row in found] == [2 * 4 * 8 * 16, None]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.fixed_dictionaries(
    {
        "ph": st.sampled_from(["X", "X", "i", "B"]) | JSON,
        "cat": st.sampled_from(["kernel", "cpu_op", "gpu_memcpy"]) | JSON,
    },
    optional={
        "name": JSON,
        "pid": JSON,
        "tid": JSON,
        "ts": JSON,
        "dur": JSON,
        "args": st.dictionaries(
            st.sampled_from(["device", "stream", "correlation", "grid", "block", "bytes", "BeginNs", "Input Dims"]),
            JSON,
        )
        | JSON,
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(FIELDS | JSON, max_size=5), st.booleans())
def test_no_trace_raises_anything_else(events: list[Any], bare: bool) -> None:
    try:
        read(events if bare else {"traceEvents": events})
    except LabkitError:
        pass


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_raises_anything_else(data: st.DataObject) -> None:
    text = bytearray(kineto(some(5)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=5))
    old = chrome.LARGE, chrome.PIECE
    chrome.LARGE, chrome.PIECE = data.draw(st.sampled_from([(0, 1500), old]))
    try:
        json_profiles.read(bytes(text))
    except LabkitError:
        pass
    finally:
        chrome.LARGE, chrome.PIECE = old
