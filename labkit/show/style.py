"""One look for every figure: a palette that colour-blind readers can tell apart, readable type, a quiet grid.

The figures keep a light background of their own, so they read the same in JupyterLab's light and dark themes.
Blue and vermillion are from Okabe and Ito's set (https://jfly.uni-koeln.de/color/); the others were searched for, so
that any two stay far apart for each kind of colour-blindness and each stands out at least 3:1 from the background,
which is what WCAG 2.1 asks of graphics. The tests compute both.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BLUE = "#0072B2"
VERMILLION = "#D55E00"
BROWN = "#603000"
ROSE = "#C07890"
VIOLET = "#7818D8"
BLACK = "#333333"
PALETTE: tuple[str, ...] = (BLUE, VERMILLION, BROWN, ROSE, VIOLET, BLACK)
"""Use them in this order. Never let colour alone carry a meaning: add a marker, a dash or a word."""

RIGHT, WRONG = BLUE, VERMILLION
"""Blue is right and vermillion is wrong, everywhere in the course (red and green would be one colour to many)."""

BACKGROUND = "#FCFCFC"
INK = "#222222"
FAINT = "#D8D8D8"

MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (8, 3)))
DPI = 144
"""Pixels per inch of the files; they are shown at two thirds of it, so that they stay sharp on fine screens."""


_OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
)


@functools.cache
def families() -> tuple[str, ...]:
    """The typefaces of every figure: matplotlib's own, then one that is installed here and also has Chinese characters."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return ("DejaVu Sans", *[name for name in _OTHER_SCRIPTS if name in installed][:1])


def rc() -> Any:
    """The matplotlib settings of the course, as a plain mapping for ``matplotlib.rc_context``."""
    from cycler import cycler

    return {
        "figure.facecolor": BACKGROUND,
        "savefig.facecolor": BACKGROUND,
        "axes.facecolor": BACKGROUND,
        "axes.edgecolor": "#777777",
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "font.family": list(families()),
        "font.size": 10.5,
        "axes.titlesize": 11.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 10.5,
        "legend.fontsize": 9.5,
        "legend.frameon": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": FAINT,
        "grid.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": 1.9,
        "lines.markersize": 5.5,
        "axes.prop_cycle": cycler(color=list(PALETTE), linestyle=list(DASHES)),
        "figure.dpi": 96,
    }


@contextmanager
def look() -> Iterator[None]:
    """Within this block matplotlib draws in the course's style; outside it nothing is changed."""
    import matplotlib

    with matplotlib.rc_context(rc()):
        yield


def use() -> None:
    """Switches the whole session to the course's style, for cells that draw with pyplot themselves."""
    import matplotlib

    matplotlib.rcParams.update(rc())


def contrast(first: str, second: str) -> float:
    """WCAG 2.1 contrast ratio (1 to 21) of two colours given as '#RRGGBB'."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
