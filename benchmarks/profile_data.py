"""Profiles to measure with, made up: a torch trace in Kineto's layout, a rocpd database with rocprofv3's schema."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl

from labkit.profile import simulate
from labkit.profile.table import Device, Profile, events

START = 5_171_662_985_441_780  # ns
NAMES = [
    *(
        f"Cijk_Ailk_Bjlk_BBS_BH_Bias_HAS_SAV_UserArgs_MT{16 * i}x128x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1"
        for i in range(1, 21)
    ),
    *(
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, "
        f"{i}ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, {i}ul>)"
        for i in range(1, 21)
    ),
]
OPERATORS = (
    "aten::mm",
    "aten::addmm",
    "aten::add_",
    "aten::empty",
    "aten::copy_",
    "aten::native_batch_norm",
    "aten::linear",
    "autograd::engine::evaluate_function: AddmmBackward0",
    "aten::threshold_backward",
    "aten::_to_copy",
)
_HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "made up", "totalGlobalMem": 206141652992,
      "computeMajor": 9, "computeMinor": 4, "warpSize": 64, "numSms": 304
    }
  ],
  "record_shapes": 1,
  "simulated": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"""
_X = """  {{
    "ph": "X",
    "cat": "{cat}",
    "name": "{name}",
    "pid": {pid},
    "tid": {tid},
    "ts": {ts},
    "dur": {dur}
    ,
    "args": {{
      {args}
    }}
  }},
"""
_ARROW = """  {{
    "ph": "{ph}",
    "id": {id},
    "pid": {pid},
    "tid": {tid},
    "ts": {ts},
    "cat": "ac2g",
    "name": "ac2g"{end}
  }},
"""
_TAIL = """  {
    "ph": "i",
    
    "s": "g",
    "name": "Record Window End",
    "pid": "",
    "tid": "",
    "ts": 5171662987090.395
    
  }
  ],"traceName": "made up" }
"""


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def torch_trace(path: Path, count: int, seed: int = 0) -> int:
    """Writes a trace of about ``count`` events (two operators, a launch, a kernel and two arrows at a time); its number of kernels."""
    draw = random.Random(seed)
    now = gpu = START
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEAD)
        for number in range(1, count // 6 + 1):
            parts = []
            for _ in range(2):
                m, k = draw.choice((64, 128, 1024)), draw.choice((64, 4096))
                args = (
                    f'"External id": {number},"Sequence number": {number}, "Fwd thread id": 0, "Record function id": 0, '
                    f'"Concrete Inputs": ["", ""], "Input type": ["float", "float"], "Input Strides": [[{k}, 1], [64, 1]], '
                    f'"Input Dims": [[{m}, {k}], [{k}, 64]], "Ev Idx": {number}'
                )
                host = {"pid": 13645, "tid": 13645, "ts": _us(now)}
                parts.append(
                    _X.format(
                        cat="cpu_op",
                        name=draw.choice(OPERATORS),
                        dur=_us(draw.randrange(2000, 9000)),
                        args=args,
                        **host,
                    )
                )
                now += draw.randrange(9500, 11_000)
            name, grid = draw.choice(NAMES), draw.randrange(1, 500)
            host = {"pid": 13645, "tid": 13645, "ts": _us(now)}
            size = f'"grid": [{grid}, 1, 1], "block": [256, 1, 1]'
            args = f'"External id": {number}, "kernel": "{name}", "cid": 211, "correlation": {number}, {size}, "shared memory": 0'
            parts.append(
                _X.format(
                    cat="cuda_runtime", name="hipLaunchKernel", dur=_us(draw.randrange(2000, 9000)), args=args, **host
                )
            )
            parts.append(_ARROW.format(ph="s", id=number, end="\n    ", **host))
            gpu = max(gpu + draw.randrange(100, 3000), now + 3000)
            length = draw.randrange(3000, 30_000)
            device = {"pid": 0, "tid": 7, "ts": _us(gpu)}
            args = f'"External id": {number},"device": 0, "stream": 7, "correlation": {number}, "kind": "Dispatch Kernel", {size}'
            parts.append(_X.format(cat="kernel", name=name, dur=_us(length), args=args, **device))
            parts.append(_ARROW.format(ph="f", id=number, end=',\n    "bp": "e"', **device))
            gpu += length
            now += draw.randrange(9000, 12_000)
            file.write("".join(parts))
        file.write(_TAIL)
    return count // 6


def rocpd(folder: Path, count: int, seed: int = 0) -> Path:
    """A rocpd database of ``count`` dispatches on two GPUs, two streams each that overlap."""
    draw = random.Random(seed)
    starts, now = [], START
    for _ in range(count):
        now += draw.randrange(2000, 30_000)
        starts.append(now)
    start = pl.Series(starts)
    lengths = pl.Series([draw.randrange(3000, 40_000) for _ in range(count)])
    number = pl.int_range(count, eager=True)
    frame = events(
        {
            "device": (number % 2) + 1,
            "queue": number % 4,
            "stream": number % 4,
            "name": pl.Series([draw.choice(NAMES) for _ in range(count)]),
            "start_ns": start,
            "end_ns": start + lengths,
            "correlation": number + 1,
            "dispatch": number + 1,
            "process": pl.repeat(100, count, dtype=pl.Int64, eager=True),
            **{
                name: pl.repeat(256, count, dtype=pl.Int64, eager=True)
                for name in ("grid_x", "workgroup_x", "lds_bytes")
            },
            **{
                name: pl.repeat(1, count, dtype=pl.Int64, eager=True)
                for name in ("grid_y", "grid_z", "workgroup_y", "workgroup_z")
            },
            **{name: pl.repeat(0, count, dtype=pl.Int64, eager=True) for name in ("scratch_bytes", "accum_vgpr")},
            **{name: pl.repeat(32, count, dtype=pl.Int64, eager=True) for name in ("vgpr", "sgpr")},
        },
        kind="dispatch",
    )
    devices = tuple(Device(i, "gfx942", "made up", 304, 64) for i in (1, 2))
    made = Profile(kind="rocpd", events=frame, tool="labkit", devices=devices, simulated=True)
    return next(path for path in simulate.write(made, folder, "rocpd") if path.suffix == ".db")
