"""Databases: rocpd in its variants, RPD, rocprof v1's results.db, rocprof-compute's analysis, damage, and other programs'."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.profile.readers import rocpd as rocpd_reader
from labkit.profile.readers import sqlite
from labkit.profile.table import Profile

T = 812_000_000_000_100
AGENT = "id, guid, nid, type, absolute_index, logical_index, name, product_name, extdata"
SYMBOL = "id, kernel_name, display_name, sgpr_count, arch_vgpr_count, accum_vgpr_count"
DISPATCH = (
    "id INTEGER PRIMARY KEY, guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, "
    'queue_id, stream_id, start, "end", private_segment_size, group_segment_size, '
    "workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, "
    "grid_size_z, event_id"
)
COPY = 'id, pid, start, "end", name_id, dst_agent_id, src_agent_id, size, event_id'
REGION = 'id, pid, tid, start, "end", name_id, event_id'
EVENT = "id INTEGER PRIMARY KEY, category_id, stack_id, correlation_id"


def write(path: Path, tables: dict[str, tuple[str, Iterable[tuple[Any, ...]]]], views: Iterable[str] = ()) -> Path:
    connection = sqlite3.connect(path)
    for name, (columns, rows) in tables.items():
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
        for row in rows:
            connection.execute(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(row))})', row)
    for view in views:
        connection.execute(view)
    connection.commit()
    connection.close()
    return path


def rocpd(
    suffix: str = "", machine: str = "m", dispatches: int = 3, offset: int = 0
) -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    """The tables of one process: two GPUs, two kernels, a copy to the first GPU, a call, a marker."""
    rows = []
    for i in range(dispatches):
        start = T + offset + 100 * i
        row = (
            i + 1,
            "g",
            1,
            1,
            1,
            2 + i % 2,
            1 + i % 2,
            i,
            1,
            4,
            start,
            start + 60,
            0,
            512,
            64,
            1,
            1,
            640,
            2,
            1,
            i + 1,
        )
        rows.append(row)
    tables = {
        "rocpd_metadata": ("id, tag, value", [(1, "schema_version", "3")]),
        "rocpd_string": (
            "id, guid, string",
            [
                (1, "g", "KERNEL_DISPATCH"),
                (2, "g", "MARKER_CORE_API"),
                (3, "g", "hipLaunchKernel"),
                (4, "g", "step 1"),
                (5, "g", "MEMORY_COPY_HOST_TO_DEVICE"),
                (6, "g", "HIP_RUNTIME_API"),
            ],
        ),
        "rocpd_info_node": ("id, machine_id", [(1, machine)]),
        "rocpd_info_process": ("id, pid", [(1, 4001)]),
        "rocpd_info_thread": ("id, tid", [(1, 4002)]),
        "rocpd_info_agent": (
            AGENT,
            [
                (1, "g", 1, "CPU", 0, 0, "cpu", "EPYC", "{}"),
                (2, "g", 1, "GPU", 1, 1, "gfx942", "MI300X", '{"cu_count": 304}'),
                (3, "g", 1, "GPU", 2, 2, "gfx942", "MI300X", "{}"),
            ],
        ),
        "rocpd_info_kernel_symbol": (SYMBOL, [(1, "a.kd", "a(int)", 16, 32, 8), (2, "b.kd", "b(int)", 16, 64, 0)]),
        "rocpd_event": (
            EVENT,
            [*((i + 1, 1, i + 7, 0) for i in range(dispatches)), (900, 6, 7, 0), (901, 2, 0, 0), (902, 5, 99, 0)],
        ),
        "rocpd_kernel_dispatch": (DISPATCH, rows),
        "rocpd_memory_copy": (COPY, [(1, 1, T + 10, T + 20, 5, 2, 1, 4096, 902)]),
        "rocpd_region": (REGION, [(1, 1, 1, T - 50, T - 40, 3, 900), (2, 1, 1, T - 90, T + 900, 4, 901)]),
    }
    return {f"{name}{suffix}": table for name, table in tables.items()}


def names(profile: Profile, kind: str) -> list[str]:
    return profile.events.filter(pl.col("kind") == kind)["name"].cast(pl.String).to_list()


def test_rocpd_everything(tmp_path: Path) -> None:
    profile = sqlite.read(write(tmp_path / "a b#?.db", rocpd("_0000_1")), "x")
    assert (profile.kind, profile.version, profile.odd) == ("rocpd", "rocpd schema 3", ())
    assert [(d.index, d.gfx, d.name, d.compute_units) for d in profile.devices] == [
        (1, "gfx942", "MI300X", 304),
        (2, "gfx942", "MI300X", None),
    ]
    first = profile.dispatches.sort("start_ns").row(0, named=True)
    wanted = {
        "name": "a(int)",
        "device": 1,
        "queue": 1,
        "stream": 4,
        "correlation": 7,
        "start_ns": T,
        "end_ns": T + 60,
        "process": 4001,
        "thread": None,
    }
    assert {key: first[key] for key in wanted} == wanted
    assert (
        first["grid_x"],
        first["grid_y"],
        first["workgroup_x"],
        first["lds_bytes"],
        first["vgpr"],
        first["accum_vgpr"],
    ) == (640, 2, 64, 512, 32, 8)
    (copy,) = profile.of("copy").to_dicts()
    assert (copy["name"], copy["device"], copy["bytes"], copy["correlation"]) == (
        "MEMORY_COPY_HOST_TO_DEVICE",
        1,
        4096,
        99,
    )
    (call,) = profile.of("api").to_dicts()
    assert (call["name"], call["thread"], call["correlation"]) == ("hipLaunchKernel", 4002, 7)
    assert names(profile, "marker") == ["step 1"]


def test_rocpd_without_suffix_and_from_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "r.db", rocpd())
    for content in (path, str(path), path.read_bytes()):
        assert sqlite.read(content).dispatches.height == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.db"], "nothing is left beside it"


def test_several_processes_in_one_file(tmp_path: Path) -> None:
    same = sqlite.read(write(tmp_path / "s.db", {**rocpd("_a1"), **rocpd("_b2", offset=1000)}))
    assert same.dispatches.height == 6 and same.dispatches["device"].unique().sort().to_list() == [1, 2]
    other = sqlite.read(write(tmp_path / "o.db", {**rocpd("_a1"), **rocpd("_b2", machine="n")}))
    assert other.dispatches["device"].unique().sort().to_list() == [1, 2, 1001, 1002], "two machines' GPUs are not one"
    assert other.odd


def test_schema_drift(tmp_path: Path) -> None:
    tables = rocpd("_1")
    for missing in (
        "rocpd_event_1",
        "rocpd_region_1",
        "rocpd_memory_copy_1",
        "rocpd_info_process_1",
        "rocpd_info_node_1",
        "rocpd_metadata_1",
    ):
        del tables[missing]
    rows = [(1, 2, 1, T, T + 5, "new"), (2, 3, 2, T, T + 9, "new")]
    tables["rocpd_kernel_dispatch_1"] = (
        'id, agent_id, kernel_id, "start", "END", novelty',
        rows,
    )
    profile = sqlite.read(write(tmp_path / "d.db", tables))
    assert profile.dispatches.select("device", "start_ns", "end_ns").sort("device").rows() == [
        (1, T, T + 5),
        (2, T, T + 9),
    ]


def test_an_empty_table_and_times_that_cannot_be_right(tmp_path: Path) -> None:
    empty = sqlite.read(write(tmp_path / "e.db", rocpd("_1", dispatches=0)))
    assert empty.kind == "rocpd" and empty.dispatches.height == 0 and names(empty, "api")
    tables = rocpd("_1")
    columns, rows = tables["rocpd_kernel_dispatch_1"]
    wrong = [
        (*r[:10], 0, 0, *r[12:]) if i == 0 else (*r[:10], r[11], r[10], *r[12:]) if i == 1 else r
        for i, r in enumerate(rows)
    ]
    tables["rocpd_kernel_dispatch_1"] = (columns, wrong)
    profile = sqlite.read(write(tmp_path / "w.db", tables))
    assert (len(names(profile, "dispatch")), profile.dispatches.height) == (3, 1)
    assert "2 of" in profile.odd[0]


def test_only_the_view_of_kernels(tmp_path: Path) -> None:
    rows = [("k", 4, T, T + 9, 1, 2)]
    path = write(
        tmp_path / "v.db",
        {
            "kernels": (
                'name, agent_abs_index, start, "end", queue_id, grid_x',
                rows,
            )
        },
    )
    (row,) = sqlite.read(path).dispatches.to_dicts()
    assert (row["name"], row["device"], row["end_ns"] - row["start_ns"], row["grid_x"]) == ("k", 4, 9, 2)


def test_large_files_are_read_from_their_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "l.db", {**rocpd("_a1", dispatches=800), **rocpd("_b2", machine="n", dispatches=7)})
    plain = sqlite.read(path)
    monkeypatch.setattr(sqlite, "LARGE", 0)
    keys = ["kind", "device", "start_ns", "name"]
    frames = [p.events.with_columns(pl.col("name").cast(pl.String)).sort(keys) for p in (plain, sqlite.read(path))]
    assert frames[0].equals(frames[1]) and frames[0].height == 813


def test_the_summary_alone_counts_overlap_once(tmp_path: Path) -> None:
    tables = rocpd("_1", dispatches=4)
    columns, rows = tables["rocpd_kernel_dispatch_1"]
    spans = [(T, T + 10), (T, T + 30), (T + 5, T + 20), (T + 40, T + 45)]
    tables["rocpd_kernel_dispatch_1"] = (
        columns,
        [(*r[:10], *span, *r[12:]) for r, span in zip(rows, spans, strict=True)],
    )
    kernels, busy = rocpd_reader.summary(write(tmp_path / "s.db", tables))
    assert kernels.with_columns(pl.col("name").cast(pl.String)).rows() == [("b(int)", 2, 35), ("a(int)", 2, 25)]
    assert busy.rows() == [(1, 20, 45), (2, 35, 45)]
    with pytest.raises(LabkitError):
        rocpd_reader.summary(write(tmp_path / "n.db", {"notes": ("id", [])}))


def test_counters(tmp_path: Path) -> None:
    tables = rocpd("_1")
    tables["rocpd_info_pmc_1"] = ("id, name", [(1, "SQ_WAVES")])
    tables["rocpd_pmc_event_1"] = (
        "id, event_id, pmc_id, value",
        [(1, 2, 1, 5.0), (2, 2, 1, 7.0)],
    )
    counters = sqlite.read(write(tmp_path / "c.db", tables)).counters
    assert counters is not None and counters.rows() == [(1, "b(int)", "SQ_WAVES", 12.0)]


def test_rpd(tmp_path: Path) -> None:
    strings = enumerate(
        [
            "",
            "KernelExecution",
            "CopyHostToDevice",
            "my_kernel",
            "hipLaunchKernel",
            "hipMemcpy",
            "UserMarker",
            "epoch",
            "OpTable::writeRows",
        ],
        1,
    )
    tables = {
        "rocpd_string": ("id, string", list(strings)),
        "rocpd_op": (
            'id, gpuId, queueId, sequenceId, start, "end", description_id, opType_id',
            [(1, 0, 3, 0, T, T + 9, 4, 2), (2, 0, 3, 0, T + 20, T + 29, 1, 3)],
        ),
        "rocpd_api": (
            'id, pid, tid, start, "end", apiName_id, args_id',
            [
                (11, 5, 6, T - 9, T - 1, 5, 1),
                (12, 5, 6, T, T + 30, 6, 1),
                (13, 5, 6, T - 99, T + 99, 7, 8),
                (14, 5, 6, T, T + 1, 9, 1),
            ],
        ),
        "rocpd_api_ops": ("id, api_id, op_id", [(1, 11, 1), (2, 12, 2)]),
        "rocpd_kernelapi": (
            "api_ptr_id, stream, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ",
            [(11, "0x1f", 4, 1, 1, 64, 1, 1)],
        ),
        "rocpd_copyapi": ("api_ptr_id, stream, size", [(12, "0x2", 4096)]),
    }
    profile = sqlite.read(write(tmp_path / "x.rpd", tables))
    (kernel,), (copy,) = profile.dispatches.to_dicts(), profile.of("copy").to_dicts()
    assert (
        kernel["name"],
        kernel["device"],
        kernel["queue"],
        kernel["stream"],
        kernel["correlation"],
        kernel["grid_x"],
    ) == ("my_kernel", 0, 3, 31, 11, 256)
    assert (copy["name"], copy["bytes"], copy["stream"], copy["correlation"]) == ("CopyHostToDevice", 4096, 2, 12)
    assert sorted(names(profile, "api")) == ["hipLaunchKernel", "hipMemcpy"]
    assert (names(profile, "marker"), names(profile, "other")) == (["epoch"], ["OpTable::writeRows"])
    del tables["rocpd_api"], tables["rocpd_api_ops"], tables["rocpd_kernelapi"], tables["rocpd_copyapi"]
    assert sqlite.read(write(tmp_path / "y.rpd", tables)).dispatches.height == 1


V1 = '"BeginNs", "EndNs", "dev-id", "queue-id", "Name", "pid", "tid", "stream-id", "Index"'


def test_rocprof_v1(tmp_path: Path) -> None:
    host = '"BeginNs", "EndNs", "pid", "tid", "Name", "args", "Index"'
    tables = {
        "OPS": (V1, [(T, T + 9, 2, 0, "k", 5, 6, 1, 17)]),
        "COPY": (V1, [(T, T + 3, 2, 0, "CopyHostToDevice", 5, 6, 1, 3)]),
        "HIP": (host, [(T - 5, T - 1, 5, 6, "hipLaunchKernel", "", 17)]),
        "KERN": ('"Index", "KernelName"', []),
    }
    profile = sqlite.read(write(tmp_path / "v1.db", tables))
    assert profile.kind == "rocprof-v1" and [d.index for d in profile.devices] == [2]
    (row,) = profile.dispatches.to_dicts()
    assert (row["name"], row["device"], row["stream"], row["correlation"], row["thread"]) == ("k", 2, 1, 17, None)
    assert (names(profile, "copy"), names(profile, "api")) == (["CopyHostToDevice"], ["hipLaunchKernel"])
    csv = {
        "A": (
            '"Index", "KernelName", "gpu-id", "BeginNs", "EndNs", "DurationNs"',
            [(0, "k.kd", 1, T, T + 4, 4)],
        )
    }
    assert sqlite.read(write(tmp_path / "a.db", csv)).dispatches["device"].to_list() == [1]


def test_rocprof_compute(tmp_path: Path) -> None:
    tables = {
        "compute_dispatch": (
            "dispatch_uuid, kernel_uuid, dispatch_id, gpu_id, start_timestamp, end_timestamp",
            [(1, 7, 0, 3, T, T + 4)],
        ),
        "compute_kernel": ("kernel_uuid, kernel_name", [(7, "k")]),
        "compute_workload": (
            "workload_id, sys_info_extdata",
            [
                (
                    1,
                    '{"gpu_arch": "gfx950", "cu_per_gpu": 256, "wave_size": 64, "gpu_model": "MI350", "rocm_version": "7.3.0"}',
                )
            ],
        ),
        "compute_metadata": ("id, compute_version", [(1, "3.5.0")]),
    }
    profile = sqlite.read(write(tmp_path / "c.db", tables))
    assert (profile.kind, profile.version, names(profile, "dispatch")) == ("rocprof-compute", "3.5.0", ["k"])
    assert profile.extras["sysinfo"] == {
        "gpu_arch": "gfx950",
        "gpu_model": "MI350",
        "rocm_version": "7.3.0",
        "compute_units": 256,
    }
    assert [(d.index, d.gfx, d.compute_units) for d in profile.devices] == [(3, "gfx950", 256)]


def test_a_log_beside_the_database_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "r.db", rocpd())
    (tmp_path / "r.db-wal").write_bytes(b"x" * 100)
    assert "r.db-wal" in sqlite.read(path).odd[0]


def test_other_databases_and_damage(tmp_path: Path) -> None:
    other = write(tmp_path / "n.db", {"notes": ("id, body", [(1, "x")]), "rocpd_notes": ("id", [])})
    whole = write(tmp_path / "w.db", rocpd("_1", dispatches=400)).read_bytes()
    for content in (
        other,
        b"",
        b"SQLite format 3\x00",
        whole[:5000],
        whole[: len(whole) // 2],
        whole[:100] + bytes(len(whole) - 100),
    ):
        with pytest.raises(LabkitError):
            sqlite.read(content)
    with pytest.raises(LabkitError):
        sqlite.read(tmp_path / "missing.db")


def test_a_view_that_never_ends_is_given_up(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
    view = f"CREATE VIEW kernels AS {endless} SELECT 'k' AS name, 1 AS start, 2 AS \"end\", sum(n) AS queue_id FROM c"
    path = write(tmp_path / "e.db", {"x": ("id", [])}, [view])
    with pytest.raises(LabkitError), sqlite.opened(path) as database:
        database._left = 3
        database.take("kernels", {"queue": "queue_id"})


VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
    | st.binary(max_size=4)
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_value_raises_anything_else(tmp_path: Path, data: st.DataObject) -> None:
    tables = {}
    changes = data.draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 20), VALUES), max_size=6)
    )
    for number, (name, (columns, rows)) in enumerate(rocpd("_1").items()):
        kept = [list(row) for row in rows]
        for table, row, column, value in changes:
            if table == number and row < len(kept) and column < len(kept[row]):
                kept[row][column] = value
        plain = columns.replace(" INTEGER PRIMARY KEY", "")
        tables[name] = (plain, [tuple(row) for row in kept])
    path = tmp_path / "h.db"
    path.unlink(missing_ok=True)
    try:
        sqlite.read(write(path, tables))
    except LabkitError:
        pass


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_damage_raises_anything_else(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "whole.db"
    if not path.exists():
        write(path, rocpd("_1", dispatches=60))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(16, len(content) - 1))
        content[at : at + 3] = data.draw(st.binary(min_size=3, max_size=3))
    try:
        sqlite.read(bytes(content))
    except LabkitError:
        pass
