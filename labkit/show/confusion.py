"""Which class is taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.picture import Picture, array, new_figure, same_length, table


def confusion_matrix(
    truth: Any, predicted: Any, classes: Sequence[str], *, title: str = "What was taken for what"
) -> Picture:
    """Counts of (true class, predicted class): right answers on the diagonal in blue, mistakes in vermillion.

    truth, predicted: [N] class numbers from 0. The shade of a cell is its share of its row (diagonal) or of the largest
    mistake (elsewhere), so that rare mistakes remain visible. ``values`` is the int64 matrix [C, C], a row per truth.
    """
    import numpy as np

    real, said = array(truth).astype(int).ravel(), array(predicted).astype(int).ravel()
    count = same_length("confusion_matrix", truth=real, predicted=said)
    size = len(classes)
    if count and not (min(real.min(), said.min()) >= 0 and max(real.max(), said.max()) < size):
        raise LabkitError(
            f"Class numbers must lie between 0 and {size - 1}; found {min(real.min(), said.min())} to "
            f"{max(real.max(), said.max())}.",
            "Pass class numbers (argmax), and all the class names.",
        )
    matrix = np.bincount(real * size + said, minlength=size * size).reshape(size, size)

    picture = np.ones((size, size, 3))
    right, wrong, paper = (_rgb(c) for c in (style.RIGHT, style.WRONG, style.BACKGROUND))
    mistakes = matrix * (1 - np.eye(size, dtype=int))
    worst = max(1, int(mistakes.max(initial=0)))
    for row in range(size):
        for column in range(size):
            share = matrix[row, column] / max(1, matrix[row].sum()) if row == column else matrix[row, column] / worst
            picture[row, column] = paper + (np.array(right if row == column else wrong) - paper) * share
    with style.look():
        figure = new_figure(max(4.6, 0.52 * size + 1.3), max(4.0, 0.42 * size + 1.2))
        axes = figure.add_subplot()
        axes.imshow(picture, interpolation="nearest", aspect="auto")
        axes.grid(False)
        for row in range(size):
            for column in range(size):
                if matrix[row, column]:
                    colour = "#{:02X}{:02X}{:02X}".format(*(round(255 * p) for p in picture[row, column]))
                    light = style.contrast(colour, "#FFFFFF") > style.contrast(colour, style.INK)
                    axes.text(
                        column,
                        row,
                        str(matrix[row, column]),
                        ha="center",
                        va="center",
                        fontsize=8.5,
                        color="#FFFFFF" if light else style.INK,
                    )
        slanted = max(map(len, classes), default=0) > 3
        axes.set_xticks(
            range(size),
            classes,
            rotation=40 if slanted else 0,
            ha="right" if slanted else "center",
            rotation_mode="anchor" if slanted else None,
        )
        axes.set_yticks(range(size), classes)
        axes.set_xlabel("the model said")
        axes.set_ylabel("it is")
        axes.set_title(title)

    hits = int(np.trace(matrix))
    share = hits / count if count else 0.0
    pairs = sorted(
        ((int(mistakes[r, c]), r, c) for r in range(size) for c in range(size) if mistakes[r, c]),
        key=lambda t: (-t[0], t[1], t[2]),
    )
    told = "; ".join(f"{classes[r]} taken for {classes[c]} {k} times" for k, r, c in pairs[:3]) or "no mistakes"
    summary = f"{title}: {hits} of {count} right ({share:.1%}). Most frequent: {told}."
    rows = [("is \\ said", *map(str, classes)), *((str(classes[r]), *map(str, matrix[r])) for r in range(size))]
    return Picture(figure, f"{summary}\n{table(rows)}", summary, matrix, axes)


def _rgb(colour: str) -> Any:
    import numpy as np

    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
