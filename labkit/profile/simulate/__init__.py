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
    "FORMS": "labkit.profile.simulate.writers",
    "write": "labkit.profile.simulate.writers",
    "large": "labkit.profile.simulate.many",
    "repeat": "labkit.profile.simulate.many",
}

__all__ = [
    "FORMS",
    "GPUS",
    "MODELS",
    "SICKNESSES",
    "batch_for",
    "catalogue",
    "large",
    "network",
    "repeat",
    "training",
    "write",
]


def catalogue() -> str:
    """What can be simulated, as text: models, GPUs, sicknesses, forms."""
    from labkit.profile.simulate import gpus, models, runs, writers

    width = max(map(len, writers.FORMS)) + 2
    parts = []
    for title, rows in (("Models", models.MODELS), ("Sicknesses", runs.SICKNESSES), ("Forms", writers.FORMS)):
        parts.append("\n".join([title, *(f"  {name:{width}}{what}" for name, what in rows.items())]))
    parts.insert(1, "\n".join(["GPUs", *(f"  {name}" for name in gpus.GPUS)]))
    return "\n\n".join(parts)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"labkit.profile.simulate has no '{name}'; it has: {', '.join(sorted(__all__))}")
