"""Between torchrun and the training: gives each local rank the CPU cores near its GPU, then becomes the training.

    torchrun --nproc-per-node 8 notebooks/scripts/slurm/bind.py notebooks/scripts/ddp_train.py --epochs 10
    torchrun --nproc-per-node 8 notebooks/scripts/slurm/bind.py --masked notebooks/scripts/ddp_train.py --device bound

Without --masked every rank sees all GPUs, and the script chooses cuda:LOCAL_RANK, as torchrun's scripts do. With --masked a rank
sees its own GPU only, and the script has to use cuda:0. Not yet verified on ROCm.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from labkit.comm import binding
from labkit.comm.topology import cpu_text
from labkit.errors import LabkitError


def main(arguments: list[str]) -> int:
    masked = arguments[:1] == ["--masked"]
    command = arguments[masked:]
    if not command:
        print("bind.py: name the script to run behind it", file=sys.stderr)
        return 2
    rank, ranks = (
        int(os.environ.get(name, default)) for name, default in (("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1"))
    )
    node, allowed = binding.here()
    try:
        found = binding.bind(node, ranks, environment=os.environ, allowed=allowed, masked=masked)
    except LabkitError as error:
        print(error, file=sys.stderr)
        return 1
    place = found.places[rank]
    if place.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, place.cpus)  # kept by the program that this process becomes
    if masked and place.gpu is not None:
        for name in binding.MASKS:
            os.environ.pop(name, None)
    os.environ.update(place.environment(masked))
    if rank == 0:
        for warning in found.warnings:
            print(f"bind.py: {warning}", file=sys.stderr)
    print(f"bind.py: local rank {rank}: GPU {place.gpu}, CPUs {cpu_text(place.cpus)}", file=sys.stderr, flush=True)
    os.execv(sys.executable, [sys.executable, *command])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
