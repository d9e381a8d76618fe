"""Misconceptions: which cards are in the wheels, who shares memory, and what 'compatible' means."""

from __future__ import annotations

from labkit.catalog import gfx, wheels
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


@probe("1.2")
def consumer_targets_in_wheels() -> Observation:
    """Looks up which RX 6000 and RX 7000 targets PyTorch's current wheels carry, and which AMD's carry."""
    rows = gfx.with_products("RX 6", "RX 7")
    native = [row.gfx for row in rows if wheels.PREFERRED_ROCM in row.pytorch_indexes]
    neither = [row.gfx for row in rows if row.gfx not in native and not row.amd_extra]
    saw = "holds" if not native else "deprecated" if not neither else "partly"
    return Observation(
        saw,
        f"By the catalog, of the targets of RX 6000 and RX 7000 ({', '.join(row.gfx for row in rows)}) PyTorch's "
        f"{wheels.PREFERRED_ROCM} wheels carry {', '.join(native) or 'none'} as they are; "
        f"in neither these nor AMD's wheels: {', '.join(neither) or 'none'}.",
    )


@probe("1.4")
def who_shares_memory() -> Observation:
    """Counts the targets of the catalog that share memory with their CPU."""
    rows = [row for row in gfx.TARGETS.values() if row.integrated is not None]
    shared = [row.gfx for row in rows if row.integrated]
    saw = "holds" if len(shared) == len(rows) else "partly" if shared else "fails"
    return Observation(
        saw,
        f"By the catalog, of {len(rows)} targets {len(shared)} are part of a CPU's chip and share its memory "
        f"({', '.join(shared)}). The other {len(rows) - len(shared)} have "
        f"memory of their own behind PCIe (MI300A, a gfx942, is the exception among them).",
    )


@probe("1.43")
def consumer_targets_in_rocm60() -> Observation:
    """Looks up which consumer targets the wheels of that time carried."""
    rows = [row for row in gfx.with_products("RX 5", "RX 6", "RX 7") if not row.integrated]
    carried = [row.gfx for row in rows if "rocm6.0" in row.pytorch_indexes]
    absent = [row.gfx for row in rows if row.gfx not in carried]
    return Observation(
        "holds" if not absent else "fails",
        f"By the catalog PyTorch's rocm6.0 wheels carried {', '.join(carried) or 'none'} of the RX 5000, 6000 and 7000 "
        f"targets; {', '.join(absent) or 'none'} were not in them.",
    )


@probe("1.54", needs="torch")
def source_is_translated() -> Observation:
    """Sends a line of CUDA through the translator that PyTorch builds its ROCm wheels with."""
    from torch.utils.hipify import hipify_python

    source = "cudaError_t e = cudaMalloc(&p, n); cudaStreamSynchronize(s);"
    translated = hipify_python.RE_PYTORCH_PREPROCESSOR.sub(
        lambda found: str(hipify_python.PYTORCH_MAP[found.group(0)]), source
    )
    changed = translated != source and "hipMalloc" in translated
    return Observation(
        "partly" if changed else "holds",
        f"PyTorch's own translator turns '{source}' into '{translated}': the same source with other "
        "names, which is then compiled for another machine.",
    )


@probe("2.1", needs="torch")
def torch_knows_rocm() -> Observation:
    """Looks in the installed PyTorch for the parts that are there for ROCm, and in the catalog for its own indexes."""
    import torch

    parts = {
        "torch.version.hip": hasattr(torch.version, "hip"),
        "torch.backends.miopen": hasattr(torch.backends, "miopen"),
        "device type 'hip'": _parses("hip"),
    }
    indexes = [row.torch for row in wheels.TORCH_INDEXES if row.indexes]
    there = [name for name, found in parts.items() if found]
    return Observation(
        "deprecated" if there and indexes else "holds",
        f"torch {torch.__version__} has {', '.join(there) or 'no part for ROCm'}; PyTorch has had ROCm "
        f"indexes of its own since torch {indexes[0] if indexes else '(never)'}.",
    )


def _parses(name: str) -> bool:
    import torch

    try:
        torch.device(name)
    except RuntimeError:
        return False
    return True
