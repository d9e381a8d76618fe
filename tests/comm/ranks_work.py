"""What the ranks of the tests do; loaded by its path, as a lesson's scripts are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Told:
    rank: int
    ranks: int
    threads: int
    address: str


def add_up(count: int, scale: float = 1.0) -> Any:
    x = torch.full((count,), scale * (dist.get_rank() + 1))
    dist.all_reduce(x)
    return x


def about() -> Told:
    return Told(
        dist.get_rank(), dist.get_world_size(), torch.get_num_threads(), os.environ.get("GLOO_SOCKET_IFNAME", "")
    )


def same(value: Any) -> Any:
    return value


def alone() -> bool:
    return dist.is_initialized()


def talk() -> None:
    print(f"I am {dist.get_rank()}")
    print("a warning", file=sys.stderr)


def fail(on: int) -> None:
    if dist.get_rank() == on:
        raise ValueError("the shapes differ")
    add_up(3)


def skip(on: int) -> str:
    if dist.get_rank() == on:
        return "left early"
    add_up(3)
    return "was there"


def die(on: int, how: int = int(signal.SIGTERM)) -> None:
    if dist.get_rank() == on:
        os.kill(os.getpid(), how)
        time.sleep(60)
    add_up(3)


def leave(status: int) -> None:
    os._exit(status)


def unsendable() -> Any:
    return lambda: None


def wait_with_child(folder: str) -> None:
    """Starts a process of its own, says where both are, and stays."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    draft = Path(folder) / f".{os.getpid()}"
    draft.write_text(f"{os.getpid()} {child.pid}", encoding="ascii")
    draft.replace(Path(folder) / f"rank-{dist.get_rank()}")
    time.sleep(600)


def check_operations(names: list[str], sizes: list[int], dtypes: list[str]) -> list[tuple[str, int, str, int, int]]:
    """(name, bytes, dtype, wrong as it is, wrong after one element was spoilt) of every combination."""
    from labkit.comm import operations

    found = []
    for name in names:
        for dtype in dtypes:
            kind = getattr(torch, dtype)
            for size in sizes:
                real = operations.real_size(name, size, dist.get_world_size(), kind.itemsize)
                made = operations.operation(name, real, kind, "cpu")
                made.fill()
                untouched = made.wrong()
                made.call()
                right = made.wrong()
                root = name == "broadcast" and dist.get_rank() == 0
                assert untouched == made.taken.numel() or root, "what was not called must count as wrong"
                made.fill()
                call_spoilt(made)
                found.append((name, real, dtype, right, made.wrong()))
    return found


def call_spoilt(made: Any) -> None:
    """The operation with one value more on rank 0 before it begins."""
    if dist.get_rank() == 0:
        made.given[-1] += 1
    made.call()


def without_reduce_scatter(*order: Any) -> Any:
    """A backend that lacks one of the collectives, as gloo of older releases does."""
    from labkit.comm import collectives

    def refuse(*_: Any) -> None:
        raise RuntimeError("ProcessGroupGloo does not support reduce_scatter")

    real = dist.reduce_scatter_tensor
    dist.reduce_scatter_tensor = refuse
    try:
        return collectives.take_part(*order)
    finally:
        dist.reduce_scatter_tensor = real


def says(what: str, times: int = 1) -> None:
    for _ in range(times):
        print(what)
    sys.stdout.flush()
    os.system(f"echo {what} from a child" if times == 1 else "")


def closes_its_output() -> None:
    sys.stdout.close()
    sys.stderr.close()
    os.close(1)
    os.close(2)


class OnlyHere:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return eval, ("1 / 0",)


def only_here() -> OnlyHere:
    return OnlyHere()


def starts_another() -> int:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]).pid
