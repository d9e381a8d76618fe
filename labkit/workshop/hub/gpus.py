"""Which GPUs of this machine can be lent, by their numbers as ROCR_VISIBLE_DEVICES counts them, and what a server is told of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.machine import snapshot as machine
from labkit.machine.facts import kfd_nodes, kfd_properties
from labkit.workshop.hub.leases import Lease

PRETENDED = " (pretended: no such GPU exists)"
"""What stands behind a GPU that is lent to try the hub out."""


def found(snapshot: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The discrete AMD GPUs, as indices. A GPU inside the processor is counted, as ROCr does, but not lent.

    ``snapshot``: of which machine (default: this one). Not yet verified on ROCm hardware.
    """
    nodes = kfd_nodes(machine.collect(quick=True) if snapshot is None else snapshot)
    cards = [card for card in (kfd_properties(text) for _, text in nodes) if card.get("simd_count", 0) > 0]
    return tuple(str(at) for at, card in enumerate(cards) if card.get("cpu_cores_count", 0) == 0)


def variables(lease: Lease | None, *, pretended: bool) -> dict[str, str]:
    """What a learner's server gets to know about GPUs.

    ROCR_VISIBLE_DEVICES acts in the lowest layer, first; HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES choose from what it leaves.
    So nobody who sets one of those reaches another learner's GPU. (A learner who unsets ROCR_VISIBLE_DEVICES does: it is an
    agreement, not a lock.) The lent GPU is number 0 for them. Without a GPU both are -1: torch alone would count one for an
    empty ROCR_VISIBLE_DEVICES.
    """
    if lease is None:
        return {"ROCR_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1", "LABKIT_HUB_GPU": "none"}
    words = f"{lease.gpu} (pretended)" if pretended else lease.gpu
    return {"ROCR_VISIBLE_DEVICES": lease.gpu, "LABKIT_HUB_GPU": words}
