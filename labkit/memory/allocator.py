"""A SIMULATION of PyTorch's caching allocator, for machines without one. It holds no memory; it keeps the books.

The rules are those that PyTorch's documentation (notes/cuda, "Memory management") and the constants in
c10/core/AllocatorConfig.h of PyTorch 2.14 name: sizes are rounded up to 512 bytes; requests of up to 1 MiB come from
segments of 2 MiB, larger ones below 10 MiB from segments of 20 MiB, others from a segment of their own, rounded up to
2 MiB. The smallest free block that fits is taken and split, if more than 1 MiB (small pool: 512 bytes) is left over.
Neighbours that are free become one block again. When the device has no more memory, segments that are wholly free go
back to it, then the request is tried once more.

Left out: streams, private pools of graphs, roundup and garbage collection. Expandable segments are simplified: one
range of addresses per pool that grows at its end in pages of 2 MiB (small) or 20 MiB (large), and whose wholly free pages
can go back to the device.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.errors import LabkitError
from labkit.memory.parts import size as told
from labkit.memory.segments import Block, Segment, State, totals

MIB = 2**20
SMALLEST = 512
SMALL = MIB  # the largest request of the small pool
SMALL_SEGMENT = 2 * MIB
LARGE_SEGMENT = 20 * MIB
OWN_SEGMENT = 10 * MIB  # from here on a request gets a segment of its own
ROUND_LARGE = 2 * MIB


class SimulatedOutOfMemory(LabkitError):
    """The simulated device has no room for a request; the numbers are those that PyTorch's message has."""

    def __init__(self, requested: int, capacity: int, allocated: int, reserved: int) -> None:
        self.requested, self.capacity, self.allocated, self.reserved = requested, capacity, allocated, reserved
        super().__init__(
            f"Simulated device out of memory. Tried to allocate {told(requested)}. It has a total capacity of "
            f"{told(capacity)} of which {told(capacity - reserved)} is free. Of the allocated memory {told(allocated)} "
            f"is allocated, and {told(reserved - allocated)} is reserved but unallocated.",
            "Nothing was run: this is labkit's simulation of a caching allocator.",
        )


@dataclass
class _Piece:
    size: int
    state: State
    name: str = ""


@dataclass
class _Held:
    kind: str
    pieces: list[_Piece]
    expandable: bool = False


