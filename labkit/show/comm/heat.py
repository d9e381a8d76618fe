"""Device × device: how fast each reaches each, as a map and as a table. The diagonal is local memory, not a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.comm.peers import Matrix, matrix, matrix_of
from labkit.comm.results import Results
from labkit.show import style
from labkit.show.charts import number
from labkit.show.picture import Picture, new_figure, table

LOCAL = "In brackets, the diagonal: local memory, not a link."
_LOCAL_COLOUR = "#E4E4E4"
_MAP = "cividis"  # its lightness alone tells the order, for every kind of colour vision


def heat_map(found: Results | Matrix | Mapping[str, Any], *, title: str = "", both: bool = False) -> Picture:
    """GB/s (10^9 bytes) from the device of the row to that of the column.

    found: measured ``Results``, or the dict of labkit's reader of rocm-bandwidth-test or TransferBench (``labkit read FILE --json``).
    both: of such a dict the matrix of both directions. Colours span the links only, so that the diagonal, which is
    local memory and many times faster, does not hide them. ``values``: the ``Matrix``. Raises LabkitError where there is
    none.
    """
    m = (
        found
        if isinstance(found, Matrix)
        else matrix(found)
        if isinstance(found, Results)
        else matrix_of(dict(found), both=both)
    )
    head = title or "Bandwidth from device to device, GB/s"
    with style.look():
        figure, axes = _draw(m, head)
    text = f"{head}" + (f" ({m.note})" if m.note else "") + f"\n{as_table(m)}"
    return Picture(figure, text, f"{head}. {_alt(m)}", m, axes)


def as_table(m: Matrix) -> str:
    """The matrix as a table: '-' where nothing is known, the diagonal in brackets."""
    count = len(m.devices)
    rows: list[tuple[str, ...]] = [("from \\ to", *m.devices)]
    for i in range(count):
        rows.append((m.devices[i], *(_cell(m.gbps[i][j], i == j) for j in range(count))))
    return f"{table(rows)}\n" + "\n".join(_sentences(m))


def _cell(value: float | None, local: bool) -> str:
    if value is None:
        return "-"
    words = f"{value:,.0f}" if value >= 1000 else number(value)  # who looks for the 2144 of a tool shall find it
    return f"({words})" if local else words


def _links(m: Matrix) -> dict[tuple[int, int], float]:
    return {
        (i, j): value
        for i, row in enumerate(m.gbps)
        for j, value in enumerate(row)
        if i != j and value is not None and value > 0
    }


def _sentences(m: Matrix) -> list[str]:
    links = _links(m)
    lines = [LOCAL] if any(m.gbps[i][i] is not None for i in range(len(m.devices))) else []
    if not links:
        return [*lines, "No link was measured: nothing here went from one device to another."]
    (a, b), slow = min(links.items(), key=lambda item: item[1])
    (c, d), fast = max(links.items(), key=lambda item: item[1])
    told = f"Links: slowest {m.devices[a]} to {m.devices[b]} with {number(slow)}"
    lines.append(f"{told}, fastest {m.devices[c]} to {m.devices[d]} with {number(fast)} GB/s.")
    missing = sum(v is None for i, row in enumerate(m.gbps) for j, v in enumerate(row) if i != j)
    return lines + ([f"{missing} of the pairs were not measured ('-')."] if missing else [])


def _alt(m: Matrix) -> str:
    return f"{len(m.devices)} devices. " + " ".join(_sentences(m))


def _draw(m: Matrix, title: str) -> tuple[Any, Any]:
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.patches import Rectangle

    count = len(m.devices)
    links = _links(m)
    side = min(7.6, max(3.4, 1.6 + 0.62 * count))
    figure = new_figure(side + 0.9, side * 0.86 + 0.75)
    axes = figure.add_subplot()
    low, high = (min(links.values()), max(links.values())) if links else (1.0, 1.0)
    wide = high > 8 * low
    if high <= low:
        low, high = low * 0.9, high * 1.1
    norm = LogNorm(low, high) if wide else Normalize(low, high)
    colours = matplotlib.colormaps[_MAP]
    letters = 10 if count <= 6 else 8.5 if count <= 9 else 7 if count <= 12 else 5.5
    for i in range(count):
        for j in range(count):
            value = m.gbps[i][j]
            shown = colours(norm(links[i, j])) if (i, j) in links else _LOCAL_COLOUR if i == j else style.BACKGROUND
            local = i == j
            axes.add_patch(
                Rectangle(
                    (j - 0.5, i - 0.5),
                    1,
                    1,
                    facecolor=shown,
                    edgecolor="#B4B4B4" if local or (i, j) not in links else style.BACKGROUND,
                    hatch="///" if local else None,
                    linewidth=0.8,
                )
            )
            ground = matplotlib.colors.to_hex(shown)
            white = style.contrast(ground, "#FFFFFF") >= style.contrast(ground, style.INK)
            axes.text(
                j,
                i,
                _cell(value, local),
                ha="center",
                va="center",
                fontsize=letters,
                color="#FFFFFF" if white else style.INK,
                bbox={"facecolor": _LOCAL_COLOUR, "edgecolor": "none", "pad": 1.2} if local else None,
            )
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    slanted = count > 4 and max(map(len, m.devices)) > 5
    axes.set_xticks(
        range(count), m.devices, rotation=45 if slanted else 0, ha="right" if slanted else "center", fontsize=letters
    )
    axes.set_yticks(range(count), m.devices, fontsize=letters)
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    if links:
        bar = figure.colorbar(ScalarMappable(norm, colours), ax=axes, shrink=0.85, pad=0.02)
        bar.set_label("GB/s of links" + (", logarithmic" if wide else ""))
        bar.outline.set_visible(False)
        if wide:
            bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            bar.ax.yaxis.set_minor_formatter(lambda value, _: "")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    lines = ["Hatched, in brackets: local memory, not a link."] if count else []
    lines += [] if links else ["No link was measured."]
    lines += [m.note[0].upper() + m.note[1:] + "."] if m.note else []
    figure.supxlabel("\n".join(lines), fontsize=9, x=0.01, ha="left")
    return figure, axes
