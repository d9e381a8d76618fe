"""Does a training on several processes give what it gives on one? Runs of ddp_train.py to compare, and three ways to lose it.

Each function runs inside a process group that exists already (labkit.comm.Team, or your own torchrun script). By itself,
with ddp_train.py beside it, the file compares this many processes with one:

    torchrun --nproc-per-node 2 notebooks/scripts/equality.py
    torchrun --nproc-per-node 2 notebooks/scripts/equality.py --batch-norm plain     # any switch of ddp_train.py
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import ddp_train
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DistributedSampler


class _SumOverAll(torch.autograd.Function):
    """The sum of a tensor over all ranks, with a gradient: what one rank's input did to every rank's loss."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        return total


class WholeBatchNorm(nn.BatchNorm2d):
    """Batch norm over the pictures of all ranks, also where their numbers differ: what torch's SyncBatchNorm does on GPUs.

    [N, C, H, W] to the same; two collectives per layer and step, forward and backward.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        own = torch.cat([x.sum((0, 2, 3)), x.square().sum((0, 2, 3)), x.new_tensor([x[:, 0].numel()])])
        sums, squares, count = _SumOverAll.apply(own).split([x.shape[1], x.shape[1], 1])
        mean = sums / count
        variance = squares / count - mean.square()
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * count / (count - 1), self.momentum)
        scale = self.weight * (variance + self.eps).rsqrt()
        return x * scale.view(-1, 1, 1) + (self.bias - mean * scale).view(-1, 1, 1)


def with_whole_batch_norm(model: nn.Sequential) -> nn.Sequential:
    """Every BatchNorm2d of a Sequential replaced by a `WholeBatchNorm` (their parameters start alike)."""
    return nn.Sequential(*(WholeBatchNorm(m.num_features) if isinstance(m, nn.BatchNorm2d) else m for m in model))


def train_once(whole_batch_norm: bool = False, **options: Any) -> dict[str, Any]:
    """One training by ddp_train.py on all ranks of the group; its report. `weights` are on rank 0 only.

    options: the fields of ``ddp_train.Options``, for example double=True, set_epoch=False, batch_norm="plain", mean_of_means=True.
    """
    o = ddp_train.Options(**options)
    device, _ = ddp_train.choose_device(o.device)
    network = None
    if whole_batch_norm:
        torch.manual_seed(o.seed)
        network = with_whole_batch_norm(ddp_train.make_model(o.width, batch_norm="plain"))
    report = ddp_train.train(o, device, network)
    return report if dist.get_rank() == 0 else report | {"weights": {}}


def largest_difference(a: dict[str, Tensor], b: dict[str, Tensor]) -> float:
    """The largest difference between two sets of weights. Raises ValueError if their names differ."""
    if a.keys() != b.keys() or not a:
        raise ValueError("these are not the weights of the same network")
    return max((a[name].double() - b[name].double()).abs().max().item() for name in a)


def spread(weights: dict[str, Tensor]) -> float:
    """The largest of the weights, without its sign: what a difference has to be compared with."""
    return max(value.abs().max().item() for value in weights.values())


def sampler_orders(n: int, epochs: int, set_epoch: bool) -> list[list[int]]:
    """Which pictures, of n, torch's own DistributedSampler gives this rank in each epoch."""
    sampler = DistributedSampler(range(n), dist.get_world_size(), dist.get_rank(), shuffle=True, seed=0)
    orders = []
    for epoch in range(epochs):
        if set_epoch:
            sampler.set_epoch(epoch)
        orders.append(list(sampler))
    return orders


def resumed(folder: str | Path, stop_at: int = 25, **options: Any) -> dict[str, Any]:
    """One training without a break, and one that leaves after `stop_at` steps and goes on from its checkpoint in `folder`.

    The steps after the last checkpoint are lost and done again.
    """
    whole = train_once(**options)
    again = options | {"checkpoint": str(Path(folder) / "checkpoint.pt")}
    first = train_once(stop_at=stop_at, **again)
    dist.barrier()  # rank 0 has written
    second = train_once(**again)
    return {
        "whole": whole["parameters"],
        "stopped_at": first["steps"],
        "resumed_from": second["resumed_from"],
        "resumed": second["parameters"],
    }


def main() -> int:
    """The same training on all processes and on rank 0 alone, compared."""
    o = dataclasses.replace(ddp_train.parse(), checkpoint="")
    device = ddp_train.begin(o)
    rank, world, backend = dist.get_rank(), dist.get_world_size(), dist.get_backend()
    together = ddp_train.train(o, device)["weights"]
    dist.destroy_process_group()
    if rank == 0:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
        alone = ddp_train.train(o, device)["weights"]
        dist.destroy_process_group()
        difference = largest_difference(together, alone)
        print(
            f"{world} process(es) against one: largest difference {difference:.3g}, largest weight {spread(alone):.3g}"
        )
    return 0


if __name__ == "__main__":
    ddp_train.leave(main())
