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
