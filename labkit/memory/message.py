"""Reading what PyTorch says when a GPU's memory runs out, in HIP's and in CUDA's wording, of old and new versions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from labkit.errors import LabkitError
from labkit.machine.rules.memory import Oom
from labkit.memory.parts import size

Cause = Literal["limit", "not-capacity", "fragmentation", "others", "too-much", "unknown"]

_ADVICE: dict[Cause, str] = {
    "limit": "This process may use a part only: look for torch.cuda.set_per_process_memory_fraction.",
    "not-capacity": "More is free than was asked for, so it is not the capacity: the driver refused. Look for a limit of the "
    "process or of mappings (vm.max_map_count), and for what the GPU really offers (an APU's carve-out).",
    "fragmentation": "Enough is reserved and unused, but in pieces. PYTORCH_ALLOC_CONF=expandable_segments:True before Python "
    "starts (ROCm 7 and newer), and shapes that do not change from batch to batch.",
    "others": "Most of the device is held by somebody else: another process (amd-smi process, rocm-smi --showpids, nvidia-smi), "
    "often an earlier kernel or run of one's own that did not end.",
    "too-much": "It is really needed. A smaller batch with gradient accumulation, checkpointing, bfloat16, or an optimizer that "
    "keeps less; and look whether another process holds memory.",
    "unknown": "The message has too few numbers. Print torch.cuda.memory_summary() where it happens.",
}


@dataclass(frozen=True)
class OutOfMemory:
    """The numbers of one message, in bytes; None where it does not say. ``elsewhere`` is what neither PyTorch in this
    process holds nor is free: other processes, and the driver's and the libraries' own memory."""

    platform: str  # "HIP" or "CUDA", the word in the message
    gpu: int | None
    requested: int | None
    capacity: int | None
    free: int | None
    allowed: int | None
    allocated: int | None
    unallocated: int | None

    @property
    def reserved(self) -> int | None:
        """What PyTorch took from the device."""
        return None if self.allocated is None or self.unallocated is None else self.allocated + self.unallocated

    @property
    def elsewhere(self) -> int | None:
        if self.capacity is None or self.free is None or self.reserved is None:
            return None
        return max(0, self.capacity - self.free - self.reserved)

    @property
    def cause(self) -> Cause:
        """limit: the process restricted itself. not-capacity: twice the request was free. fragmentation: reserved and
        unused is as large as the request. others: more than half of the device is held elsewhere. too-much: none of these."""
        if self.requested is None:
            return "unknown"
        if self.allowed is not None:
            return "limit"
        if self.free is not None and self.free >= 2 * self.requested:
            return "not-capacity"
        if self.unallocated is not None and self.unallocated >= self.requested:
            return "fragmentation"
        other = self.elsewhere
        if other is not None and self.capacity and 2 * other > self.capacity:
            return "others"
        return "unknown" if self.free is None and self.unallocated is None else "too-much"

    @property
    def advice(self) -> str:
        """What to do first, in one or two sentences."""
        return _ADVICE[self.cause]

    def __str__(self) -> str:
        rows = (
            ("asked for", self.requested),
            ("in use by PyTorch", self.allocated),
            ("reserved by PyTorch and unused", self.unallocated),
            ("free on the device", self.free),
            ("elsewhere: other processes, driver", self.elsewhere),
            ("the device has", self.capacity),
            ("this process may use", self.allowed),
        )
        lines = [f"{name}: {size(amount)}" for name, amount in rows if amount is not None]
        return "\n".join([*lines, f"cause: {self.cause}. {self.advice}"])

    __repr__ = __str__


def read_message(text: str) -> OutOfMemory:
    """The numbers of an out-of-memory message that stands somewhere in ``text``.

    Raises LabkitError where there is none.
    """
    found = re.search(r"\b(HIP|CUDA) out of memory", text)
    if not found:
        raise LabkitError(
            "This text holds no message of a GPU out of memory.",
            "Copy the line that begins with torch.OutOfMemoryError, whole.",
        )
    part = text[found.start() :]
    numbers = Oom(part)
    gpu = re.search(r"\bGPU (\d+)\b", part)

    def whole(amount: float | None) -> int | None:
        return None if amount is None else round(amount)

    return OutOfMemory(
        platform=found[1],
        gpu=int(gpu[1]) if gpu else None,
        requested=whole(numbers.requested),
        capacity=whole(numbers.capacity),
        free=whole(numbers.free),
        allowed=whole(numbers.allowed),
        allocated=whole(numbers.allocated),
        unallocated=whole(numbers.unallocated),
    )
