"""Profiles read and every question answered, beside what else reads them.

Three parts, each with a made-up profile of a million events (``profile_data``):

* ``trace``: a torch trace of a million events. labkit (read; read and every question answered), Python's json module with kernel
  statistics and busy time in plain Python, HolisticTraceAnalysis (in an environment of its own), and the floor: msgspec going over
  the same bytes without keeping anything. TraceLens is not run: it took 37.8/16 of the CPU time of the same json reader where both were
  measured, and counts as that here.
* ``rocpd``: a database of a million dispatches. labkit (everything read; the
  summary alone, with busy time as a union of intervals), the
  database's own views ``top_kernels`` and ``busy`` (a sum of durations, which counts overlap twice), and the floor: SQLite going over
  the dispatch table, one sum.
* ``operators``: labkit's operator table against ``key_averages()`` of the same profiler, counts and times compared.

Each reading is a process of its own: CPU time of the work (all threads, imports not counted) and the process's largest memory.

    python -m benchmarks.profile_traces                                   all parts
    python -m benchmarks.profile_traces --part trace --events 100000
    python -m benchmarks.profile_traces --hta PATH/TO/python              with HolisticTraceAnalysis (pip install it with 'pandas<3')
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import record

ROOT = Path(__file__).resolve().parent.parent
TRACELENS = 37.8 / 16  # CPU time of TraceLens over that of the json reader, both measured on one machine in one session
QUESTIONS = (
    "kernels",
    "categories",
    "busy",
    "gaps",
    "overlap",
    "launches",
    "steps",
    "synchronisations",
    "operators",
    "losses",
)

_HTA = """
import json, os, sys, tempfile, time
from hta.trace_analysis import TraceAnalysis
folder = tempfile.mkdtemp()
os.symlink(os.path.abspath(sys.argv[1]), os.path.join(folder, "rank_0.json"))
start = time.process_time()
analysis = TraceAnalysis(trace_files={0: os.path.join(folder, "rank_0.json")}, trace_dir=folder)
analysis.get_gpu_kernel_breakdown(visualize=False)
table = analysis.get_temporal_breakdown(visualize=False)
cpu = time.process_time() - start
peak = [int(l.split()[1]) / 1024 for l in open("/proc/self/status") if l.startswith("VmHWM")]
busy = 1000 * float(table["kernel_time(us)"].iloc[0] - table["idle_time(us)"].iloc[0])
print(json.dumps({"cpu_s": cpu, "peak_mb": peak[0] if peak else None, "busy_ns": busy}))
"""


def peak_mb() -> float | None:
    """The largest memory of this process so far; None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return None


