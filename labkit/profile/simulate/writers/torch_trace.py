"""torch.profiler's Chrome trace, as Kineto writes it on ROCm (plain or compressed) and on CUDA.

As on ROCm, ``grid`` counts groups for hipLaunchKernel and work items for hipExtModuleLaunchKernel. Devices are numbered
from 0. Times are microseconds with three digits, so nothing is lost.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl

from labkit.profile.simulate.writers import files, rows
from labkit.profile.table import Profile

_CUDA = {
    "hipLaunchKernel": "cudaLaunchKernel",
    "hipExtModuleLaunchKernel": "cudaLaunchKernelExC",
    "hipMemcpyAsync": "cudaMemcpyAsync",
    "hipMemcpyWithStream": "cudaMemcpy",
    "hipStreamSynchronize": "cudaStreamSynchronize",
    "hipDeviceSynchronize": "cudaDeviceSynchronize",
}
_LOAD = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_COPY = {
    "MEMORY_COPY_HOST_TO_DEVICE": ("Memcpy HtoD (Host -> Device)", "HtoD"),
    "MEMORY_COPY_DEVICE_TO_HOST": ("Memcpy DtoH (Device -> Host)", "DtoH"),
    "MEMORY_COPY_DEVICE_TO_DEVICE": ("Memcpy DtoD (Device -> Device)", "DtoD"),
}


def _us(column: str | pl.Expr) -> pl.Expr:
    ns = pl.col(column) if isinstance(column, str) else column
    return pl.concat_str(ns // 1000, pl.lit("."), (ns % 1000).cast(pl.String).str.zfill(3))


def _quoted(frame: pl.DataFrame) -> pl.DataFrame:
    """The names as JSON strings, each name encoded once."""
    names = frame["name"].unique()
    table = pl.DataFrame(
        {"name": names, "quoted": [json.dumps(name) for name in names]}, schema={"name": pl.String, "quoted": pl.String}
    )
    return frame.join(table, on="name", how="left", maintain_order="left")


def _head(category: str, pid: str, tid: str) -> list[pl.Expr]:
    return [
        pl.lit(f'{{"ph":"X","cat":"{category}","name":'), pl.col("quoted"), pl.lit(',"pid":'), pl.col(pid), pl.lit(',"tid":'),
        pl.col(tid), pl.lit(',"ts":'), _us("start_ns"), pl.lit(',"dur":'), _us(pl.col("end_ns") - pl.col("start_ns")),
        pl.lit(',"args":{'),
    ]  # fmt: skip


def _lines(frame: pl.DataFrame, parts: list[pl.Expr]) -> pl.Series:
    return _quoted(frame).select(pl.concat_str(parts).alias("line"))["line"]


def _with_external(frame: pl.DataFrame, operators: pl.DataFrame) -> pl.DataFrame:
    """Launches with ``external``: the number of the operator around them, 0 where there is none."""
    if not operators.height:
        return frame.with_columns(pl.lit(0).alias("external"))
    inside = operators.select("thread", "start_ns", pl.col("end_ns").alias("until"), "external").sort("start_ns")
    found = frame.sort("start_ns").join_asof(
        inside, on="start_ns", by="thread", strategy="backward", check_sortedness=False
    )
    ended = pl.col("until").is_null() | (pl.col("until") < pl.col("end_ns"))
    return found.with_columns(pl.when(ended).then(0).otherwise(pl.col("external")).alias("external")).drop("until")


def prepare(profile: Profile, flavour: str) -> dict[str, pl.DataFrame]:
    """Rows per category of the trace, ready for ``lines``."""
    markers, operators, apis, copies = (rows.of_kind(profile, kind) for kind in ("marker", "operator", "api", "copy"))
    step = pl.col("name").str.strip_prefix("step ")
    name = pl.col("name")
    markers = markers.with_columns(
        pl.when(name.str.starts_with("step "))
        .then(pl.concat_str(pl.lit("ProfilerStep#"), step))
        .when(name == "load")
        .then(pl.lit(_LOAD))
        .otherwise(name)
        .alias("name")
    )
    operators = operators.with_columns((pl.int_range(pl.len(), dtype=pl.Int64) + 1).alias("external"))
    apis = _with_external(apis, operators)
    module = pl.col("name") == "hipExtModuleLaunchKernel"
    launches = apis.select("process", "correlation", "external", module.alias("module"))
    kernels = rows.dispatches(profile).join(launches, on=["process", "correlation"], how="left", maintain_order="left")
    groups = [
        pl.when(pl.col("module"))
        .then(pl.col(f"grid_{x}"))
        .otherwise(pl.col(f"grid_{x}") // pl.col(f"workgroup_{x}"))
        .alias(f"grid_{x}")
        for x in "xyz"
    ]
    kernels = kernels.with_columns(*groups, (pl.col("device") - 1).clip(0), pl.col("external").fill_null(0))
    copies = copies.with_columns(
        (pl.col("device") - 1).clip(0),
        pl.col("name").replace_strict({k: v[1] for k, v in _COPY.items()}, default="DtoD").alias("way"),
        pl.col("name").replace({k: v[0] for k, v in _COPY.items()}),
        pl.col("bytes").fill_null(0),
    )
    if flavour == "cuda":
        apis = apis.with_columns(pl.col("name").replace(_CUDA))
        copies = copies.with_columns(pl.col("name").str.replace("Host", "Pageable"))
    return {"markers": markers, "operators": operators, "apis": apis, "kernels": kernels, "copies": copies}


def _pairs(*pairs: tuple[str, str | pl.Expr]) -> list[pl.Expr]:
    """``"key":value`` with commas between; a value is a column's name or an expression that gives JSON."""
    found: list[pl.Expr] = []
    for i, (key, value) in enumerate(pairs):
        found += [pl.lit(f'{"," if i else ""}"{key}":'), pl.col(value) if isinstance(value, str) else value]
    return found


