"""The checker of links: each kind of wrong link is named, right ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.site import links


def site(folder: Path, body: str) -> list[str]:
    (folder / "pages").mkdir()
    (folder / "_static").mkdir()
    (folder / "_static" / "a b.js").write_text("", encoding="utf-8")
    (folder / "index.html").write_text("<h1 id='top'>x</h1>", encoding="utf-8")
    (folder / "pages" / "one.html").write_text(f"<h2 id='é'>y</h2>{body}", encoding="utf-8")
    return links.check(folder)


@pytest.mark.parametrize(
    "body",
    [
        "<a href='../index.html#top'>x</a>",
        "<a href='#%C3%A9'>x</a>",
        "<a href='one.html?what=3#é'>x</a>",
        "<script src='../_static/a%20b.js?v=1'></script>",
        "<img src='data:image/png;base64,AAAA' alt=''>",
        "<a href='https://github.com/x/y#z'>x</a><a href='mailto:a@b.c'>x</a><a href='#'>top</a>",
        "<link rel='next' href='../index.html'>",
    ],
)
def test_right_links_pass(tmp_path: Path, body: str) -> None:
    assert site(tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<a href='gone.html'>x</a>", "gone.html is not there"),
        ("<a href='../index.html#gone'>x</a>", "no place of that name"),
        ("<a href='#gone'>x</a>", "no place of that name"),
        ("<a href='/index.html'>x</a>", "works only on a server"),
        ("<a href='../../else.html'>x</a>", "leaves the site"),
        ("<a href='https://nowhere/x y'>x</a>", "is not an address"),
        ("<a href='ftp://a.b/c'>x</a>", "works only on a server"),
        ("<img src='gone.png'>", "gone.png is not there"),
        ("<img srcset='gone.png 2x'>", "gone.png is not there"),
        ("<script src='https://cdn.example.org/x.js'></script>", "from outside"),
        ("<script src='//cdn.example.org/x.js'></script>", "from outside"),
        ("<link rel='stylesheet' href='https://fonts.example.org/x.css'>", "from outside"),
        ("<link rel='preconnect' href='https://fonts.example.org'>", "from outside"),
        ("<iframe src='https://example.org'></iframe>", "from outside"),
    ],
)
def test_wrong_links_are_named_with_their_page(tmp_path: Path, body: str, problem: str) -> None:
    found = site(tmp_path, body)
    assert len(found) == 1 and found[0].startswith("pages/one.html: ") and problem in found[0]
