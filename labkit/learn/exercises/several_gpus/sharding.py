"""Which examples a rank sees in an epoch: what DistributedSampler does, and what it needs to be told."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import as_numbers


def _mine(answer: Any, length: int, rank: int, ranks: int, epoch: int) -> list[int]:
    got = as_numbers(call(answer, length, rank, ranks, epoch), "not_a_list")
    if got.ndim != 1:
        raise Wrong("not_a_list", kind=f"a tensor of shape {list(got.shape)}")
    return [int(i) for i in got.tolist()]


def _epoch(answer: Any, length: int, ranks: int, epoch: int, noise: int = 0) -> list[list[int]]:
    shards = []
    for rank in range(ranks):
        torch.manual_seed(100 * noise + rank)  # each process has a generator of its own, in a state of its own
        shards.append(_mine(answer, length, rank, ranks, epoch))
    return shards


def _probe_shard(answer: Any) -> None:
    length, ranks = 24, 3
    shards = _epoch(answer, length, ranks, 0)
    seen = Counter(i for part in shards for i in part)
    outside = [i for i in seen if not 0 <= i < length]
    if outside:
        raise Wrong("outside", got=outside[0], last=length - 1)
    if all(sorted(part) == list(range(length)) for part in shards):
        raise Wrong("everything", length=length, ranks=ranks)
    again = _epoch(answer, length, ranks, 0, noise=1)
    if again != shards:
        raise Wrong("global_generator")
    if set(seen) != set(range(length)) or max(seen.values()) > 1:
        twice = sum(count > 1 for count in seen.values())
        raise Wrong("overlap", twice=twice, never=length - len(seen), length=length, ranks=ranks)
    if all(part == sorted(part) for part in shards) and [sorted(p) for p in _epoch(answer, length, ranks, 1)] == [
        sorted(p) for p in shards
    ]:
        raise Wrong("not_shuffled")
    if _epoch(answer, length, ranks, 1) == shards:
        raise Wrong("no_epoch")
    if [sorted(part) for part in _epoch(answer, length, ranks, 1)] == [sorted(part) for part in shards]:
        raise Wrong("within_only")
    _probe_uneven(answer)


def _probe_uneven(answer: Any) -> None:
    for length, ranks in ((10, 4), (5, 2), (2, 4)):
        each = -(-length // ranks)
        shards = _epoch(answer, length, ranks, 3)
        sizes = [len(part) for part in shards]
        told = {"sizes": sizes, "length": length, "ranks": ranks, "each": each}
        if len(set(sizes)) > 1:
            raise Wrong("unequal", **told)
        seen = Counter(i for part in shards for i in part)
        if sizes[0] < each or len(seen) < length:
            raise Wrong("dropped", never=length - len(seen), **told)
        if sizes[0] != each or any(not 0 <= i < length for i in seen):
            raise Wrong("padding", **told)


shard = Exercise(
    name="shard",
    lesson="08",
    probe=_probe_shard,
    hints={
        "not_a_list": Hint(
            "give back the indices as a list or a tensor of one dimension (this was: {kind}).",
            "`.tolist()` makes a list of a tensor; the result is one row of indices, not {kind}.",
        ),
        "outside": Hint(
            "there is no example {got}: the last one is {last}.",
            "pad with indices that exist, the first of the order: `order + order[:missing]` (there was a {got}).",
        ),
        "everything": Hint(
            "each of {ranks} ranks gets all {length} examples: that is {ranks} times the same work.",
            "cut the order: `order[rank::ranks]` gives each rank a share of the {length}.",
        ),
        "global_generator": Hint(
            "called twice with the same numbers, it gives different shares. Each process has its own global generator.",
            "`g = torch.Generator().manual_seed(…)` and `torch.randperm(length, generator=g)`: the same order everywhere.",
        ),
        "overlap": Hint(
            "of {length} examples {twice} are seen more than once and {never} by nobody. Do all ranks cut the same order?",
            "the seed must not depend on the rank: one order for all {ranks} ranks, then each takes its share "
            "({never} are missing now).",
        ),
        "not_shuffled": Hint(
            "nothing is shuffled.", "`torch.randperm(length, generator=g)` with a generator seeded by the epoch."
        ),
        "no_epoch": Hint(
            "epoch 1 has the same order as epoch 0. This is training without `set_epoch`.",
            "seed the generator with `epoch`: `torch.Generator().manual_seed(epoch)`.",
        ),
        "within_only": Hint(
            "each rank sees the same share in every epoch, only in another order.",
            "shuffle first, cut then: `torch.randperm(length, …)[rank::ranks]`, not the other way round.",
        ),
        "unequal": Hint(
            "{length} examples, {ranks} ranks: shares of {sizes}. The rank with one batch more would wait for ever.",
            "all need {each}: repeat the first of the order until `ranks * {each}` are there, then cut ({sizes} now).",
        ),
        "dropped": Hint(
            "{length} examples, {ranks} ranks: {never} are seen by nobody. Pad instead.",
            "{each} for each: `order = order + order[:missing]` before you cut, with `missing = {each} * {ranks} - {length}`.",
        ),
        "padding": Hint(
            "{length} examples, {ranks} ranks: {each} for each are enough, you have {sizes}.",
            "fill up to `{each} * ranks` and no more, with examples from the beginning of the order ({sizes} now).",
        ),
    },
    push=(
        "One order, the same on every rank and new in each epoch. Then each rank takes every `ranks`-th of it.",
        "`order = torch.randperm(length, generator=torch.Generator().manual_seed(epoch)).tolist()`; pad; `order[rank::ranks]`.",
    ),
    mistakes=(
        KnownMistake(
            "no epoch in the seed: set_epoch forgotten",
            """
