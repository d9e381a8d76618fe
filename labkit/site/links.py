"""Do the links of built pages lead somewhere, and does nothing load from outside? Read from the HTML alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src", "audio": "src", "embed": "src", "object": "data",
}  # fmt: skip
_LOADED_LINKS = {"stylesheet", "preload", "modulepreload", "icon", "shortcut", "preconnect", "dns-prefetch", "prefetch"}


@dataclass
class Page:
    """What one page names: ``anchors`` that it has, ``links`` that a reader follows, ``loads`` what the browser fetches by itself."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)


def read(text: str) -> Page:
    """The anchors, links and loads of a page's HTML."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.page


def check(site: Path) -> list[str]:
    """Everything that is wrong with the links of the pages under ``site``, one sentence each; empty when all is well."""
    pages = {path: read(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    anchors = {path.resolve(): page.anchors for path, page in pages.items()}
    return [
        f"{path.relative_to(site).as_posix()}: {wrong}"
        for path, page in pages.items()
        for wrong in _wrong(path, page, site.resolve(), anchors)
    ]


def _wrong(path: Path, page: Page, site: Path, anchors: Mapping[Path, Set[str]]) -> Iterator[str]:
    for target in page.loads:
        if urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
            yield f"loads {target} from outside"
        elif problem := _missing(path, target, site, anchors):
            yield problem
    for target in page.links:
        parts = urlsplit(target)
        if parts.scheme in ("http", "https"):
            if "." not in parts.netloc or " " in target:
                yield f"{target} is not an address"
        elif parts.scheme in ("mailto", "data", "javascript"):
            continue
        elif problem := _missing(path, target, site, anchors):
            yield problem


def _missing(path: Path, target: str, site: Path, anchors: Mapping[Path, Set[str]]) -> str:
    """What is wrong with a link inside the site, or "". anchors: of each page, by its resolved path."""
    parts = urlsplit(target)
    if parts.scheme == "data":
        return ""
    if parts.scheme or parts.netloc or parts.path.startswith("/"):
        return f"{target} works only on a server"
    file = path if not parts.path else path.parent / PurePosixPath(unquote(parts.path))
    place = file.resolve()
    if not place.is_relative_to(site):
        return f"{target} leaves the site"
    if not file.is_file():
        return f"{target} is not there"
    anchor = unquote(parts.fragment)
    if anchor and place in anchors and anchor not in anchors[place]:
        return f"{target}: the page has no place of that name"
    return ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.page.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        if tag == "a" and "href" in found:
            self.page.links.append(found["href"])
        elif tag == "link" and "href" in found:
            loaded = _LOADED_LINKS & set(found.get("rel", "").split())
            (self.page.loads if loaded else self.page.links).append(found["href"])
        elif tag in LOADED and found.get(LOADED[tag]):
            self.page.loads.append(found[LOADED[tag]])
        if found.get("srcset"):
            self.page.loads += [part.split()[0] for part in found["srcset"].split(",") if part.strip()]

    handle_startendtag = handle_starttag
