"""Chrome traces for the tests: events as plain mappings, and text in the layout that Kineto writes."""

from __future__ import annotations

import json
import random
from typing import Any

BASE = 5_171_662_985_441_780  # ns


def event(cat: str, name: str, start: int, length: int, **more: Any) -> dict[str, Any]:
    """A complete event; times in ns. What is not given stands as on a host thread."""
    found = {"ph": "X", "cat": cat, "name": name, "pid": 100, "tid": 101}
    args = more.pop("args", {})
    return {**found, "ts": start / 1000, "dur": length / 1000, **more, "args": args}


def kernel(name: str, start: int, length: int, device: int = 0, **args: Any) -> dict[str, Any]:
    """A kernel on stream 7 of a device."""
    return event("kernel", name, start, length, pid=device, tid=7, args={"device": device, "stream": 7, **args})


def some(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """A training's worth of events: operators with shapes, launches with their arrows, kernels, copies."""
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []
    now = BASE
    for number in range(1, count + 1):
        now += draw.randrange(1000, 90_000)
        name = draw.choice(["aten::mm", "aten::add_", 'odd "name" \\ \n é'])
        dims = {"Input Dims": [[4, 8], [8, 16]], "Input type": ["float", "float"]}
        found.append(event("cpu_op", name, now, 40_000, args={"External id": number, **dims}))
        call = {"correlation": number, "grid": [number, 1, 1], "block": [256, 1, 1]}
        found.append(event("cuda_runtime", "hipLaunchKernel", now + 1_000, 5_000, args=call))
        found.append(
            {"ph": "s", "id": number, "pid": 100, "tid": 101, "ts": (now + 1_000) / 1000, "cat": "ac2g", "name": "ac2g"}
        )
        if number % 7:
            more = {"correlation": number, "grid": [number, 1, 1], "block": [256, 1, 1]}
            found.append(kernel(f"k{number % 5}<a, b>", now + 9_000, draw.randrange(500, 60_000), number % 2, **more))
        else:
            args = {"device": 0, "stream": 7, "correlation": number, "bytes": 4096}
            found.append(event("gpu_memcpy", "Memcpy HtoD", now + 9_000, 777, pid=0, tid=7, args=args))
        found.append(
            {
                "ph": "f",
                "id": number,
                "pid": 0,
                "tid": 7,
                "ts": (now + 9_000) / 1000,
                "cat": "ac2g",
                "name": "ac2g",
                "bp": "e",
            }
        )
    found.append(event("user_annotation", "ProfilerStep#3", BASE, now - BASE))
    found.append(
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "x", "ts": 1.0, "dur": 2.0}
    )
    return found


def kineto(events: list[dict[str, Any]]) -> bytes:
    """The events in Kineto's own layout, one field on a line."""
    texts = []
    for e in events:
        lines = ["  {"]
        args = e.get("args")
        fields = [(k, v) for k, v in e.items() if k != "args"]
        for i, (key, value) in enumerate(fields):
            text = f"{value:.3f}" if key in ("ts", "dur") else json.dumps(value)
            last = i == len(fields) - 1
            lines.append(f'    "{key}": {text}' + ("" if last else ","))
        if e["ph"] == "X" and args is not None:
            lines += ["    ,", '    "args": {', f"      {json.dumps(args)[1:-1]}", "    }"]
        elif e["ph"] in "sf" and "bp" not in e:
            lines.append("    ")
        texts.append("\n".join([*lines, "  }"]))
    head = '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}\n  ],\n'
    return (head + '  "traceEvents": [\n' + ",\n".join(texts) + '\n  ],"traceName": "t.json" }').encode()
