"""What links a GPU to the host and to other GPUs, its last-level cache, and what AMD itself measured over them.

The rows stand in ``links.json``, each with its source and the day it was checked. A rate is GB/s of 10^9 bytes, one way. What no source
establishes is None, and the row's note says why.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

CACHE_SOURCE = "ROCm/legacy-rocm-build docs/reference/gpu-arch-specs.rst @089d751"
CACHE_CHECKED = "2026-11-30"


@dataclass(frozen=True)
class Pcie:
    """One generation of PCI Express. ``x16_gbs_each_way``: GB/s over 16 lanes behind the line code, before packets' own headers."""

    generation: int
    gt_per_s: float
    encoding: str
    x16_gbs_each_way: float | None
    note: str
    source: str
    checked: str

    def gbs(self, lanes: int) -> float | None:
        """GB/s each way over so many lanes; None where the figure is not established."""
        return None if self.x16_gbs_each_way is None else self.x16_gbs_each_way * lanes / 16


@dataclass(frozen=True)
class Fabric:
    """The Infinity Fabric (xGMI) links of one product. ``gbs_each_way``: GB/s of one link as rated; ``usable``: what AMD says it yields."""

    product: str
    gfx: str
    links: int | None
    gt_per_s: float | None
    gbs_each_way: float | None
    usable_gbs_each_way: float | None
    topology: str | None
    note: str
    source: str
    checked: str


@dataclass(frozen=True)
class Cache:
    """The last-level ('Infinity') cache of one product in MiB; 0 where AMD's table has none."""

    product: str
    gfx: str
    infinity_cache_mib: int
    source: str
    checked: str

    @property
    def bytes(self) -> int:
        """Its size in bytes."""
        return self.infinity_cache_mib << 20


@dataclass(frozen=True)
class Measured:
    """One collective as AMD measured it on one node. ``accept_busbw_gbps`` is AMD's own limit for a healthy node, where it names one."""

    what: str
    product: str
    ranks: int
    hosts: int
    bytes: int
    time_us: float
    algbw_gbps: float
    busbw_gbps: float
    accept_busbw_gbps: float | None
    note: str
    source: str
    checked: str


@dataclass(frozen=True)
class MatrixFigures:
    """What AMD's own bandwidth matrix shows: copies inside one device (``local``) and between two (``link``), GB/s."""

    product: str
    tool: str
    local_low_gbps: float
    local_high_gbps: float
    link_low_gbps: float
    link_high_gbps: float
    note: str
    source: str
    checked: str


@lru_cache(maxsize=1)
def _rows() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(
        (Path(__file__).parent / "links.json").read_text(encoding="utf-8")
    )
    return found


@lru_cache(maxsize=1)
def pcie() -> tuple[Pcie, ...]:
    """The generations, oldest first."""
    return tuple(Pcie(**row) for row in _rows()["pcie"])


def pcie_gbs(generation: int, lanes: int) -> float | None:
    """GB/s each way of a generation of PCI Express over so many lanes; None where the figure is not established."""
    return next((row.gbs(lanes) for row in pcie() if row.generation == generation), None)


@lru_cache(maxsize=1)
def fabrics() -> tuple[Fabric, ...]:
    """Infinity Fabric by product."""
    return tuple(Fabric(**row) for row in _rows()["fabric"])


@lru_cache(maxsize=1)
def caches() -> tuple[Cache, ...]:
    """Infinity Cache by product."""
    return tuple(Cache(**row, source=CACHE_SOURCE, checked=CACHE_CHECKED) for row in _rows()["cache"])


@lru_cache(maxsize=1)
def measured() -> tuple[Measured, ...]:
    """Collectives that AMD measured."""
    return tuple(Measured(**row) for row in _rows()["measured"])


@lru_cache(maxsize=1)
def matrices() -> tuple[MatrixFigures, ...]:
    """Bandwidth matrices that AMD published."""
    return tuple(MatrixFigures(**row) for row in _rows()["matrices"])


_MODEL = frozenset({"xt", "xtx", "gre", "48gb"})  # words that make another product of a name


def _is(product: str, asked: str) -> bool:
    """Whether a product's name as the driver or a tool writes it ('AMD Instinct MI300X OAM') means this one."""
    wanted, words = product.lower().split(), asked.lower().replace("(tm)", "").replace("™", "").split()
    if _MODEL.intersection(words) != _MODEL.intersection(wanted):
        return False
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def fabric(product: str) -> Fabric | None:
    """The links of a product by its name, None where no row is about it."""
    return next((row for row in fabrics() if _is(row.product, product)), None)


def cache(product: str) -> Cache | None:
    """The Infinity Cache of a product by its name, None where no row is about it."""
    return next((row for row in caches() if _is(row.product, product)), None)


def reference(what: str, product: str, ranks: int, hosts: int = 1) -> tuple[Measured, ...]:
    """AMD's measured rows of one collective over so many GPUs of a product, largest message first; empty where none is established."""
    rows = [
        row
        for row in measured()
        if row.what == what and row.ranks == ranks and row.hosts == hosts and _is(row.product, product)
    ]
    return tuple(sorted(rows, key=lambda row: -row.bytes))
