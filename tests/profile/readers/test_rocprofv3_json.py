"""rocprofv3's and rocprof v1's results.json."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.profile.readers import json_profiles
from labkit.profile.table import Profile

T = 63_855_948_165_371


def agent(handle: int, node: int, gpu: bool = True) -> dict[str, Any]:
    common = {"id": {"handle": handle}, "node_id": node, "logical_node_id": node}
    if not gpu:
        return {**common, "type": 1, "name": "AMD EPYC", "product_name": "AMD EPYC"}
    return {**common, "type": 2, "name": "gfx942", "product_name": "MI300X", "cu_count": 304, "wave_front_size": 64}


def dispatch(number: int, handle: int, start: int, length: int) -> dict[str, Any]:
    info = {
        "agent_id": {"handle": handle},
        "queue_id": {"handle": 3},
        "kernel_id": 5,
        "dispatch_id": number,
        "group_segment_size": 512,
        "private_segment_size": 0,
        "workgroup_size": {"x": 64, "y": 1, "z": 1},
        "grid_size": {"x": 640, "y": 2, "z": 1},
    }
    when = {"start_timestamp": start, "end_timestamp": start + length}
    ids = {"thread_id": 9, "correlation_id": {"internal": number, "external": 0}, "stream_id": {"handle": 2}}
    return {"kind": 11, "operation": 2, **when, **ids, "dispatch_info": info}


def call(kind: int, operation: int, number: int, **more: Any) -> dict[str, Any]:
    ids = {"thread_id": 9, "correlation_id": {"internal": number, "external": 0}}
    return {"kind": kind, "operation": operation, "start_timestamp": T, "end_timestamp": T + 5, **ids, **more}


def tool(**records: Any) -> dict[str, Any]:
    """One process: a CPU and two GPUs."""
    kinds = [
        {"kind": "NONE", "operations": []},
        {"kind": "HIP_RUNTIME_API", "operations": ["hipInit", "hipLaunchKernel"]},
    ]
    kinds += [{"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]}]
    kinds += [{"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]}]
    kernel = {
        "kernel_id": 5,
        "kernel_name": "_Z1kv.kd",
        "formatted_kernel_name": "k()",
        "arch_vgpr_count": 32,
        "sgpr_count": 16,
    }
    return {
        "metadata": {"pid": 77, "command": ["python3", "train.py"]},
        "agents": [agent(100, 0, gpu=False), agent(101, 1), agent(102, 2)],
        "counters": [{"id": {"handle": 6}, "name": "SQ_WAVES"}],
        "strings": {"buffer_records": kinds, "marker_api": [{"key": 30, "value": "step 1"}]},
        "kernel_symbols": [kernel],
        "buffer_records": records,
        "callback_records": {"counter_collection": records.get("counter_collection", [])},
    }


def read(*tools: Any) -> Profile:
    return json_profiles.read(json.dumps({"rocprofiler-sdk-tool": list(tools)}).encode(), "r.json")


def test_every_kind_of_record() -> None:
    profile = read(
        tool(
            kernel_dispatch=[dispatch(1, 101, T, 10), dispatch(2, 102, T + 5, 10)],
            hip_api=[call(1, 1, 1)],
            marker_api=[call(2, 0, 30)],
            memory_copy=[call(3, 1, 8, src_agent_id={"handle": 100}, dst_agent_id={"handle": 102}, bytes=4096)],
        )
    )
    assert profile.kind == "rocprofv3-json" and not profile.odd
    assert [(d.index, d.gfx, d.name, d.compute_units, d.wavefront_size) for d in profile.devices] == [
        (1, "gfx942", "MI300X", 304, 64),
        (2, "gfx942", "MI300X", 304, 64),
    ]
    first = profile.dispatches.sort("start_ns").row(0, named=True)
    wanted = {"name": "k()", "device": 1, "queue": 3, "stream": 2, "correlation": 1, "dispatch": 1, "process": 77}
    sizes = {"grid_x": 640, "grid_y": 2, "workgroup_x": 64, "lds_bytes": 512, "vgpr": 32, "sgpr": 16}
    assert {key: first[key] for key in (*wanted, *sizes)} == {**wanted, **sizes}
    (launch,), (mark,), (copy,) = (profile.of(kind).to_dicts() for kind in ("api", "marker", "copy"))
    assert (launch["name"], launch["thread"], launch["correlation"]) == ("hipLaunchKernel", 9, 1)
    assert mark["name"] == "step 1"
    assert (copy["name"], copy["device"], copy["bytes"]) == ("MEMORY_COPY_HOST_TO_DEVICE", 2, 4096)


def test_counters_of_a_dispatch_are_summed_over_their_instances() -> None:
    values = [{"counter_id": {"handle": 6}, "value": 3.0}, {"counter_id": {"handle": 6}, "value": 4.0}]
    record = {"dispatch_data": {"dispatch_info": {"dispatch_id": 1, "kernel_id": 5}}, "records": values}
    found = read(tool(kernel_dispatch=[dispatch(1, 101, T, 10)], counter_collection=[record])).counters
    assert found is not None and found.rows() == [(1, "k()", "SQ_WAVES", 7.0)]


def test_times_that_cannot_be_right_and_unknown_kernels() -> None:
    odd = dispatch(3, 101, T, -5)
    odd["dispatch_info"]["kernel_id"] = 99
    profile = read(tool(kernel_dispatch=[dispatch(1, 101, 0, 0), odd]))
    assert profile.dispatches.height == 0 and "2 of 2" in profile.odd[0]
    assert set(profile.events["name"].cast(pl.String)) == {"k()", "kernel 99"}


def test_an_empty_run_is_a_profile_and_another_tool_is_none() -> None:
    assert read(tool()).events.height == 0
    for root in ({"rocprofiler-sdk-tool": []}, {"rocprofiler-sdk-tool": 3}, {"a": {"rocprofiler-sdk-tool": [tool()]}}):
        with pytest.raises(LabkitError):
            json_profiles.read(json.dumps(root).encode())


JSON = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["handle", "x", "kind", "id"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nothing_raises_anything_else(data: st.DataObject) -> None:
    whole = tool(kernel_dispatch=[dispatch(1, 101, T, 10)], hip_api=[call(1, 1, 1)], memory_copy=[call(3, 1, 8)])
    for _ in range(data.draw(st.integers(1, 3))):
        here: Any = whole
        while True:
            key = (
                data.draw(st.sampled_from(sorted(here)))
                if isinstance(here, dict)
                else data.draw(st.integers(0, len(here) - 1))
            )
            if isinstance(here[key], (dict, list)) and here[key] and data.draw(st.integers(0, 3)):
                here = here[key]
                continue
            here[key] = data.draw(JSON)
            break
    try:
        read(whole)
    except LabkitError:
        pass


def v1(name: str, pid: str, begin: int, length: int, **args: str) -> dict[str, Any]:
    more = {"BeginNs": str(begin), "EndNs": str(begin + length), "pid": "517", "tid": "518", **args}
    return {"ph": "X", "name": name, "pid": pid, "tid": "1", "ts": str(begin // 1000), "dur": "0", "args": more}


@pytest.mark.parametrize("named", [True, False])
def test_rocprof_v1_takes_the_times_of_args(named: bool) -> None:
    labels = {"1": "COPY", "2": "CPU HIP API", "8": "GPU2"}
    gpu = {"dev-id": "2", "queue-id": "0", "stream-id": "1"}
    events: list[Any] = [{}]
    if named:
        events += [{"args": {"name": n}, "ph": "M", "pid": int(p), "name": "process_name"} for p, n in labels.items()]
    events += [
        v1("k", "8", T, 7, **gpu),
        v1("CopyHostToDevice", "1", T, 3, **gpu),
        v1("hipMalloc", "2", T, 1),
        {"ph": "s", "ts": 1},
    ]
    profile = json_profiles.read(json.dumps({"traceEvents": events, "otherData": {}}).encode())
    assert profile.kind == "rocprof-v1"
    (kernel,), (copy,), (api,) = (profile.of(kind).to_dicts() for kind in ("dispatch", "copy", "api"))
    assert (kernel["name"], kernel["device"], kernel["stream"], kernel["end_ns"] - kernel["start_ns"]) == ("k", 2, 1, 7)
    assert (copy["name"], api["name"], api["thread"], api["device"]) == ("CopyHostToDevice", "hipMalloc", 518, None)
