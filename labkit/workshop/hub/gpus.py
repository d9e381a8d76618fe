"""Which GPUs of this machine can be lent: their numbers as ROCR_VISIBLE_DEVICES counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.machine import snapshot as machine
from labkit.machine.facts import kfd_properties


def found(snapshot: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The discrete AMD GPUs, as indices. A GPU inside the processor is counted, as ROCr does, but not lent.

    ``snapshot``: of which machine (default: this one). Not yet verified on ROCm hardware.
    """
    nodes = (machine.collect(quick=True) if snapshot is None else snapshot).get("kfd") or {}
    texts = [str(nodes[name]) for name in sorted(nodes, key=lambda name: int(name) if str(name).isdigit() else 10**6)]
    cards = [properties for properties in map(kfd_properties, texts) if properties.get("simd_count", 0) > 0]
    return tuple(str(at) for at, card in enumerate(cards) if card.get("cpu_cores_count", 0) == 0)
