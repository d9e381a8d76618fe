"""Nodes on paper: the sysfs texts of machines that are not here, for practice and for tests. Simulated, not recorded.

Where a real node of the kind is documented, its order of GPUs and NUMA nodes is that one, with the source beside it; addresses
that no source gives are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.comm.topology import cpu_list
from labkit.errors import LabkitError


@dataclass(frozen=True)
class Paper:
    """What a node on paper is made of. ``gpus``: (PCI bus, NUMA node) of each card in ROCr's order."""

    says: str
    cpus: Mapping[int, str]
    gpus: tuple[tuple[int, int], ...]
    target: int  # gfx_target_version
    compute_units: int  # of each device
    parts: int = 1  # devices per card
    xgmi: bool = False  # every card with every card
    compute_partition: str = ""
    memory_partition: str = ""
    threads_apart: int = 0  # the second hardware thread of CPU n is n + this


# Bus numbers are made up; four cards on each socket, in order.
_EIGHT = tuple((bus, number // 4) for number, bus in enumerate((0x1B, 0x3D, 0x4E, 0x5F, 0x9D, 0xBD, 0xCD, 0xDD)))
_TWO_SOCKETS = {0: "0-47,96-143", 1: "48-95,144-191"}

NODES = {
    "radeon": Paper("one Radeon RX 7900 XTX in a desktop", {0: "0-15"}, ((0x03, 0),), 110000, 96, threads_apart=8),
    "radeon-2": Paper("two Radeon RX 7900 XTX in a desktop", {0: "0-31"}, ((0x03, 0), (0x0A, 0)), 110000, 96, threads_apart=16),
    "mi300x": Paper(
        "8 Instinct MI300X, two sockets, SPX", _TWO_SOCKETS, _EIGHT, 90402, 304,
        xgmi=True, compute_partition="SPX", memory_partition="NPS1", threads_apart=96,
    ),
    "mi300x-cpx": Paper(
        "8 Instinct MI300X, two sockets, CPX: 64 devices", _TWO_SOCKETS, _EIGHT, 90402, 38,
        parts=8, xgmi=True, compute_partition="CPX", memory_partition="NPS4", threads_apart=96,
    ),
    # The GCDs' order against the NUMA nodes: LUMI-G's documentation binds GPU 0 to 7 to the CPUs 49, 57, 17, 25, 1, 9, 33, 41
    # (docs.lumi-supercomputer.eu, "Slurm batch scripts for LUMI-G"); Frontier's nodes are of the same design (docs.olcf.ornl.gov,
    # Frontier User Guide). Read 2026-11-30.
    "mi250x": Paper(
        "4 Instinct MI250X, 8 GCDs, one socket with four NUMA nodes",
        {0: "0-15,64-79", 1: "16-31,80-95", 2: "32-47,96-111", 3: "48-63,112-127"},
        ((0xC1, 3), (0xC6, 3), (0xC9, 1), (0xCE, 1), (0xD1, 0), (0xD6, 0), (0xD9, 2), (0xDE, 2)),
        90010, 110, threads_apart=64,  # which GCDs are linked is left out: not established here
    ),
    "mi300a": Paper(
        "4 Instinct MI300A: CPU cores, GPU and memory in one package each",
        {node: f"{24 * node}-{24 * node + 23},{96 + 24 * node}-{96 + 24 * node + 23}" for node in range(4)},
        ((0x01, 0), (0x41, 1), (0x81, 2), (0xC1, 3)),
        90402, 228, xgmi=True, compute_partition="SPX", memory_partition="NPS1", threads_apart=96,
    ),
}  # fmt: skip


def files(name: str) -> dict[str, str]:
    """The sysfs texts of the node on paper. Raises LabkitError for a name that there is not."""
    if name not in NODES:
        raise LabkitError(f"There is no node on paper called '{name}'.", f"Choose one of: {', '.join(NODES)}.")
    paper = NODES[name]
    texts: dict[str, str] = {}
    for number, (node, cpus) in enumerate(paper.cpus.items()):
        texts[f"sys/devices/system/node/node{node}/cpulist"] = cpus + "\n"
        texts[f"{_kfd(number)}/properties"] = _lines(cpu_cores_count=len(cpu_list(cpus)), simd_count=0, location_id=0)
        for cpu in cpu_list(cpus):
            first = cpu % paper.threads_apart if paper.threads_apart else cpu
            both = f"{first},{first + paper.threads_apart}" if paper.threads_apart else str(cpu)
            texts[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = both + "\n"
    sockets = len(paper.cpus)
    numbers = range(sockets, sockets + len(paper.gpus) * paper.parts)
    for number in numbers:
        card, part = divmod(number - sockets, paper.parts)
        bus, near = paper.gpus[card]
        texts[f"{_kfd(number)}/properties"] = _lines(
            cpu_cores_count=0, simd_count=paper.compute_units * 4, simd_per_cu=4, gfx_target_version=paper.target,
            location_id=part << 28 | bus << 8, domain=0,
        )  # fmt: skip
        others = [n for n in numbers if n != number] if paper.xgmi else []
        ways = [(list(paper.cpus).index(near), 2, 20), *((other, 11, 15) for other in others)]
        for k, (to, kind, weight) in enumerate(ways):
            texts[f"{_kfd(number)}/io_links/{k}/properties"] = _lines(
                type=kind, node_from=number, node_to=to, weight=weight
            )
        device = f"sys/bus/pci/devices/0000:{bus:02x}:00.0"
        texts[f"{device}/numa_node"] = f"{near}\n" if sockets > 1 else "-1\n"
        for key, text in (("compute", paper.compute_partition), ("memory", paper.memory_partition)):
            if text:
                texts[f"{device}/current_{key}_partition"] = text + "\n"
    return texts


def _kfd(node: int) -> str:
    return f"sys/class/kfd/kfd/topology/nodes/{node}"


def _lines(**facts: int) -> str:
    return "".join(f"{name} {number}\n" for name, number in facts.items())
