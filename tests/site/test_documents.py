"""Where links of the repository's own files lead on the site."""

from __future__ import annotations

import pytest

from labkit.site.documents import _links


@pytest.mark.parametrize(
    ("folder", "text", "moved"),
    [
        ("", "[a](notebooks/01_x.ipynb#b)", "[a](01_x.ipynb#b)"),
        ("", "[a](notebooks/pages/b.md)", "[a](pages/b.md)"),
        ("", "[a](CONTRIBUTING.md)", "[a](contributing.md)"),
        ("benchmarks", "[a](../README.md#two)", "[a](commands.md#two)"),
        ("benchmarks", "[the numbers](results/x.json)", "the numbers"),
        ("", "[a](https://example.org/b) [c](#d)", "[a](https://example.org/b) [c](#d)"),
    ],
)
def test_links_follow_their_targets(folder: str, text: str, moved: str) -> None:
    assert _links(text, folder) == moved
