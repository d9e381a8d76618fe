"""Which texts may wrap."""

from __future__ import annotations

import pytest
from docutils import nodes
from docutils.utils import new_document

from labkit.site import extension
from labkit.site.extension import in_columns


@pytest.mark.parametrize(
    "text", ["TODO shard: not started. Run it again.", "first\n    second, indented", "for all of them: 3"]
)
def test_sentences_wrap(text: str) -> None:
    assert not in_columns(text)


@pytest.mark.parametrize("text", ["1.weight  [128, 784]  100,352", "a line\nname   value", "def who():\n    return 3"])
def test_columns_and_code_do_not(text: str) -> None:
    assert in_columns(text)


def test_only_short_names_stay_whole() -> None:
    page = new_document("page")
    page += nodes.paragraph("", "", nodes.literal("", "--workers 2"), nodes.literal("", "python3 -m labkit run 01"))
    extension._keep_short_names_whole(None, page)
    assert [literal["classes"] for literal in page.findall(nodes.literal)] == [["labkit-whole"], []]
