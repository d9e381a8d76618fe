"""Columns and lines that other releases of the tools write: each must be known by what it is, and say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit.errors import LabkitError
from labkit.profile.facts import facts
from labkit.profile.readers import look, read_bytes

pytestmark = pytest.mark.light

GUID = "0000abcd-0000-7000-8000-00000000beef"


def told(text: str) -> dict[str, Any]:
    """The facts of a text, which the quick look must take for a profile as well."""
    assert look.begins(text.encode()) is not None
    return facts(read_bytes(text.encode()))


def entries(found: list[dict[str, Any]]) -> list[tuple[str, int, int | None]]:
    return [(e["name"], e["calls"], e["total_ns"]) for e in found]


SCRATCH = """"Kind","Operation","Agent_Id","Queue_Id","Thread_Id","Alloc_Flags","Start_Timestamp","End_Timestamp","Allocation_Size"
"SCRATCH_MEMORY","SCRATCH_MEMORY_ALLOC","Agent 2",3,41,1,1000,1700,4096
"SCRATCH_MEMORY","SCRATCH_MEMORY_FREE","Agent 2",3,41,1,2000,2050,0
"""


def test_scratch_memory_with_its_size_is_no_allocation() -> None:
    for text in (SCRATCH, SCRATCH.partition("\n")[2]):  # and with its header cut off
        found = told(text)
        assert found["kind"] == "rocprofv3-scratch-memory-trace"
        assert entries(found["operations"]) == [("SCRATCH_MEMORY_ALLOC", 1, 700), ("SCRATCH_MEMORY_FREE", 1, 50)]


def test_rows_that_begin_with_the_runs_identifier() -> None:
    rows = f'"{GUID}","HIP_RUNTIME_API_EXT","hipMalloc",7,7,1,1000,1400\n"{GUID}","HIP_RUNTIME_API_EXT","hipFree",7,7,2,2000,2100\n'
    header = '"Guid","Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    for text in (header + rows, rows):
        found = told(text)
        assert found["kind"] == "rocprofv3-api-trace"
        assert entries(found["apis"]) == [("hipMalloc", 1, 400), ("hipFree", 1, 100)]


def test_one_row_per_counter_by_the_names_of_its_columns() -> None:
    compute = (
        "GPU_ID,GUID,Correlation_Id,Dispatch_ID,Grid_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Counter_Name,Counter_Value\n"
        f'1,{GUID},1,0,64,"k(int)",1000,1300,A,1.0\n1,{GUID},1,0,64,"k(int)",1000,1300,B,2.0\n'
    )
    assert told(compute)["kind"] == "rocprof-compute"
    assert told(compute)["counters"] == ["A", "B"]
    assert told(compute.replace("GPU_ID", "Agent_Id"))["kind"] == "rocprofv3-counters"
    streamed = told('"Dispatch_Id","Counter_Name","Counter_Value"\n2,"A",5\n1,"A",6\n')
    assert (streamed["kind"], streamed["dispatches"], streamed["kernels"]) == ("rocprofv3-counters", 2, [])


LISTS = {
    "6.2, printed": "gpu-agent1:\tSQ_WAVES\nDescription:\tWaves.\nBlock:\tSQ\nDimensions:\tDIMENSION_XCC[0:0]\n\n",
    "6.2, basic": '"Agent_Id","Name","Description","Block","Dimensions"\n0,"SQ_WAVES","Waves, counted","SQ","DIMENSION_XCC[0:0]"\n',
    "6.2, derived": '"Agent-id","Name","Description","Expression","Dimensions"\n0,"SQ_WAVES","Waves","reduce(X,max)","D[0:0]"\n',
    "streaming": "   Counter_Name        :   SQ_WAVES\n   SPM                 :   Supported\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_counters_without_a_target(name: str) -> None:
    found = told(LISTS[name])
    assert (found["kind"], found["gpus"], found["available"]) == ("rocprofv3-list-avail", [], ["SQ_WAVES"])
    assert found["dispatches"] is None


@pytest.mark.parametrize("name", LISTS)
def test_lists_with_colours_and_other_ends_of_lines(name: str) -> None:
    plain = told(LISTS[name])
    coloured = "".join(f"\x1b[1m{line}\x1b[0m\r\n" for line in LISTS[name].splitlines())
    assert told(coloured) == plain
    assert look.begins(f"first\r\nsecond\r\n{coloured}".encode()) in (15, 16)


def test_lists_of_agents() -> None:
    one = "GPU:{}\n\nsimd_count                    :\t432\nlogical_node_type_id          :\t{}\nname                          :\t{}\n\n"
    found = told(one.format(0, 0, "gfx942") + one.format(1, 1, "gfx90a") + one.format(2, 2, "gfx942"))
    assert (found["kind"], found["gpus"]) == ("rocprofv3-list-avail", ["gfx90a", "gfx942"])


def test_a_description_is_no_target() -> None:
    text = "GPU:0\nName:gfx1100\nCounter_Name : X\nDescription : The name of it differs on gfx90a\n"
    assert told(text)["gpus"] == ["gfx1100"]


@pytest.mark.parametrize(
    "line",
    [
        "omniperf ver:  v1.0.3",
        "omniperf ver: 1.0.10",
        "omniperf version: 2.0.1",
        "      INFO Rocprofiler-Compute version: 3.5.0",
        "[Run 1/13][Approximate profiling time left: 3 seconds]...",
        "      INFO    |-> [rocprofiler-sdk] Finished executing kernel",
        "INFO [roofline] Checking for roofline.csv in /tmp/x",
        "INFO Analysis mode = cli",
    ],
)
def test_logs_of_every_release(line: str) -> None:
    found = told(f"some line before\n{line}\nTarget: MI200\n")
    assert (found["kind"], found["dispatches"], found["kernels"]) == ("rocprof-compute", None, [])


def test_the_first_machine_descriptions() -> None:
    text = (
        "workload_name,host_name,host_rocmver,date,gpu_soc,numSE,numCU,waveSize,name,numSQC\n"
        "w,node,4.5.0-1,today,gfx908,8,120,64,mi100,48\n"
    )
    expected = {"gpu_arch": "gfx908", "gpu_model": "mi100", "rocm_version": "4.5.0-1", "compute_units": 120}
    assert told(text)["sysinfo"] == expected


def test_kernels_by_their_time_as_file_and_as_printed() -> None:
    found = told(
        "Kernel_Name,Count,Sum(ns),Mean(ns),Median(ns),Pct\n"
        '"k(int, int) [clone .kd]",3,900.0,300.0,300.0,90.0\nj.kd,1,100.0,100.0,100.0,10.0\n'
    )
    assert (found["kind"], found["dispatches"]) == ("rocprof-compute", 4)
    assert entries(found["kernels"]) == [("k(int, int)", 3, 900), ("j", 1, 100)]
    printed = """
