"""What every figure function returns: a drawing and the same content in words.

No pyplot: a figure belongs to whoever made it, so it is shown once, never opens a window and needs no display.
"""

from __future__ import annotations

import base64
import html
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.live import watched


@dataclass(frozen=True, repr=False)
class Picture:
    """A matplotlib figure with its text form. Put it on a cell's last line, or pass it to ``display``.

    ``str(picture)`` is the content in words and numbers; ``alt`` is one sentence for screen readers; ``values`` is what
    was drawn, as numbers (each function says which).
    """

    figure: Any
    text: str
    alt: str
    values: Any = None
    axes: Any = field(default=None)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def png(self) -> bytes:
        """The drawing as a PNG file."""
        return _png(self.figure)[0]

    def image(self, css: str = "max-width:100%") -> str:
        """The drawing as an HTML image with its alternative text, for a page that holds it."""
        encoded = base64.b64encode(self.png()).decode("ascii")
        return f'<img alt="{html.escape(self.alt)}" style="{css}" src="data:image/png;base64,{encoded}">'

    def save(self, path: str | Path) -> Path:
        """Writes the drawing to ``path`` (PNG) and returns it; the file appears whole or not at all."""
        target = Path(path)
        draft = target.with_name(target.name + ".part")
        draft.write_bytes(self.png())
        draft.replace(target)
        return target

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a notebook stores: the picture with its alternative text, and the words."""
        data, width = _png(self.figure)
        encoded = base64.b64encode(data).decode("ascii")
        if watched():  # JupyterLab's own picture element has no alternative text, one of ours has
            image = f'<img alt="{html.escape(self.alt)}" width="{width}" src="data:image/png;base64,{encoded}">'
            return {"text/html": image, "text/plain": self.text}, {}
        return {"image/png": encoded, "text/plain": self.text}, {"image/png": {"alt": self.alt, "width": width}}


def new_figure(width: float = 7.0, height: float = 3.4) -> Any:
    """A matplotlib ``Figure`` (inches) that draws without a display and that pyplot does not know of.

    Draw into it inside ``style.look()``.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Any) -> tuple[bytes, int]:
    """(PNG bytes, width in CSS pixels at which it should be shown)."""
    with style.look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)  # a box stands there; the text has it
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=style.DPI)
    return buffer.getvalue(), round(float(figure.get_size_inches()[0]) * 96)


def array(values: Any) -> Any:
    """A NumPy array of a tensor on any device and of any dtype (bfloat16 becomes float32), a list or an array."""
    import numpy as np

    if hasattr(values, "detach"):  # a torch tensor, without importing torch for it
        values = values.detach().cpu()
        if str(values.dtype) not in _NUMPY_KNOWS:
            values = values.float()
        return values.numpy()
    return np.asarray(values)


_NUMPY_KNOWS = {
    f"torch.{name}" for name in ("uint8", "int8", "int16", "int32", "int64", "bool", "float16", "float32", "float64")
}


def same_length(what: str, **columns: Any) -> int:
    """The common length of the columns; raises LabkitError naming them if they differ."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        told = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise LabkitError(f"{what}: the lists are of different length ({told}).", "Pass one entry of each per item.")
    return next(iter(lengths.values()))


def table(rows: list[tuple[str, ...]], *, left: int = 1) -> str:
    """Rows of words in aligned columns: the first ``left`` columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)
