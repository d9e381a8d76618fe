"""What is inside a tensor of any shape: one picture per channel, a histogram, and what is no finite number."""

from __future__ import annotations

import base64
import html
import math
from dataclasses import dataclass
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.charts import number
from labkit.show.controls import FRAME, bundle, guarded, told
from labkit.show.gallery import png
from labkit.show.picture import Picture, array, new_figure

_SIDE = 224  # CSS pixels of a map's longer side
_LONGEST = 512  # elements of a map along one side that are drawn; longer ones are thinned out
_SAMPLE = 500_000  # values that a histogram looks at
_BINS = 40


@dataclass(frozen=True)
class Counts:
    """What a tensor is made of: how many values, how many NaN, +infinity, -infinity and zeros, and the finite ones' span."""

    values: int
    nan: int
    plus_inf: int
    minus_inf: int
    zeros: int
    low: float
    high: float
    mean: float
    std: float

    @property
    def strange(self) -> int:
        """How many are no finite numbers."""
        return self.nan + self.plus_inf + self.minus_inf

    def __str__(self) -> str:
        odd = [
            f"{count:,} {name}"
            for count, name in ((self.nan, "NaN"), (self.plus_inf, "+infinity"), (self.minus_inf, "-infinity"))
            if count
        ]
        span = (
            f"{number(self.low)} to {number(self.high)}, mean {number(self.mean)}, standard deviation {number(self.std)}"
            if self.values > self.strange
            else "no finite value"
        )
        zeros = f"; {self.zeros / self.values:.1%} are exactly 0" if self.zeros else ""
        return f"{self.values:,} values, {span}{zeros}" + (f"; NOT FINITE: {', '.join(odd)}" if odd else "")


def count(values: Any) -> Counts:
    """The ``Counts`` of a tensor, list or array of any shape, on any device."""
    import numpy as np

    flat = array(values).ravel()
    finite = flat[np.isfinite(flat)]
    span = (
        (
            float(finite.min()),
            float(finite.max()),
            float(finite.mean(dtype=np.float64)),
            float(finite.std(dtype=np.float64)),
        )
        if finite.size
        else (math.nan,) * 4
    )
    return Counts(
        flat.size,
        int(np.isnan(flat).sum()),
        int((flat == np.inf).sum()),
        int((flat == -np.inf).sum()),
        int((finite == 0).sum()),
        *span,
    )


def tensor(x: Any, name: str = "tensor") -> TensorView:
    """Shows a tensor of any rank, dtype and device: [H, W], [C, H, W], [N, C, H, W], a vector, a number.

    The last two dimensions are drawn as a map, the others get a slider (all but the last of those in one). A page without a
    kernel keeps a grid of the first maps. The tensor is copied, so that later changes do not show. Raises LabkitError for an
    empty one.
    """
    return TensorView(x, name)