def _triple(name: str) -> pl.Expr:
    return pl.concat_str(pl.lit("["), f"{name}_x", pl.lit(","), f"{name}_y", pl.lit(","), f"{name}_z", pl.lit("]"))


def _flow(frame: pl.DataFrame, phase: str, pid: str, tid: str, more: str = "") -> pl.Series:
    """One end of the arrows from the host to the GPU."""
    pairs = _pairs(("id", "correlation"), ("pid", pid), ("tid", tid), ("ts", _us("start_ns")))
    text = [pl.lit(f'{{"ph":"{phase}",'), *pairs, pl.lit(f',"cat":"ac2g","name":"ac2g"{more}}}')]
    return frame.select(pl.concat_str(text).alias("line"))["line"]


def lines(table: dict[str, pl.DataFrame], flavour: str) -> list[pl.Series]:
    """One JSON object per event, without commas between them."""
    c, zero, end = pl.col, pl.lit("0"), pl.lit("}}")
    flops = pl.concat_str(pl.lit(',"flops":'), c("flops").round(0).cast(pl.Int64, strict=False))
    flops = pl.when(c("flops") > 0).then(flops).otherwise(pl.lit(""))
    place: list[tuple[str, str | pl.Expr]] = [
        ("device", "device"),
        ("stream", "stream"),
        ("correlation", "correlation"),
    ]
    shape: list[tuple[str, str | pl.Expr]] = [("grid", _triple("grid")), ("block", _triple("workgroup"))]
    if flavour == "cuda":
        shape = [("context", pl.lit("1")), ("registers per thread", "vgpr"), ("shared memory", "lds_bytes"), *shape]
    else:
        shape = [("kind", pl.lit('"Dispatch Kernel"')), *shape]
    way = pl.concat_str(pl.lit('"'), "way", pl.lit('"'))
    speed = (c("bytes") / (c("end_ns") - c("start_ns"))).round(6)
    external = ("External id", "external")
    found = [
        _lines(
            table["markers"],
            [*_head("user_annotation", "process", "thread"), *_pairs(("Record function id", zero)), end],
        ),
        _lines(
            table["operators"],
            [*_head("cpu_op", "process", "thread"), *_pairs(external, ("Record function id", zero)), flops, end],
        ),
        _lines(
            table["apis"],
            [*_head("cuda_runtime", "process", "thread"), *_pairs(external, ("cid", zero), place[2]), end],
        ),
        _lines(table["kernels"], [*_head("kernel", "device", "stream"), *_pairs(external, *place, *shape), end]),
        _lines(
            table["copies"],
            [
                *_head("gpu_memcpy", "device", "stream"),
                *_pairs(*place, ("kind", way), ("bytes", "bytes"), ("memory bandwidth (GB/s)", speed)),
                end,
            ],
        ),
    ]
    work = [table[key].select("process", "correlation") for key in ("kernels", "copies")]
    callers = table["apis"].join(pl.concat(work), on=["process", "correlation"], how="semi")
    found += [_flow(table[key], "f", "device", "stream", ',"bp":"e"') for key in ("kernels", "copies")]
    return [*found, _flow(callers, "s", "process", "thread")]


def header(profile: Profile, flavour: str) -> str:
    """The trace's text up to the first event."""
    cuda = flavour == "cuda"
    devices = [
        {"id": i, "name": a["name"], "totalGlobalMem": 0, "computeMajor": 8 if cuda else int(str(rows.target_version(a["gfx"]))[:-4] or 0),
         "computeMinor": 0, "maxThreadsPerBlock": 1024, "warpSize": 32 if cuda else a["wave"], "numSms": a["cus"]}
        for i, a in enumerate(a for a in rows.agents(profile) if a["type"] == "GPU")
    ]  # fmt: skip
    versions = (
        ("cuda_runtime_version", "cuda_driver_version") if cuda else ("hip_runtime_version", "hip_driver_version")
    )
    top: dict[str, Any] = {
        "schemaVersion": 1,
        "simulated": 1,
        "simulation": rows.about(profile),
        "deviceProperties": devices,
        **dict.fromkeys(versions, 12_060 if cuda else 70_000_000),
        "trace_id": rows.guid(profile).replace("-", "").upper(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 0,
    }
    names = [
        {"name": "process_name", "ph": "M", "ts": 0, "pid": d["id"], "tid": 0, "args": {"name": "python3"}}
        for d in devices
    ]
    names += [
        {"name": "process_labels", "ph": "M", "ts": 0, "pid": d["id"], "tid": 0, "args": {"labels": f"GPU {d['id']}"}}
        for d in devices
    ]
    text = json.dumps(top, separators=(",", ":"))[:-1] + ',"traceEvents":[\n'
    return text + ",\n".join(json.dumps(name, separators=(",", ":")) for name in names)


def tail() -> str:
    """The trace's text after the last event."""
    return '\n],"traceName":"simulated.json"}\n'


def write(profile: Profile, folder: Path, name: str, variant: str) -> list[Path]:
    """``NAME.pt.trace.json`` (``.gz``) and the mark."""
    flavour = variant.split(".")[0]
    parts = [header(profile, flavour)]
    for series in lines(prepare(profile, flavour), flavour):
        parts += series.to_list()
    data = (",\n".join(parts) + tail()).encode("utf-8")
    path = folder / f"{name}.pt.trace.json"
    if variant.endswith(".gz"):
        path, data = path.with_name(f"{path.name}.gz"), gzip.compress(data, 6, mtime=0)
    with files.replacing(path) as temporary:
        temporary.write_bytes(data)
    return [path, files.note(folder, rows.about(profile))]
