"""The rows that writers need, in the order in which a tool would write them. Times in nanoseconds."""

from __future__ import annotations

import uuid
from typing import Any

import polars as pl

from labkit.profile.table import Profile, with_columns

_NEEDED = (
    "grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z", "lds_bytes", "scratch_bytes", "vgpr",
    "accum_vgpr", "sgpr", "bytes", "flops", "dispatch", "process",
)  # fmt: skip
_ZERO = (
    *(name for name in _NEEDED if name not in ("bytes", "flops", "process")),
    "queue",
    "stream",
    "thread",
    "correlation",
    "device",
)


def of_kind(profile: Profile, *kinds: str) -> pl.DataFrame:
    """Timed rows of these kinds by start, names as strings, what is unknown 0 (grid and work group 1)."""
    frame = with_columns(profile.of(*kinds), _NEEDED)
    zeros = [pl.col(name).fill_null(1 if name.startswith(("grid", "workgroup")) else 0) for name in _ZERO]
    frame = frame.with_columns(*zeros, pl.col("process").fill_null(pl.col("thread")), pl.col("name").cast(pl.String))
    return frame.sort("start_ns", "end_ns", "correlation", maintain_order=True)


def dispatches(profile: Profile) -> pl.DataFrame:
    """Kernel dispatches with ``kernel`` (number of the name, from 1, by first use) and a dispatch number from 1."""
    frame = of_kind(profile, "dispatch")
    names = frame.select("name").unique(maintain_order=True).with_row_index("kernel", offset=1)
    frame = frame.join(names, on="name", how="left", maintain_order="left")
    return frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("dispatch"))


def statistics(frame: pl.DataFrame, by: str = "name") -> pl.DataFrame:
    """rocprofv3's eight columns: per name calls, total, mean, share, least, most, standard deviation."""
    lasted = (pl.col("end_ns") - pl.col("start_ns")).alias("ns")
    total = (frame["end_ns"] - frame["start_ns"]).sum() or 1
    return (
        frame.with_columns(lasted)
        .group_by(pl.col(by).alias("Name"), maintain_order=True)
        .agg(
            pl.len().alias("Calls"),
            pl.col("ns").sum().alias("TotalDurationNs"),
            pl.col("ns").mean().round(6).alias("AverageNs"),
            (100.0 * pl.col("ns").sum() / total).round(2).alias("Percentage"),
            pl.col("ns").min().alias("MinNs"),
            pl.col("ns").max().alias("MaxNs"),
            pl.col("ns").std().fill_null(0.0).round(6).alias("StdDev"),
        )
        .sort("TotalDurationNs", "Name", descending=[True, False])
    )


def about(profile: Profile) -> dict[str, Any]:
    """What was simulated, as the profile's extras say."""
    found: dict[str, Any] = dict(profile.extras.get("simulation", {}))
    return found


def guid(profile: Profile) -> str:
    """A UUID that is the same for the same run."""
    return str(
        uuid.uuid5(uuid.NAMESPACE_OID, f"labkit simulated {sorted(about(profile).items())} {profile.events.height}")
    )


CPU = "simulated host processor"


def agents(profile: Profile) -> list[dict[str, Any]]:
    """The host (agent 0) and the GPUs: index, type, gfx, name, compute units, wavefront."""
    found: list[dict[str, Any]] = [{"index": 0, "type": "CPU", "gfx": CPU, "name": CPU, "cus": 0, "wave": 0}]
    for d in profile.devices:
        name = d.name or d.gfx or "GPU"
        if profile.simulated and not name.startswith("simulated "):
            name = f"simulated {name}"
        found.append(
            {"index": d.index, "type": "GPU", "gfx": d.gfx or "gfx000", "name": name, "cus": d.compute_units or 0,
             "wave": d.wavefront_size or 64}
        )  # fmt: skip
    return found


def target_version(gfx: str) -> int:
    """gfx90a -> 90010, gfx1100 -> 110000: major·10000 + minor·100 + stepping, as the driver numbers targets."""
    digits = gfx.removeprefix("gfx")
    try:
        return int(digits[:-2]) * 10_000 + int(digits[-2]) * 100 + int(digits[-1], 16)
    except (ValueError, IndexError):
        return 0
