"""Which dtypes a device computes in by itself, and how that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.devices.facts import gpu_facts


@dataclass(frozen=True)
class Dtype:
    """How a device computes in one dtype: 'native', 'emulated', 'none' or 'unknown', and why that is said."""

    name: str
    status: str
    reason: str


def dtypes(facts: Mapping[str, Any], device: str) -> tuple[Dtype, ...]:
    """Which dtypes the device computes in by itself: AMD by gfx target from the catalog, NVIDIA by compute capability,
    CPU by the flags of the processor. torch's own ``is_bf16_supported()`` is not asked: on ROCm it always says True."""
    if device.startswith("cuda"):
        gpu = gpu_facts(facts, device)
        if gpu.get("gfx"):
            return _amd_dtypes(str(gpu["gfx"]))
        if gpu.get("capability"):
            return _nvidia_dtypes(tuple(gpu["capability"]))
    if device == "cpu":
        return _cpu_dtypes((facts.get("cpu") or {}).get("flags") or {})
    return tuple(
        Dtype(name, "unknown", f"labkit knows nothing of '{device}'")
        for name in ("float32", "tf32", "float16", "bfloat16", "fp8")
    )


def _amd_dtypes(gfx: str) -> tuple[Dtype, ...]:
    from labkit.catalog import precision

    return tuple(Dtype(name, found.status, found.reason) for name, found in precision.dtype_support(gfx).items())


def _nvidia_dtypes(capability: tuple[int, ...]) -> tuple[Dtype, ...]:
    # First compute capability with the arithmetic (CUDA C++ programming guide, 'Compute capabilities').
    first = {"float32": (1, 0), "tf32": (8, 0), "float16": (5, 3), "bfloat16": (8, 0), "fp8": (8, 9)}
    text = ".".join(map(str, capability))
    return tuple(
        Dtype(
            name,
            "native" if capability >= since else "none" if name in ("tf32", "fp8") else "emulated",
            f"compute capability {text}; native from {since[0]}.{since[1]}",
        )
        for name, since in first.items()
    )


def _cpu_dtypes(flags: Mapping[str, bool]) -> tuple[Dtype, ...]:
    def by(names: Sequence[str]) -> tuple[str, str]:
        present = [name for name in names if flags.get(name)]
        if present:
            return "native", f"this processor has {' and '.join(present)}"
        if any(name in flags for name in names):
            return (
                "emulated",
                f"this processor has neither {' nor '.join(name for name in names if name in flags)}: slow",
            )
        return "unknown", "the processor's flags could not be read"

    return (
        Dtype("float32", "native", "every processor that runs torch"),
        Dtype("tf32", "none", "a format of GPU matrix units"),
        Dtype("float16", *by(("avx512_fp16", "amx_fp16", "fp16"))),
        Dtype("bfloat16", *by(("avx512_bf16", "amx_bf16", "bf16"))),
        Dtype("fp8", "none", "no processor instruction is used by torch"),
    )
