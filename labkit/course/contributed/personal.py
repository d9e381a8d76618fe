"""What in a text may name a person, a computer or a place in its file system."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from labkit.machine import redact

_KINDS = {
    "user": "a home folder",
    "host": "a host name",
    "ip": "a network address",
    "mac": "a hardware address (MAC)",
    "uuid": "a UUID or unique id",
    "serial": "a serial number",
    "mail": "an e-mail address",
}
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://|\bwww\.", re.I)
# a slash between words is a path, 'algbw/busbw' and 'n/a' are not: a path begins at a root, a home, a drive or a dot
_PATH = re.compile(
    r"(?<![\w.])(?:~|\.{1,2})?[/\\]+[\w.@-]+|\b[A-Za-z]:[\\/]|\\\\|\$HOME|%\w+%|[\w.-]+[/\\][\w.-]+[/\\]", re.I
)
_HOST = re.compile(
    r"(?<![\w.-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:local|lan|home|internal|intranet|corp|localdomain|arpa|com|net|org|edu|gov|de|uk|eu"
    r"|io|dev|cloud|ai|info|ch|at|fr|nl|se|jp|cn|in|ca|au|us|ru|pl|it|es|br)(?![\w-])",
    re.I,
)
_AT_HOST = re.compile(r"(?<![\w.])[A-Za-z_][\w.-]*@[A-Za-z0-9]|(?:^|\s)@[A-Za-z]\w+")
_WORD_OF_HOST = re.compile(
    r"\b(?:DESKTOP|LAPTOP|WIN|WORKSTATION)-[A-Z0-9]{5,}\b|\b[\w-]+(?:s-)?MacBook[\w-]*\b|\b(?!(?:mini|micro|gaming|game|desktop|tower|office|old|new)-)\w+-(?:pc|laptop|desktop|workstation)\b",
    re.I,
)
# a version of four small numbers begins below 8, as WSL's kernels do; nothing else in a report has four
_FOUR_NUMBERS = re.compile(r"(?<![\w.])(?:[89]|\d{2,3})(?:\.\d{1,3}){3}(?![\w.]|-\d)")
_MAC = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}|[0-9A-Fa-f]{12})(?![0-9A-Fa-f])")
_LONG_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?=[0-9A-Fa-f]*\d)[0-9A-Fa-f]{16,}(?![0-9A-Za-z])")
_SERIAL = re.compile(r"\b(?:s/?n|serial(?:[ _-]?(?:no|number|nr))?|asset[ _]?tag)\b[\s:=#.]*[A-Z0-9-]{4,}", re.I)
_TOKEN = re.compile(
    r"(?<![\w])(?:gh[pousr]_|github_pat_|hf_|sk-|AKIA|xox[bap]-|glpat-)[\w-]{8,}|\bssh-(?:rsa|dss|ed25519)\s|(?<![\w+/=])(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Z])(?=[\w+/=-]*[a-z])[\w+/=-]{28,}"
)
_PHONE = re.compile(r"(?<![\w.])\+\d[\d ()/-]{7,}\d(?![\w.])")


_LONGEST = 1000  # characters that are looked at: no text of a right form is longer, and patterns take time


def kinds(text: str) -> tuple[str, ...]:
    """What the text seems to hold, in words; empty where nothing does. Versions, dates and names of products are nothing.

    Wide letters and digits of other scripts count as the plain ones. Of a text only the first ``_LONGEST`` characters are read.
    """
    text = _plain(text[:_LONGEST])
    found = dict.fromkeys(_KINDS[kind] for kind in re.findall(r"<(\w+)-\d+>", _redacted(text)) if kind in _KINDS)
    patterns = (
        (_ADDRESS, "a web address"),
        (_PATH, "a path"),
        (_AT_HOST, "an account name"),
        (_HOST, "a host name"),
        (_WORD_OF_HOST, "a host name"),
        (_FOUR_NUMBERS, "a network address"),
        (_MAC, "a hardware address (MAC)"),
        (_LONG_HEX, "a UUID or unique id"),
        (_SERIAL, "a serial number"),
        (_TOKEN, "a key or password"),
        (_PHONE, "a telephone number"),
    )
    found.update(dict.fromkeys(words for pattern, words in patterns if pattern.search(text)))
    return tuple(found)


def _plain(text: str) -> str:
    """The text in plain letters, digits and dots, as far as a sign stands for one."""
    plain = unicodedata.normalize("NFKC", text).replace("\u3002", ".")
    return "".join(str(unicodedata.digit(sign)) if sign.isdecimal() else sign for sign in plain)


def _redacted(text: str) -> str:
    """The text as a shared snapshot would have it; placeholders that stood in it already do not count."""
    known = re.sub(r"<(?=\w+-\d+>)", "(", text)
    return str(redact.redact({"text": known})["text"])


def strings(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """(place, text) of every string in plain data, keys among them; the place reads like ``lessons[3].name``."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, content in value.items():
            yield f"a key of {place or 'the file'}", str(key)
            yield from strings(content, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for at, content in enumerate(value):
            yield from strings(content, f"{place}[{at}]")
