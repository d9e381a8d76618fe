"""HTML of the pages with tables: cells, rows, and the controls that narrow a table down.

Without JavaScript the whole table is there and the controls are not. With ``static/filter.js`` a row stays when every
word of the text box stands in it and it has each chosen value among its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

NOT_ESTABLISHED = '<span class="lk-quiet">not established</span>'

_ADDRESS = re.compile(r"https?://[^\s<>\"'()]*[^\s<>\"'().,;:]")
# 'ROCm/TheRock#1844', 'microsoft/WSL#40464': an issue or a pull request of a public repository
_ISSUE = re.compile(r"(?<![\w/.-])([A-Za-z][\w.-]*/[\w.-]+)#(\d+)\b")
_SITES = re.compile(
    r"(?<![\w/.@-])((?:rocm\.docs\.amd\.com|docs\.pytorch\.org|pytorch\.org|rocm\.blogs\.amd\.com)/[\w./%#-]*[\w/])"
)


def text(words: str) -> str:
    """Plain words as HTML: escaped, with addresses and issues of GitHub as links."""
    parts: list[str] = []
    at = 0
    found = sorted(
        (match for pattern in (_ADDRESS, _ISSUE, _SITES) for match in pattern.finditer(words)),
        key=lambda match: (match.start(), -match.end()),
    )
    for match in found:
        if match.start() < at:
            continue
        parts.append(escape(words[at : match.start()]))
        parts.append(link(_target(match), match.group()))
        at = match.end()
    return "".join(parts) + escape(words[at:])


def _target(match: re.Match[str]) -> str:
    if match.re is _ISSUE:
        return f"https://github.com/{match[1]}/issues/{match[2]}"
    return match.group() if match.re is _ADDRESS else f"https://{match.group()}"


def link(target: str, words: str) -> str:
    """A link; both its parts are escaped. Without a target just the words."""
    if not target:
        return escape(words)
    return f'<a href="{escape(target)}">{escape(words)}</a>'


def code(words: str) -> str:
    """What is typed or printed."""
    return f"<code>{escape(words)}</code>"


def known(words: str | None) -> str:
    """Words of the catalog, or 'not established' where there are none."""
    return NOT_ESTABLISHED if words is None or not words.strip() else text(words)


def yes_no(value: bool | None) -> str:
    """'yes', 'no', or 'not established'."""
    return NOT_ESTABLISHED if value is None else "yes" if value else "no"


def number(value: float | None, unit: str = "") -> str:
    """A number without idle decimals, with its unit, or a dash where the thing does not exist."""
    if value is None:
        return '<span class="lk-quiet">none</span>'
    return f"{value:,.1f}".removesuffix(".0").replace(",", " ") + (f" {unit}" if unit else "")


def badge(word: str, kind: str) -> str:
    """A word in a frame; its colour only repeats what the word says. ``kind``: bad, warn, good or plain."""
    return f'<span class="lk-badge lk-{escape(kind)}">{escape(word)}</span>'


def labelled(parts: Iterable[tuple[str, str]]) -> str:
    """Small headed paragraphs in one cell; parts without content are left out. The content is HTML already."""
    return "".join(
        f'<p class="lk-part"><span class="lk-label">{escape(label)}</span> {content}</p>'
        for label, content in parts
        if content
    )


def items(entries: Sequence[str]) -> str:
    """A list in a cell, of HTML entries; one entry stands alone."""
    if len(entries) == 1:
        return entries[0]
    return f"<ul>{''.join(f'<li>{entry}</li>' for entry in entries)}</ul>" if entries else ""


def details(summary: str, content: str) -> str:
    """What opens on request. The content is HTML already."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>" if content else ""


def sources(entries: Sequence[str], checked: str) -> str:
    """Where a row comes from and the day it was looked at; a single short source stands open."""
    day = f'<span class="lk-quiet lk-day">checked {escape(checked)}</span>'
    if not entries:
        return f'<span class="lk-quiet">no public source looked up</span>, {day}'
    listed = [text(entry) for entry in entries]
    if len(listed) == 1:
        return f"{listed[0]}, {day}"
    return details(f"{len(listed)} sources", items(listed)) + day


