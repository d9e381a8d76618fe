"""Occupancy: how many wavefronts fit on a SIMD, and what stops more from fitting.

Register files, granules and wave limits as LLVM's AMDGPU backend allocates them
(llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp: getVGPRAllocGranule, getTotalNumVGPRs, getMaxWavesPerEU,
getMaxWorkGroupsPerCU; GCNProcessors and AMDGPU.td for the targets with one and a half times the registers). LDS
sizes: ROCm documentation, GPU architecture specifications. Occupancy is a limit, not a measure of speed: a kernel
with few waves can be the fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from labkit.catalog.gfx import target
from labkit.profile.names import shorten
from labkit.profile.questions.ranking import kernels
from labkit.profile.questions.selection import timed
from labkit.profile.table import Profile, with_columns


@dataclass(frozen=True)
class Silicon:
    """One compute unit. vgprs: registers per lane of a SIMD at wave size ``wave`` (accumulation registers included
    where they share the file); granule: they are given out in pieces of it; waves: most wavefronts per SIMD; simds:
    per compute unit; lds_bytes: per compute unit, in pieces of lds_granule; groups: most workgroups of several
    waves per compute unit; unified: VGPR and AccVGPR come from one file."""

    wave: int
    vgprs: int
    granule: int
    waves: int
    simds: int
    lds_bytes: int
    lds_granule: int
    groups: int
    unified: bool


_MORE_REGISTERS = ("gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201")  # Feature1_5xVGPRs


@lru_cache(maxsize=64)
def silicon(gfx: str | None, wave: int | None = None) -> Silicon | None:
    """The limits of a target at a wave size (default: the target's own); None for a target that is not established
    here."""
    name = (gfx or "").strip().split(":")[0].lower()
    row = target(name)
    own = row.wavefront_size if row else None
    size = wave or own
    if name in ("gfx900", "gfx906", "gfx908"):  # gfx908's accumulation registers are a second file of the same size
        return Silicon(64, 256, 4, 10, 4, 65_536, 512, 16, False) if size in (64, None) else None
    if name in ("gfx90a", "gfx942", "gfx950"):
        lds, piece = (163_840, 1_280) if name == "gfx950" else (65_536, 512)
        return Silicon(64, 512, 8, 8, 4, lds, piece, 16, True) if size in (64, None) else None
    if row is None or size not in (32, 64):
        return None
    narrow = size == 32
    if name.startswith("gfx101"):
        return Silicon(size, 1_024 if narrow else 512, 8 if narrow else 4, 20, 2, 65_536, 512, 16, False)
    if name.startswith("gfx103") or name.startswith("gfx110") or name.startswith("gfx115") or name.startswith("gfx120"):
        more = name in _MORE_REGISTERS
        total, granule = (1_536, 24) if more else (1_024, 16)
        return Silicon(
            size, total if narrow else total // 2, granule if narrow else granule // 2, 16, 2, 65_536, 512, 16, False
        )
    return None


@dataclass(frozen=True)
class Occupancy:
    """waves: wavefronts per SIMD that fit (may be a fraction, where workgroups do not fill all SIMDs), most: what
    the SIMD holds at most.

    limited_by: ``registers``, ``lds``, ``workgroup`` or ``nothing``; None, and waves None, where the target is unknown.
    limits: wavefronts per SIMD that each of them allows. sentence: the same in words.
    """

    waves: float | None
    most: int | None
    limited_by: str | None
    limits: dict[str, float]
    sentence: str

    @property
    def share(self) -> float | None:
        """Of the SIMD's wave slots, 0 to 1."""
        return self.waves / self.most if self.waves is not None and self.most else None


def occupancy(
    gfx: str | None,
    *,
    vgpr: int | None = None,
    accum_vgpr: int | None = None,
    lds_bytes: int | None = None,
    workgroup: int | None = None,
    wave: int | None = None,
) -> Occupancy:
    """How many wavefronts per SIMD registers, LDS and workgroup leave room for.

    vgpr, accum_vgpr: per work item, as the profiler prints them. lds_bytes: per workgroup. workgroup: its work
    items (default: one wavefront). wave: 32 or 64, where it is not the target's own. An unknown target is said to
    be unknown.
    """
    chip = silicon(gfx, wave)
    if chip is None:
        return Occupancy(None, None, None, {}, f"The limits of {gfx or 'this GPU'} are not established here.")
    waves_per_group = max(-(-(workgroup or chip.wave) // chip.wave), 1)
    limits: dict[str, float] = {}
    used = max(vgpr or 0, 0)
    second = max(accum_vgpr or 0, 0)
    used = -(-used // 4) * 4 + second if chip.unified else max(used, second)  # AccVGPRs begin at a multiple of four
    if used:
        # a workgroup's waves share one compute unit, so whole workgroups must fit
        per_simd = chip.vgprs // (-(-used // chip.granule) * chip.granule)
        limits["registers"] = float(min(per_simd, chip.waves))
    if lds_bytes and lds_bytes > 0:
        pieces = -(-lds_bytes // chip.lds_granule) * chip.lds_granule
        limits["lds"] = min(chip.lds_bytes // pieces * waves_per_group / chip.simds, float(chip.waves))
    slots = chip.waves * chip.simds
    groups = slots // waves_per_group if waves_per_group == 1 else min(slots // waves_per_group, chip.groups)
    limits["workgroup"] = groups * waves_per_group / chip.simds
    room = int(limits.get("registers", float(chip.waves)) * chip.simds)
    together = min(
        room // waves_per_group,
        groups,
        int(limits["lds"] * chip.simds) // waves_per_group if "lds" in limits else groups,
    )
    waves = together * waves_per_group / chip.simds
    tightest = min(limits, key=lambda name: limits[name])
    limited = tightest if waves < chip.waves else "nothing"
    words = {
        "registers": f"{used} registers per work item",
        "lds": f"{lds_bytes} bytes of LDS per workgroup",
        "workgroup": f"workgroups of {workgroup} work items",
        "nothing": "nothing stands in the way of more",
    }
    reason = words[limited] if limited == "nothing" else f"limited by {words[limited]}"
    if waves == 0:
        reason = f"does not fit: {words[limited]}"
    return Occupancy(waves, chip.waves, limited, limits, f"{waves:g} of {chip.waves} wavefronts per SIMD, {reason}.")


def occupancies(p: Profile, gfx: str | None = None) -> pl.DataFrame:
    """The occupancy limit of each kernel and launch shape, most time first.

    gfx: the target, where the profile does not name it. Columns: name, short, count, total_ns, vgpr, accum_vgpr,
    lds_bytes, workgroup, waves, most, limited_by; empty where the profile has no register counts. waves is null for
    an unknown target. Of a file too large to keep the shapes per dispatch, they are counted per kernel: total_ns is
    then null for a kernel with several shapes, and the target is the one that all devices share.
    """
    shape = ("vgpr", "accum_vgpr", "lds_bytes", "workgroup_x", "workgroup_y", "workgroup_z")
    schema = {
        "name": pl.String, "short": pl.String, "count": pl.Int64, "total_ns": pl.Int64, "vgpr": pl.Int32, "accum_vgpr": pl.Int32,
        "lds_bytes": pl.Int64, "workgroup": pl.Int64, "waves": pl.Float64, "most": pl.Int64, "limited_by": pl.String,
    }  # fmt: skip
    names: dict[int | None, str | None] = {d.index: d.gfx for d in p.devices}
    waves: dict[int | None, int | None] = {d.index: d.wavefront_size for d in p.devices}
    groups = _shapes(p, shape)
    if groups is None:
        return pl.DataFrame(schema=schema)
    names[None] = next(iter(names.values())) if len(set(names.values())) == 1 else None
    waves[None] = next(iter(waves.values())) if len(set(waves.values())) == 1 else None
    found = []
    for row in groups.iter_rows(named=True):
        size = 1
        for axis in ("workgroup_x", "workgroup_y", "workgroup_z"):
            size *= row[axis] or 1
        workgroup = size if row["workgroup_x"] else None
        name = str(row["name"])
        limit = occupancy(
            gfx or names.get(row["device"]),
            vgpr=row["vgpr"],
            accum_vgpr=row["accum_vgpr"],
            lds_bytes=row["lds_bytes"],
            workgroup=workgroup,
            wave=waves.get(row["device"]),
        )
        found.append(
            (name, shorten(name), row["count"], row["total_ns"], row["vgpr"], row["accum_vgpr"], row["lds_bytes"], workgroup,
             limit.waves, limit.most, limit.limited_by)
        )  # fmt: skip
    table = pl.DataFrame(found, schema=schema, orient="row")
    return table.sort(
        ["total_ns", "name", "vgpr", "lds_bytes", "workgroup", "accum_vgpr"],
        descending=[True] + [False] * 5,
        nulls_last=True,
    )


def _shapes(p: Profile, shape: tuple[str, ...]) -> pl.DataFrame | None:
    """Each kernel's launch shapes: name, device (null where not known), ``shape``, count, total_ns; None without registers."""
    if "vgpr" in p.events.columns:
        rows = timed(p, ("dispatch",), ("name", "device", *shape, "start_ns", "end_ns"))
        return (
            rows.filter(pl.col("vgpr").is_not_null())
            .group_by("name", "device", *shape)
            .agg(pl.len().alias("count"), (pl.col("end_ns") - pl.col("start_ns")).sum().alias("total_ns"))
        )
    kept = p.extras.get("launches")
    if not isinstance(kept, pl.DataFrame) or "vgpr" not in kept.columns:
        return None
    table = with_columns(kept, shape).filter(pl.col("vgpr").is_not_null())
    table = table.group_by(pl.col("name").cast(pl.String), *shape).agg(pl.col("dispatches").sum().alias("count"))
    took = kernels(p).select("name", "total_ns")
    return table.join(took, on="name", how="left").select(
        "name",
        pl.lit(None, dtype=pl.Int32).alias("device"),
        *shape,
        "count",
        pl.when(pl.len().over("name") == 1).then("total_ns").alias("total_ns"),
    )
