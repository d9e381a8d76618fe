"""Takes out of a snapshot what names a person or a machine: a pure function on the mapping.

Host and user names, home folders, network addresses, serial numbers, UUIDs and unique ids become placeholders such as
``<user-1>``; the same value gets the same placeholder everywhere in the file, so it still makes sense. Versions, PCI
addresses and gfx names stay. A name that is a word of the tools themselves (root, ubuntu, render …) is taken out of paths
only. What is taken out is not kept anywhere.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

# Names that say nothing of a person, and that stand in tools' own texts.
_COMMON = frozenset(re.findall(r"\S+", """
    root user users admin administrator ubuntu debian fedora arch linux localhost localdomain runner jovyan vagrant docker podman
    render video nobody nogroup default public guest test me you learner student dev developer owner group amd amdgpu radeon rocm
    gpu cpu hip torch python kfd card driver kernel host node home none null unknown true false the and not all yes system windows
    microsoft container snap slurm vm pc box machine laptop desktop server work shared data tmp opt usr lib bin ip mac uuid serial
    mail live built in ok venv conda error set is of to on no version name type size memory device
    devices simulated code log"""))  # fmt: skip
_PLACEHOLDER = re.compile(r"<(user|host|ip|mac|uuid|serial|mail)-(\d+)>")
_NAME = r"[^\s/\\:;,'\"<>|*?()\[\]{}=]+"
_HOMES = re.compile(
    rf"(?P<before>/home/|/Users/|(?<![A-Za-z])[A-Za-z]:[\\/]+Users[\\/]+)(?P<name>(?<=[\\/])[^\\/:*?\"<>|\r\n=;]{{1,40}}(?=\\)|{_NAME})"
)
_UUID = re.compile(r"(?<![0-9A-Fa-f-])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f-])")
_GPU_ID = re.compile(r"(?<![A-Za-z0-9])(GPU-)([0-9A-Fa-f]{16,32})(?![0-9A-Za-z])")
_MAC = re.compile(r"(?<![0-9A-Fa-f:.-])(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:-])")
_IPV4 = re.compile(r"(?<![\w.+-])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\w+])(?!\.\d)(?!-\d)", re.ASCII)
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])(?!\.\d)")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?![\w-])")
_SERIAL = re.compile(
    r"(?im)(?P<key>\b(?:asic[ _]?serial|(?:product|board|chassis|device|fru)?[ _]?serial(?:[ _]?(?:number|no|num))?|asset[ _]?tag|"
    r"unique[ _]?id|machine[ _-]?id|hive_id|guid)\b[\"']?(?:[ \t]*[:=][ \t]*|[ \t]+(?=0x|\d{6,}))[\"']?)"
    r"(?P<value>(?!N/?A\b|None\b|null\b|unknown\b|0+\b|0x0+\b|not\b|to be filled)[^\s\"',<>]{4,64})"
)
_VERSION_BEFORE = re.compile(
    r"(?:version|ver|release|driver|rev(?:ision)?|firmware|kernel|package|==|>=|<=|~=|[vV])[\s:=\"'(]*$", re.I
)
_ADDRESS_BEFORE = re.compile(
    r"(?:inet6?|addr(?:ess)?|ip|host|peer|from|to|server|client|gateway|src|dst|dns|://|@)[\s:=\"'(\[]*$", re.I
)


def redact(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The snapshot without personal values; ``redacted`` says so. Redacting twice changes nothing more."""
    identity = snapshot.get("identity")
    work = _Work()
    for text in _texts(snapshot):
        work.know(text)
    if isinstance(identity, Mapping):
        work.name("host", str(identity.get("host") or ""))
        host = str(identity.get("host") or "").split(".")[0]
        work.name("host", host)
        work.name("user", str(identity.get("user") or ""))
        home = re.split(r"[\\/]", str(identity.get("home") or "").rstrip("\\/"))[-1]
        work.name("user", home)
    for text in _texts(snapshot):
        for found in _HOMES.finditer(text):
            work.name("user", found["name"].rstrip("."))
    made: dict[str, Any] = {str(key): work.value(content) for key, content in snapshot.items() if key != "identity"}
    made["redacted"] = True
    return made


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for key, content in value.items() for text in (str(key), *_texts(content))]
    if isinstance(value, (list, tuple)):
        return [text for content in value for text in _texts(content)]
    return []


