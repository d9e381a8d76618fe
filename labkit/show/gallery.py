"""A slider through pictures, with what the model thinks of each."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.grids import pixels
from labkit.show.live import watched
from labkit.show.picture import array, same_length

_SIDE = 168  # CSS pixels of the picture


class Gallery:
    """A slider (mouse, or arrow keys once its knob was clicked) that walks through pictures and a model's probabilities.

    images: [N, C, H, W]; truth: [N] class numbers; probabilities: [N, C] of one model, rows that sum to 1. ``show(i)``
    is the panel of picture i as HTML, ``text(i)`` the same in words; both work without widgets. A headless run, whose
    page has no kernel to move a slider, keeps the panel of the first picture.
    """

    def __init__(
        self,
        images: Any,
        truth: Any,
        probabilities: Any,
        classes: Sequence[str],
        *,
        start: int = 0,
        name: str = "picture",
    ) -> None:
        self._images, self._truth, self._probabilities = array(images), array(truth).astype(int), array(probabilities)
        self.count = same_length("Gallery", images=self._images, truth=self._truth, probabilities=self._probabilities)
        if self.count == 0:
            raise LabkitError("There is no picture to walk through.", "Check the selection that came before.")
        self._classes = [str(c) for c in classes]
        self._start = start
        self._name = name
        self._widget: Any = None

    def text(self, index: int) -> str:
        """What the panel of picture ``index`` says, in one line."""
        row = self._probabilities[index]
        said, real = int(row.argmax()), int(self._truth[index])
        others = ", ".join(f"{self._classes[k]} {_percent(row[k])}" for k in (-row).argsort(kind="stable")[:3])
        verdict = "right" if said == real else f"wrong, it is {self._classes[real]}"
        return f"{self._name} {index}: the model says {self._classes[said]}, {verdict} ({others})"

    def show(self, index: int) -> str:
        """The panel of picture ``index`` as HTML: the picture and a bar for each class."""
        row, real = self._probabilities[index], int(self._truth[index])
        said = int(row.argmax())
        source = base64.b64encode(png(pixels(self._images[index : index + 1])[0])).decode("ascii")
        bars = []
        for k, label in enumerate(self._classes):
            colour = style.RIGHT if k == real else style.WRONG if k == said else "#9A9A9A"
            sign = "&#9664; it is" if k == real else "&#9664; said" if k == said else ""
            bars.append(
                f'<tr style="background:none"><td style="text-align:right;padding:0 6px">{html.escape(label)}</td>'
                f'<td style="width:190px;padding:0"><div style="height:12px;background:{colour};'
                f'width:{max(1.0, 100 * row[k]):.1f}%"></div></td>'
                f'<td style="text-align:right;padding:0 6px">{_percent(row[k])}</td>'
                f'<td style="text-align:left">{sign}</td></tr>'
            )
        return (
            f'<div style="background:{style.BACKGROUND};color:{style.INK};padding:8px;display:inline-block;'
            f'font-size:13px">'
            f'<p style="margin:0 0 6px">{html.escape(self.text(index))}</p>'
            f'<img alt="{html.escape(self._name)} {index}" width="{_SIDE}" height="{_SIDE}" '
            f'src="data:image/png;base64,{source}" '
            f'style="image-rendering:pixelated;vertical-align:top;margin-right:14px">'
            f'<table style="display:inline-table;border-collapse:collapse;line-height:1.15">'
            f"{''.join(bars)}</table></div>"
        )

    @property
    def widget(self) -> Any:
        """The ipywidgets box: its first child is the slider, its second the panel."""
        if self._widget is None:
            import ipywidgets as widgets

            slider = widgets.IntSlider(
                value=self._start,
                min=0,
                max=self.count - 1,
                description=self._name,
                continuous_update=True,
                layout=widgets.Layout(width="420px"),
                style={"description_width": "initial"},
            )
            panel = widgets.HTML(self.show(self._start))

            def move(change: dict[str, Any]) -> None:
                panel.value = self.show(change["new"])

            slider.observe(move, names="value")
            self._widget = widgets.VBox([slider, panel])
        return self._widget

    def __str__(self) -> str:
        return self.text(self._start)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The slider for a person with a kernel, one still panel for a page without, the words for everyone else."""
        still = f"{self.show(self._start)}<p><em>Run this cell in JupyterLab to get the slider.</em></p>"
        shown: dict[str, Any] = {"text/plain": str(self), "text/html": still}
        if watched():
            try:
                bundle = self.widget._repr_mimebundle_()
            except ImportError:  # without ipywidgets the still panel is all there is
                return shown
            shown.update({k: v for k, v in bundle.items() if k.startswith("application/vnd.jupyter.widget")})
        return shown


def _percent(probability: float) -> str:
    """With one decimal; a model that has come apart gives none."""
    return f"{probability:.1%}" if probability == probability else "no number"


def png(picture: Any) -> bytes:
    """A PNG file of uint8 [H, W, 3], written with the standard library (fast enough for a slider)."""
    height, width = picture.shape[:2]
    raw = b"".join(b"\x00" + picture[row].tobytes() for row in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(raw, 6))
        + chunk(b"IEND", b"")
    )
