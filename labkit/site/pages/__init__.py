"""Pages of the site that are made from data: GPUs, wheels, failures, claims, and which lesson ran on which machine.

Each module of this room makes one document, Markdown for MyST with a table of raw HTML in it (``markup``). The tables can be
narrowed down where ``static/filter.js`` runs and are whole where it does not; ``static/tables.css`` takes its colours from the
theme's variables. Both files belong into the site's ``_static``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from labkit.course import files

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("filter.js",)
STYLES = ("tables.css",)


def write(
    folder: Path,
    *,
    reports: Path,
    lesson_address: Callable[[str], str] = "../{}.html".format,
    observed: Mapping[str, Mapping[str, Any]] | None = None,
    observed_when: str = "",
) -> list[str]:
    """Writes the documents and returns their names, without ending, in the order in which they are read.

    Args:
        folder: where the Markdown files go; made if missing.
        reports: the folder of contributed reports; it may be missing or empty.
        lesson_address: the address of a lesson's page, relative to these pages, from its label (``01_mnist``); '' where it has none.
        observed: by a claim's id what its probe saw where the site is built (a row of ``labkit claims --run --json``).
        observed_when: when and with what it was seen, in words: 'on 2026-11-30 16:20 UTC with torch 2.14.1 on a Linux x86_64 machine'.

    Raises:
        LabkitError: a file cannot be written, or the table of lessons cannot be read.
    """
    from labkit.site.pages import claims, failures, gpus, machines, wheels

    documents = {
        "gpus": gpus.page(),
        "wheels": wheels.page(),
        "failures": failures.page(),
        "claims": claims.page(lesson_address, observed, observed_when),
        "machines": machines.page(reports, lesson_address),
    }
    for document, text in documents.items():
        files.write_text(folder / f"{document}.md", text)
    return list(documents)
