"""Pictures from a data set: a grid of them, and the ones that a model got most wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.picture import Picture, array, new_figure, same_length

_GAP = 0.14  # of a cell, between the pictures
_LINE = 0.17  # inches that a line of caption takes


def pixels(images: Any, value_range: tuple[float, float] | None = None) -> Any:
    """uint8 [N, H, W, 3] of uint8 or float pictures [N, C, H, W] (C is 1 or 3) or [N, H, W].

    Whole numbers are read as 0 to 255. Floats are read as 0 to 1 where they all lie there, otherwise the smallest and
    largest value of the lot become black and white (normalised pictures); ``value_range`` overrides both.
    """
    import numpy as np

    given = array(images)
    if given.ndim == 3:
        given = given[:, None]
    if given.ndim != 4 or given.shape[1] not in (1, 3):
        raise LabkitError(
            f"Pictures must have the shape [N, C, H, W] with C 1 or 3; these have {list(array(images).shape)}.",
            "For one picture use images[i:i + 1]; for channels-last pictures use .permute(0, 3, 1, 2).",
        )
    if given.dtype == np.uint8 and value_range is None:
        grey = given
    else:
        numbers = given.astype(np.float32)
        if not np.isfinite(numbers).all():
            raise LabkitError(
                "These pictures contain NaN or infinity, which have no colour.",
                "Look for a division by zero in the normalisation.",
            )
        if value_range is None:
            if given.dtype.kind in "iu":
                value_range = (0.0, 255.0)
            elif numbers.size and (numbers.min() < 0 or numbers.max() > 1):
                value_range = (float(numbers.min()), float(numbers.max()))
            else:
                value_range = (0.0, 1.0)
        low, high = value_range
        grey = np.rint(np.clip((numbers - low) / max(high - low, 1e-12), 0, 1) * 255).astype(np.uint8)
    colour = np.repeat(grey, 3, axis=1) if grey.shape[1] == 1 else grey
    return np.ascontiguousarray(colour.transpose(0, 2, 3, 1))


def images(
    images: Any,
    labels: Any = None,
    *,
    classes: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    n: int = 10,
    columns: int | None = None,
    title: str = "",
    marked: Sequence[bool] | None = None,
    value_range: tuple[float, float] | None = None,
) -> Picture:
    """A grid of the first ``n`` pictures, read from left to right and from top to bottom.

    images: [N, C, H, W] or [N, H, W], uint8 or float, grey or colour. labels: [N] class numbers, named by ``classes``.
    titles: captions of your own instead. marked: pictures to frame in vermillion. ``values`` are the cells' corners in
    pixels of the mosaic, [n, 4] as (left, top, right, bottom).
    """
    import numpy as np

    given = array(images)
    count = min(n, len(given))
    if count == 0:
        raise LabkitError("There is no picture to show.", "Check the selection that came before.")
    small = pixels(given[:count], value_range)
    captions = _captions(count, labels, classes, titles)
    height, width = small.shape[1:3]
    columns = min(count, columns or -(-count // -(-count // 10)))  # at most ten, rows of equal length
    rows = -(-count // columns)
    lines = max((c.count("\n") + 1 for c in captions if c), default=0)

    inches = min(1.05, 9.0 / columns)  # of one picture, including its gap
    gap = max(1, round(width * _GAP))
    pixels_per_inch = (width + gap) / inches
    head = gap + round((lines * _LINE + 0.02) * pixels_per_inch) if lines else gap
    background = np.array([int(style.BACKGROUND[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.uint8)
    mosaic = np.empty((rows * (height + head), columns * (width + gap), 3), dtype=np.uint8)
    mosaic[:] = background
    corners = np.zeros((count, 4), dtype=int)
    for i in range(count):
        top, left = (i // columns) * (height + head) + head, (i % columns) * (width + gap) + gap // 2
        mosaic[top : top + height, left : left + width] = small[i]
        corners[i] = (left, top, left + width, top + height)

    with style.look():
        figure = new_figure(
            mosaic.shape[1] / pixels_per_inch + 0.1, mosaic.shape[0] / pixels_per_inch + (0.35 if title else 0.08)
        )
        axes = figure.add_subplot()
        axes.imshow(mosaic, interpolation="nearest")
        axes.set_axis_off()
        for i, (caption, (left, top, right, bottom)) in enumerate(zip(captions, corners, strict=True)):
            wrong = bool(marked is not None and marked[i])
            if caption:
                axes.text(
                    (left + right) / 2 - 0.5,
                    top - gap * 0.45,
                    caption,
                    ha="center",
                    va="bottom",
                    fontsize=9,
                    linespacing=1.05,
                    parse_math=False,  # a class may be called anything, '$5' too
                    color=style.WRONG if wrong else style.INK,
                    fontweight="bold" if wrong else "normal",
                )
            if wrong:
                axes.add_patch(_frame(left - 0.5, top - 0.5, right - left, bottom - top))
        if title:
            axes.set_title(title, parse_math=False)
    kind = "grey" if given.ndim == 3 or given.shape[1] == 1 else "colour"
    head_line = f"{title or 'Pictures'}: {count} of {len(given)}, {height}x{width}, {kind}"
    told = [
        f"{i + 1}. {caption}{' (marked)' if marked is not None and marked[i] else ''}".replace("\n", ", ")
        for i, caption in enumerate(captions)
        if caption
    ]
    return Picture(
        figure,
        "\n".join([head_line, *told]),
        f"{head_line}. " + "; ".join(c.replace("\n", ", ") for c in captions if c),
        corners,
        axes,
    )


def _captions(count: int, labels: Any, classes: Sequence[str] | None, titles: Sequence[str] | None) -> list[str]:
    if titles is not None:
        if len(titles) < count:
            raise LabkitError(f"There are {count} pictures but {len(titles)} titles.", "Pass one title per picture.")
        return [str(t) for t in titles[:count]]
    if labels is None:
        return [""] * count
    numbers = array(labels)
    if len(numbers) < count:
        raise LabkitError(f"There are {count} pictures but {len(numbers)} labels.", "Pass one label per picture.")
    return [_name(int(k), classes) for k in numbers[:count]]


def _name(label: int, classes: Sequence[str] | None) -> str:
    return str(classes[label]) if classes is not None and 0 <= label < len(classes) else str(label)


def _frame(x: float, y: float, width: float, height: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, fill=False, edgecolor=style.WRONG, linewidth=2.2)


def worst_mistakes(
    images_: Any,
    truth: Any,
    probabilities: Any,
    classes: Sequence[str],
    *,
    n: int = 10,
    columns: int | None = None,
    title: str = "The most confident mistakes",
) -> Picture:
    """The pictures where the model was wrong and surest of itself, worst first.

    images_: [N, C, H, W]; truth: [N] class numbers; probabilities: [N, C], rows that sum to 1. ``values`` are the
    pictures' numbers in ``images_``, worst first; with no mistake at all it is empty and the text says so.
    """
    import numpy as np

    pictures, real, sure = array(images_), array(truth).astype(int), array(probabilities)
    same_length("worst_mistakes", images=pictures, truth=real, probabilities=sure)
    said = sure.argmax(axis=1)
    wrong = np.flatnonzero(said != real)
    order = wrong[np.argsort(-sure[wrong, said[wrong]], kind="stable")][:n]
    if len(order) == 0:
        with style.look():
            figure = new_figure(5.0, 0.8)
            axes = figure.add_subplot()
            axes.set_axis_off()
            axes.text(0, 0.5, f"No mistake in {len(real)} pictures.", va="center")
        text = f"{title}: none in {len(real)} pictures"
        return Picture(figure, text, text, order, axes)
    captions = [
        f"is {_name(real[i], classes)}\nsaid {_name(said[i], classes)}\n{_sureness(sure[i, said[i]])}" for i in order
    ]
    grid = images(
        pictures[order],
        titles=captions,
        n=n,
        columns=columns or (None if max(map(len, classes)) < 5 else 6),
        title=title,
    )
    lines = [f"{title}: {len(order)} of {len(wrong)} mistakes in {len(real)} pictures"]
    lines += [
        f"picture {i}: is {_name(real[i], classes)}, model said {_name(said[i], classes)} ({_sureness(sure[i, said[i]])})"
        for i in order
    ]
    return Picture(grid.figure, "\n".join(lines), "; ".join(lines), order, grid.axes)


def _sureness(probability: float) -> str:
    """A probability in per cent; a model that has come apart gives none."""
    return f"{probability:.0%}" if probability == probability else "no number"
