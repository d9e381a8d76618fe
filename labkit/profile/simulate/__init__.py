"""Profiles of trainings that no GPU ran: for lessons, for tests, and for everybody without an AMD GPU.

    from labkit.profile import simulate
    run = simulate.training("cnn", "Radeon RX 7900 XTX", "loader", steps=10, seed=1)
    simulate.write(run, folder, form="rocprofv3-csv")

``training`` places the kernels of a model, with FLOPs and bytes from its layers' shapes (``layers``, ``models``), on the
roofline of a GPU of the catalog (``gpus``), launched by a host that runs ahead (``schedule``). A sickness (``runs``) is
played by the host; nothing in the rows names it. All constants are assumptions; none was measured on the GPU in question.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "training": "labkit.profile.simulate.runs",
    "SICKNESSES": "labkit.profile.simulate.runs",
    "batch_for": "labkit.profile.simulate.runs",
    "MODELS": "labkit.profile.simulate.models",
    "network": "labkit.profile.simulate.models",
    "GPUS": "labkit.profile.simulate.gpus",
}

__all__ = ["GPUS", "MODELS", "SICKNESSES", "batch_for", "network", "training"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"labkit.profile.simulate has no '{name}'; it has: {', '.join(sorted(__all__))}")
