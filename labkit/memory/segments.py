"""What the caching allocator holds: segments that it got from the device, cut into blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from labkit.errors import LabkitError

State = Literal["used", "free", "unmapped"]


@dataclass(frozen=True)
class Block:
    """A piece of a segment, in bytes. 'free': cached, nobody uses it. 'unmapped': an address without memory behind it
    (expandable segments only)."""

    size: int
    state: State
    name: str = ""


@dataclass(frozen=True)
class Segment:
    """One piece of memory that the allocator took from the device, and its blocks in the order of their addresses."""

    kind: str  # "small" or "large": the pool
    blocks: tuple[Block, ...]
    expandable: bool = False

    def _bytes(self, *states: State) -> int:
        return sum(block.size for block in self.blocks if block.state in states)

    @property
    def reserved(self) -> int:
        """Bytes of real memory that it holds."""
        return self._bytes("used", "free")

    @property
    def allocated(self) -> int:
        """Bytes in use."""
        return self._bytes("used")

    @property
    def largest_free(self) -> int:
        """The largest single piece that is free, in bytes."""
        return max((block.size for block in self.blocks if block.state == "free"), default=0)


def segments(device: Any = None) -> tuple[Segment, ...]:
    """What PyTorch's caching allocator holds on a GPU now, from torch.cuda.memory_snapshot().

    Raises LabkitError without a GPU: a CPU has no caching allocator. There, ``labkit.memory.CachingAllocator`` is a
    simulation of one.
    """
    import torch

    if not torch.cuda.is_available():
        raise LabkitError(
            "There is no caching allocator here: PyTorch has one on GPUs only.",
            "labkit.memory.CachingAllocator() is a simulation of it; its segments() look the same.",
        )
    index = torch.device(device).index if device is not None else None
    wanted = torch.cuda.current_device() if index is None else index
    return from_snapshot(row for row in torch.cuda.memory_snapshot() if row.get("device", 0) == wanted)


def from_snapshot(rows: Iterable[Mapping[str, Any]]) -> tuple[Segment, ...]:
    """Segments from the rows of torch.cuda.memory_snapshot(), in the order of their addresses.

    Block states: 'active_allocated' and 'active_pending_free' are in use; 'inactive' is free. Of an expandable segment a
    snapshot has one row for each range that has memory behind it.
    """
    ordered = sorted(rows, key=lambda row: row.get("address", 0))
    return tuple(
        Segment(
            kind=str(row.get("segment_type", "large")),
            blocks=tuple(
                Block(int(block["size"]), "used" if str(block.get("state", "")).startswith("active") else "free")
                for block in row.get("blocks", ())
            ),
            expandable=bool(row.get("is_expandable", False)),
        )
        for row in ordered
    )


def totals(held: Iterable[Segment]) -> tuple[int, int, int]:
    """(reserved, allocated, largest free piece), in bytes, of all segments together."""
    known = tuple(held)
    return (
        sum(segment.reserved for segment in known),
        sum(segment.allocated for segment in known),
        max((segment.largest_free for segment in known), default=0),
    )
