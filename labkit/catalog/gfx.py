"""GPU targets of AMD: which products they are, which wheels carry their kernels, what the silicon can do.

The rows stand in ``gfx.json`` beside this file, each with its sources and the day it was checked. The file is read when
a name of it is first used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class GfxTarget:
    """One row of the table.

    ``pytorch_indexes`` are the names under download.pytorch.org/whl whose torch wheels hold kernels for the target,
    ``amd_extra`` says whether AMD's own index has a ``device-gfx...`` extra for it, ``amd_linux`` and ``amd_windows``
    whether AMD's install page for ROCm 10.0.0 lists it. None means: not established.
    """

    gfx: str
    architecture: str
    products: tuple[str, ...]
    models: tuple[str, ...]  # words that identify a product inside a longer name
    chips: tuple[str, ...]  # code names as lspci prints them
    pci_ids: tuple[str, ...]  # four hexadecimal digits, vendor 1002
    pytorch_indexes: tuple[str, ...]
    pytorch_note: str
    amd_extra: bool
    amd_linux: bool
    amd_windows: bool
    wavefront_size: int | None
    native_bf16: bool | None
    flash_attention: bool | None
    integrated: bool
    override_to: str | None  # history only: labkit never sets or advises an override
    linux: str
    windows: str
    wsl: str | None
    notes: str
    sources: tuple[str, ...]
    checked: str


@lru_cache(maxsize=1)
def _read() -> dict[str, GfxTarget]:
    rows = json.loads((Path(__file__).parent / "gfx.json").read_text(encoding="utf-8"))
    names = {field.name for field in fields(GfxTarget)}
    targets = {}
    for row in rows:
        if set(row) != names:
            raise ValueError(f"gfx.json, {row.get('gfx')}: {sorted(set(row) ^ names)} missing or unknown")
        values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        targets[values["gfx"]] = GfxTarget(**values)
    return targets


class _Targets(Mapping[str, GfxTarget]):
    """The table as a mapping, read from its file on first use."""

    def __getitem__(self, gfx: str) -> GfxTarget:
        return _read()[gfx]

    def __iter__(self) -> Iterator[str]:
        return iter(_read())

    def __len__(self) -> int:
        return len(_read())


TARGETS: Mapping[str, GfxTarget] = _Targets()


def target(name: str | None) -> GfxTarget | None:
    """The row for ``gfx90a``, ``gfx90a:sramecc+:xnack-`` or ``GFX90A``; None where there is none."""
    if not name:
        return None
    return TARGETS.get(name.strip().split(":")[0].lower())


def with_products(*words: str) -> list[GfxTarget]:
    """The targets of which a product's name holds one of these words, such as 'Instinct' or 'RX 7'."""
    return [row for row in TARGETS.values() if any(word in name for word in words for name in row.products)]


def by_pci_id(device: str) -> GfxTarget | None:
    """The target of an AMD GPU by its PCI device id (``'744c'`` or ``'0x744c'``); None where it is not in the table."""
    text = device.strip().lower()
    return _pci_index().get(text[2:] if text.startswith("0x") else text)


def by_product(name: str | None) -> GfxTarget | None:
    """The target of a product by the name that Windows, lspci or ROCm gives it; None where that is not certain.

    A name can be a list (``'Navi 48 [Radeon RX 9070/9070 XT/9070 GRE]'``). A model with a suffix that the table does
    not have is unknown, not its neighbour: RX 7700 XT, RX 7700S and an RX 7700 of another kind are three things.
    """
    if not name:
        return None
    text = re.sub(r"\((?:tm|r)\)|[®™]", " ", name.lower())
    if re.search(r"\b(nvidia|geforce|quadro|tesla|intel|hd|wx|firepro|r[579])\b", text):  # other makers, older Radeons
        return None
    chips = _chips_in(text)
    if len(chips) == 1:
        return TARGETS[chips.pop()]
    if chips:
        return None
    # 'AMD Ryzen 9 PRO 6950H with Radeon 680M': the graphics' own name is the better witness
    for part in ([text[text.index("radeon") :]] if "radeon" in text else []) + [text]:
        found = _models_in(part)
        if found:
            return TARGETS[found.pop()] if len(found) == 1 else None
    return None


@lru_cache(maxsize=1)
def _pci_index() -> dict[str, GfxTarget]:
    return {pci: row for row in TARGETS.values() for pci in row.pci_ids}


@lru_cache(maxsize=1)
def _chip_index() -> tuple[tuple[str, str], ...]:
    pairs = [(chip, row.gfx) for row in TARGETS.values() for chip in row.chips]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))  # 'strix halo' before 'strix'


@lru_cache(maxsize=1)
def _model_index() -> dict[tuple[str, ...], str]:
    return {tuple(model.split()): row.gfx for row in TARGETS.values() for model in row.models}


def _chips_in(text: str) -> set[str]:
    """Targets named by a chip: only before the bracket, because 'Radeon Vega 10 Graphics' is no 'Vega 10' chip."""
    head = text.split("[")[0]
    if "radeon" in head or "instinct" in head:
        return set()
    found = set()
    for chip, gfx in _chip_index():
        pattern = rf"\b{re.escape(chip)}\b"
        if re.search(pattern, head):
            found.add(gfx)
            head = re.sub(pattern, " ", head)
    return found


_SUFFIXES = frozenset({"xt", "xtx", "gre", "m", "s", "le", "xl"})
_SERIES = frozenset({"rx", "pro"})  # a number such as 6800 or 6800m counts only after one of these


def _models_in(text: str) -> set[str]:
    words = re.findall(r"[a-z0-9]+", text.replace("max+", "max ").replace("max pro", "max"))
    words = [word for at, word in enumerate(words) if not (word == "pro" and at and words[at - 1] == "max")]
    index = _model_index()
    found: set[str] = set()
    at = 0
    while at < len(words):
        for length in (3, 2, 1):
            model = tuple(words[at : at + length])
            if len(model) < length or model not in index:
                continue
            if re.fullmatch(r"[5679]\d{3}[ms]?", model[0]) and not _SERIES.intersection(words[:at]):
                continue
            following = words[at + length] if at + length < len(words) else ""
            if length < 3 and following in _SUFFIXES:  # 'RX 7600 GRE' is not an RX 7600
                continue
            if model == ("vii",) and "radeon" not in words and "pro" not in words:
                continue
            found.add(index[model])
            at += length - 1
            break
        at += 1
    return found
