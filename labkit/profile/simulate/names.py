"""Kernel names and launch shapes as ROCm's libraries print them, per kind of work, target and precision.

The shapes of the names are those of real profiles (rocBLAS and hipBLASLt from Tensile, MIOpen, AOTriton, RCCL, ATen);
tile sizes and register counts are plausible, not looked up: which solver a library picks differs by release. Kernels whose
name depends on nothing but the precision stand in ``kernels.json`` ($T: the type, $W: numbers per access).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.profile.simulate.gpus import Gpu
from labkit.profile.simulate.layers import Work

_C10 = {"fp32": "float", "fp16": "c10::Half", "bf16": "c10::BFloat16"}
_TENSILE = {"fp32": "S_B", "fp16": "HHS_BH", "bf16": "BBS_BH"}
_LAYOUT = {"aten::addmm": "Alik_Bljk", "aten::mm": "Ailk_Bjlk"}
_IGEMM = {"gfx908": "gtcx", "gfx90a": "gtcx2"}
_WAY = {"conv_forward": "fwd", "conv_data": "bwd", "conv_weight": "wrw"}


@dataclass(frozen=True)
class Kernel:
    """What a dispatch row shows besides its times. grid: work items. module: launched with hipExtModuleLaunchKernel."""

    name: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    vgpr: int
    accum_vgpr: int
    sgpr: int
    lds_bytes: int
    module: bool = False


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, Any]]:
    rows = json.loads((Path(__file__).parent / "kernels.json").read_text(encoding="utf-8"))
    return {row["kind"]: row for row in rows}


def _tile(work: Work) -> tuple[int, int]:
    rows, columns, _ = work.shape or (1, 1, 1)
    return (16 if rows < 32 else 64 if rows < 2048 else 128), (16 if columns < 32 else 64 if columns < 1024 else 128)


def _tensile(work: Work, gpu: Gpu, precision: str) -> str:
    high, wide = _tile(work)
    isa = gpu.gfx.removeprefix("gfx")
    matrix = ""
    if gpu.wavefront == 64:
        matrix = "MI16x16x1_"
    elif precision != "fp32" and isa.startswith(("11", "12")):
        matrix = "WMMA16x16x16_"
    return (
        f"Cijk_{_LAYOUT.get(work.operator, 'Ailk_Bljk')}_{_TENSILE[precision]}_Bias_HA_S_SAV_UserArgs_MT{high}x{wide}x32_"
        f"{matrix}SN_LDSB1_AFC1_CLR1_EPS0_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA{isa}_IU1_K1_LRVW8_PGR2_PLR1_SVW4_VWA4_VWB1_"
        f"WS{gpu.wavefront}_WG32_8_1"
    )


def _convolution(work: Work, gpu: Gpu, precision: str) -> str:
    way, (high, wide) = _WAY[work.kind], _tile(work)
    if gpu.wavefront == 64:
        return (
            f"igemm_{way}_{_IGEMM.get(gpu.gfx, 'gtcx3')}_nhwc_{precision}_bx0_ex1_bt{high}x{wide}x16_wt16x16x4_ws1x1_wr2x2_"
            "ta1x1x4x1_1x16x1x16_tb1x1x4x1_1x16x1x16"
        )
    family = gpu.gfx[:5]
    if way != "wrw":
        return f"miopenSp3AsmConv_v30_3_1_{family}_{precision}_f2x3_stride1"
    if min(work.shape[:2], default=0) < 64:
        return f"miopenGcnAsmConv1x1WrW_{family}_{precision}"
    return f"miopenSp3AsmConv_v30_3_1_{family}_{precision}_wrw_f3x2_stride1"


@lru_cache(maxsize=4096)
def kernel_of(work: Work, gpu: Gpu, precision: str) -> Kernel:
    """Name and launch shape of the kernel that does this work on this GPU. Raises KeyError for an unknown kind of work."""
    if work.kind == "gemm" or work.kind in _WAY:
        high, wide = _tile(work)
        rows, columns, _ = work.shape or (1, 1, 1)
        groups = -(-rows // high) * -(-columns // wide)
        if work.kind in _WAY and gpu.wavefront == 32:
            high, wide = 64, 64  # one kernel for all sizes: the same registers every time
        accumulators = high * wide // 256 if gpu.wavefront == 64 else 0
        lds = 2 * 32 * (high + wide) * (4 if precision == "fp32" else 2)
        name = (_tensile if work.kind == "gemm" else _convolution)(work, gpu, precision)
        return Kernel(name, (groups * 256, 1, 1), (256, 1, 1), 64 + high // 2, accumulators, 96, lds, True)
    row = _table()[work.kind]
    group = row["workgroup"]
    groups = max(1, min(-(-work.outputs // (group * row["numbers_per_item"])), 2**21))
    name = row["name"].replace("$T", _C10[precision]).replace("$W", "4" if precision == "fp32" else "8")
    return Kernel(
        name, (groups * group, 1, 1), (group, 1, 1), row["vgpr"], 0, row["sgpr"], row["lds_bytes"], row["module"]
    )
