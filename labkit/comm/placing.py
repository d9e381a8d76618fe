"""Where an operation lies under a roofline: its two numbers, the least time that two ceilings allow, and what a measured time says.

The model is that of S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52 (2009). Its two limits are those of this course, and rough: measured ceilings
vary by some per cent, and no real kernel reaches both at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.errors import LabkitError

FAR = 3.0
"""A measured time longer than so many times the least one is explained by neither memory nor arithmetic."""

CACHED = 0.8
"""A measured time below this share of what the bytes take from memory: they cannot all have come from there."""


@dataclass(frozen=True)
class Roofs:
    """The two ceilings of a device, for one number format: FLOP/s and B/s. ``cache_bytes_per_s``: what data that fit into a cache
    get, None where that was not measured. Raises LabkitError for a ceiling that is not positive."""

    flops_per_s: float
    bytes_per_s: float
    cache_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        if not (self.flops_per_s > 0 and self.bytes_per_s > 0 and (self.cache_bytes_per_s or 1) > 0):
            raise LabkitError("A ceiling must be a positive rate.", "Pass FLOP/s and B/s as they were measured.")

    @property
    def ridge(self) -> float:
        """FLOP per byte at which memory and arithmetic take equally long."""
        return self.flops_per_s / self.bytes_per_s

    def least_s(self, flops: float, moved_bytes: float) -> float:
        """Seconds that both ceilings allow at best: moving and computing happen at the same time, the longer decides."""
        return max(flops / self.flops_per_s, moved_bytes / self.bytes_per_s)

    def bound(self, flops: float, moved_bytes: float, measured_s: float) -> str:
        """What a measured time says: 'cache', 'neither', 'memory' or 'compute' (see ``CACHED`` and ``FAR``)."""
        memory_s, compute_s = moved_bytes / self.bytes_per_s, flops / self.flops_per_s
        if measured_s < CACHED * memory_s:
            return "cache"
        if measured_s > FAR * max(memory_s, compute_s):
            return "neither"
        return "memory" if memory_s > compute_s else "compute"


@dataclass(frozen=True)
class Placed:
    """One operation with its two numbers and its measured seconds (median and 95 % interval).

    ``kind`` gives points one sign in a figure, ``mark`` (default: the name) stands beside the point. ``moved_bytes`` must be
    above 0, ``flops`` may be 0 (a copy).
    """

    name: str
    kind: str
    flops: float
    moved_bytes: float
    median_s: float
    low_s: float
    high_s: float
    mark: str = ""

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return self.flops / self.moved_bytes

    @property
    def flops_per_s(self) -> float:
        """FLOP/s by the median time."""
        return self.flops / self.median_s

    @property
    def bytes_per_s(self) -> float:
        """B/s by the median time."""
        return self.moved_bytes / self.median_s