def rounded(request: int) -> int:
    """Bytes of the block for a request: rounded up to 512."""
    return max(SMALLEST, -(-request // SMALLEST) * SMALLEST)


def segment_size(block: int) -> int:
    """Bytes of the segment that is fetched for a block when no free one fits."""
    if block <= SMALL:
        return SMALL_SEGMENT
    if block < OWN_SEGMENT:
        return LARGE_SEGMENT
    return -(-block // ROUND_LARGE) * ROUND_LARGE


class CachingAllocator:
    """The simulation. ``allocate(name, bytes)``, ``free(name)``, ``empty_cache()``; ``segments()`` shows what it holds.

    capacity: bytes of the pretended device. expandable: as with expandable_segments:True. max_split: bytes; blocks of this
    size and above are not split, nor given to smaller requests (max_split_size_mb). Raises LabkitError for a name that is
    taken or unknown, SimulatedOutOfMemory when nothing fits.
    """

    def __init__(self, capacity: int, *, expandable: bool = False, max_split: int | None = None) -> None:
        if capacity <= 0:
            raise LabkitError("A device needs a capacity above 0 bytes.", "For example CachingAllocator(256 * 2**20).")
        self.capacity, self.expandable, self.max_split = capacity, expandable, max_split
        self._held: list[_Held] = []
        self._homes: dict[str, _Held] = {}

    @property
    def reserved(self) -> int:
        """Bytes taken from the device."""
        return totals(self.segments())[0]

    @property
    def allocated(self) -> int:
        """Bytes in use, each request rounded up to its block."""
        return totals(self.segments())[1]

    def segments(self) -> tuple[Segment, ...]:
        """What it holds, in the order in which it was fetched."""
        return tuple(
            Segment(held.kind, tuple(Block(p.size, p.state, p.name) for p in held.pieces), held.expandable)
            for held in self._held
        )

    def allocate(self, name: str, request: int) -> None:
        """Takes ``request`` bytes under this name."""
        if name in self._homes:
            raise LabkitError(f"'{name}' is allocated already.", "Free it first, or take another name.")
        block = rounded(request)
        kind = "small" if block <= SMALL else "large"
        found = self._find(kind, block) or self._fetch(kind, block)
        if found is None:
            self.empty_cache()
            found = self._find(kind, block) or self._fetch(kind, block)
        if found is None:
            raise SimulatedOutOfMemory(request, self.capacity, self.allocated, self.reserved)
        held, piece = found
        left = piece.size - block
        if self._splits(kind, block, left):
            held.pieces.insert(held.pieces.index(piece) + 1, _Piece(left, "free"))
            piece.size = block
        piece.state, piece.name = "used", name
        self._homes[name] = held

    def free(self, name: str) -> None:
        """Gives a block back to the cache, not to the device."""
        held = self._homes.pop(name, None)
        if held is None:
            raise LabkitError(f"Nothing called '{name}' is allocated.", "Look at segments() for what is.")
        piece = next(p for p in held.pieces if p.name == name)
        piece.state, piece.name = "free", ""
        _merge(held)

    def empty_cache(self) -> int:
        """Gives back to the device what can go: segments that are wholly free (expandable: pages). Returns the bytes."""
        before = self.reserved
        for held in self._held:
            if held.expandable:
                _unmap(held, SMALL_SEGMENT if held.kind == "small" else LARGE_SEGMENT)
        self._held = [held for held in self._held if any(p.state == "used" for p in held.pieces)]
        return before - self.reserved

    def _splits(self, kind: str, block: int, left: int) -> bool:
        if kind == "small" or self.expandable:
            return left >= SMALLEST
        return left > SMALL and (self.max_split is None or block < self.max_split)

    def _find(self, kind: str, block: int) -> tuple[_Held, _Piece] | None:
        fitting = [
            (piece.size, place, held, piece)
            for place, held in enumerate(self._held)
            if held.kind == kind
            for piece in held.pieces
            if piece.state == "free" and piece.size >= block
        ]
        if self.max_split is not None and not self.expandable and block < self.max_split:
            fitting = [row for row in fitting if row[0] < self.max_split]
        best = min(fitting, key=lambda row: row[:2], default=None)
        return None if best is None else best[2:]

    def _fetch(self, kind: str, block: int) -> tuple[_Held, _Piece] | None:
        if self.expandable:
            return self._grow(kind, block)
        wanted = segment_size(block)
        if self.reserved + wanted > self.capacity:
            return None
        held = _Held(kind, [_Piece(wanted, "free")])
        self._held.append(held)
        return held, held.pieces[0]

    def _grow(self, kind: str, block: int) -> tuple[_Held, _Piece] | None:
        page = SMALL_SEGMENT if kind == "small" else LARGE_SEGMENT
        held = next((h for h in self._held if h.kind == kind), None)
        tail = held.pieces[-1] if held and held.pieces[-1].state == "free" else None
        missing = block - (tail.size if tail else 0)
        grown = -(-missing // page) * page
        if self.reserved + grown > self.capacity:
            return None
        if held is None:
            held = _Held(kind, [], expandable=True)
            self._held.append(held)
        held.pieces.append(_Piece(grown, "free"))
        _merge(held)
        return held, held.pieces[-1]


def _merge(held: _Held) -> None:
    """Neighbours of the same state, 'free' or 'unmapped', become one piece."""
    merged: list[_Piece] = []
    for piece in held.pieces:
        if merged and piece.state == merged[-1].state != "used":
            merged[-1].size += piece.size
        else:
            merged.append(piece)
    held.pieces[:] = merged


def _unmap(held: _Held, page: int) -> None:
    """Takes the memory from behind every page that is wholly free."""
    pieces: list[_Piece] = []
    start = 0
    for piece in held.pieces:
        end = start + piece.size
        first, last = -(-start // page) * page, end // page * page
        if piece.state == "free" and first < last:
            parts = ((first - start, "free"), (last - first, "unmapped"), (end - last, "free"))
            pieces += [_Piece(amount, state) for amount, state in parts if amount]  # type: ignore[arg-type]
        else:
            pieces.append(piece)
        start = end
    held.pieces[:] = pieces
    _merge(held)
