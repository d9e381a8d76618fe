"""Which GPU hangs on which NUMA node, and which CPUs are near it: read from texts of sysfs, so a node on paper reads like a real one.

The texts, by their path without the first slash:

    sys/class/kfd/kfd/topology/nodes/<n>/properties, sys/class/kfd/kfd/topology/nodes/<n>/io_links/<k>/properties
    sys/bus/pci/devices/<address>/numa_node, …/current_compute_partition, …/current_memory_partition
    sys/devices/system/node/node<n>/cpulist, sys/devices/system/cpu/cpu<n>/topology/thread_siblings_list

Standard library only. Not yet verified on ROCm: no machine with an AMD GPU has been read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.machine.readers import kfd

# HSA_IOLINKTYPE of ROCr's hsakmttypes.h: 2 PCI Express, 11 xGMI.
_LINK_KINDS = {2: "PCIe", 11: "xGMI"}
_KFD = re.compile(r"kfd/topology/nodes/(\d+)/properties$")
_LINK = re.compile(r"kfd/topology/nodes/(\d+)/(?:io|p2p)_links/\d+/properties$")
_NUMA = re.compile(r"system/node/node(\d+)/cpulist$")
_SIBLINGS = re.compile(r"system/cpu/cpu(\d+)/topology/thread_siblings_list$")


@dataclass(frozen=True)
class Gpu:
    """One device as ROCr counts them: ``index`` is what ROCR_VISIBLE_DEVICES means."""

    index: int
    node: int  # of the KFD topology
    gfx: str | None
    address: str  # PCI, as 0000:c1:00.0; the partitions of a card share it
    part: int  # number of the partition, 0 where there is one
    compute_units: int | None
    numa: int | None  # None: nothing says it
    numa_from: str  # "PCI", "KFD link" or "" : what said it


@dataclass(frozen=True)
class Link:
    """A link of the KFD topology between two GPUs, by their ``index``."""

    a: int
    b: int
    kind: str  # "xGMI", "PCIe" or "type <n>"
    weight: int | None  # KFD's cost; less is nearer


@dataclass(frozen=True)
class Topology:
    """A node. ``numa`` maps a NUMA node to its CPUs; ``cores`` groups CPUs that are hardware threads of one core."""

    gpus: tuple[Gpu, ...]
    numa: Mapping[int, tuple[int, ...]]
    cores: tuple[tuple[int, ...], ...]
    links: tuple[Link, ...] = ()
    compute_partition: str = ""  # SPX, DPX, TPX, QPX, CPX, "mixed", or "" where the driver says nothing
    memory_partition: str = ""  # NPS1, NPS4 and so on


def cpu_list(text: str) -> tuple[int, ...]:
    """The kernel's list format; what is no number is left out.

    >>> cpu_list("0-3,8,10-11")
    (0, 1, 2, 3, 8, 10, 11)
    """
    found: set[int] = set()
    for part in text.strip().split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if match:
            found.update(range(int(match.group(1)), int(match.group(2) or match.group(1)) + 1))
    return tuple(sorted(found))


def cpu_text(cpus: Iterable[int]) -> str:
    """The opposite of ``cpu_list``.

    >>> cpu_text([0, 1, 2, 3, 8, 10, 11])
    '0-3,8,10-11'
    """
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def pci_address(location_id: int, domain: int = 0) -> str:
    """KFD's location_id: bus, device and function in the low 16 bits, which alone count (libhsakmt topology.c, kfd_topology.c).

    >>> pci_address(0xC100)
    '0000:c1:00.0'
    """
    return f"{domain & 0xFFFFFFFF:04x}:{location_id >> 8 & 0xFF:02x}:{location_id >> 3 & 0x1F:02x}.{location_id & 7}"


def read(files: Mapping[str, str]) -> Topology:
    """The node that the texts describe. Never raises; what they do not say is None or empty."""
    numa = {int(m.group(1)): cpu_list(text) for path, text in files.items() if (m := _NUMA.search(path))}
    numa = {node: cpus for node, cpus in sorted(numa.items()) if cpus}
    nodes = {int(m.group(1)): kfd.properties(text) for path, text in files.items() if (m := _KFD.search(path))}
    links = [(int(m.group(1)), kfd.properties(text)) for path, text in files.items() if (m := _LINK.search(path))]
    # The kernel makes one KFD node for each NUMA node that has CPUs, in their order (kfd_crat.c), then the GPUs.
    on_cpu = dict(zip(sorted(n for n, p in nodes.items() if p.get("cpu_cores_count", 0) > 0), numa, strict=False))
    gpus: list[Gpu] = []
    seen: dict[str, int] = {}
    for node in sorted(nodes):
        facts = nodes[node]
        known = kfd.gpu(facts)
        if known is None:
            continue
        # The number of a partition stands in bits 31 to 28, in older kernels in the function (kfd_topology.c, both).
        address = pci_address(facts.get("location_id", 0), facts.get("domain", 0))
        if not _text(files, address, "numa_node") and _text(files, address[:-1] + "0", "numa_node"):
            address = address[:-1] + "0"
        near, source = _numa_of(files, address, node, links, on_cpu, numa)
        gpus.append(
            Gpu(
                index=len(gpus),
                node=node,
                gfx=known["gfx"],
                address=address,
                part=seen.get(address, 0),
                compute_units=known["compute_units"],
                numa=near,
                numa_from=source,
            )
        )
        seen[address] = seen.get(address, 0) + 1
    addresses = {gpu.address for gpu in gpus}
    return Topology(
        gpus=tuple(gpus),
        numa=numa,
        cores=_cores(files, numa),
        links=_links(links, {gpu.node: gpu.index for gpu in gpus}),
        compute_partition=_shared(files, addresses, "current_compute_partition"),
        memory_partition=_shared(files, addresses, "current_memory_partition"),
    )


def _text(files: Mapping[str, str], address: str, name: str) -> str:
    return files.get(f"sys/bus/pci/devices/{address}/{name}", "").strip()


def _numa_of(
    files: Mapping[str, str],
    address: str,
    node: int,
    links: list[tuple[int, dict[str, int]]],
    on_cpu: Mapping[int, int],
    numa: Mapping[int, tuple[int, ...]],
) -> tuple[int | None, str]:
    said = _text(files, address, "numa_node")
    if re.fullmatch(r"\d{1,6}", said) and int(said) in numa:
        return int(said), "PCI"
    # -1: the firmware does not say. The cheapest KFD link to a CPU node does.
    ways = [
        (link.get("weight", 0), on_cpu[to])
        for n, link in links
        if n == node and (to := link.get("node_to", -1)) in on_cpu
    ]
    return (min(ways)[1], "KFD link") if ways else (None, "")


def _links(links: list[tuple[int, dict[str, int]]], index: Mapping[int, int]) -> tuple[Link, ...]:
    found = {}
    for node, facts in links:
        other = facts.get("node_to", -1)
        if node in index and other in index and node != other:
            a, b = sorted((index[node], index[other]))
            kind = facts.get("type", 0)
            found[a, b] = Link(a, b, _LINK_KINDS.get(kind, f"type {kind}"), facts.get("weight"))
    return tuple(found[key] for key in sorted(found))


def _cores(files: Mapping[str, str], numa: Mapping[int, tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    known = {cpu for cpus in numa.values() for cpu in cpus}
    groups = {cpu_list(text) for path, text in files.items() if _SIBLINGS.search(path)}
    groups = {tuple(cpu for cpu in group if cpu in known) for group in groups}
    cores: list[tuple[int, ...]] = []
    taken: set[int] = set()
    for group in sorted(groups):
        if group and not taken & set(group):
            cores.append(group)
            taken |= set(group)
    return tuple(sorted(cores + [(cpu,) for cpu in known - taken]))


def _shared(files: Mapping[str, str], addresses: set[str], name: str) -> str:
    said = {text for address in addresses if (text := _text(files, address, name))}
    return said.pop() if len(said) == 1 else "mixed" if said else ""


def collect(root: Path = Path("/")) -> dict[str, str]:
    """The texts of this machine: a few hundred small files, some milliseconds. Empty where there is no sysfs."""
    patterns = (
        "sys/class/kfd/kfd/topology/nodes/*/properties",
        "sys/class/kfd/kfd/topology/nodes/*/*_links/*/properties",
        "sys/devices/system/node/node*/cpulist",
        "sys/devices/system/cpu/cpu*/topology/thread_siblings_list",
    )
    files: dict[str, str] = {}
    for pattern in patterns:
        for path in root.glob(pattern):
            _take(files, root, path)
    for gpu in read(files).gpus:
        for name in ("numa_node", "current_compute_partition", "current_memory_partition"):
            for address in {gpu.address, gpu.address[:-1] + "0"}:
                _take(files, root, root / f"sys/bus/pci/devices/{address}/{name}")
    if not any(_NUMA.search(path) for path in files):  # a kernel without NUMA: one node with every CPU
        _take(files, root, root / "sys/devices/system/cpu/online", "sys/devices/system/node/node0/cpulist")
    return files


def _take(files: dict[str, str], root: Path, path: Path, name: str = "") -> None:
    try:
        files[name or path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8", errors="replace")[:65536]
    except OSError:
        pass
