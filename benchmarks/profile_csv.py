"""A rocprofv3 kernel trace as CSV: read into labkit's table, kernels and busy time asked, beside pandas and a one-pass scan in C.

    python -m benchmarks.profile_csv --pandas PYTHON              ten million rows (about 3 GB in a temporary folder, deleted afterwards)
    python -m benchmarks.profile_csv --pandas PYTHON --rows 1000000

PYTHON is that of an environment of its own with pandas (below 3). Every run is a process of its own, in turns; the
ratio is taken within each turn. What is
timed begins after the imports. pandas reads the file as it stands (``read_csv``), groups by kernel and takes the
union per agent. The C program reads the file once
and adds up durations by field number: a floor that nobody who has to keep the rows can reach. Without a C compiler
it is left out. The trace is made up.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import record

HEADER = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
    '"LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z",'
    '"Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)
SHAPES = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>,"
    " std::array<char*, {i}ul> >(int, float, std::array<char*, {i}ul>)",
    "Cijk_Ailk_Bjlk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x128x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTLA0_DTLB0_DTVA0_WG{i}_4_1",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float,"
    " float, float>, unsigned int, float, 4, {i}> >(int)",
    "miopenSp3AsmConv_v30_3_1_gfx9_fp16_f{i}x3_dot2_stride1",
)

LABKIT = """
import json, resource, sys, time
import polars, numpy
from labkit.profile import readers
from labkit.profile.readers import files
from labkit.profile.questions import busy, kernels
began, cpu = time.perf_counter(), time.process_time()
p = readers.read(sys.argv[1])
read = time.perf_counter() - began
k, b = kernels(p), busy(p)
print(json.dumps({"seconds": time.perf_counter() - began, "read_s": read, "cpu_s": time.process_time() - cpu, "kernels": k.height,
    "dispatches": p.events.height, "busy_ns": b.busy_ns, "table_mb": p.events.estimated_size() / 1e6,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
PANDAS = """
import json, resource, sys, time
import numpy as np, pandas as pd
began, cpu = time.perf_counter(), time.process_time()
df = pd.read_csv(sys.argv[1])
read = time.perf_counter() - began
df["length"] = df.End_Timestamp - df.Start_Timestamp
k = df.groupby("Kernel_Name")["length"].agg(["count", "sum", "mean", "min", "max"]).sort_values("sum", ascending=False)
busy = 0
for _, g in df.groupby("Agent_Id")[["Start_Timestamp", "End_Timestamp"]]:
    g = g.sort_values("Start_Timestamp")
    start, end = g.Start_Timestamp.to_numpy(), np.maximum.accumulate(g.End_Timestamp.to_numpy())
    busy += int((end - np.maximum(start, np.concatenate([start[:1], end[:-1]]))).clip(0).sum())
print(json.dumps({"seconds": time.perf_counter() - began, "read_s": read, "cpu_s": time.process_time() - cpu, "kernels": len(k),
    "dispatches": len(df), "busy_ns": busy, "version": pd.__version__,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
SCAN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a);
    FILE *f = fopen(argv[1], "rb"); size_t n, size = 1 << 20; char *buffer = malloc(size);
    long rows = -1, total = 0, start = 0, end = 0; int field = 0, quoted = 0;
    while ((n = fread(buffer, 1, size, f)) > 0)
        for (size_t i = 0; i < n; i++) {
            char c = buffer[i];
            if (c == '"') quoted ^= 1;
            else if (quoted) continue;
            else if (c == ',') field++;
            else if (c == '\n') { if (rows >= 0) total += end - start; rows++; field = 0; start = end = 0; }
            else if (field == 9) start = start * 10 + c - '0';
            else if (field == 10) end = end * 10 + c - '0';
        }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("{\"seconds\": %f, \"dispatches\": %ld, \"total_ns\": %ld}\n", b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9, rows, total);
    return 0;
}
"""


def generate(path: Path, rows: int, seed: int = 0) -> None:
    """A made-up kernel trace: two agents, four queues, a hundred kernels of long names, launch configurations that go with them."""
    choose = random.Random(seed)
    names = [SHAPES[i % len(SHAPES)].format(i=i) for i in range(100)]
    clock = 1_550_151_853_029_637
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(HEADER)
        for first in range(0, rows, 20_000):
            lines = []
            for i in range(first, min(first + 20_000, rows)):
                k, queue, agent = choose.randrange(100), choose.randrange(1, 5), 4 + (i & 1)
                clock += choose.randrange(500, 12_000)
                end = clock + choose.randrange(2_000, 40_000)
                lines.append(
                    f'"KERNEL_DISPATCH","Agent {agent}",{queue},{queue},834304,{i + 1},{k},"{names[k]}",{i + 1},{clock},{end},'
                    f"{k % 4 * 4096},0,{8 + k},{k % 3 * 4},16,64,1,1,{1024 * (1 + k % 7)},{1 + k % 2},1\n"
                )
            file.write("".join(lines))


def compile_scan(folder: Path) -> Path | None:
    """The one-pass scan as a program, None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("No C compiler: the one-pass scan is left out.")
        return None
    (folder / "scan.c").write_text(SCAN, encoding="utf-8")
    subprocess.run([compiler, "-O2", "-o", str(folder / "scan"), str(folder / "scan.c")], check=True)
    return folder / "scan"


def told(command: Sequence[str]) -> dict[str, Any]:
    """What a child process prints as JSON."""
    answer = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[1]
    )
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def run(rows: int, turns: int, pandas: str, folder: Path) -> dict[str, Any]:
    """All turns, as plain values. Needs about 350 bytes of disk per row."""
    path = folder / "run_kernel_trace.csv"
    if shutil.disk_usage(folder).free < rows * 400:
        raise SystemExit(f"{folder} has not enough room for {rows:,} rows.")
    generate(path, rows)
    scan = compile_scan(folder)
    ways = {"labkit": [sys.executable, "-c", LABKIT, str(path)], "pandas": [pandas, "-c", PANDAS, str(path)]}
    if scan is not None:
        ways["scan"] = [str(scan), str(path)]
    with path.open("rb") as file:  # once, so that every way finds the file in the system's cache
        while file.read(1 << 24):
            pass
    idle = record.idle_share()
    shuffler = random.Random(0)
    measured: list[dict[str, dict[str, Any]]] = []
    for turn in range(turns):
        order = list(ways)
        shuffler.shuffle(order)
        measured.append({way: told(ways[way]) for way in order})
        print(f"turn {turn + 1}: " + ", ".join(f"{w} {m['seconds']:.2f} s" for w, m in sorted(measured[-1].items())))
    for one in measured:
        assert one["labkit"]["dispatches"] == one["pandas"]["dispatches"] == rows
        assert one["labkit"]["busy_ns"] == one["pandas"]["busy_ns"]
    result: dict[str, Any] = {
        "rows": rows,
        "bytes": path.stat().st_size,
        "idle_share_before": idle,
        "turns": measured,
        "pandas_over_labkit_seconds": record.spread(
            [t["pandas"]["seconds"] / t["labkit"]["seconds"] for t in measured]
        ),
        "pandas_over_labkit_cpu": record.spread([t["pandas"]["cpu_s"] / t["labkit"]["cpu_s"] for t in measured]),
        "pandas_over_labkit_peak": record.spread([t["pandas"]["peak_mb"] / t["labkit"]["peak_mb"] for t in measured]),
    }
    if scan is not None:
        result["labkit_over_scan_seconds"] = record.spread(
            [t["labkit"]["seconds"] / t["scan"]["seconds"] for t in measured]
        )
    return result


def tell(result: dict[str, Any]) -> None:
    """Prints what was measured."""
    print(f"{result['rows']:,} rows, {result['bytes'] / 1e9:.2f} GB")
    for key, words in (
        ("pandas_over_labkit_seconds", "pandas takes times as long"),
        ("pandas_over_labkit_cpu", "pandas takes times the CPU time"),
        ("pandas_over_labkit_peak", "pandas takes times the peak memory"),
        ("labkit_over_scan_seconds", "labkit takes times as long as the one-pass scan"),
    ):
        if key in result:
            print("  " + record.told(words, result[key]))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pandas", required=True, metavar="PYTHON", help="a Python that has pandas below 3")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--no-write", action="store_true", help="do not store the result")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="labkit-csv-") as folder:
        result = run(options.rows, options.turns, options.pandas, Path(folder))
    tell(result)
    if not options.no_write:
        print(f"Written: {record.write('profile_csv', result)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
