"""What the guides say, run: a probe for each claim of :mod:`labkit.catalog.claims` that a machine can show.

``run`` executes probes, each in a process of its own with bounded time, in a temporary folder and a cleaned
environment, and sets what they saw against the verdicts. A probe changes nothing and uses no network.

Run on 2026-11-30 with Python 3.11 on Linux without a GPU. With torch 2.14.1 (a CUDA build) and torchvision 0.29.1 all 53 probes that
could run there saw what the verdict says; with torch 2.13.0 (a CPU build), without torchvision, all 52. The probes that need
an AMD GPU, Windows or rocm-smi could not run: they are not yet verified on ROCm.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Observation": "labkit.folklore.observation",
    "Outcome": "labkit.folklore.observation",
    "run": "labkit.folklore.running",
    "as_text": "labkit.folklore.ledger",
}
__all__ = ["Observation", "Outcome", "as_text", "run"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"labkit.folklore has no '{name}'; it has: {', '.join(__all__)}")