class TensorView:
    """What ``tensor`` returns. ``counts`` says what the whole is made of; ``show(sample, channel)`` is one panel as HTML and
    ``text(sample, channel)`` the same in words; ``picture`` is the still grid."""

    def __init__(self, x: Any, name: str = "tensor") -> None:
        import numpy as np

        name_of_dtype = str(getattr(x, "dtype", "")).removeprefix("torch.")
        given = array(abs(x) if "complex" in name_of_dtype else x)
        self.shape = tuple(int(side) for side in given.shape)
        self.dtype = name_of_dtype or str(given.dtype)
        self.name = name
        if given.size == 0:
            raise LabkitError(f"{name} has the shape {list(self.shape)}: there is no value in it.", "Check the slice.")
        if "complex" in name_of_dtype:
            self.dtype += ", absolute values"
        numbers = np.array(given, dtype=np.float64 if given.dtype == np.float64 else np.float32)
        height, width = (1, 1, *self.shape)[-2:]
        channels = self.shape[-3] if len(self.shape) > 2 else 1
        self.maps = numbers.reshape(-1, channels, height, width)
        """float32 (float64 stays) [samples, channels, H, W]; dimensions before the channels are one."""
        self.counts = count(numbers)
        self._widget: Any = None

    def __str__(self) -> str:
        return f"{self.name}: {self._kind}; {self.counts}"

    __repr__ = __str__

    @property
    def _kind(self) -> str:
        return f"{list(self.shape)} {self.dtype}"

    def text(self, sample: int = 0, channel: int = 0) -> str:
        """One map in words."""
        return f"{self._place(sample, channel)}: {count(self.maps[sample, channel])}"

    def show(self, sample: int = 0, channel: int = 0, *, own_scale: bool = False) -> str:
        """The panel of one map as HTML: the map, its values in words, the histogram of it and of the whole tensor."""
        one = self.maps[sample, channel]
        here = count(one)
        low, high = self._scale(here if own_scale else self.counts)
        pixels = _enlarged(one, low, high)
        factor = _SIDE / max(pixels.shape[:2])
        high_px, wide_px = (max(8, round(side * factor)) for side in pixels.shape[:2])
        source = base64.b64encode(png(pixels)).decode("ascii")
        odd = _legend(here)
        words = html.escape(self.text(sample, channel))
        return (
            f'<div style="{FRAME}"><p style="margin:0 0 6px"><b>{html.escape(str(self))}</b></p>'
            f'<div style="display:flex;flex-wrap:wrap;gap:14px;align-items:flex-start"><div>'
            f'<img alt="{words}" width="{wide_px}" height="{high_px}" src="data:image/png;base64,{source}" '
            f'style="image-rendering:pixelated;border:1px solid #999;display:block">{_scale_bar(low, high)}{odd}</div>'
            f'<div style="flex:1 1 240px;min-width:0">{words}{self._histogram(one)}</div></div></div>'
        )

    @property
    def picture(self) -> Picture:
        """The first maps as a grid on one scale, with the histogram of the whole; ``values`` is ``maps`` of those drawn."""
        import numpy as np

        flat = self.maps.reshape(-1, *self.maps.shape[2:])
        shown = flat[:12]
        low, high = self._scale(self.counts)
        columns = min(6, len(shown))
        rows = -(-len(shown) // columns)
        with style.look():
            figure = new_figure(7.6, 1.25 * rows * min(1.0, 6 / columns) + 2.5)
            top, bottom = figure.subfigures(2, 1, height_ratios=[max(1.3, 1.25 * rows), 1.7])
            cells = np.atleast_1d(top.subplots(rows, columns)).ravel()
            for axes in cells:
                axes.set_axis_off()
            channels = self.maps.shape[1]
            for k, one in enumerate(shown):
                cells[k].imshow(_enlarged(one, low, high), interpolation="nearest")
                label = f"channel {k % channels}" if len(self.maps) == 1 else f"{k // channels}, {k % channels}"
                cells[k].set_title("" if len(flat) == 1 else label, fontsize=9, fontweight="normal")
            axes = bottom.add_subplot()
            values = self._finite(self.maps)
            if values.size:
                axes.hist(values, bins=_BINS, color=style.BLUE)
            axes.set_ylabel("how often")
            axes.set_xlabel("value" + (f"; not finite: {self.counts.strange:,}" if self.counts.strange else ""))
            top.suptitle(f"{self.name} {self._kind}", x=0.01, ha="left", fontsize=11.5, fontweight="bold")
        more = f"; {len(shown)} of {len(flat)} maps drawn" if len(flat) > len(shown) else ""
        return Picture(figure, str(self), f"{self}{more}", shown, axes)

    @property
    def widget(self) -> Any:
        """The ipywidgets box: sliders for sample and channel (where there is more than one), scale, panel."""
        if self._widget is None:
            import ipywidgets as widgets

            samples, channels = self.maps.shape[:2]
            room = widgets.Layout(width="320px", max_width="calc(100% - 4px)")
            wide = {"description_width": "initial"}
            sample = widgets.IntSlider(max=samples - 1, description="Sample", style=wide, layout=room)
            channel = widgets.IntSlider(max=channels - 1, description="Channel", style=wide, layout=room)
            own = widgets.Checkbox(description="each map on its own scale", indent=False, layout=room)
            status, panel = widgets.HTML(told("")), widgets.HTML(self.show())

            def say(sentence: str) -> None:
                status.value = sentence

            def moved(_: Any) -> None:
                panel.value = self.show(sample.value, channel.value, own_scale=own.value)

            for control in (sample, channel, own):
                control.observe(guarded(moved, say), names="value")
            shown = [c for c, many in ((sample, samples), (channel, channels), (own, samples * channels)) if many > 1]
            controls = widgets.HBox(shown, layout=widgets.Layout(flex_flow="row wrap"))
            self._widget = widgets.VBox([controls, status, panel])
        return self._widget

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The sliders for a person with a kernel, the still grid for a page without, the words for everyone else."""
        return bundle(str(self), self.still(), lambda: self.widget)

    def still(self) -> str:
        """The grid as HTML."""
        return self.picture.image()

    # -- inside ---------------------------------------------------------------------------------------------------

    def _place(self, sample: int, channel: int) -> str:
        samples, channels = self.maps.shape[:2]
        told_ = [f"sample {sample}"] * (samples > 1) + [f"channel {channel}"] * (channels > 1)
        return ", ".join(told_) or "all of it"

    @staticmethod
    def _scale(counts: Counts) -> tuple[float, float]:
        """The values of the darkest colours: symmetric about 0 where there are negative ones, otherwise from 0 on."""
        if counts.values == counts.strange:
            return 0.0, 1.0
        size = max(abs(counts.low), abs(counts.high)) or 1.0
        return (-size, size) if counts.low < 0 else (0.0, size)

    @staticmethod
    def _finite(values: Any) -> Any:
        import numpy as np

        flat = values.ravel()
        flat = flat[:: max(1, flat.size // _SAMPLE)]
        return flat[np.isfinite(flat)]

    def _histogram(self, one: Any) -> str:
        """Bars for the whole tensor and a dashed outline for this map, as shares; on the same bins."""
        import numpy as np

        whole, here = self._finite(self.maps), self._finite(one)
        if not whole.size:
            return "<p>No finite value to count.</p>"
        low, high = float(whole.min()), float(whole.max())
        edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
        shares = [np.histogram(v, edges)[0] / max(1, v.size) for v in (whole, here)]
        top = max(float(s.max()) for s in shares) or 1.0
        wide = 260 / _BINS
        bars = "".join(
            f'<rect x="{10 + wide * k:.1f}" y="{100 - 90 * s / top:.1f}" width="{wide - 0.6:.1f}" height="{90 * s / top:.1f}"/>'
            for k, s in enumerate(shares[0])
            if s
        )
        outline = " ".join(
            f"{10 + wide * (k + side):.1f},{100 - 90 * s / top:.1f}" for k, s in enumerate(shares[1]) for side in (0, 1)
        )
        return (
            f'<svg role="img" aria-label="Histogram from {number(low)} to {number(high)}" viewBox="0 0 280 130" '
            f'style="width:100%;max-width:340px;font:11px sans-serif;display:block" fill="{style.INK}">'
            f'<g fill="{style.BLUE}" fill-opacity="0.55">{bars}</g><polyline points="{outline}" fill="none" '
            f'stroke="{style.VERMILLION}" stroke-width="1.6" stroke-dasharray="4 2"/><path d="M10 100H270" stroke="#777"/>'
            f'<text x="10" y="113">{number(low)}</text><text x="270" y="113" text-anchor="end">{number(high)}</text>'
            f'<text x="10" y="126">bars: the whole tensor · dashed: this map</text></svg>'
        )


def _enlarged(one: Any, low: float, high: float) -> Any:
    """uint8 [h, w, 3]: the map in colour, each value as a square large enough to carry the sign of what is not finite."""
    import numpy as np

    thin = max(1, -(-max(one.shape) // _LONGEST))
    if thin > 1:
        one = _thinned(one, thin)
    inside = np.nan_to_num(one, nan=0.0, posinf=0.0, neginf=0.0)
    share = np.clip(inside / max(abs(low), abs(high), 1e-38), -1, 1)[..., None]
    paper, up, down = (_rgb(c) for c in ("#FFFFFF", style.BLUE, style.VERMILLION))
    colour = np.rint(paper + np.where(share >= 0, (up - paper) * share, (down - paper) * -share)).astype(np.uint8)
    k = max(1, min(32, _SIDE // max(one.shape)))
    colour = colour.repeat(k, 0).repeat(k, 1)
    for pattern, where in (("nan", np.isnan(one)), ("up", one == np.inf), ("down", one == -np.inf)):
        tile = _tile(pattern, k)
        for row, column in np.argwhere(where)[:20_000]:
            colour[row * k : (row + 1) * k, column * k : (column + 1) * k] = tile
    return np.ascontiguousarray(colour)


def _thinned(one: Any, by: int) -> Any:
    """Every ``by``-th value along both sides; a block that holds something not finite shows that."""
    import numpy as np

    kept = one[::by, ::by].copy()
    for row, column in np.argwhere(~np.isfinite(one))[:20_000]:
        kept[row // by, column // by] = one[row, column]
    return kept


def _tile(pattern: str, k: int) -> Any:
    """uint8 [k, k, 3], dark with a light sign: a cross for NaN, a plus for +infinity, a minus for -infinity."""
    import numpy as np

    tile = np.empty((k, k, 3), dtype=np.uint8)
    tile[:] = {"nan": (0x33, 0x33, 0x33), "up": (0x78, 0x18, 0xD8), "down": (0x60, 0x30, 0x00)}[pattern]
    if k >= 5:
        row, column = np.indices((k, k))
        middle = k // 2
        sign = {
            "nan": (row == column) | (row + column == k - 1),
            "up": (row == middle) | (column == middle),
            "down": row == middle,
        }[pattern]
        edge = (row == 0) | (column == 0) | (row == k - 1) | (column == k - 1)
        tile[sign & ~edge] = 255
    return tile


def _legend(counts: Counts) -> str:
    """What the dark squares mean, with how many there are."""
    found = (
        ("✕", "NaN", counts.nan, style.BLACK),
        ("+", "+infinity", counts.plus_inf, style.VIOLET),
        ("−", "-infinity", counts.minus_inf, style.BROWN),
    )
    told_ = " · ".join(
        f'<span style="background:{colour};color:#FFFFFF;padding:0 4px;font-family:monospace">{sign}</span> {n:,} {name}'
        for sign, name, n, colour in found
        if n
    )
    return f'<div style="font-size:12px">{told_}</div>' if told_ else ""


def _scale_bar(low: float, high: float) -> str:
    colours = f"{style.VERMILLION}, #FFFFFF, {style.BLUE}" if low < 0 else f"#FFFFFF, {style.BLUE}"
    return (
        f'<div style="width:{_SIDE}px;max-width:100%;font-size:11px;margin-top:4px"><div style="height:8px;border:1px solid #999;'
        f'background:linear-gradient(to right, {colours})"></div><div style="display:flex;justify-content:space-between">'
        f"<span>{number(low)}</span><span>{number(high)}</span></div></div>"
    )


def _rgb(colour: str) -> Any:
    import numpy as np

    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)
