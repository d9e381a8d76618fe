"""How fast the processes of a job can talk: collectives of torch.distributed over sizes, checked, as JSON lines.

    torchrun --nproc-per-node 8 notebooks/scripts/collective_bench.py -b 8 -e 1G -f 4
    torchrun --nproc-per-node 2 notebooks/scripts/collective_bench.py --ops all_reduce,send_recv -e 1M      # gloo on a CPU
    srun --ntasks 16 ... python collective_bench.py               # with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set

It measures what a training in PyTorch gets, with nccl (RCCL on AMD; not yet verified on ROCm) if every local process has a GPU, else with
gloo. What the library alone can do is measured by rccl-tests. Sizes are bytes as there: the whole input of a reduction, the
whole output of a gathering. algbw is bytes over time; busbw is algbw times a factor per collective that makes it comparable
with a link's bandwidth (source: doc/PERFORMANCE.md of NVIDIA/nccl-tests, read 2026-11-30). A time is the slowest rank's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

# How many times its own size a rank's link carries, for n ranks.
FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "send_recv": lambda n: 1.0,
}
FLOAT = 4  # bytes


def size_of(text: str) -> int:
    """'4K' is 4096 bytes; K, M and G as in nccl-tests. Raises ValueError for anything else."""
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    text = text.strip().upper().removesuffix("B")
    value = int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)
    if value < 1:
        raise ValueError("a size is at least 1 byte")
    return value


def sizes_between(first: int, last: int, factor: int) -> list[int]:
    """first, first * factor, ... up to last. Raises ValueError if there is none."""
    if last < first or factor < 2:
        raise ValueError("no size from first to last")
    sizes = [first]
    while sizes[-1] * factor <= last:
        sizes.append(sizes[-1] * factor)
    return sizes


def values(first: int, count: int, rank: int) -> Tensor:
    """Whole numbers that differ by place and rank, so small that sums of them are exact: [count]."""
    return (torch.arange(first, first + count) % 61 + 7 * rank % 59).float()


def prepared(op: str, count: int, device: torch.device) -> tuple[Callable[[], object], Tensor, Tensor, Tensor]:
    """(the call, its input, its output, what the output has to be) for `count` floats in the sense of nccl-tests.

    count is a multiple of the number of ranks. send_recv sends to the next rank and receives from the one before.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    part = count // world
    ranks = range(world)
    whole = values(0, count, rank)
    if op == "all_reduce":
        x = whole.to(device)
        return lambda: dist.all_reduce(x), x, x, sum((values(0, count, r) for r in ranks), torch.zeros(count))
    if op == "broadcast":
        x = whole.to(device)
        return lambda: dist.broadcast(x, 0), x, x, values(0, count, 0)
    if op == "all_gather":
        x, y = values(0, part, rank).to(device), torch.zeros(count, device=device)
        gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor  # the older name
        return lambda: gather(y, x), x, y, torch.cat([values(0, part, r) for r in ranks])
    if op == "reduce_scatter":
        x, y = whole.to(device), torch.zeros(part, device=device)
        mine = sum((values(rank * part, part, r) for r in ranks), torch.zeros(part))
        scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
        return lambda: scatter(y, x), x, y, mine
    x, y = whole.to(device), torch.zeros(count, device=device)
    if op == "all_to_all":
        mine = torch.cat([values(rank * part, part, r) for r in ranks])
        return lambda: dist.all_to_all_single(y, x), x, y, mine

    def exchange() -> None:
        ends = [dist.P2POp(dist.isend, x, (rank + 1) % world), dist.P2POp(dist.irecv, y, (rank - 1) % world)]
        for work in dist.batch_isend_irecv(ends):
            work.wait()

    return exchange, x, y, values(0, count, (rank - 1) % world)


def measure(op: str, size: int, device: torch.device, warmup: int, calls: int, repeats: int) -> dict[str, object]:
    """One line of the result: `repeats` times the mean over `calls` calls, then one call on fresh values, checked."""
    world = dist.get_world_size()
    count = max(size // FLOAT // world, 1) * world
    call, x, y, right = prepared(op, count, device)
    fresh = x.clone()
    times = torch.zeros(repeats, dtype=torch.float64, device=device)

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    x.zero_()  # a sum of sums would not stay finite
    for _ in range(warmup):
        call()
    for i in range(repeats):
        wait()
        dist.barrier()
        began = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        times[i] = (time.perf_counter() - began) / calls
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    x.copy_(fresh)
    call()
    wrong = (y.cpu() != right).sum().to(device)
    dist.all_reduce(wrong)
    seconds = sorted(times.tolist())
    median, moved = statistics.median(seconds), count * FLOAT
    speed = moved / median / 1e9
    return {
        "op": op,
        "bytes": moved,
        "ranks": world,
        "median_s": median,
        "low_s": seconds[0],
        "high_s": seconds[-1],
        "algbw_gb_s": speed,
        "busbw_gb_s": speed * FACTORS[op](world),
        "wrong": int(wrong.item()),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures; rank 0 prints. Exit status 1 if any value arrived wrong."""
    if not dist.is_available():
        raise SystemExit("This build of torch has no torch.distributed.")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-b", "--first", default="1K", help="smallest size")
    parser.add_argument("-e", "--last", default="16M", help="largest size")
    parser.add_argument("-f", "--factor", type=int, default=4, help="from size to size")
    parser.add_argument("-n", "--calls", type=int, default=20, help="calls per time")
    parser.add_argument("-w", "--warmup", type=int, default=5, help="calls before")
    parser.add_argument("--repeats", type=int, default=5, help="times per size")
    parser.add_argument("--ops", default=",".join(FACTORS), help="which collectives, with commas between")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: GPUs if there are enough"
    )
    o = parser.parse_args(arguments)
    ops = o.ops.split(",")
    try:
        sizes = sizes_between(size_of(o.first), size_of(o.last), o.factor)
    except ValueError:
        sizes = []
    if not sizes or not set(ops) <= set(FACTORS) or min(o.calls, o.repeats) < 1 or o.warmup < 0:
        parser.error(f"sizes are like 8, 4K, 16M, 1G, the factor at least 2, collectives from: {', '.join(FACTORS)}")
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        parser.error("there is nobody to talk to: start it by torchrun with at least two processes")
    local_rank, local_world = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    use_gpus = o.device == "cuda" or (o.device == "auto" and torch.cuda.device_count() >= local_world)
    device = torch.device("cuda", local_rank) if use_gpus else torch.device("cpu")
    if use_gpus:
        torch.cuda.set_device(device)
    backend = "nccl" if use_gpus and dist.is_nccl_available() else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=120))
    first = dist.get_rank() == 0
    lines = []
    for op in ops:
        for size in sizes:
            lines.append(measure(op, size, device, o.warmup, o.calls, o.repeats))
            if first:
                print(json.dumps(lines[-1]), flush=True)
    wrong = sum(int(str(line["wrong"])) for line in lines)
    if first:
        best = {op: max(float(str(line["busbw_gb_s"])) for line in lines if line["op"] == op) for op in ops}
        what = {"backend": backend, "device": device.type, "torch": torch.__version__, "ranks": dist.get_world_size()}
        print(json.dumps({"summary": what | {"wrong": wrong, "best_busbw_gb_s": best}}), flush=True)
    dist.destroy_process_group()
    return 1 if wrong else 0


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    # Not by Python's own end: there a thread of PyTorch 2.14 now and then aborts a process that is done.
    os._exit(ended)
