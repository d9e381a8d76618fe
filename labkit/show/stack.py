"""The stack from notebook to GPU as a drawing: one box for each layer, with what this machine has of it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit.show import style
from labkit.show.picture import Picture, new_figure, table

if TYPE_CHECKING:
    from labkit.devices.stack import Layer

_SIGN = {"good": "✓", "bad": "✗", "absent": "–"}
_EDGE = {"good": style.RIGHT, "bad": style.WRONG, "absent": "#999999"}
_FACE = {"good": "#E6F1F8", "bad": "#FBEBE0", "absent": style.BACKGROUND}


def stack(layers: Sequence[Layer], *, title: str = "From notebook to GPU: this machine") -> Picture:
    """Draws ``labkit.devices.stack.layers``: the notebook on top, the GPU at the bottom.

    A full blue edge and ✓ is there, a vermillion edge and ✗ is there but does not work, a grey dashed edge and – is not
    there. ``values`` are the layers.
    """
    height = 0.66
    figure = new_figure(8.2, height * len(layers) + 0.5)
    with style.look():
        axes = figure.subplots()
        axes.set_xlim(0, 10)
        axes.set_ylim(-len(layers), 0.15)
        axes.axis("off")
        axes.set_title(title)
        for number, layer in enumerate(layers):
            top = -number
            axes.add_patch(_box(top, layer.state))
            axes.text(0.25, top - 0.3, layer.name, weight="bold", va="center")
            axes.text(0.25, top - 0.62, layer.purpose, fontsize=8, va="center", color="#555555")
            here = textwrap.fill(textwrap.shorten(layer.here, 78, placeholder=" …"), 40)
            axes.text(
                6.1,
                top - 0.45,
                f"{_SIGN[layer.state]}  ",
                va="center",
                ha="right",
                color=_EDGE[layer.state],
                weight="bold",
            )
            axes.text(
                6.15,
                top - 0.45,
                here,
                va="center",
                fontsize=9,
                color="#333333" if layer.state != "absent" else "#777777",
            )
    rows: list[tuple[str, ...]] = [("", "layer", "here")]
    rows += [(_SIGN[layer.state], layer.name, layer.here) for layer in layers]
    text = f"{title}\n{table(rows, left=3)}"
    missing = [layer.name for layer in layers if layer.state == "absent"]
    alt = f"{title}. {len(layers)} boxes from the notebook down to the GPU. " + (
        f"Not here: {', '.join(missing)}." if missing else "All are here."
    )
    return Picture(figure, text, alt, values=tuple(layers), axes=axes)


def _box(top: float, state: str) -> object:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(
        (0.05, top - 0.86),
        9.9,
        0.78,
        boxstyle="round,pad=0,rounding_size=0.1",
        linewidth=1.6,
        edgecolor=_EDGE[state],
        facecolor=_FACE[state],
        linestyle="--" if state == "absent" else "-",
    )
