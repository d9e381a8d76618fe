"""Which number formats a GPU target computes natively, and how that is known.

``torch.cuda.is_bf16_supported()`` cannot answer this on ROCm: see ``BF16_CHECK``. So the answer comes from the target.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.gfx import target

CHECKED = "2026-11-30"
DTYPES = ("float32", "tf32", "bfloat16", "float16", "fp8")

BF16_CHECK = (
    "torch.cuda.is_bf16_supported() returns True on every ROCm build, also on RDNA 2 cards that have no native bfloat16: "
    "read in torch 2.14.1's torch/cuda/__init__.py. Decide by the gfx target."
)

_GPUOPEN = "gpuopen.com/learn/using_matrix_core_amd_rdna4 (operations per clock and compute unit)"
_PRECISION = "ROCm docs/reference/precision-support.rst"
_TORCH_TF32 = "torch 2.14.1 torch/cuda/__init__.py (is_tf32_supported) and PyTorch docs/source/notes/hip.rst"
_CDNA = "ROCm docs/conceptual/gpu-arch/mi100.md, mi250.md, mi300.md"
_TABLE = "labkit/catalog/gfx.json"
_GENERAL = "general knowledge, not looked up"


@dataclass(frozen=True)
class DtypeSupport:
    """How a target treats one number format.

    ``status`` is 'native' (the silicon computes in it), 'emulated' (PyTorch accepts it and converts, so it saves memory
    but no time), 'none' (no use) or 'unknown'.
    """

    dtype: str
    status: str
    reason: str
    source: str
    checked: str = CHECKED

    @property
    def native(self) -> bool:
        return self.status == "native"


def dtype_support(gfx: str | None) -> dict[str, DtypeSupport]:
    """Support per format (the keys are ``DTYPES``) for a target such as ``gfx1100`` or ``gfx90a:sramecc+:xnack-``.

    An unknown target gets 'unknown' everywhere but for float32.
    """
    row = target(gfx)
    name = row.gfx if row else ""
    answers = {
        "float32": ("native", "Every GPU target computes in float32.", _GENERAL),
        "tf32": _tf32(name),
        "bfloat16": _bfloat16(name),
        "float16": _float16(name),
        "fp8": _fp8(name),
    }
    return {dtype: DtypeSupport(dtype, *answers[dtype]) for dtype in DTYPES}


def native_dtypes(gfx: str | None) -> tuple[str, ...]:
    """The formats that the target computes natively, in the order of ``DTYPES``."""
    return tuple(dtype for dtype, support in dtype_support(gfx).items() if support.native)


_UNKNOWN = ("unknown", "The target is not in labkit's table.", _TABLE)


def _tf32(gfx: str) -> tuple[str, str, str]:
    if not gfx:
        return _UNKNOWN
    if gfx in ("gfx942", "gfx950"):
        return "native", "TF32 runs through hipBLASLt on gfx94x and gfx95x.", _TORCH_TF32
    if gfx == "gfx1250":
        return "unknown", "Not established for this announced part.", _TORCH_TF32
    return "none", "Only gfx94x and gfx95x have TF32: the switch exists elsewhere and changes nothing.", _TORCH_TF32


def _bfloat16(gfx: str) -> tuple[str, str, str]:
    if not gfx:
        return _UNKNOWN
    if gfx == "gfx908":
        return "native", "Native, at half the float16 rate.", "ROCm docs/conceptual/gpu-arch/mi100.md"
    if gfx in ("gfx90a", "gfx942", "gfx950"):
        return "native", "The matrix cores compute bfloat16 at the float16 rate.", _CDNA
    if gfx == "gfx1250":
        return "native", "Listed with bfloat16 matrix operations; an announced part, not measured here.", _TABLE
    if gfx.startswith(("gfx11", "gfx12")):
        return "native", "WMMA instructions compute bfloat16 at the float16 rate.", _GPUOPEN
    if gfx.startswith("gfx103"):
        return (
            "emulated",
            "RDNA 2 has no bfloat16 arithmetic: PyTorch converts to float32 and back. Use float16.",
            _GPUOPEN,
        )
    return "emulated", "No bfloat16 arithmetic: PyTorch converts to float32 and back. Use float16.", _TABLE


def _float16(gfx: str) -> tuple[str, str, str]:
    if not gfx:
        return _UNKNOWN
    if gfx in ("gfx908", "gfx90a", "gfx942", "gfx950"):
        return "native", "The matrix cores compute float16.", _CDNA
    if gfx == "gfx1250":
        return "native", "Expected from its predecessors; an announced part, not measured here.", _GENERAL
    if gfx.startswith(("gfx11", "gfx12")):
        return "native", "WMMA instructions compute float16.", _GPUOPEN
    if gfx.startswith("gfx103"):
        return "native", "Packed float16 in the vector units, two per lane; no matrix units.", _GPUOPEN
    return "native", "Packed float16 in the vector units, two per lane; no matrix units.", _GENERAL


def _fp8(gfx: str) -> tuple[str, str, str]:
    if not gfx:
        return _UNKNOWN
    if gfx == "gfx942":
        return "native", "FP8 in the FNUZ encodings (float8_e4m3fnuz, float8_e5m2fnuz), not the OCP ones.", _PRECISION
    if gfx == "gfx950":
        return "native", "FP8 in the OCP encodings (float8_e4m3fn, float8_e5m2).", _GENERAL
    if gfx in ("gfx1200", "gfx1201"):
        return "native", "FP8 WMMA in the OCP encodings (float8_e4m3fn, float8_e5m2).", _GENERAL
    if gfx == "gfx1250":
        return "unknown", "Not established for this announced part.", _PRECISION
    if gfx in ("gfx908", "gfx90a"):
        return "none", "CDNA 1 and CDNA 2 have no FP8.", _PRECISION
    return "none", "GPUs before CDNA 3 and RDNA 4 have no FP8.", _GENERAL
