"""What lesson 08 hands to its ranks. One small function for one idea; each runs in every process of a group that exists.

    from labkit.comm import Team, module_from
    work = module_from("notebooks/scripts/several_gpus.py")
    with Team(2) as team:
        print(team.run(work.who))

Under torchrun they work in the same way after ``torch.distributed.init_process_group()``. A training with data of your own,
checkpoints and restarts is in ``ddp_train.py``. Nothing here was run on ROCm yet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DistributedSampler


def here() -> torch.device:
    """The device of this rank: a GPU of its own with nccl (RCCL on AMD), else the CPU."""
    return torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else torch.device("cpu")


def who() -> tuple[int, int, int]:
    """(rank, how many ranks there are, process id)"""
    return dist.get_rank(), dist.get_world_size(), os.getpid()


def make_model(norm: str = "group", width: int = 8) -> nn.Sequential:
    """Lesson 02's network, small: three blocks, then a linear layer. norm: "group", "batch", or "whole": batch norm over all ranks."""
    kinds = {"group": lambda channels: nn.GroupNorm(4, channels), "batch": nn.BatchNorm2d}
    if norm == "whole":
        from equality import WholeBatchNorm  # lies beside this file

        kinds["whole"] = WholeBatchNorm
    layers: list[nn.Module] = []
    before = 3
    for now in (width, 2 * width, 4 * width):
        layers += [
            nn.Conv2d(before, now, 3, padding=1),
            kinds[norm](now),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        before = now
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * before, 10))


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """All of them in one row, on the CPU."""
    return torch.cat([t.detach().flatten().cpu() for t in tensors])


