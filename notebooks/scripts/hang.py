"""A hang, made and found: one rank skips a collective, and the others wait for it.

    torchrun --nproc-per-node 2 notebooks/scripts/hang.py --way timeout --seconds 3

timeout    what happens by itself: with gloo an error after the timeout, and no word about who is missing
barrier    torch.distributed.monitored_barrier before the collective names the rank that is missing (gloo only)
detail     TORCH_DISTRIBUTED_DEBUG=DETAIL puts such a check before every collective
mismatch   the same, where the rank goes on to its next collective instead: the check names both
recorder   the flight recorder: each rank's list of its last collectives, compared

The recorder wants TORCH_FR_BUFFER_SIZE (how many collectives to keep) in the environment before the first process group. torch 2.14
records gloo, too; where a torch records nccl (on AMD: RCCL) only, the list stays empty. With nccl, TORCH_NCCL_DUMP_ON_TIMEOUT=1
writes the lists into files at a timeout, and ``torchfrtrace`` compares them (not yet verified on ROCm).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

WAYS = ("timeout", "barrier", "detail", "mismatch", "recorder")
_turn = itertools.count()


def report_loss(loss: torch.Tensor, group: Any, skipper: int) -> None:
    """The bug: an innocent `if` that not every rank takes. (Real ones read "if this batch is not empty".)"""
    if dist.get_rank() != skipper:
        dist.all_reduce(loss, group=group)


def recorded() -> list[dict[str, Any]]:
    """This rank's collectives as the flight recorder has them: number, kind, shapes. Empty where it records nothing."""
    dump = getattr(torch._C._distributed_c10d, "_dump_fr_trace_json", None)  # not public: it may move
    if dump is None:
        return []
    return [
        {
            "group": entry["process_group"][1] or entry["process_group"][0],
            "number": entry["collective_seq_id"],
            "kind": entry["profiling_name"].partition(":")[2],
            "shapes": entry["input_sizes"],
        }
        for entry in json.loads(dump()).get("entries", [])
    ]


def missed(way: str, seconds: float = 3.0, skipper: int = 1) -> dict[str, Any]:
    """Two collectives, of which `skipper` skips the second. What this rank waited, was told, and recorded.

    Runs inside a process group; makes one of its own, so that the timeout and the debug level are its own, too.
    """
    rank, wait = dist.get_rank(), timedelta(seconds=seconds)
    dist.barrier()
    before = os.environ.get("TORCH_DISTRIBUTED_DEBUG")
    if way in ("detail", "mismatch"):
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
        dist.set_debug_level_from_env()
    name = f"losses {next(_turn)}"
    group = dist.new_group(timeout=wait, group_desc=name)
    device = torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else torch.device("cpu")
    dist.all_reduce(torch.ones(4, device=device), group=group)  # every rank takes part
    began, error = time.monotonic(), ""
    try:
        if way == "barrier" and rank != skipper:
            dist.monitored_barrier(group, timeout=wait, wait_all_ranks=True)
        report_loss(torch.ones(7, device=device), group, skipper)
        if way == "mismatch":
            dist.all_reduce(torch.ones(9, device=device), group=group)
    except RuntimeError as problem:
        error = str(problem)
    waited = time.monotonic() - began
    if rank == skipper and way != "mismatch":
        time.sleep(seconds + 0.5)  # it is busy elsewhere; if it ended, the others would see a broken connection instead
    if way in ("detail", "mismatch"):
        os.environ.pop("TORCH_DISTRIBUTED_DEBUG") if before is None else os.environ.update(
            TORCH_DISTRIBUTED_DEBUG=before
        )
        dist.set_debug_level_from_env()
    collectives = [entry for entry in recorded() if entry["group"] == name]
    return {"rank": rank, "way": way, "waited_s": waited, "error": error, "collectives": collectives}


def compare_recorders(by_rank: Mapping[int, Sequence[Mapping[str, Any]]]) -> str:
    """The first collective in which the ranks' lists differ, in one sentence."""
    if not any(by_rank.values()):
        return "The flight recorder recorded nothing: set TORCH_FR_BUFFER_SIZE before the first group, or this torch has it for nccl only."
    for place in range(max(len(entries) for entries in by_rank.values())):
        seen = {rank: entries[place] if place < len(entries) else None for rank, entries in sorted(by_rank.items())}
        kinds = {rank: (entry["kind"], str(entry["shapes"])) for rank, entry in seen.items() if entry}
        absent = [str(rank) for rank, entry in seen.items() if entry is None]
        if absent or len(set(kinds.values())) > 1:
            calls = "; ".join(f"rank {rank}: {kind} of {shapes}" for rank, (kind, shapes) in kinds.items())
            missing = f"; not called by rank {', '.join(absent)}" if absent else ""
            return f"Collective {place + 1} differs: {calls}{missing}."
    return "All ranks called the same collectives."


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the hang, and prints one JSON line per rank; with --way recorder rank 0 compares the lists."""
    if not dist.is_available():
        raise SystemExit("This build of torch has no torch.distributed.")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=WAYS, default="timeout", help="how it shall be found")
    parser.add_argument("--seconds", type=float, default=3.0, help="timeout of the collectives")
    parser.add_argument("--skipper", type=int, default=1, help="the rank that skips one")
    options = parser.parse_args(arguments)
    if "RANK" not in os.environ or int(os.environ["WORLD_SIZE"]) < 2 or options.seconds <= 0:
        parser.error("start it by torchrun with at least two processes, and with --seconds above 0")
    os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "100")
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    found = missed(options.way, options.seconds, options.skipper)
    print(json.dumps(found), flush=True)
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, found)
    if options.way == "recorder" and dist.get_rank() == 0:
        print(compare_recorders({one["rank"]: one["collectives"] for one in everyone}), flush=True)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    # Not by Python's own end: there a thread of PyTorch 2.14 now and then aborts a process that is done.
    os._exit(ended)
