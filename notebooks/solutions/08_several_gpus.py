"""Solutions of 08_several_gpus.ipynb: one way among several. Each function is named as its exercise."""

from __future__ import annotations

import torch


def ring_chunk(rank, step, ranks):
    """The chunk that `rank` sends to `rank + 1` in this step."""
    return (rank - step) % ranks  # in step 0 its own, then always the one that came in a step before


def shard(length, rank, ranks, epoch):
    """The indices of the examples that this rank sees in this epoch."""
    same_everywhere = torch.Generator().manual_seed(epoch)
    order = torch.randperm(length, generator=same_everywhere).tolist()
    each = -(-length // ranks)  # rounded up
    while len(order) < each * ranks:  # more than once where there are fewer examples than ranks
        order += order[: each * ranks - len(order)]
    return order[rank::ranks]


def loss_factor(sizes, rank):
    """What this rank multiplies its mean loss by, so that DDP's average is the mean over all."""
    return len(sizes) * sizes[rank] / sum(sizes)


def bus_bandwidth(collective, size_bytes, seconds, ranks):
    """busbw in GB/s (1 GB = 10⁹ bytes)."""
    once = (ranks - 1) / ranks
    factor = {"all_reduce": 2 * once, "all_gather": once, "reduce_scatter": once, "broadcast": 1}
    return size_bytes / seconds / 1e9 * factor[collective]


def serial_share(t_one, t_many, ranks):
    """The share of one process's time that several do not shorten."""
    return (t_many / t_one - 1 / ranks) / (1 - 1 / ranks)


def sync_once(model, loss_fn, optimizer, micro_batches):
    """One step from all micro-batches (of equal size), with one all-reduce."""
    optimizer.zero_grad()
    *most, last = micro_batches
    with model.no_sync():  # forward and backward: DDP decides in the forward pass
        for x, y in most:
            (loss_fn(model(x), y) / len(micro_batches)).backward()
    x, y = last
    (loss_fn(model(x), y) / len(micro_batches)).backward()
    optimizer.step()
