"""Tables without dispatches: API calls, copies, allocations, scratch memory, samples, agents, and the machine of rocprof-compute."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from labkit.profile.readers import numbers
from labkit.profile.table import Device, Profile, empty, events

_TOOL = "rocprofv3"


def api_trace(frame: pl.DataFrame) -> Profile:
    """HIP, HSA, RCCL, decoders: 'api'; ranges that the program named: 'marker'."""
    start, end, odd = numbers.times(frame)
    domain = frame["domain"].cast(pl.String)
    kind = pl.select(
        pl.when(domain.str.contains("(?i)marker")).then(pl.lit("marker")).otherwise(pl.lit("api"))
    ).to_series()
    columns: dict[str, Any] = {
        "kind": kind,
        "name": numbers.name(frame["function"]),
        "start_ns": start,
        "end_ns": end,
        **numbers.integers(frame, ("thread", "process", "correlation")),
    }
    return Profile("rocprofv3-api-trace", events(columns), tool=_TOOL, odd=tuple(odd))


def memory_copy_trace(frame: pl.DataFrame) -> Profile:
    """Copies; the device is the one that is no host: where it goes to, or for a copy to the host where it comes from."""
    start, end, odd = numbers.times(frame)
    direction = numbers.name(frame["direction"])
    columns: dict[str, Any] = {
        "name": direction,
        "start_ns": start,
        "end_ns": end,
        **numbers.integers(frame, ("thread", "process", "correlation", "queue", "stream")),
    }
    target, origin = (
        numbers.device(frame[name]) if name in frame.columns else numbers.nothing(frame.height, pl.Int32)
        for name in ("destinationagentid", "sourceagentid")
    )
    to_host = direction.cast(pl.String).str.contains("(?i)TO_HOST|ToHost|DtoH")
    columns["device"] = origin.zip_with(to_host.fill_null(False), target)
    for name in ("bytes", "size", "copysize"):
        if name in frame.columns:
            columns["bytes"] = numbers.whole(frame[name])[0]
    return Profile("rocprofv3-memory-copy-trace", events(columns, kind="copy"), tool=_TOOL, odd=tuple(odd))


def memory_allocation_trace(frame: pl.DataFrame) -> Profile:
    """Memory allocated and freed. ``allocations`` counts the operations that end in ALLOCATE."""
    start, end, odd = numbers.times(frame)
    found = next((name for name in ("operation", "kind") if name in frame.columns), None)
    operation = numbers.name(frame[found] if found else numbers.nothing(frame.height, pl.String))
    size = numbers.whole(frame["allocationsize"])[0]
    columns: dict[str, Any] = {
        "name": operation,
        "start_ns": start,
        "end_ns": end,
        "bytes": size,
        **numbers.integers(frame, ("thread", "process", "correlation")),
    }
    if "agentid" in frame.columns:
        columns["device"] = numbers.device(frame["agentid"])
    taken = operation.cast(pl.String).str.contains("(?i)ALLOCATE$").fill_null(False)
    extras = {"allocations": int(taken.sum()), "allocated_bytes": int(size.filter(taken).sum() or 0)}
    return Profile(
        "rocprofv3-memory-allocation-trace",
        events(columns, kind="allocation"),
        tool=_TOOL,
        odd=tuple(odd),
        extras=extras,
    )


def scratch_memory_trace(frame: pl.DataFrame) -> Profile:
    """Scratch memory that the runtime provides; no kernel time."""
    start, end, odd = numbers.times(frame)
    found = next((name for name in ("operation", "kind") if name in frame.columns), None)
    columns: dict[str, Any] = {
        "name": numbers.name(frame[found] if found else numbers.nothing(frame.height, pl.String)),
        "start_ns": start,
        "end_ns": end,
        **numbers.integers(frame, ("queue", "thread", "process", "correlation")),
    }
    if "agentid" in frame.columns:
        columns["device"] = numbers.device(frame["agentid"])
    return Profile("rocprofv3-scratch-memory-trace", events(columns, kind="other"), tool=_TOOL, odd=tuple(odd))


def pc_sampling(frame: pl.DataFrame) -> Profile:
    """Samples of the program counter; ``samples`` counts them, ``instructions`` has the most frequent ones."""
    extras: dict[str, Any] = {"samples": int(frame["sampletimestamp"].is_not_null().sum())}
    if "instruction" in frame.columns:
        counted = frame["instruction"].cast(pl.String).drop_nulls().value_counts(sort=True, name="samples").head(50)
        extras["instructions"] = [
            tuple(row) for row in counted.sort(["samples", "instruction"], descending=[True, False]).rows()
        ]
    return Profile("rocprofv3-pc-sampling", empty(), tool=_TOOL, extras=extras)


def agent_info(frame: pl.DataFrame) -> Profile:
    """The devices of a run; ``gpus`` has their gfx targets in order."""
    devices = []
    gpus = []
    for row in frame.iter_rows(named=True):
        if str(row.get("agenttype") or "").strip().upper() not in ("GPU", "2"):
            continue
        target = str(row.get("name") or "") or None
        if target is None or not target.startswith("gfx"):
            target = gfx_of_version(_int(row.get("gfxtargetversion"))) or target
        node = _int(row.get("nodeid"))
        node = node if node is not None else _int(row.get("logicalnodeid"))
        if target is not None:
            gpus.append(target)
        if node is not None:
            product = str(row.get("productname") or "").strip() or None
            devices.append(Device(node, target, product, _int(row.get("cucount")), _int(row.get("wavefrontsize"))))
    return Profile("rocprofv3-agent-info", empty(), tool=_TOOL, devices=tuple(devices), extras={"gpus": gpus})


def counter_list(frame: pl.DataFrame) -> Profile:
    """The counters that an agent has, as a table: the agents have numbers there, no gfx names."""
    names = frame["name"].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    return Profile("rocprofv3-list-avail", empty(), tool=_TOOL, extras={"gpus": [], "available": names})


def gfx_of_version(version: int | None) -> str | None:
    """The target of KFD's number: major * 10000 + minor * 100 + step, the last two as hexadecimal digits.

    >>> gfx_of_version(90010), gfx_of_version(110001)
    ('gfx90a', 'gfx1101')
    """
    if not version or version < 10000:
        return None
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{step:x}"


def sysinfo(frame: pl.DataFrame) -> Profile:
    """The machine of a rocprof-compute run."""
    row = frame.row(0, named=True) if frame.height else {}

    def text(*names: str) -> str | None:
        found = next((str(row[n]).strip() for n in names if row.get(n) not in (None, "")), None)
        return None if found is None or found.upper() in ("N/A", "NA", "NONE", "NAN") else found

    arch = text("gpuarch")
    old = text("gpusoc")
    if arch is None and old is not None and re.match(r"gfx\w+$", old):
        arch = old
    model = text("gpumodel", *(("name",) if "gpusoc" in row else ()))  # the first releases call it the name
    units = _int(text("cupergpu", "numcu"))
    found = {
        "gpu_arch": arch,
        "gpu_model": model,
        "rocm_version": text("rocmversion", "hostrocmver"),
        "compute_units": units,
    }
    version = text("rocprofilercomputeversion", "version")
    devices = (Device(0, arch, model, units, _int(text("wavesize", "wavefrontsize"))),)
    return Profile(
        "rocprof-compute",
        empty(),
        tool="rocprof-compute",
        version=version,
        devices=devices if arch else (),
        extras={"sysinfo": found},
    )


def _int(value: object) -> int | None:
    found = re.fullmatch(r"\s*\"?(\d{1,18})(?:\.0*)?\"?\s*", str(value))
    return int(found.group(1)) if found else None
