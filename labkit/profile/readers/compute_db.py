"""rocprof-compute's analysis database: dispatches with their times, kernels' names, and the description of the machine."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from labkit.profile.readers.sqlite import Database
from labkit.profile.readers.times import usable
from labkit.profile.table import Device, Profile, events

_COLUMNS = {
    "kernel": "kernel_uuid",
    "name": "kernel_name",
    "dispatch": "dispatch_id",
    "device": "gpu_id",
    "start_ns": "start_timestamp",
    "end_ns": "end_timestamp",
}


def is_there(database: Database) -> bool:
    """Whether this is such a database."""
    return "compute_dispatch" in database.tables


def read(database: Database, name: str = "") -> Profile:
    """The profile in this database."""
    found = database.take("compute_dispatch", _COLUMNS)
    if "kernel" in found.columns and "name" not in found.columns:
        names: dict[Any, str] = {}
        if "compute_kernel" in database.tables:
            names = database.named("compute_kernel", "kernel_uuid", "kernel_name")
        found = found.with_columns(
            pl.col("kernel")
            .replace_strict(list(names), list(names.values()), default=None, return_dtype=pl.String)
            .alias("name")
            if names
            else pl.lit(None, dtype=pl.String).alias("name")
        )
    frame, odd = usable(events(found.drop("kernel", strict=False).to_dict(), kind="dispatch"))
    system = _system(database)
    extras: dict[str, Any] = {}
    if system:
        extras["sysinfo"] = {
            "gpu_arch": system.get("gpu_arch"),
            "gpu_model": system.get("gpu_model"),
            "rocm_version": system.get("rocm_version"),
            "compute_units": _whole(system.get("cu_per_gpu")),
        }
    units, wave = _whole(system.get("cu_per_gpu")), _whole(system.get("wave_size"))
    gfx = system.get("gpu_arch") if isinstance(system.get("gpu_arch"), str) else None
    model = system.get("gpu_model") if isinstance(system.get("gpu_model"), str) else None
    used = frame["device"].drop_nulls().unique().sort().to_list()
    return Profile(
        kind="rocprof-compute",
        events=frame,
        tool="rocprof-compute",
        version=_version(database),
        devices=tuple(Device(index, gfx, model, units, wave) for index in used),
        odd=(*database.odd, *odd),
        extras=extras,
        sources=(name,) if name else (),
    )


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _system(database: Database) -> dict[str, Any]:
    if "compute_workload" not in database.tables or "sys_info_extdata" not in database.columns("compute_workload"):
        return {}
    for (text,) in database.rows("SELECT sys_info_extdata FROM compute_workload LIMIT 1"):
        try:
            found = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}
    return {}


def _version(database: Database) -> str | None:
    if "compute_metadata" not in database.tables or "compute_version" not in database.columns("compute_metadata"):
        return None
    return next(
        (str(row[0]) for row in database.rows("SELECT compute_version FROM compute_metadata LIMIT 1") if row[0]), None
    )
