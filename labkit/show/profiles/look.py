"""Colours, hatches, names and words that all pictures of profiles share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from labkit.profile.categories import CATEGORIES, category
from labkit.profile.table import Profile
from labkit.show import style
from labkit.show.picture import Picture, new_figure
from labkit.timing.words import duration

# The categories of kernels, then what the host does. Colours beyond the palette were searched for as the palette was: any two
# stay apart for each kind of colour-blindness (the tests compute it). Bars carry a hatch besides, events a name.
COLOURS: dict[str, str] = {
    "gemm": style.BLUE,
    "convolution": style.VIOLET,
    "attention": style.BROWN,
    "normalisation": style.ROSE,
    "elementwise": "#9FAFDF",
    "reduction": "#8F8F5F",
    "copy": style.BLACK,
    "communication": "#BF5FFF",
    "other": "#BEBEBE",
    "loading": "#EFCF1F",
    "waiting": style.VERMILLION,
    "launching": "#8FEF8F",
}
KEYS = tuple(COLOURS)
HATCHES: dict[str, str] = {
    "convolution": "//",
    "attention": "xx",
    "normalisation": "..",
    "elementwise": "\\\\",
    "reduction": "--",
    "communication": "||",
    "waiting": "//",
    "launching": "..",
}
assert set(CATEGORIES) <= set(COLOURS)


_MATRICES = re.compile(
    r"^aten::(?:add|b|badd)?mm(?:_|$)|^aten::(?:linear|matmul|einsum|addmv|mv)|^(?:Add|B)?[Mm]mBackward"
)


def operator(name: str) -> str:
    """The category of an operator on the host: as of a kernel, and by ATen's short names for products of matrices."""
    found = category(name)
    return "gemm" if found == "other" and _MATRICES.search(name) else found


def on(colour: str) -> str:
    """The colour of words on a ground of this colour."""
    return "#FFFFFF" if style.contrast(colour, "#FFFFFF") >= style.contrast(colour, style.INK) else style.INK


def labelled(p: Profile, title: str) -> str:
    """The title, which says so where no GPU made the profile."""
    return f"SIMULATED: {title}" if p.simulated else title


def ns(value: float | None) -> str:
    """A time in ns for people, '-' where it is not known."""
    return "-" if value is None else duration(value / 1e9) if value else "0"


def scale(largest_ns: float) -> tuple[float, str]:
    """(ns per unit, the unit) for an axis that reaches to ``largest_ns``."""
    return next(((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if largest_ns >= s), (1.0, "ns"))


class Ruler:
    """How wide words are, in inches, and how many letters fit."""

    def __init__(self, size: float, *, bold: bool = False) -> None:
        from matplotlib.font_manager import FontProperties

        self._font = FontProperties(size=size, weight="bold" if bold else "normal")
        self._known: dict[str, float] = {}

    def width(self, text: str) -> float:
        """Inches."""
        from matplotlib.textpath import text_to_path

        if text not in self._known:
            self._known[text] = text_to_path.get_text_width_height_descent(text, self._font, False)[0] / 72
        return self._known[text]

    def fit(self, text: str, inches: float, *, least: int = 3, middle: bool = False) -> str:
        """The text, or its beginning with an ellipsis; empty where not even ``least`` letters have room.

        middle: the ellipsis stands before the last third, because names often differ at their end.
        """
        text = " ".join(text.split())
        if self.width(text) <= inches:
            return _escaped(text)

        def cut(letters: int) -> str:
            tail = letters // 3 if middle else 0
            return text[: letters - tail].rstrip() + "…" + text[len(text) - tail :]

        low, high = 0, len(text)
        while low < high:
            half = (low + high + 1) // 2
            low, high = (half, high) if self.width(cut(half)) <= inches else (low, half - 1)
        return _escaped(cut(low)) if low >= least else ""

    def first(self, words: Sequence[str], inches: float) -> str:
        """The first of the words that has room; empty where none has."""
        return next((text for text in words if self.width(text) <= inches), "")


def _escaped(text: str) -> str:
    """For matplotlib, to which a dollar sign would begin a formula."""
    return text.replace("$", r"\$")


def nothing(p: Profile, title: str, why: str) -> Picture:
    """A small figure that says why there is nothing to draw."""
    title = labelled(p, title)
    with style.look():
        figure = new_figure(7.2, 1.3)
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.set_title(title)
        words = axes.text(0, 0.9, why, va="top", transform=axes.transAxes, wrap=True)
        words.set_in_layout(False)
    return Picture(figure, f"{title}\n{why}", f"{title}: {why}", None, axes)


def bars_legend(figure: Any, keys: list[str], *, hatched: bool = True) -> None:
    """A legend of categories below the figure, in as many columns as fit."""
    from matplotlib.patches import Patch

    handles = [
        Patch(
            facecolor=COLOURS[key],
            edgecolor=style.BACKGROUND,
            hatch=HATCHES.get(key, "") if hatched else "",
            label=key,
        )
        for key in keys
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(5, len(handles)), handlelength=1.6)
