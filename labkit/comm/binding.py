"""Which GPU and which CPU cores each local rank should have, and the warnings that belong to it. Pure, but for ``here`` and ``main``.

    python -m labkit.comm.binding                      # this machine
    python -m labkit.comm.binding --paper mi300x-cpx   # a node on paper
    python -m labkit.comm.binding --ranks 4 --json

Variables: ROCm's documentation, GPU isolation techniques, and torch 2.14.1's torch/cuda/__init__.py, read 2026-11-30.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from labkit.catalog.masks import MASKS
from labkit.comm import paper, topology
from labkit.comm.topology import Gpu, Topology, cpu_text
from labkit.errors import LabkitError


@dataclass(frozen=True)
class Place:
    """What one local rank gets.

    ``gpu``: the GPU's number on the node, as ROCR_VISIBLE_DEVICES means it; None without GPUs. ``device``: the index that torch
    uses in this process, 0 if the rank sees its own GPU only. ``near``: its cores are on the GPU's NUMA node (None: not known).
    """

    local_rank: int
    gpu: int | None
    device: int | None
    address: str
    numa: int | None
    cpus: tuple[int, ...]
    near: bool | None

    def environment(self, masked: bool) -> dict[str, str]:
        """The variables to set before Python starts; with ``masked`` the rank sees its own GPU only."""
        return {"ROCR_VISIBLE_DEVICES": str(self.gpu)} if masked and self.gpu is not None else {}


@dataclass(frozen=True)
class Binding:
    """A place for each local rank, in their order, and what there is to warn of."""

    places: tuple[Place, ...]
    warnings: tuple[str, ...]
    masked: bool


def bind(
    node: Topology,
    ranks: int | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    allowed: Iterable[int] | None = None,
    masked: bool = False,
) -> Binding:
    """Gives local rank r the r-th GPU that the environment leaves, and a share of the cores near it.

    The shares are disjoint; together they hold every core of the NUMA nodes whose GPUs are used, as far as ``allowed`` (CPU
    numbers of this process, None: all) has them. ``ranks``: None is one per GPU, or one without GPUs. ``masked``: each rank is
    shown its own GPU only (ROCR_VISIBLE_DEVICES), which torch then calls 0; else all see all, and torch's index is the rank.

    Raises LabkitError for fewer than one rank, or more ranks than GPUs.
    """
    environment = environment or {}
    gpus = visible(node, environment)
    count = ranks if ranks is not None else max(len(gpus), 1)
    if count < 1:
        raise LabkitError("A node needs at least one rank.", "Give --ranks a number from 1 on.")
    if gpus and count > len(gpus):
        raise LabkitError(
            f"{count} ranks, but {len(gpus)} GPUs here.", f"Start {len(gpus)} ranks on each node: one per GPU."
        )
    chosen: list[Gpu | None] = [*gpus[:count]] if gpus else [None] * count
    usable = set(allowed) if allowed is not None else {cpu for core in node.cores for cpu in core}
    shares, far = _share(node, [gpu.numa if gpu else None for gpu in chosen], usable)
    places = tuple(
        Place(
            local_rank=rank,
            gpu=gpu.index if gpu else None,
            device=(0 if masked else rank) if gpu else None,
            address=gpu.address if gpu else "",
            numa=gpu.numa if gpu else None,
            cpus=shares[rank],
            near=None if gpu is None or gpu.numa is None else rank not in far,
        )
        for rank, gpu in enumerate(chosen)
    )
    return Binding(places, tuple(_warnings(node, places, far, environment, masked)), masked)


def visible(node: Topology, environment: Mapping[str, str]) -> tuple[Gpu, ...]:
    """The GPUs that the variables leave, in the order that torch counts them.

    ROCR_VISIBLE_DEVICES first; then HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES if that is missing, chooses from what is left,
    by its new numbers. A list ends at the first entry that names nothing. An UUID cannot be read from here: all are kept.
    """
    gpus = _masked(node.gpus, environment.get(MASKS[0]))
    return _masked(gpus, environment.get(MASKS[1], environment.get(MASKS[2])))


def _masked(gpus: tuple[Gpu, ...], mask: str | None) -> tuple[Gpu, ...]:
    if mask is None or mask.strip().upper().startswith("GPU-"):
        return gpus
    kept: list[Gpu] = []
    for part in mask.split(","):
        if not part.strip().isdecimal() or int(part) >= len(gpus):
            break
        kept.append(gpus[int(part)])
    return tuple(kept)


def _share(node: Topology, wanted: Sequence[int | None], usable: set[int]) -> tuple[list[tuple[int, ...]], set[int]]:
    """CPUs for each rank, and the ranks whose cores are not near their GPU."""
    cores = [core for group in node.cores if (core := tuple(cpu for cpu in group if cpu in usable))]
    home = {cpu: numa for numa, cpus in node.numa.items() for cpu in cpus}
    shares: list[tuple[int, ...]] = [()] * len(wanted)
    left = dict.fromkeys(cores)
    for numa in sorted({n for n in wanted if n is not None}):
        ranks = [rank for rank, n in enumerate(wanted) if n == numa]
        near = [core for core in cores if home.get(core[0]) == numa]
        if len(near) >= len(ranks):
            _deal(shares, ranks, near)
            for core in near:
                left.pop(core, None)
    open_ranks = [rank for rank, share in enumerate(shares) if not share]
    rest = list(left) if len(left) >= len(open_ranks) else cores  # too few cores: they have to be shared
    if open_ranks and rest:
        _deal(shares, open_ranks, rest)
    return shares, {rank for rank in open_ranks if wanted[rank] is not None}


def _deal(shares: list[tuple[int, ...]], ranks: Sequence[int], cores: Sequence[tuple[int, ...]]) -> None:
    """Neighbouring cores to the same rank: they share caches."""
    for k, rank in enumerate(ranks):
        mine = cores[k * len(cores) // len(ranks) : (k + 1) * len(cores) // len(ranks)] or [cores[k % len(cores)]]
        shares[rank] = tuple(sorted(cpu for core in mine for cpu in core))


def _warnings(
    node: Topology, places: Sequence[Place], far: set[int], environment: Mapping[str, str], masked: bool
) -> Iterable[str]:
    rocr, hip, cuda = (environment.get(name) for name in MASKS)
    other = "HIP_VISIBLE_DEVICES" if hip is not None else "CUDA_VISIBLE_DEVICES"
    if rocr is not None and (hip is not None or cuda is not None):
        yield (
            f"ROCR_VISIBLE_DEVICES and {other} are both set: the second counts within what the first leaves. If it lists more, torch "
            "stops with 'HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES'. Keep one of them."
        )
    if hip is not None and cuda is not None:
        yield "HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES are both set: torch goes by the first."
    elif cuda is not None:
        yield "CUDA_VISIBLE_DEVICES hides AMD GPUs too: on ROCm it means what HIP_VISIBLE_DEVICES means."
    if any((environment.get(name) or "").strip().upper().startswith("GPU-") for name in MASKS):
        yield "A variable names GPUs by UUID, which cannot be matched here: check that each rank has one of those."
    if not node.gpus:
        yield "No AMD GPU is known here: only cores are given."
        return
    if places[0].gpu is None:
        yield "The variables leave none of this node's GPUs: the second list asks for numbers that the first one took away."
        return
    if not places[0].cpus:
        yield "No CPU is known here: no cores are given."
    moved = [place for place in places if place.device is not None and place.device != place.gpu]
    if moved:
        first = moved[0]
        yield (
            f"Numbers change: GPU {first.gpu} of this node is 'cuda:{first.device}' in local rank {first.local_rank}. Logs of torch "
            "and of amd-smi then count differently."
        )
    if masked and len(places) > 1:
        yield (
            "Each rank sees one GPU: a script that uses cuda:LOCAL_RANK stops with 'invalid device ordinal' on every rank but 0. Either "
            "show each rank one GPU and use cuda:0, or show all and use cuda:LOCAL_RANK; not both."
        )
    if far:
        yield f"Too few cores near the GPUs of local rank {cpu_text(far)}: they run on another NUMA node, or share cores."
    if any(place.gpu is not None and place.numa is None for place in places) and len(node.numa) > 1:
        yield "Nothing says on which NUMA node the GPUs are: the cores are dealt out in order."
    if node.compute_partition in ("DPX", "TPX", "QPX", "CPX"):
        cards = len({gpu.address for gpu in node.gpus})
        yield (
            f"Partition mode {node.compute_partition}: {len(node.gpus)} devices are {cards} cards. A rank has a part of a card, and of "
            "its memory."
        )
    if node.compute_partition == "mixed":
        yield "The cards are in different partition modes: the devices differ in size, and the slowest rank sets the pace."


def table(binding: Binding) -> str:
    """The places as text, one line per local rank."""
    rows = [("local rank", "GPU", "PCI address", "torch", "NUMA", "near", "CPUs")]
    for p in binding.places:
        near = {True: "yes", False: "NO", None: "?"}[p.near]
        shown = ["-" if x is None else str(x) for x in (p.gpu, p.numa)]
        device = "-" if p.device is None else f"cuda:{p.device}"
        rows.append((str(p.local_rank), shown[0], p.address or "-", device, shown[1], near, cpu_text(p.cpus) or "-"))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines + [f"! {warning}" for warning in binding.warnings])


def here() -> tuple[Topology, set[int] | None]:
    """This machine's node, and the CPUs that this process may use (None where the system does not say)."""
    affinity = getattr(os, "sched_getaffinity", None)
    return topology.read(topology.collect()), set(affinity(0)) if affinity else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the binding; 1 and one sentence if there is none."""
    parser = argparse.ArgumentParser(
        prog="python -m labkit.comm.binding", description="GPU and cores for each local rank."
    )
    parser.add_argument("--ranks", type=int, help="ranks on this node; one per GPU, unless it is given")
    parser.add_argument("--paper", metavar="NODE", help=f"a node on paper (simulated): {', '.join(paper.NODES)}")
    parser.add_argument("--from", dest="root", metavar="FOLDER", help="a folder that holds a copy of /sys as sys/")
    parser.add_argument("--masked", action="store_true", help="each rank sees its own GPU only")
    parser.add_argument("--json", action="store_true", help="as JSON")
    o = parser.parse_args(arguments)
    try:
        if o.paper or o.root:
            texts = paper.files(o.paper) if o.paper else topology.collect(Path(o.root))
            binding = bind(topology.read(texts), o.ranks, masked=o.masked)
        else:
            node, allowed = here()
            binding = bind(node, o.ranks, environment=os.environ, allowed=allowed, masked=o.masked)
    except LabkitError as error:
        print(error, file=sys.stderr)
        return 1
    if o.json:
        print(json.dumps(asdict(binding)))
        return 0
    if o.paper:
        print(f"Simulated: {paper.NODES[o.paper].says}")
    print(table(binding))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