@dataclass(frozen=True)
class Row:
    """``cells`` are HTML, the first is the row's heading; ``values`` are what the selects look at, by their names."""

    cells: tuple[str, ...]
    anchor: str = ""
    values: Mapping[str, Iterable[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """One select: its name (in the address), its label, and its options as (value, words)."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]


def options(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Options whose values are made from their words, each once, in the order given."""
    return tuple((slug(word), word) for word in dict.fromkeys(words))


def slug(words: str) -> str:
    """A word that an address and an attribute can hold: 'RDNA 3.5' becomes 'rdna-3.5'."""
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")


# Tables want the width that the page's own contents would take.
HEAD = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"


def table(
    name: str,
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    choices: Sequence[Choice] = (),
    *,
    widths: Sequence[int] = (),
    filterable: bool = True,
    wide: bool = False,
) -> str:
    """A table with its controls, as a MyST block of raw HTML.

    Args:
        name: short and unique on its page; it leads the table's part of the address.
        caption: what a screen reader is told that the table is.
        columns: the headings; on a narrow screen each stands before its cell.
        choices: the selects beside the text box.
        widths: of the columns, in parts of a hundred.
        wide: many narrow columns, which scroll sideways inside the page.

    Raises:
        ValueError: a row has another number of cells than there are columns.
    """
    if any(len(row.cells) != len(columns) for row in rows):
        raise ValueError(f"{name}: a row has not {len(columns)} cells")
    parts = [f'<section class="lk-table" data-lk-name="{escape(name)}" aria-label="{escape(caption)}">']
    if filterable:
        parts.append(_controls(name, choices, len(rows)))
    label = f'role="region" tabindex="0" aria-label="{escape(caption)}, scrolls"' if wide else ""
    parts.append(f'<div class="lk-frame{" lk-wide" if wide else ""}" {label}>'.replace(" >", ">"))
    parts.append(f'<table role="table"><caption>{escape(caption)}</caption>')
    if widths:
        columns_of_it = "".join(f'<col style="width:{width}%">' for width in widths)
        parts.append(f"<colgroup>{columns_of_it}</colgroup>")
    heads = "".join(f'<th role="columnheader" scope="col">{escape(column)}</th>' for column in columns)
    parts.append(f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead><tbody role="rowgroup">')
    parts.extend(_row(row, columns) for row in rows)
    parts.append("</tbody></table></div></section>")
    return "```{raw} html\n" + "\n".join(parts) + "\n```\n"


def _controls(name: str, choices: Sequence[Choice], count: int) -> str:
    fields = [
        f'<label>Search <input type="search" data-lk-field="q" autocomplete="off" spellcheck="false" id="lk-{name}-q"></label>'
    ]
    for choice in choices:
        listed = "".join(
            f'<option value="{escape(slug(value))}">{escape(words)}</option>' for value, words in choice.options
        )
        fields.append(
            f'<label>{escape(choice.label)} <select data-lk-field="{escape(choice.name)}" id="lk-{name}-{escape(choice.name)}">'
            f'<option value="">all</option>{listed}</select></label>'
        )
    return (
        f'<form class="lk-controls" hidden>{"".join(fields)}<button type="reset">Show all</button></form>\n'
        f'<p class="lk-count" role="status" aria-live="polite" hidden>{count} of {count} shown</p>'
    )


def _row(row: Row, columns: Sequence[str]) -> str:
    values = "".join(
        f' data-lk-{escape(name)}="{escape(" ".join(dict.fromkeys(map(slug, found))))}"'
        for name, found in row.values.items()
    )
    anchor = f' id="{escape(row.anchor)}"' if row.anchor else ""
    cells = [f'<th role="rowheader" scope="row">{row.cells[0]}</th>']
    cells += [
        f'<td role="cell" data-lk-label="{escape(column)}">{cell}</td>'
        for column, cell in zip(columns[1:], row.cells[1:], strict=True)
    ]
    return f'<tr role="row"{anchor}{values}>{"".join(cells)}</tr>'