def by_json(path: str) -> dict[str, Any]:
    """The plain way: json.load, then statistics and busy time of the kernels in Python."""
    with Path(path).open(encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    kernels: dict[str, list[float]] = {}
    spans: dict[Any, list[tuple[float, float]]] = {}
    for event in events:
        if event.get("ph") == "X" and event.get("cat") == "kernel":
            of = kernels.setdefault(event["name"], [0, 0.0])
            of[0] += 1
            of[1] += event["dur"]
            spans.setdefault(event["args"].get("device", event["pid"]), []).append(
                (event["ts"], event["ts"] + event["dur"])
            )
    busy = 0.0
    for found in spans.values():
        end = -1.0
        for begin, stop in sorted(found):
            if stop > end:
                busy += stop - max(begin, end)
                end = stop
    return {"busy_ns": busy * 1000, "calls": sum(int(of[0]) for of in kernels.values())}


def by_skipping(path: str) -> dict[str, Any]:
    """The floor of JSON: every byte is gone over, nothing is kept."""
    import msgspec

    content = Path(path).read_bytes()
    msgspec.json.decode(content, type=msgspec.defstruct("Root", [("traceEvents", msgspec.Raw, msgspec.Raw())]))
    return {}


def by_labkit(path: str) -> dict[str, Any]:
    """Read alone."""
    from labkit.profile import read

    return {"calls": int((read(path).events["kind"] == "dispatch").sum())}


def by_labkit_asked(path: str) -> dict[str, Any]:
    """Read, and every question answered."""
    from labkit.profile import diagnose, questions, read

    profile = read(path)
    for name in QUESTIONS:
        getattr(questions, name)(profile)
    diagnose(profile)
    return {"calls": int((profile.events["kind"] == "dispatch").sum()), "busy_ns": questions.busy(profile).busy_ns}


def by_labkit_summary(path: str) -> dict[str, Any]:
    """Kernels by their time, and busy time as a union: what the database's own summary answers, without its fault."""
    from labkit.profile.readers.rocpd import summary

    kernels, busy = summary(path)
    return {"calls": int(kernels["calls"].sum()), "kernels": kernels.height, "busy_ns": int(busy["busy_ns"].sum())}


def by_views(path: str) -> dict[str, Any]:
    """The database's own summary."""
    import sqlite3

    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    kernels = connection.execute("SELECT * FROM top_kernels").fetchall()
    busy = connection.execute("SELECT * FROM busy").fetchall()
    connection.close()
    return {"kernels": len(kernels), "calls": sum(row[1] for row in kernels), "sum_ns": sum(row[2] for row in busy)}


def by_one_sum(path: str) -> dict[str, Any]:
    """The floor of a database: one pass of SQLite over the dispatch table."""
    import sqlite3

    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    (total,) = connection.execute('SELECT SUM("end" - start) FROM rocpd_kernel_dispatch').fetchone()
    connection.close()
    return {"sum_ns": total}


WAYS: dict[str, Callable[[str], dict[str, Any]]] = {
    "json": by_json,
    "skipping": by_skipping,
    "labkit": by_labkit,
    "labkit_asked": by_labkit_asked,
    "labkit_summary": by_labkit_summary,
    "views": by_views,
    "one_sum": by_one_sum,
}


def child(way: str, path: str) -> None:
    """What a process of its own does: the imports, the work, one line of JSON."""
    if way.startswith("labkit"):
        import polars  # noqa: F401

        from labkit.profile import diagnosis, questions  # noqa: F401
        from labkit.profile.readers import files, json_profiles, rocpd, sqlite  # noqa: F401
    elif way == "skipping":
        import msgspec  # noqa: F401
    begin = time.process_time()
    answer = WAYS[way](path)
    print(json.dumps({"cpu_s": time.process_time() - begin, "peak_mb": peak_mb(), **answer}))


def measured(way: str, path: Path, hta: str | None) -> dict[str, Any]:
    """One reading."""
    command = [sys.executable, "-m", "benchmarks.profile_traces", "--child", way, str(path)]
    if way == "hta":
        assert hta is not None
        command = [hta, "-c", _HTA, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} if way != "hta" else dict(os.environ)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=900
    )
    if done.returncode:
        raise RuntimeError(f"{way} failed: {done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def in_turns(ways: Sequence[str], path: Path, rounds: int, hta: str | None) -> dict[str, list[dict[str, Any]]]:
    """Every way once in each round, in random order."""
    shuffler = random.Random(0)
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for number in range(rounds):
        for way in shuffler.sample(list(ways), len(ways)):
            found[way].append(measured(way, path, hta))
        print(f"round {number + 1}: " + ", ".join(f"{way} {found[way][-1]['cpu_s']:.3f} s" for way in ways), flush=True)
    return found


def ratios(
    found: dict[str, list[dict[str, Any]]], over: Sequence[tuple[str, str, str, float]]
) -> dict[str, dict[str, float]]:
    """Ratios of the rounds' CPU times: (name, way above, way below, factor)."""
    return {
        name: record.spread([factor * a["cpu_s"] / b["cpu_s"] for a, b in zip(found[above], found[below], strict=True)])
        for name, above, below, factor in over
        if above in found and below in found
    }


def peaks(found: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """The largest memory of each way, MB."""
    return {way: max(r["peak_mb"] for r in rows) for way, rows in found.items() if all(r["peak_mb"] for r in rows)}


def same(found: dict[str, list[dict[str, Any]]], key: str, ways: Sequence[str], relative: float = 0.0) -> bool:
    """Whether these ways gave the same number."""
    values = [row[key] for way in ways if way in found for row in found[way]]
    return max(values) - min(values) <= relative * max(values)


def trace(folder: Path, events: int, rounds: int, hta: str | None) -> dict[str, Any]:
    """The part ``trace``."""
    from benchmarks import profile_data

    path = folder / "trace.json"
    kernels = profile_data.torch_trace(path, events)
    ways = ["json", "labkit", "labkit_asked", "skipping"]
    found = in_turns(ways, path, rounds, hta)
    result: dict[str, Any] = {
        "events": events,
        "kernels": kernels,
        "mb": path.stat().st_size / 1e6,
        "ratios": ratios(
            found,
            [
                ("tracelens_over_asked", "json", "labkit_asked", TRACELENS),
                ("tracelens_over_read", "json", "labkit", TRACELENS),
                ("json_over_asked", "json", "labkit_asked", 1.0),
                ("json_over_read", "json", "labkit", 1.0),
                ("read_over_floor", "labkit", "skipping", 1.0),
            ],
        ),
        "peak_mb": peaks(found),
        "same_calls": same(found, "calls", ["json", "labkit", "labkit_asked"]) and found["json"][0]["calls"] == kernels,
        "same_busy": same(found, "busy_ns", ["json", "labkit_asked"], 1e-6),
        "readings": found,
    }
    if hta is None:
        result["hta"] = "skipped: no environment with HolisticTraceAnalysis was named (--hta)"
    else:
        once = in_turns(["hta", "labkit_asked"], path, max(1, rounds // 3), hta)
        result["ratios"] |= ratios(once, [("hta_over_asked", "hta", "labkit_asked", 1.0)])
        result["hta"] = {"readings": once["hta"], "peak_mb": peaks(once)["hta"], "busy_ns": once["hta"][0]["busy_ns"]}
    return result


def rocpd(folder: Path, dispatches: int, rounds: int) -> dict[str, Any]:
    """The part ``rocpd``."""
    from benchmarks import profile_data

    path = profile_data.rocpd(folder, dispatches)
    found = in_turns(["views", "labkit", "labkit_summary", "one_sum"], path, rounds, None)
    pairs = [
        ("views_over_summary", "views", "labkit_summary", 1.0),
        ("views_over_read", "views", "labkit", 1.0),
        ("summary_over_floor", "labkit_summary", "one_sum", 1.0),
    ]
    return {
        "dispatches": dispatches,
        "mb": path.stat().st_size / 1e6,
        "ratios": ratios(found, pairs),
        "peak_mb": peaks(found),
        "same_calls": same(found, "calls", ["views", "labkit", "labkit_summary"]),
        "same_kernels": same(found, "kernels", ["views", "labkit_summary"]),
        "their_busy_over_the_union": found["views"][0]["sum_ns"] / found["labkit_summary"][0]["busy_ns"],
        "readings": found,
    }


def operators(events: int, rounds: int) -> dict[str, Any]:
    """The part ``operators``: one profiler of about ``events`` events for each round."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    from labkit.profile.operators import operators as table_of

    torch.set_num_threads(1)
    net = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(20)])
    data = torch.randn(4, 16)
    readings, equal, count = [], True, 0
    for number in range(rounds):
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            for _ in range(max(1, events // 850)):
                net(data).sum().backward()
        count = len(profiler.profiler.kineto_results.events())  # type: ignore[union-attr]
        gc.collect()
        begin = time.process_time()
        ours = table_of(profiler)
        between = time.process_time()
        theirs = profiler.key_averages()
        readings.append({"labkit": between - begin, "key_averages": time.process_time() - between})
        rows = {row["name"]: row for row in ours.to_dicts()}
        equal &= set(rows) == {row.key for row in theirs} and all(
            rows[row.key]["calls"] == row.count
            and abs(rows[row.key]["cpu_total_ns"] - 1000 * row.cpu_time_total)
            < 1 + 1e-9 * rows[row.key]["cpu_total_ns"]
            and abs(rows[row.key]["cpu_self_ns"] - 1000 * row.self_cpu_time_total)
            < 1 + 1e-9 * rows[row.key]["cpu_total_ns"]
            for row in theirs
        )
        print(f"round {number + 1}: " + ", ".join(f"{name} {s:.3f} s" for name, s in readings[-1].items()), flush=True)
        del profiler, theirs, ours, rows
    ratio = record.spread([r["key_averages"] / r["labkit"] for r in readings[1:] or readings])
    return {"events": count, "ratios": {"key_averages_over_labkit": ratio}, "equal": equal, "readings": readings}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("trace", "rocpd", "operators"), action="append")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--operator-events", type=int, default=160_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--hta", help="a Python that has HolisticTraceAnalysis")
    parser.add_argument("--output", type=Path, help="folder for the result (default: benchmarks/results)")
    parser.add_argument("--child", nargs=2, metavar=("WAY", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        child(*options.child)
        return 0
    parts = options.part or ["trace", "rocpd", "operators"]
    result: dict[str, Any] = {"idle_share_before": record.idle_share()}
    folder = Path(tempfile.mkdtemp())
    try:
        if "trace" in parts:
            result["trace"] = trace(folder, options.events, options.rounds, options.hta)
        if "rocpd" in parts:
            result["rocpd"] = rocpd(folder, options.events, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if "operators" in parts:
        result["operators"] = operators(options.operator_events, options.rounds)
    right = True
    for part in parts:
        found = result[part]
        print(f"{part}:")
        for name, values in found["ratios"].items():
            print("  " + record.told(name.replace("_", " "), values))
        for way, mb in found.get("peak_mb", {}).items():
            print(f"  largest memory, {way}: {mb:.0f} MB")
        for key in ("same_calls", "same_busy", "same_kernels", "equal"):
            if key in found:
                right &= bool(found[key])
                print(f"  {key.replace('_', ' ')}: {'yes' if found[key] else 'NO'}")
        if isinstance(found.get("hta"), str):
            print(f"  HolisticTraceAnalysis {found['hta']}")
        if part == "trace":
            print(f"  TraceLens not run: counted as {TRACELENS:.2f} times the json reader, as measured elsewhere")
    name = "profile_traces" if len(parts) == 3 else f"profile_traces_{'_'.join(parts)}"
    print(f"written: {record.write(name, result, options.output)}")
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
