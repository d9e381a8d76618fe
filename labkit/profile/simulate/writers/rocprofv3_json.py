"""rocprofv3's results.json: ``rocprofiler-sdk-tool`` with agents, kernel symbols and buffer records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from labkit.profile.simulate.writers import files, rows
from labkit.profile.table import Profile

_HANDLE = 10_000  # an agent's handle is this plus its index: any number that is not its place in the list
_KINDS = {"api": 9, "marker": 6, "copy": 10, "dispatch": 11}
_BUFFERS = (
    "hsa_api", "rccl_api", "memory_allocation", "scratch_memory", "rocdecode_api", "rocjpeg_api", "pc_sample_host_trap",
    "pc_sample_stochastic",
)  # fmt: skip
_COPY_OPERATIONS = ("MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
                    "MEMORY_COPY_DEVICE_TO_DEVICE")  # fmt: skip


def _agent(a: dict[str, Any]) -> dict[str, Any]:
    gpu = a["type"] == "GPU"
    return {
        "size": 312, "id": {"handle": _HANDLE + a["index"]}, "type": 2 if gpu else 1, "cpu_cores_count": 0 if gpu else 16,
        "simd_count": 2 * a["cus"], "wave_front_size": a["wave"], "cu_count": a["cus"] or 16,
        "gfx_target_version": rows.target_version(a["gfx"]), "vendor_id": 4098 if gpu else 0, "device_id": 0, "name": a["gfx"],
        "vendor_name": "AMD" if gpu else "CPU", "product_name": a["name"], "model_name": "simulated", "node_id": a["index"],
        "logical_node_id": a["index"],
    }  # fmt: skip


def _symbols(kernels: pl.DataFrame) -> list[dict[str, Any]]:
    found = [{"kernel_id": 0, "kernel_name": "", "formatted_kernel_name": "0"}]
    for row in kernels.unique("kernel", keep="first", maintain_order=True).iter_rows(named=True):
        name = row["name"]
        found.append(
            {
                "size": 88, "kernel_id": row["kernel"], "code_object_id": 1, "kernel_name": f"{name}.kd", "kernel_object": 1,
                "kernarg_segment_size": 64, "kernarg_segment_alignment": 16, "group_segment_size": row["lds_bytes"],
                "private_segment_size": row["scratch_bytes"], "sgpr_count": row["sgpr"], "arch_vgpr_count": row["vgpr"],
                "accum_vgpr_count": row["accum_vgpr"], "formatted_kernel_name": name, "demangled_kernel_name": f"{name}.kd",
                "truncated_kernel_name": name.split("<")[0].split("(")[0],
            }
        )  # fmt: skip
    return found


def _record(row: dict[str, Any], kind: str, operation: int) -> dict[str, Any]:
    return {
        "size": 184, "kind": _KINDS[kind], "operation": operation, "thread_id": row["thread"],
        "correlation_id": {"internal": row["correlation"], "external": 0}, "start_timestamp": row["start_ns"],
        "end_timestamp": row["end_ns"],
    }  # fmt: skip


def _dispatch(row: dict[str, Any]) -> dict[str, Any]:
    info = {
        "size": 72, "agent_id": {"handle": _HANDLE + row["device"]}, "queue_id": {"handle": row["queue"]},
        "kernel_id": row["kernel"], "dispatch_id": row["dispatch"], "private_segment_size": row["scratch_bytes"],
        "group_segment_size": row["lds_bytes"], "workgroup_size": {x: row[f"workgroup_{x}"] for x in "xyz"},
        "grid_size": {x: row[f"grid_{x}"] for x in "xyz"},
    }  # fmt: skip
    return {**_record(row, "dispatch", 2), "dispatch_info": info, "stream_id": {"handle": row["stream"]}}


def _copy(row: dict[str, Any]) -> dict[str, Any]:
    operation = _COPY_OPERATIONS.index(row["name"]) if row["name"] in _COPY_OPERATIONS else 0
    here, cpu = {"handle": _HANDLE + row["device"]}, {"handle": _HANDLE}
    to_host = row["name"].endswith("DEVICE_TO_HOST")
    ends = {"dst_agent_id": cpu if to_host else here, "src_agent_id": here if to_host else cpu}
    return {
        **_record(row, "copy", operation),
        **ends,
        "bytes": row["bytes"] or 0,
        "stream_id": {"handle": row["stream"]},
    }


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """``NAME_results.json`` and the mark."""
    kernels = rows.dispatches(profile)
    apis, markers = rows.of_kind(profile, "api"), rows.of_kind(profile, "marker")
    functions = apis["name"].unique(maintain_order=True).to_list()
    number = {function: i for i, function in enumerate(functions)}
    buffers: dict[str, Any] = {
        "kernel_dispatch": [_dispatch(row) for row in kernels.iter_rows(named=True)],
        "hip_api": [_record(row, "api", number[row["name"]]) for row in apis.iter_rows(named=True)],
        "marker_api": [_record(row, "marker", 1) for row in markers.iter_rows(named=True)],
        "memory_copy": [_copy(row) for row in rows.of_kind(profile, "copy").iter_rows(named=True)],
    }
    buffers.update({buffer: [] for buffer in _BUFFERS})
    kinds = [{"kind": f"KIND_{i}", "operations": []} for i in range(12)]
    kinds[_KINDS["api"]] = {"kind": "HIP_RUNTIME_API", "operations": functions}
    kinds[_KINDS["marker"]] = {
        "kind": "MARKER_CORE_API",
        "operations": ["roctxMarkA", "roctxRangePushA", "roctxRangePop"],
    }
    kinds[_KINDS["copy"]] = {"kind": "MEMORY_COPY", "operations": list(_COPY_OPERATIONS)}
    kinds[_KINDS["dispatch"]] = {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]}
    messages = [
        {"key": row["correlation"], "value": row["name"]}
        for row in markers.select("correlation", "name").iter_rows(named=True)
    ]
    record = {
        "metadata": {
            "node": {"id": 0, "machine_id": "0" * 32, "system_name": "Linux", "hostname": "simulated", "release": "",
                     "version": "", "hardware_name": "x86_64", "domain_name": "(none)"},
            "pid": 4_000, "init_time": profile.events["start_ns"].min() or 0, "fini_time": profile.events["end_ns"].max() or 0,
            "command": ["simulated", "labkit", *(f"{k}={v}" for k, v in rows.about(profile).items() if k != "note")],
            "config": {"json_output": True, "kernel_rename": False},
        },
        "agents": [_agent(a) for a in rows.agents(profile)],
        "counters": [],
        "strings": {"callback_records": [], "buffer_records": kinds, "marker_api": messages,
                    "correlation_id": {"external": []}, "counters": {"dimension_ids": []}},
        "code_objects": [],
        "kernel_symbols": _symbols(kernels),
        "host_functions": [],
        "summary": [],
        "callback_records": {"counter_collection": []},
        "buffer_records": buffers,
    }  # fmt: skip
    text = json.dumps({"rocprofiler-sdk-tool": [record]}, separators=(",", ":"))
    return [files.write_text(folder / f"{name}_results.json", text), files.note(folder, rows.about(profile))]
