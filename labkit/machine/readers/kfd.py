"""The KFD topology: /sys/class/kfd/kfd/topology as a mapping of paths to file texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NODE = re.compile(r"(?:^|/)nodes/(\d+)/properties$")


def properties(text: str) -> dict[str, int]:
    """The 'name number' lines of one properties file."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*(\w+)\s+(-?\d+)\s*$", line[:300])
        if match:
            found[match.group(1)] = int(match.group(2))
    return found


def gfx_name(target_version: int) -> str | None:
    """gfx target of a gfx_target_version: major*10000 + minor*100 + step, minor and step as hexadecimal digits.

    Source: ROCR's libhsakmt topology.c. 0 (CPU nodes) and numbers that fit no target give None.

    >>> gfx_name(90010), gfx_name(90402), gfx_name(110001)
    ('gfx90a', 'gfx942', 'gfx1101')
    """
    major, minor, step = target_version // 10000, target_version // 100 % 100, target_version % 100
    if target_version <= 0 or minor > 15 or step > 15:
        return None
    return f"gfx{major}{minor:x}{step:x}"


def gpu(facts: Mapping[str, int]) -> dict[str, Any] | None:
    """'gfx' and 'compute_units' (None: not told) of a node's properties; None for a node without SIMDs, a CPU."""
    simds = facts.get("simd_count", 0)
    if simds <= 0:
        return None
    per_unit = facts.get("simd_per_cu", 0)
    return {
        "gfx": gfx_name(facts.get("gfx_target_version", 0)),
        "compute_units": simds // per_unit if per_unit > 0 else None,
    }


def read(files: Mapping[str, str]) -> dict[str, Any]:
    """GPU nodes (those with SIMDs) of a topology tree, by node number.

    ``files`` maps paths with forward slashes to texts; only ``…/nodes/<n>/properties`` count. Files called properties
    deeper inside a node belong to links, caches and memory banks.
    """
    gpus = []
    for path, text in files.items():
        node = _NODE.search(path)
        found = gpu(properties(text)) if node else None
        if node and found:
            gpus.append({"node": int(node.group(1)), **found})
    return {"kind": "kfd-topology", "gpus": sorted(gpus, key=lambda gpu: gpu["node"])}


def has_nodes(files: Mapping[str, str]) -> bool:
    """Whether the tree holds any node's properties."""
    return any(_NODE.search(path) for path in files)
