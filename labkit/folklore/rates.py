"""The few rates that the arithmetic of the probes goes by, in 10^9 bytes per second."""

from __future__ import annotations


def pcie_gbs(gigatransfers: float, lanes: int) -> float:
    """One direction of a PCIe link of generation 3 or newer: 128 of 130 bits are data (PCI-SIG)."""
    return gigatransfers * lanes / 8 * 128 / 130


PCIE4_X16_GBS = pcie_gbs(16, 16)  # 16 GT/s: ROCm/ROCm docs/conceptual/gpu-arch/mi100.md
PCIE4_X8_GBS = pcie_gbs(16, 8)

# AMD's pictures, both viewed on 2026-11-30. MI300A: ROCm/ROCm docs/data/how-to/tuning-guides/
# mi300a-rocm-peak-bandwidth-output.png. Eight MI300X: docs/data/how-to/rocm-for-ai/rccl-tests-8-gpu.png.
MI300A_BETWEEN_GBS = (90.0, 95.0)
MI300A_WITHIN_GBS = (1889.0, 2144.053)
MI300X_RCCL_BUSBW_GBS = 316.6


def all_reduce_factor(ranks: int) -> float:
    """Bytes that each rank sends for one byte of an all-reduce: 2(n-1)/n (nccl-tests, doc/PERFORMANCE.md)."""
    return 2 * (ranks - 1) / ranks
