"""Solutions to lesson 07, one per exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints one of them.
"""

from __future__ import annotations

import torch


def moved_bytes(reads: list[torch.Tensor], writes: list[torch.Tensor]) -> int:
    """Bytes that an operation must move: each tensor read comes once, each one written goes once."""
    different = {id(x): x for x in reads}.values()  # a * a reads a once
    return sum(x.numel() * x.element_size() for x in [*different, *writes])


def conv_flops(batch: int, c_in: int, c_out: int, kernel: int, side: int) -> int:
    """FLOPs of a convolution without bias; side is that of the output map."""
    values = batch * c_out * side * side
    return values * 2 * c_in * kernel * kernel  # a product and an addition for each number of the kernel


def roof_time(flops: float, moved: float, flops_per_s: float, bytes_per_s: float) -> float:
    """The least number of seconds that both ceilings allow."""
    return max(flops / flops_per_s, moved / bytes_per_s)  # both at the same time: the longer one decides


def which_bound(flops: float, moved: float, measured_s: float, flops_per_s: float, bytes_per_s: float) -> str:
    """What a measured time says: "cache", "neither", "memory" or "compute"."""
    memory, compute = moved / bytes_per_s, flops / flops_per_s
    if measured_s < 0.8 * memory:
        return "cache"
    if measured_s > 3 * max(memory, compute):
        return "neither"
    return "memory" if memory > compute else "compute"


def fused_bytes(n: int, itemsize: int, extras: list[int]) -> tuple[int, int]:
    """Bytes of a chain of elementwise operations: one by one, and as one kernel."""
    tensor = n * itemsize
    separate = sum(1 + extra + 1 for extra in extras) * tensor  # running value in, extras in, result out
    fused = (1 + sum(extras) + 1) * tensor
    return separate, fused


def link_range(matrix: list[list[float | None]]) -> tuple[float, float]:
    """The slowest and the fastest way from one device to another."""
    links = [value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j and value is not None]
    return min(links), max(links)
