"""Pictures and tables of bandwidth and of several processes. Names are looked up when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# name -> module that holds it
_HOME = {
    "as_text": "labkit.show.comm.tables",
    "size_by_size": "labkit.show.comm.beside",
    "collectives_curve": "labkit.show.comm.collectives",
    "collectives_table": "labkit.show.comm.collectives",
    "curve": "labkit.show.comm.curves",
    "fit_in_words": "labkit.show.comm.tables",
    "heat_map": "labkit.show.comm.heat",
    "layers_roof": "labkit.show.comm.layers",
    "measured_roofline": "labkit.show.comm.ceilings",
    "roofs_of": "labkit.show.comm.ceilings",
    "points_table": "labkit.show.comm.tables",
    "ring_grid": "labkit.show.comm.ring",
    "ring_view": "labkit.show.comm.ring",
    "scaling_curve": "labkit.show.comm.scaling",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"labkit.show.comm has no '{name}'; it has: {', '.join(sorted(__all__))}")
