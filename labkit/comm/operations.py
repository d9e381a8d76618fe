"""The collectives as one rank calls them, on arrays whose right result is known exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labkit.comm.formulas import SHARED

_VALUES = 3  # 1, 2 and 3: sums over 64 ranks are whole numbers that even bfloat16 holds, and no sum is one rank's own


@dataclass(frozen=True)
class Operation:
    """One collective at one size. ``given``, ``taken``: the tensors that go in and come out (one and the same where it
    works in place). ``fill`` writes this rank's numbers; ``call`` does it once; ``wrong`` counts the elements that
    are not as they have to be after ``fill`` and one ``call``; ``rest`` writes zeros, which any number of calls leave
    as they are."""

    bytes: int
    given: Any
    taken: Any
    fill: Callable[[], None]
    call: Callable[[], Any]
    wrong: Callable[[], int]
    rest: Callable[[], None]


def real_size(name: str, size_bytes: int, ranks: int, element: int) -> int:
    """The nearest size that can be: whole elements, at least one for each part."""
    unit = element * (ranks if name in SHARED else 1)
    return max(unit, size_bytes // unit * unit)


def numbers(torch: Any, count: int, rank: int, like: Any) -> Any:
    """[count] whole numbers 1, 2 and 3 whose pattern over the places is another for each rank.

    The pattern comes again after 3 (rank + 1) places, so only that much is computed: for 16 MiB the whole would cost
    more than all the calls that are timed."""
    places = torch.arange(min(count, _VALUES * (rank + 1)), device=like.device)
    once = ((places // (rank + 1) + places * 7 + rank) % _VALUES + 1).to(like.dtype)
    return once.repeat(-(-count // max(1, len(places))))[:count]


def operation(name: str, size_bytes: int, dtype: Any, device: str) -> Operation:
    """The operation within the current process group. ``size_bytes`` as ``real_size`` gives it."""
    import torch
    import torch.distributed as dist

    ranks, rank = dist.get_world_size(), dist.get_rank()
    count = size_bytes // dtype.itemsize
    whole = torch.zeros(count, dtype=dtype, device=device)
    share = count // ranks
    part = torch.zeros(share, dtype=dtype, device=device) if name in SHARED else whole

    def own(number: int, length: int = count) -> Any:
        return numbers(torch, length, number, whole)

    if name == "all_reduce":
        given = taken = whole
        call = lambda: dist.all_reduce(whole)  # noqa: E731
        right = sum(own(k) for k in range(ranks))
    elif name == "all_gather":
        given, taken = part, whole
        call = lambda: dist.all_gather_into_tensor(whole, part)  # noqa: E731
        right = torch.cat([own(k, share) for k in range(ranks)])
    elif name == "reduce_scatter":
        given, taken = whole, part
        call = lambda: dist.reduce_scatter_tensor(part, whole)  # noqa: E731
        right = sum(own(k) for k in range(ranks))[rank * share : (rank + 1) * share]
    elif name == "broadcast":
        given = taken = whole
        call = lambda: dist.broadcast(whole, 0)  # noqa: E731
        right = own(0)
    elif name == "all_to_all":
        given, taken = whole, torch.zeros_like(whole)
        call = lambda: dist.all_to_all_single(taken, given)  # noqa: E731
        right = torch.cat([own(k)[rank * share : (rank + 1) * share] for k in range(ranks)])
    else:
        given, taken = whole, torch.zeros_like(whole)
        call = lambda: _round(dist, given, taken, rank, ranks)  # noqa: E731
        right = own((rank - 1) % ranks)

    def fill() -> None:
        taken.fill_(-1)
        if name != "broadcast" or rank == 0:
            given.copy_(own(rank, given.numel()))

    def wrong() -> int:
        return int((taken != right).sum())

    def rest() -> None:
        given.zero_()
        taken.zero_()

    return Operation(size_bytes, given, taken, fill, call, wrong, rest)


def _round(dist: Any, given: Any, taken: Any, rank: int, ranks: int) -> None:
    """Each rank sends to the next and receives from the one before."""
    nexts, before = (rank + 1) % ranks, (rank - 1) % ranks
    both = [dist.P2POp(dist.isend, given, nexts), dist.P2POp(dist.irecv, taken, before)]
    for work in dist.batch_isend_irecv(both):
        work.wait()
