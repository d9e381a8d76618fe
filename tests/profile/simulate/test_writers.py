"""The files: their headers and names as the tools write them, the mark, whole or not at all, the same every time."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.profile import simulate
from labkit.profile.table import Profile

KERNEL_TRACE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
)
API_TRACE = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
STATISTICS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"'
COPIES = '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
AGENTS = (
    '"Node_Id","Logical_Node_Id","Agent_Type","Cpu_Cores_Count","Simd_Count","Cu_Count","Gfx_Target_Version","Vendor_Id",'
    '"Device_Id","Name","Vendor_Name","Product_Name","Model_Name"'
)


@pytest.fixture(scope="module")
def run() -> Profile:
    return simulate.training("cnn", "Instinct MI210", "copies", steps=3, seed=4)


def first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0]


def test_rocprofv3_headers(run: Profile, tmp_path: Path) -> None:
    simulate.write(run, tmp_path)
    headers = {
        "kernel_trace": KERNEL_TRACE, "hip_api_trace": API_TRACE, "marker_api_trace": API_TRACE, "kernel_stats": STATISTICS,
        "hip_api_stats": STATISTICS, "domain_stats": STATISTICS, "memory_copy_trace": COPIES, "agent_info": AGENTS,
    }  # fmt: skip
    for name, header in headers.items():
        assert first_line(tmp_path / f"simulated_{name}.csv") == header, name
    rows = list(csv.DictReader((tmp_path / "simulated_kernel_trace.csv").open(encoding="utf-8")))
    assert len(rows) == run.dispatches.height and {row["Agent_Id"] for row in rows} == {"Agent 1"}
    product = list(csv.DictReader((tmp_path / "simulated_agent_info.csv").open(encoding="utf-8")))[1]
    assert product["Product_Name"] == "simulated Instinct MI210" and product["Gfx_Target_Version"] == "90010"
    stats = list(csv.DictReader((tmp_path / "simulated_kernel_stats.csv").open(encoding="utf-8")))
    assert sum(int(row["Calls"]) for row in stats) == run.dispatches.height
    assert sum(float(row["Percentage"]) for row in stats) == pytest.approx(100, abs=1)


def test_older_and_converted_columns(run: Profile, tmp_path: Path) -> None:
    simulate.write(run, tmp_path / "old", "rocprofv3-csv-old")
    header = first_line(tmp_path / "old" / "simulated_kernel_trace.csv")
    assert "Stream_Id" not in header and "Private_Segment_Size" in header and "VGPR" not in header
    simulate.write(run, tmp_path / "guid", "rocpd-csv")
    assert first_line(tmp_path / "guid" / "out_kernel_trace.csv") == '"Guid",' + KERNEL_TRACE


def test_rocpd_tables_and_views(run: Profile, tmp_path: Path) -> None:
    path = simulate.write(run, tmp_path, "rocpd")[0]
    with sqlite3.connect(path) as db:
        ask = lambda text: db.execute(text).fetchall()  # noqa: E731
        tables = [name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert any(name.startswith("rocpd_kernel_dispatch_") for name in tables)
        assert ask("SELECT count(*) FROM kernels") == [(run.dispatches.height,)]
        assert ask("SELECT count(*) FROM memory_copies") == [(run.of("copy").height,)]
        assert ask("SELECT count(*) FROM regions") == [(run.of("api", "marker").height,)]
        assert ask("SELECT sum(total_calls) FROM top_kernels") == [(run.dispatches.height,)]
        ((busy,),) = ask("SELECT Busy FROM busy WHERE type = 'GPU'")
        assert 0 < busy < 2
        assert ask("SELECT value FROM rocpd_metadata WHERE tag = 'simulated'") == [("1",)]
        for (view,) in ask("SELECT name FROM sqlite_master WHERE type = 'view'"):
            db.execute(f'SELECT * FROM "{view}" LIMIT 1').fetchall()  # every view can be asked
        row = db.execute("SELECT * FROM kernels LIMIT 1")
        columns = [c[0] for c in row.description]
        assert columns[:6] == ["id", "guid", "tid", "category", "region", "name"] and columns[-1] == "corr_id"
    db.close()


def test_torch_traces(run: Profile, tmp_path: Path) -> None:
    plain = json.loads(simulate.write(run, tmp_path / "a", "torch-trace")[0].read_text(encoding="utf-8"))
    packed = json.loads(gzip.decompress(simulate.write(run, tmp_path / "b", "torch-trace-gz")[0].read_bytes()))
    assert plain == packed and plain["simulated"] == 1
    assert plain["deviceProperties"][0]["name"] == "simulated Instinct MI210"
    events = [e for e in plain["traceEvents"] if e["ph"] == "X"]
    assert sum(e["cat"] == "kernel" for e in events) == run.dispatches.height
    assert {"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"} <= {e["name"] for e in events}
    assert any(e["name"].startswith("enumerate(DataLoader)") for e in events)
    # a kernel's External id is that of the operator around its launch
    operators = {e["args"]["External id"]: e for e in events if e["cat"] == "cpu_op"}
    launches = {e["args"]["correlation"]: e for e in events if e["cat"] == "cuda_runtime"}
    inside = 0
    for e in events:
        if e["cat"] == "kernel" and e["args"]["External id"]:
            operator, launch = operators[e["args"]["External id"]], launches[e["args"]["correlation"]]
            assert (
                operator["ts"] <= launch["ts"]
                and launch["ts"] + launch["dur"] <= operator["ts"] + operator["dur"] + 0.001
            )
            inside += 1
    assert inside > 0.9 * run.dispatches.height
    cuda = json.loads(simulate.write(run, tmp_path / "c", "torch-trace-cuda")[0].read_text(encoding="utf-8"))
    assert not any(e.get("cat") == "cuda_runtime" and e["name"].startswith("hip") for e in cuda["traceEvents"])


@pytest.mark.parametrize("form", simulate.FORMS)
def test_marked_and_the_same_every_time(form: str, run: Profile, tmp_path: Path) -> None:
    one, two = (simulate.write(run, tmp_path / folder, form) for folder in ("a", "b"))
    assert [p.name for p in one] == [p.name for p in two] and "SIMULATED.txt" in {p.name for p in one}
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(one, two, strict=True))
    assert "no GPU made these files" in (tmp_path / "a" / "SIMULATED.txt").read_text(encoding="utf-8")
    assert not list((tmp_path / "a").glob("*.tmp"))


def test_whole_or_not_at_all(run: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "simulated_results.json"
    path.write_text("what was there", encoding="utf-8")

    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        real(self, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(LabkitError, match="No space"):
        simulate.write(run, tmp_path, "rocprofv3-json")
    assert path.read_text(encoding="utf-8") == "what was there" and not list(tmp_path.glob("*.tmp"))


def test_no_such_form(run: Profile, tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="form"):
        simulate.write(run, tmp_path, "nsys")