0.1 Top Kernels
╒════╤════════════╤═════════╤═══════════╤════════╕
│    │ Kernel_Name│   Count │   Sum(ns) │    Pct │
╞════╪════════════╪═════════╪═══════════╪════════╡
│  0 │ void run<fl│    3.00 │    900.00 │  90.00 │
│    │ oat, 2u>(T)│         │           │        │
├────┼────────────┼─────────┼───────────┼────────┤
│  1 │ copy(int,  │    1.00 │    100.00 │  10.00 │
│    │ int)       │         │           │        │
╘════╧════════════╧═════════╧═══════════╧════════╛
"""
    assert entries(told(printed)["kernels"]) == [("void run<float, 2u>(T)", 3, 900), ("copy(int, int)", 1, 100)]


def test_what_rocprofv2_prints() -> None:
    line = (
        'Dispatch_ID({0}), GPU_ID(2), Queue_ID(1), Grid_Size(64), Kernel_Name("k(int, {1}) (.kd)"), '
        "Begin_Timestamp({2}), End_Timestamp({3}), Correlation_ID(0), SQ_WAVES(8.000000)\n"
    )
    text = (
        "Enabling Counter Collection\n"
        + line.format(0, "int", 1000, 1100)
        + line.format(1, "int", 1500, 1550)
        + "done\n"
    )
    found = told(text)
    assert (found["kind"], found["dispatches"], found["devices"]) == ("rocprofv2", 2, 1)
    assert entries(found["kernels"]) == [("k(int, int)", 2, 150)]
    assert (found["span_ns"], found["busy_ns"], found["counters"]) == (550, 150, ["SQ_WAVES"])


def test_names_cut_at_one_width_end_there() -> None:
    text = (
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
        '"void first<(type)8, 128, false>(char const*, int const*, int\n'
        '"void other<256, 256, 16, 2, false>(char const*, char const*,\n'
        '"whole(int)",5,500,100.0,10.06,50,150,1.5\n'
    )
    assert entries(told(text)["kernels"]) == [("whole(int)", 5, 500)]


def test_groups_of_three_digits_and_a_page_around() -> None:
    text = """<pre>| NAME | DOMAIN | CALLS | DURATION (nsec) | PERCENT (INC) |
