"""What occupies memory in training: predicted by arithmetic, counted on any device, and made to fit.

``estimate`` and ``dry_run`` predict; ``counted``, ``saved_tensors`` and ``measure`` look; ``largest_batch`` searches;
``segments`` and ``CachingAllocator`` show the caching allocator, the second as a simulation for machines without one;
``read_message`` reads what PyTorch says when memory runs out. All amounts are bytes.
"""

from __future__ import annotations

from labkit.memory.allocator import CachingAllocator, SimulatedOutOfMemory
from labkit.memory.estimate import dry_run, estimate, kept_by_layers
from labkit.memory.fitting import Fit, largest_batch
from labkit.memory.message import OutOfMemory, read_message
from labkit.memory.parts import Parts, counted, size
from labkit.memory.reports import REPORTS
from labkit.memory.saved import SavedTensors, saved_tensors
from labkit.memory.segments import Block, Segment, segments
from labkit.memory.usage import Usage, measure

__all__ = [
    "REPORTS",
    "Block",
    "CachingAllocator",
    "Fit",
    "OutOfMemory",
    "Parts",
    "SavedTensors",
    "Segment",
    "SimulatedOutOfMemory",
    "Usage",
    "counted",
    "dry_run",
    "estimate",
    "kept_by_layers",
    "largest_batch",
    "measure",
    "read_message",
    "saved_tensors",
    "segments",
    "size",
]
