"""A table of words for a notebook: aligned text, and HTML that takes its colours from the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from labkit.show.picture import table as aligned


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of words. ``str()`` is aligned text; on a cell's last line, or through ``display``, it is an HTML table in
    which long cells wrap, between words only, and not into columns of one word. ``simulated`` gives it the dashed frame
    and the word of everything that was not run."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    simulated: bool = False

    def __str__(self) -> str:
        lines = [self._title] if self._title else []
        return "\n".join([*lines, aligned([self.columns, *self.rows], left=len(self.columns))])

    def __repr__(self) -> str:
        return str(self)

    @property
    def _title(self) -> str:
        return f"{self.title} (simulated: nothing here was run)" if self.simulated else self.title

    def _repr_html_(self) -> str:
        style = (
            "text-align:left;vertical-align:top;padding:3px 12px 3px 0;color:inherit;background:transparent;"
            "white-space:normal;word-break:normal;overflow-wrap:anywhere;hyphens:none;box-sizing:content-box;min-width:{}"
        )
        styles = [style.format(width) for width in map(_least_width, zip(self.columns, *self.rows, strict=True))]
        head = "".join(
            f"<th scope='col' style='{style}'>{escape(name)}</th>"
            for style, name in zip(styles, self.columns, strict=True)
        )
        body = "".join(
            "<tr style='background:transparent'>"
            + "".join(
                f"<td style='{style}'>{_whole_options(escape(cell))}</td>"
                for style, cell in zip(styles, row, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        title = f"<div style='font-weight:bold;margin-bottom:4px'>{escape(self._title)}</div>" if self._title else ""
        frame = (
            "border:1px dashed #999;border-radius:6px;padding:8px 14px;" if self.simulated else ""
        ) + "max-width:72em"
        return (
            f"<div style='{frame}'>{title}<table style='border-collapse:collapse;table-layout:auto;margin:0;color:inherit;"
            f"background:transparent'><thead><tr style='background:transparent'>{head}</tr></thead><tbody>{body}</tbody>"
            "</table></div>"
        )


_LONGEST_WORD = 32


def _least_width(column: Sequence[str]) -> str:
    """The width below which a column does not shrink: about four lines for its longest cell, its longest word at least
    (an address, longer than any word, may be broken)."""
    heading, *cells = column
    longest = max(map(len, cells), default=0)
    words = [len(word) for cell in cells for word in cell.split()]
    words += [-(-8 * len(word) // 7) for word in heading.split()]  # bold is wider
    word = min(max(words, default=0), _LONGEST_WORD)
    return f"{max(word, min(24, -(-longest // 4)))}ch"


def _whole_options(text: str) -> str:
    """Keeps short cells on one line and the options of a command in one piece (a browser breaks after hyphens)."""
    if len(text) <= 12:
        return f"<span style='white-space:nowrap'>{text}</span>"
    return re.sub(r"(?<!\S)--?\w\S*", lambda found: f"<span style='white-space:nowrap'>{found.group()}</span>", text)


def word_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", simulated: bool = False
) -> Table:
    """A :class:`Table`; every cell is shown as the text that ``str()`` makes of it.

    A column that is empty in every row is left out, with its heading.
    """
    cells = [tuple(map(str, row)) for row in rows]
    kept = [k for k in range(len(columns)) if not cells or any(row[k].strip() for row in cells)]
    return Table(tuple(columns[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in cells), title, simulated)
