"""Figures and widgets for the lessons, each with a plain-text form.

Every figure function returns a ``Picture``: on a cell's last line (or through ``display``) it is a drawing, and
``str()`` of it is the same content in words and numbers. Nothing here needs a display, and matplotlib is imported when
the first figure is drawn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from labkit.show import style
from labkit.show.charts import histogram, intervals, lines, number, parts
from labkit.show.confusion import confusion_matrix
from labkit.show.curve import LiveCurve
from labkit.show.devices import LiveWatch
from labkit.show.features import feature_maps
from labkit.show.formats import number_formats
from labkit.show.gallery import Gallery
from labkit.show.grids import images, worst_mistakes
from labkit.show.maps import tensor
from labkit.show.picture import Picture, new_figure, table
from labkit.show.playground import Playground
from labkit.show.prediction import Prediction, compare_guess, predict

__all__ = [
    "Gallery",
    "LiveCurve",
    "LiveWatch",
    "Picture",
    "Playground",
    "Prediction",
    "Timeline",
    "compare_guess",
    "confusion_matrix",
    "feature_maps",
    "histogram",
    "images",
    "intervals",
    "lines",
    "new_figure",
    "number",
    "number_formats",
    "parts",
    "predict",
    "profiles",
    "style",
    "table",
    "tensor",
    "worst_mistakes",
]


def __getattr__(name: str) -> Any:
    """The pictures of profiles, looked up late: they need polars."""
    if name in ("profiles", "Timeline"):
        rooms = import_module("labkit.show.profiles")
        return rooms if name == "profiles" else rooms.Timeline
    raise AttributeError(f"labkit.show has no '{name}'; it has: {', '.join(sorted(__all__))}")