|------|--------|-------|-----------------|---------------|
| k(int) | KERNEL_DISPATCH | 1,200 | 2,357,053 | 90.0 |
| hipFree | HIP_API | 3 | 17 | 0.5 |
</pre>
"""
    found = told(text)
    assert (found["kind"], found["dispatches"]) == ("rocprofv3-summary", 1200)
    assert entries(found["kernels"]) == [("k(int)", 1200, 2_357_053)]
    page = told(
        '<pre><code>"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"k(int)",2,200,100,100.0\n</code></pre>'
    )
    assert entries(page["kernels"]) == [("k(int)", 2, 200)]


def test_one_lost_stamp_loses_all_times() -> None:
    text = (
        "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp,X\n"
        '0,2,"k",8.1097E+14,8.1098E+14,1\n1,2,"k",811000000000000,811000000000500,1\n'
    )
    found = told(text)
    assert entries(found["kernels"]) == [("k", 2, None)]
    assert (found["dispatches"], found["span_ns"], found["busy_ns"], found["devices"]) == (2, None, None, 1)


def test_a_trace_inside_a_page() -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 2, "args": {"device": 0}}
    trace = json.dumps({"schemaVersion": 1, "traceEvents": [event]}, indent=1)
    found = told(f"Here it is:\n\n```json\n{trace}\n```\nWhat is slow?\n")
    assert (found["kind"], found["dispatches"], found["span_ns"]) == ("torch-trace", 1, 2000)
    cut = f"Here it is:\n\n```json\n{trace[:-9]}\n```\n"
    assert look.begins(cut.encode()) is None
    with pytest.raises(LabkitError):
        read_bytes(cut.encode())


def test_hipprofs_events() -> None:
    events = [
        {"ph": "X", "cat": "HIPOPS", "name": "k", "ts": 1, "dur": 1, "pid": 1, "tid": "Stream0",
         "args": {"BeginNs": "1000", "EndNs": "1700", "devId": "1"}},
        {"ph": "X", "cat": "HIPCOPY", "name": "H2D", "ts": 1, "dur": 1, "tid": "H2D", "args": {"BeginNs": "100", "EndNs": "200"}},
        {"ph": "X", "cat": "HIP", "name": "hipMalloc", "ts": 1, "dur": 1, "tid": "Thread5", "args": {"BeginNs": "10", "EndNs": "20"}},
    ]  # fmt: skip
    found = told(json.dumps({"traceEvents": events}))
    assert (entries(found["kernels"]), found["devices"]) == ([("k", 1, 700)], 1)
    assert entries(found["copies"]) == [("H2D", 1, 100)]
    assert entries(found["apis"]) == [("hipMalloc", 1, 10)]


OTHERS = {
    "nsys": 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n90.0,123,2,61,61,60,63,1,"k(int)"\n',
    "nsys trace": 'Start (ns),Duration (ns),CorrId,GrdX,Device,Ctx,Strm,Name\n5,10,1,64,GPU (0),1,7,"k(int)"\n',
    "nvprof": '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,ms,,us,us,us,\n"GPU activities",99.5,10.1,10,1,1,1,"k(int)"\n',
    "perf": "0.98,msec,task-clock,980000,100.00,0.570,CPUs utilized\n",
    "VTune": "Function\tCPU Time\tModule\tStart Address\nmain\t0.5\ta.out\t0x400\n",
    "CodeXL": "Method , ExecutionOrder , ThreadID , GlobalWorkSize , Time , VGPRs\nk, 1 , 12 , {64 1 1} , 0.01 , 5\n",
    "input of rocprof": "pmc: SQ_WAVES GRBM_COUNT\nrange: 0:1\ngpu: 0\nkernel: copy_kernel\n",
    "usage": "usage: rocprofv3 [-h] [--kernel-trace [BOOL]] [--list-avail]\n  --kernel-trace   For collecting Kernel Dispatch Traces\n",
    "a table": "name,calls,duration\nfoo,3,5\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_programs_are_unknown(name: str) -> None:
    from labkit.machine.readers import recognise

    assert look.begins(OTHERS[name].encode()) is None
    with pytest.raises(LabkitError):
        read_bytes(OTHERS[name].encode())
    assert recognise.read_bytes(OTHERS[name].encode())["kind"] == "unknown"


def test_counters_without_any_number_of_the_dispatch() -> None:
    """The stamps then tell one dispatch from another."""
    import polars as pl

    from labkit.profile.readers import dispatch_tables

    frame = pl.DataFrame(
        {
            "kernelname": ["k", "k", "k"],
            "countername": ["SQ_WAVES", "GRBM_COUNT", "SQ_WAVES"],
            "countervalue": [4, 9, 4],
            "starttimestamp": [100, 100, 200],
            "endtimestamp": [150, 150, 270],
        }
    )
    once, repeated = dispatch_tables._once(frame)
    assert once["starttimestamp"].to_list() == [100, 200] and repeated == 0
