"""Which printed texts may wrap."""

from __future__ import annotations

import pytest

from labkit.site.extension import in_columns


@pytest.mark.parametrize(
    "text", ["TODO shard: not started. Run it again.", "first\n    second, indented", "for all of them: 3"]
)
def test_sentences_wrap(text: str) -> None:
    assert not in_columns(text)


@pytest.mark.parametrize("text", ["1.weight  [128, 784]  100,352", "a line\nname   value", "def who():\n    return 3"])
def test_columns_and_code_do_not(text: str) -> None:
    assert in_columns(text)