class _Work:
    """The placeholders given so far."""

    def __init__(self) -> None:
        self.given: dict[tuple[str, str], str] = {}
        self.count: dict[str, int] = {}
        self.words: dict[str, str] = {}  # lower-case name -> placeholder
        self.pattern: re.Pattern[str] | None = None

    def know(self, text: str) -> None:
        """Placeholders that are there already are not given a second time."""
        if "<" in text:
            for kind, number in _PLACEHOLDER.findall(text):
                self.count[kind] = max(self.count.get(kind, 0), int(number))

    def give(self, kind: str, original: str) -> str:
        key = (kind, original.lower())
        if key not in self.given:
            self.count[kind] = self.count.get(kind, 0) + 1
            self.given[key] = f"<{kind}-{self.count[kind]}>"
        return self.given[key]

    def name(self, kind: str, name: str) -> None:
        """A name to take out wherever it stands as a word."""
        low = name.lower()
        if (
            len(name) < 2
            or low in _COMMON
            or low in self.words
            or name.startswith("<")
            or re.fullmatch(r"[\d.]+|gfx\w+", low)
        ):
            return
        self.words[low] = self.give(kind, name)
        longest = sorted(self.words, key=len, reverse=True)
        self.pattern = re.compile(
            r"(?<![A-Za-z0-9])(?:" + "|".join(map(re.escape, longest)) + r")(?![A-Za-z0-9])", re.I
        )

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._key(str(key)): self._named(str(key), content) for key, content in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(content) for content in value]
        return value

    def _key(self, key: str) -> str:
        """Only a key that is a path can name a person; the others are the snapshot's own words."""
        return self.text(key) if re.search(r"[\\/\s]", key) else key

    def _named(self, key: str, content: Any) -> Any:
        """A value whose key says what it is: {"serial": "…"}."""
        if isinstance(content, str) and (found := _SERIAL.fullmatch(f"{key}: {content}")):
            return self.give("serial", found["value"])
        return self.value(content)

    def text(self, text: str) -> str:
        steps: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
            (_MAIL, lambda found: self.give("mail", found.group())),
            (_UUID, lambda found: self.give("uuid", found.group())),
            (_GPU_ID, lambda found: found.group(1) + self.give("uuid", found.group(2))),
            (_MAC, lambda found: self.give("mac", found.group())),
            (_SERIAL, lambda found: found["key"] + self.give("serial", found["value"])),
            (_IPV4, self._ipv4),
            (_IPV6, self._ipv6),
        )
        for pattern, replacement in steps:
            text = pattern.sub(replacement, text)
        if self.pattern is not None:
            text = self.pattern.sub(lambda found: self.words[found.group().lower()], text)
        return _HOMES.sub(self._home, text)

    def _home(self, found: re.Match[str]) -> str:
        name = found["name"].rstrip(".")
        return found["before"] + self.give("user", name) + found["name"][len(name) :] if name else found.group()

    def _ipv4(self, found: re.Match[str]) -> str:
        """An address, unless it is the version of something: versions begin low, addresses stand behind their own words."""
        numbers = [int(part) for part in found.groups()]
        before = found.string[max(0, found.start() - 24) : found.start()]
        after = found.string[found.end() : found.end() + 6]
        if max(numbers) > 255 or numbers[0] in (0, 127) or numbers == [255] * 4 or _VERSION_BEFORE.search(before):
            return found.group()
        private = ipaddress.IPv4Address(found.group()).is_private
        named = _ADDRESS_BEFORE.search(before) or re.match(r":\d{1,5}\b|/\d{1,2}\b", after)
        return self.give("ip", found.group()) if private or named or numbers[0] >= 40 else found.group()

    def _ipv6(self, found: re.Match[str]) -> str:
        text = found.group()
        try:
            number = int(ipaddress.IPv6Address(text))
        except ValueError:
            return text
        return self.give("ip", text) if number >= 2**32 and re.search(r"\d", text) else text
