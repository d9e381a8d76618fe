"""What this site adds to Sphinx: alternative texts and widths of figures, and which printed texts may wrap."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]

SHORT = 16  # signs


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_config_value("labkit_figures", {}, "env")
    app.connect("doctree-read", _describe_figures)
    app.connect("doctree-read", _wrap_sentences)
    app.connect("doctree-read", _keep_short_names_whole)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _describe_figures(app: Any, doctree: nodes.document) -> None:
    """MyST-NB gives figures neither alternative text nor width; both are known, in the order of the outputs."""
    figures = app.config.labkit_figures.get(app.env.docname, [])
    images = [
        image
        for output in doctree.findall(nodes.container)
        if output.get("nb_element") == "cell_code_output"
        for image in output.findall(nodes.image)
    ]
    if len(images) != len(figures):
        raise ValueError(f"{app.env.docname}: {len(images)} figures on the page, {len(figures)} in the notebook")
    for image, figure in zip(images, figures, strict=True):
        image["alt"] = figure.alt
        if figure.width:
            image["width"] = f"{figure.width}px"


def _wrap_sentences(app: Any, doctree: nodes.document) -> None:
    """Printed sentences wrap at the page's edge; what stands in columns does not."""
    for output in doctree.findall(nodes.container):
        if output.get("nb_element") == "cell_code_output":
            for printed in output.findall(nodes.literal_block):
                if not in_columns(printed.astext()):
                    printed["classes"].append("labkit-prose")


def _keep_short_names_whole(app: Any, doctree: nodes.document) -> None:
    """A browser breaks lines behind hyphens, also in '--workers 2'; what is short enough for a phone's column need not break."""
    for literal in doctree.findall(nodes.literal):
        if len(literal.astext()) <= SHORT:
            literal["classes"].append("labkit-whole")


def in_columns(text: str) -> bool:
    """Does a printed text have columns, told by two or more spaces between words, or is it Python?"""
    return re.search(r"\S {2,}\S|^ *(def|class|for|if|with) .*:$", text, re.MULTILINE) is not None
