"""Clean texts of every kind of table, from one small made-up run, each with the facts that it holds, worked out beside the reader.

Nothing here comes from a GPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

KERNELS = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 3ul> >(int, float, char*)",
    "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI16x16x16x1_SN_1LDSB0",
    "saxpy(float*, float const*, int)",
    "__amd_rocclr_copyBuffer",
    "norm_kernel",
)
FUNCTIONS = ("hipMalloc", "hipLaunchKernel", "hipMemcpy", "__hipPushCallConfiguration", "hipStreamSynchronize")


@dataclass
class Row:
    """One dispatch of the run."""

    name: str
    device: int
    queue: int
    start: int
    end: int
    grid: int
    number: int


def run(seed: int, count: int = 9, devices: int = 2) -> list[Row]:
    """Dispatches on two queues of each device, some of them at the same time."""
    choose = random.Random(seed)
    clock, rows = 1_550_151_853_000_000 + choose.randrange(10**9), []
    for number in range(1, count + 1):
        clock += choose.randrange(500, 40_000)
        length = choose.randrange(1_000, 60_000)
        rows.append(
            Row(
                choose.choice(KERNELS),
                4 + number % devices,
                1 + number % 2,
                clock,
                clock + length,
                64 * choose.randrange(1, 9),
                number,
            )
        )
    choose.shuffle(rows)
    return rows


def union(intervals: list[tuple[int, int]]) -> int:
    """The length of a union, the slow way."""
    covered, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            covered, reached = covered + end - start, end
        elif end > reached:
            covered, reached = covered + end - reached, end
    return covered


def sums(pairs: list[tuple[str, int | None]]) -> list[dict[str, Any]]:
    """Calls and total by name, the largest first, then by name."""
    found: dict[str, list[int | None]] = {}
    for name, length in pairs:
        found.setdefault(name, []).append(length)
    entries = [
        {"name": n, "calls": len(v), "total_ns": None if None in v else sum(x for x in v if x is not None)}
        for n, v in found.items()
    ]
    return sorted(entries, key=lambda e: (-(e["total_ns"] or 0), e["name"]))


def of_dispatches(kind: str, rows: list[Row]) -> dict[str, Any]:
    """The facts of a table of dispatches."""
    by_device: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        by_device.setdefault(row.device, []).append((row.start, row.end))
    return {
        "kind": kind,
        "dispatches": len(rows),
        "kernels": sums([(r.name, r.end - r.start) for r in rows]),
        "span_ns": max(r.end for r in rows) - min(r.start for r in rows),
        "busy_ns": sum(union(v) for v in by_device.values()),
        "devices": len(by_device),
    }


def nothing(kind: str, **more: Any) -> dict[str, Any]:
    """The facts of a table without kernels."""
    return {"kind": kind, "dispatches": None, "kernels": [], "span_ns": None, "busy_ns": None, "devices": None, **more}


@dataclass
class Text:
    """A clean text. expect: the facts that it must give. is_csv: one CSV table, so that its cells may be rearranged."""

    name: str
    text: str
    expect: dict[str, Any]
    is_csv: bool = True
    counters: bool = field(default=False)  # column names are counters, so their capital letters matter


_V3 = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
    '"LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z",'
    '"Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
)


def kernel_trace(seed: int) -> Text:
    rows = run(seed)
    lines = [_V3] + [
        f'"KERNEL_DISPATCH","Agent {r.device}",{r.queue},{r.queue},4711,{r.number},{10 + KERNELS.index(r.name)},"{r.name}",{r.number},'
        f"{r.start},{r.end},0,0,8,0,16,64,1,1,{r.grid},1,1"
        for r in rows
    ]
    return Text("kernel_trace", "\n".join(lines) + "\n", of_dispatches("rocprofv3-kernel-trace", rows))


def kernel_trace_old(seed: int) -> Text:
    """Integer agents, no stream, no registers, segments instead of sizes."""
    rows = run(seed, devices=1)
    lines = [
        '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
        '"Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
    ] + [
        f'"KERNEL_DISPATCH",{r.device},{r.queue},4711,{r.number},3,"{r.name}",{r.number},{r.start},{r.end},0,1024,64,1,1,{r.grid},1,1'
        for r in rows
    ]
    return Text("kernel_trace_old", "\n".join(lines) + "\n", of_dispatches("rocprofv3-kernel-trace", rows))


def kernel_trace_converted(seed: int) -> Text:
    """As rocpd converts it: a Guid first."""
    clean = kernel_trace(seed)
    head, *lines = clean.text.rstrip("\n").split("\n")
    guid = '"00001d6a-4c43-7a1b-b3a0-5a6f0d9b1c22"'
    text = "\n".join([f'"Guid",{head}', *(f"{guid},{line}" for line in lines)]) + "\n"
    return Text("kernel_trace_converted", text, clean.expect)


def rocprofv2(seed: int) -> Text:
    rows = run(seed)
    lines = [
        "Dispatch_ID,GPU_ID,Queue_ID,Queue_Index,PID,TID,GRD,WGR,LDS,SCR,Arch_VGPR,ACCUM_VGPR,SGPR,Wave_Size,SIG,OBJ,Kernel_Name,"
        "Start_Timestamp,End_Timestamp,Correlation_ID,SQ_WAVES,GRBM_COUNT"
    ] + [
        f'{r.number},{r.device},{r.queue},{2 * r.number},600,600,{r.grid},64,0,0,24,0,32,64,140000000000000,{r.number},"{r.name} (.kd)",'
        f"{r.start},{r.end},0,4096.000000,{33000 + r.number}.000000"
        for r in rows
    ]
    return Text("rocprofv2", "\n".join(lines) + "\n", of_dispatches("rocprofv2", rows), counters=True)


def rocprof_v1(seed: int) -> Text:
    rows = run(seed)
    lines = [
        '"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","lds","scr","arch_vgpr","accum_vgpr","sgpr","wave_size",'
        '"sig","obj","DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"'
    ] + [
        f'{r.number},"{r.name}.kd",{r.device},{r.queue},{r.number},77,77,{r.grid},64,0,0,28,4,32,64,"0x0","0x7f0000001240",'
        f"{r.start - 900},{r.start},{r.end},{r.end + 500},{r.end - r.start}"
        for r in rows
    ]
    return Text("rocprof_v1", "\n".join(lines) + "\n", of_dispatches("rocprof-v1", rows))


def counters(seed: int) -> Text:
    rows = run(seed)
    lines = [
        '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size",'
        '"LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"'
    ]
    for r in rows:
        for counter, value in (("SQ_WAVES", f"{r.grid / 64:.6f}"), ("OccupancyPercent", "4.34259040e-02")):
            lines.append(
                f'{r.number},{r.number},"Agent {r.device}",{r.queue},4711,4711,{r.grid},5,"{r.name}",'
                f'64,0,0,12,4,32,"{counter}",{value},{r.start},{r.end}'
            )
    expect = {**of_dispatches("rocprofv3-counters", rows), "counters": ["OccupancyPercent", "SQ_WAVES"]}
    return Text("counters", "\n".join(lines) + "\n", expect)


def compute_wide(seed: int) -> Text:
    """rocprof-compute after a spreadsheet: time stamps whose digits are lost."""
    rows = run(seed)
    lines = [
        "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,"
        "Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,"
        "Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID,GRBM_COUNT,SQ_WAVES"
    ] + [
        f'{r.number},{r.device},{r.queue},23,23,{r.grid},64,0,0,4,4,16,64,"{r.name} [clone .kd]",'
        f"1.55015E+15,1.55015E+15,0,{200 + r.number},16384"
        for r in rows
    ]
    expect = {
        **of_dispatches("rocprof-compute", rows),
        "kernels": sums([(r.name, None) for r in rows]),
        "span_ns": None,
        "busy_ns": None,
    }
    return Text("compute_wide", "\n".join(lines) + "\n", expect, counters=True)


def _calls(seed: int, names: tuple[str, ...]) -> list[tuple[str, int, int]]:
    choose = random.Random(seed)
    clock, rows = 1_191_915_574_000_000, []
    for _ in range(8):
        clock += choose.randrange(100, 9_000)
        rows.append((choose.choice(names), clock, clock + choose.randrange(100, 5_000)))
    return rows


def api_trace(seed: int) -> Text:
    rows = _calls(seed, FUNCTIONS)
    lines = ['"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'] + [
        f'"HIP_RUNTIME_API_EXT","{name}",238,238,{i},{start},{end}' for i, (name, start, end) in enumerate(rows, 1)
    ]
    expect = nothing("rocprofv3-api-trace", apis=sums([(n, e - s) for n, s, e in rows]))
    return Text("api_trace", "\n".join(lines) + "\n", expect)


def markers(seed: int) -> Text:
    rows = _calls(seed, ("main", "run(rows=4, cols=5)", "step 1", "transpose(nrows=4, ncols=5)"))
    lines = ['"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'] + [
        f'"MARKER_CORE_API","{name}",15,15,{i},{start},{end}' for i, (name, start, end) in enumerate(rows, 1)
    ]
    return Text(
        "markers", "\n".join(lines) + "\n", nothing("rocprofv3-api-trace", apis=sums([(n, e - s) for n, s, e in rows]))
    )


def memory_copies(seed: int) -> Text:
    rows = _calls(seed, ("MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"))
    lines = [
        '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
    ] + [
        f'"MEMORY_COPY","{name}",0,"Agent 0","Agent 4",{i},{start},{end}'
        for i, (name, start, end) in enumerate(rows, 1)
    ]
    expect = nothing("rocprofv3-memory-copy-trace", copies=sums([(n, e - s) for n, s, e in rows]))
    return Text("memory_copies", "\n".join(lines) + "\n", expect)


def allocations(seed: int) -> Text:
    names = ("MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_FREE", "MEMORY_ALLOCATION_VMEM_ALLOCATE")
    rows = _calls(seed, names)
    lines = [
        '"Kind","Operation","Agent_Id","Allocation_Size","Address","Correlation_Id","Start_Timestamp","End_Timestamp"'
    ]
    for i, (name, start, end) in enumerate(rows, 1):
        agent, size = ("", 0) if name.endswith("FREE") else ("Agent 2", 4096 * i)
        lines.append(f'"MEMORY_ALLOCATION","{name}","{agent}",{size},"0x00007f{i:010x}",{i},{start},{end}')
    taken = [4096 * i for i, (name, _, _) in enumerate(rows, 1) if not name.endswith("FREE")]
    expect = nothing("rocprofv3-memory-allocation-trace", allocations=len(taken), allocated_bytes=sum(taken))
    return Text("allocations", "\n".join(lines) + "\n", expect)


def scratch(seed: int) -> Text:
    rows = _calls(seed, ("SCRATCH_MEMORY_ALLOC", "SCRATCH_MEMORY_FREE"))
    lines = ['"Kind","Operation","Agent_Id","Queue_Id","Thread_Id","Alloc_Flags","Start_Timestamp","End_Timestamp"'] + [
        f'"SCRATCH_MEMORY","{name}","Agent 2",1,90,0,{start},{end}' for name, start, end in rows
    ]
    expect = nothing("rocprofv3-scratch-memory-trace", operations=sums([(n, e - s) for n, s, e in rows]))
    return Text("scratch", "\n".join(lines) + "\n", expect)


def _statistics(seed: int, names: tuple[str, ...]) -> list[tuple[str, int, int]]:
    choose = random.Random(seed)
    return [(name, choose.randrange(1, 900), choose.randrange(10**4, 10**8)) for name in names]


def _listed(rows: list[tuple[str, int, int]]) -> list[dict[str, Any]]:
    entries = [{"name": n, "calls": c, "total_ns": t} for n, c, t in rows]
    return sorted(entries, key=lambda e: (-e["total_ns"], e["name"]))


def _v3_statistics(name: str, kind: str, group: str, names: tuple[str, ...]) -> Callable[[int], Text]:
    def make(seed: int) -> Text:
        rows = _statistics(seed, names)
        everything = sum(t for _, _, t in rows)
        lines = ['"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"'] + [
            f'"{n}",{c},{t},{t / c:.6f},{100 * t / everything:.4g},{t // c // 2},{t // c * 2},0.00000000e+00'
            for n, c, t in rows
        ]
        if group == "kernels":
            expect = {**nothing(kind), "dispatches": sum(c for _, c, _ in rows), "kernels": _listed(rows)}
        else:
            expect = nothing(kind, **{group: _listed(rows)})
        return Text(name, "\n".join(lines) + "\n", expect)

    make.__name__ = name
    return make


def v1_statistics(seed: int) -> Text:
    rows = _statistics(seed, KERNELS)
    everything = sum(t for _, _, t in rows)
    lines = ['"Name","Calls","TotalDurationNs","AverageNs","Percentage"'] + [
        f'"{n}",{c},{t},{t // c},{100 * t / everything}' for n, c, t in rows
    ]
    expect = {**nothing("rocprof-v1"), "dispatches": sum(c for _, c, _ in rows), "kernels": _listed(rows)}
    return Text("v1_statistics", "\n".join(lines) + "\n", expect)


def agents(seed: int) -> Text:
    text = (
        '"Node_Id","Logical_Node_Id","Agent_Type","Cpu_Cores_Count","Simd_Count","Cu_Count","Gfx_Target_Version","Vendor_Id","Device_Id","Name",'
        '"Vendor_Name","Product_Name","Model_Name"\n'
        '0,0,"CPU",32,0,32,0,0,0,"AMD Ryzen 9 7950X 16-Core Processor","CPU","AMD Ryzen 9 7950X 16-Core Processor",""\n'
        '1,1,"GPU",0,192,96,110000,4098,29772,"gfx1100","AMD","Radeon RX 7900 XTX","ip discovery"\n'
    )
    return Text("agents", text, nothing("rocprofv3-agent-info", gpus=["gfx1100"]))


def samples(seed: int) -> Text:
    lines = ['"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment","Correlation_Id"'] + [
        f'3464444413{seed % 1000:03}{i:03},65535,1,"{code}","",1'
        for i, code in enumerate(("s_endpgm", "v_bfe_u32 v0, v0, 10, 10", "s_waitcnt vmcnt(0)"))
    ]
    return Text("samples", "\n".join(lines) + "\n", nothing("rocprofv3-pc-sampling", samples=3))


def summary(seed: int) -> Text:
    """Two tables by domain, then one over everything that repeats them."""
    kernels, functions = _statistics(seed, KERNELS), _statistics(seed + 1, FUNCTIONS)
    wide = max(len(n) for n, _, _ in kernels)
    head = (
        f"| {'NAME':^{wide}} |     DOMAIN      |   CALLS    | DURATION (nsec) | AVERAGE (nsec)  "
        "| PERCENT (INC) |   MIN (nsec)    |   MAX (nsec)    |     STDDEV      |"
    )
    rule = "|" + "|".join("-" * n for n in (wide + 2, 17, 12, 17, 17, 15, 17, 17, 17)) + "|"

    def rows(domain: str, entries: list[tuple[str, int, int]]) -> list[str]:
        return [
            f"| {n:{wide}} | {domain:15} | {c:10} | {t:15} | {t / c:15.3e} | {1.5:13.6f} | {1:15} | {t:15} | {0:15.3e} |"
            for n, c, t in entries
        ]

    parts = []
    for domain, entries in (("KERNEL_DISPATCH", kernels), ("HIP_API", functions)):
        parts += ["", f"ROCPROFV3 {domain} SUMMARY:", "", head, rule, *rows(domain, entries)]
    parts += ["", "ROCPROFV3 SUMMARY:", "", head, rule, *rows("KERNEL_DISPATCH", kernels), *rows("HIP_API", functions)]
    expect = {
        **nothing("rocprofv3-summary", apis=_listed(functions)),
        "dispatches": sum(c for _, c, _ in kernels),
        "kernels": _listed(kernels),
    }
    return Text("summary", "\n".join(parts) + "\n", expect, is_csv=False)


MAKERS: tuple[Callable[[int], Text], ...] = (
    kernel_trace, kernel_trace_old, kernel_trace_converted, rocprofv2, rocprof_v1, counters, compute_wide,
    api_trace, markers, memory_copies,
    allocations, scratch, v1_statistics, agents, samples, summary,
    _v3_statistics("kernel_stats", "rocprofv3-kernel-stats", "kernels", KERNELS),
    _v3_statistics("api_stats", "rocprofv3-api-stats", "apis", FUNCTIONS),
    _v3_statistics("domain_stats", "rocprofv3-domain-stats", "domains", ("HIP_API", "KERNEL_DISPATCH", "MEMORY_COPY")),
    _v3_statistics("copy_stats", "rocprofv3-memory-copy-stats", "copies", ("MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST")),
)  # fmt: skip