def shard(length, rank, ranks, epoch):
    order = torch.randperm(length, generator=torch.Generator().manual_seed(0)).tolist()
    each = -(-length // ranks)
    while len(order) < each * ranks:
        order += order[:each * ranks - len(order)]
    return order[rank::ranks]
""",
            "no_epoch",
        ),
        KnownMistake(
            "the rank in the seed",
            """
def shard(length, rank, ranks, epoch):
    order = torch.randperm(length, generator=torch.Generator().manual_seed(epoch + rank)).tolist()
    return order[rank::ranks]
""",
            "overlap",
        ),
        KnownMistake(
            "the global generator",
            "def shard(length, rank, ranks, epoch):\n    return torch.randperm(length)[rank::ranks]",
            "global_generator",
        ),
        KnownMistake(
            "everything for everybody",
            """
def shard(length, rank, ranks, epoch):
    return torch.randperm(length, generator=torch.Generator().manual_seed(epoch))
""",
            "everything",
        ),
        KnownMistake(
            "not shuffled", "def shard(length, rank, ranks, epoch):\n    return list(range(length))[rank::ranks]",
            "not_shuffled",
        ),
        KnownMistake(
            "cut first, shuffled then",
            """
def shard(length, rank, ranks, epoch):
    mine = list(range(rank, length, ranks))
    order = torch.randperm(len(mine), generator=torch.Generator().manual_seed(epoch))
    return [mine[i] for i in order]
""",
            "within_only",
        ),
        KnownMistake(
            "unequal shares",
            """
def shard(length, rank, ranks, epoch):
    return torch.randperm(length, generator=torch.Generator().manual_seed(epoch))[rank::ranks]
""",
            "unequal",
        ),
        KnownMistake(
            "the rest is dropped",
            """
def shard(length, rank, ranks, epoch):
    order = torch.randperm(length, generator=torch.Generator().manual_seed(epoch))
    each = length // ranks
    return order[rank * each:(rank + 1) * each]
""",
            "dropped",
        ),
        KnownMistake(
            "padded with numbers that are no examples",
            """
def shard(length, rank, ranks, epoch):
    each = -(-length // ranks)
    order = torch.randperm(each * ranks, generator=torch.Generator().manual_seed(epoch))
    return order[rank::ranks]
""",
            "padding",
        ),
    ),
    variants=(
        """
def shard(length, rank, ranks, epoch):
    import random
    order = random.Random(epoch).sample(range(length), length)
    each = math.ceil(length / ranks)
    return [order[i % length] for i in range(rank * each, (rank + 1) * each)]
""",
        """
def shard(length, rank, ranks, epoch):
    from torch.utils.data import DistributedSampler
    sampler = DistributedSampler(range(length), num_replicas=ranks, rank=rank, shuffle=True)
    sampler.set_epoch(epoch)
    return list(sampler)
""",
    ),
)  # fmt: skip
