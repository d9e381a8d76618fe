"""Bandwidths of collectives as nccl-tests and rccl-tests print them. Pure arithmetic: needs no torch.

S is the size that they print: for all-gather, reduce-scatter and all-to-all the whole array over all ranks, else what
each rank holds or sends. algbw = S / t; busbw = algbw times a factor that takes the number of ranks out, so that it
can be compared with a link. Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md; for send and receive src/sendrecv.cu
(2026-11-30)."""

from __future__ import annotations

from labkit.errors import LabkitError

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")
LABELS = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "broadcast": "broadcast",
    "all_to_all": "all-to-all",
    "send_recv": "send and receive",
}
COUNTED = {
    "all_reduce": "bytes of the array that each rank holds",
    "all_gather": "bytes of the gathered array",
    "reduce_scatter": "bytes of the array before it is scattered",
    "broadcast": "bytes of the array that the root sends",
    "all_to_all": "bytes of the array that each rank sends, over all peers",
    "send_recv": "bytes that each rank sends to the next",
}
SHARED = frozenset({"all_gather", "reduce_scatter", "all_to_all"})
"""Those of which each rank gets, or gives, one part out of ``ranks`` of S."""

_SPELLINGS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "sendrecv": "send_recv",
    "send_receive": "send_recv",
}


def name_of(collective: str) -> str:
    """The name in ``COLLECTIVES`` of any spelling: 'all_reduce_perf', 'AllReduce', 'alltoall', 'send and receive'.

    Raises LabkitError for one without a formula.
    """
    plain = collective.strip().lower().replace("-", "_").replace(" and ", "_").replace(" ", "_").removesuffix("_perf")
    name = _SPELLINGS.get(plain, plain)
    if name not in COLLECTIVES:
        raise LabkitError(f"There is no formula for '{collective}'.", f"Known are: {', '.join(COLLECTIVES)}.")
    return name


def busbw_factor(collective: str, ranks: int) -> float:
    """busbw over algbw: 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, 1 for broadcast
    and send and receive.

    With one rank nothing moves: 0 for all but the last two. Raises LabkitError for an unknown collective or fewer
    than one rank."""
    name = name_of(collective)
    if ranks < 1:
        raise LabkitError(f"{ranks} ranks are not possible.", "Use at least one.")
    if name == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if name in SHARED else 1.0


def algbw(size_bytes: float, seconds: float) -> float:
    """Bytes per second that an operation of ``size_bytes`` seems to move. Raises LabkitError for a time that is not
    positive."""
    if not seconds > 0:
        raise LabkitError(f"A time of {seconds} s gives no bandwidth.", "Use a positive time.")
    return size_bytes / seconds


def busbw(collective: str, size_bytes: float, seconds: float, ranks: int) -> float:
    """Bytes per second that the busiest link carries at least, whatever the algorithm."""
    return algbw(size_bytes, seconds) * busbw_factor(collective, ranks)


def ring_bytes(size_bytes: float, ranks: int) -> float:
    """Bytes that each rank sends in a ring all-reduce: 2(n-1) pieces of S/n."""
    return size_bytes * busbw_factor("all_reduce", ranks)