def train(x: Tensor, y: Tensor, epochs: int, batch: int, rate: float, norm: str, seed: int) -> Tensor:
    rank, world = dist.get_rank(), dist.get_world_size()  # DDP 1
    torch.manual_seed(seed)
    model = DDP(make_model(norm).to(here(), x.dtype))  # DDP 2: rank 0's weights for all
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    sampler = DistributedSampler(y, world, rank, seed=seed)  # DDP 3: my share of the pictures
    for epoch in range(epochs):
        sampler.set_epoch(epoch)  # DDP 4: a new order, the same on every rank
        for part in torch.tensor(list(sampler)).split(batch // world):  # DDP 5: my part of a batch
            loss = F.cross_entropy(model(x[part].to(here())), y[part].to(here()))
            optimizer.zero_grad()
            loss.backward()  # the gradients are averaged over all ranks in here
            optimizer.step()
    return flat(list(model.parameters()))


def uneven_gradient(x: Tensor, y: Tensor, sizes: Sequence[int], factors: Sequence[float], seed: int) -> Tensor:
    rank = dist.get_rank()
    torch.manual_seed(seed)
    model = DDP(make_model().to(here()))
    start = sum(sizes[:rank])
    mine = slice(start, start + sizes[rank])
    loss = F.cross_entropy(model(x[mine].to(here())), y[mine].to(here()))
    (factors[rank] * loss).backward()
    return flat([p.grad for p in model.parameters() if p.grad is not None])


def count_sends(model: DDP) -> list[int]:
    """The bytes of each bucket of gradients from now on. A hook does what DDP does without one, and takes notes."""
    sent: list[int] = []

    def send(_, bucket):  # type: ignore[no-untyped-def]  # DDP refuses annotations that are strings
        sent.append(bucket.buffer().nbytes)
        mean = bucket.buffer().div_(dist.get_world_size())
        work = dist.all_reduce(mean, async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    model.register_comm_hook(None, send)
    return sent


def accumulated(x: Tensor, y: Tensor, portions: int, use_no_sync: bool, seed: int) -> tuple[Tensor, list[int]]:
    """The gradient of one step over all examples of this rank, and the bytes of each all-reduce."""
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(seed)
    model = DDP(make_model().to(here()))
    sent = count_sends(model)
    parts = torch.arange(len(y))[rank::world].chunk(portions)
    for number, part in enumerate(parts, 1):
        quiet = use_no_sync and number < portions
        with model.no_sync() if quiet else nullcontext():
            loss = F.cross_entropy(model(x[part].to(here())), y[part].to(here()))
            (loss / portions).backward()
    return flat([p.grad for p in model.parameters() if p.grad is not None]), sent


def step_times(plans: Sequence[tuple[int, int, float]], rounds: int, width: int) -> list[dict[str, list[float]]]:
    steps = [timed_step(*plan, width) for plan in plans]
    times: list[dict[str, list[float]]] = [{"together": [], "alone": []} for _ in plans]
    for number in range(-2, rounds):  # two rounds to warm up
        for step, kept in zip(steps, times, strict=True):
            for kind, seconds in kept.items():
                dist.barrier()  # all begin together; a rank that is not in this plan waits
                began = time.perf_counter()
                if step:
                    step(kind == "together")
                if number >= 0:
                    seconds.append(time.perf_counter() - began)
    return times


def timed_step(ranks: int, examples: int, bucket_mb: float, width: int) -> Callable[[bool], None] | None:
    """A step of the first ``ranks`` ranks with ``examples`` on each, with the all-reduce or without; None for other ranks."""
    group = dist.new_group(list(range(ranks)))
    if dist.get_rank() >= ranks:
        return None
    model = DDP(make_model(width=width).to(here()), process_group=group, bucket_cap_mb=bucket_mb)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    x, y = torch.randn(examples, 3, 32, 32).to(here()), torch.randint(0, 10, (examples,)).to(here())

    def step(together: bool) -> None:
        with nullcontext() if together else model.no_sync():
            F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        if here().type == "cuda":
            torch.cuda.synchronize()

    return step


def buckets(width: int, bucket_mb: float) -> list[int]:
    """Bytes of DDP's buckets in the order in which they are sent (after the first step, which puts them in order)."""
    model = DDP(make_model(width=width).to(here()), bucket_cap_mb=bucket_mb)
    sent = count_sends(model)
    x, y = torch.randn(2, 3, 32, 32).to(here()), torch.tensor([0, 1]).to(here())
    for _ in range(2):
        sent.clear()
        F.cross_entropy(model(x), y).backward()
    return sent


def some_model(sharded: bool, width: int) -> nn.Module:
    model: nn.Module = nn.Sequential(*(nn.Linear(width, width) for _ in range(4))).to(here())
    if not sharded:
        return DDP(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(here().type, (dist.get_world_size(),))  # all ranks in one row
    for layer in model.children():
        fully_shard(layer, mesh=mesh)  # gathered just before it is used, dropped just after
    return fully_shard(model, mesh=mesh)


def kept_bytes(sharded: bool, width: int) -> dict[str, int]:
    """Bytes of weights, gradients and AdamW's state that this rank keeps after one step: DDP, or FSDP2 if ``sharded``."""
    model = some_model(sharded, width)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(8, width).to(here())).square().mean().backward()
    optimizer.step()
    parameters = list(model.parameters())
    state = (v for entry in optimizer.state.values() for v in entry.values() if v.numel() > 1)
    return {
        "weights": own_bytes(parameters),
        "gradients": own_bytes(p.grad for p in parameters if p.grad is not None),
        "optimizer state": own_bytes(state),
    }


def own_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes that lie on this rank: of a sharded tensor the shard, of tensors that share memory one."""
    own = [(t.to_local() if hasattr(t, "to_local") else t).untyped_storage() for t in tensors]
    return sum({storage.data_ptr(): storage.nbytes() for storage in own}.values())


def uninterrupted(options: dict[str, Any]) -> dict[str, Any]:
    """``ddp_train.py`` in this group, on this rank's device: its report without the weights."""
    import ddp_train  # lies beside this file

    report = ddp_train.train(ddp_train.Options(**options), here())
    report.pop("weights")
    return report
