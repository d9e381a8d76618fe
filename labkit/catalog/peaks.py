"""Theoretical peaks of GPUs, for rooflines. A peak is a ceiling, never a grade: real programs reach a part of it.

The rows stand in ``peaks.json``, each with its method, confidence, sources and the day it was checked. All figures are
dense (no sparsity).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, overload


@dataclass(frozen=True)
class Peak:
    """One product. Rates in TFLOP/s, bandwidth in 10^9 bytes per second; None where the unit does not exist."""

    product: str
    gfx: str
    compute_units: int
    clock_mhz: int
    fp32_vector_tflops: float
    fp32_matrix_tflops: float | None
    fp16_matrix_dense_tflops: float | None
    bf16_matrix_dense_tflops: float | None
    mem_bw_gbs: float
    vram_gib: float | None
    ridge_fp32_flop_per_byte: float
    ridge_fp16_flop_per_byte: float | None
    method: str
    confidence: str
    note: str
    sources: tuple[str, ...]
    checked: str
    fp16_achievable_tflops: float | None = None  # AMD's own 'max achievable' figure, where it publishes one
    bf16_achievable_tflops: float | None = None


@lru_cache(maxsize=1)
def _read() -> tuple[Peak, ...]:
    rows = json.loads((Path(__file__).parent / "peaks.json").read_text(encoding="utf-8"))
    return tuple(Peak(**{**row, "sources": tuple(row["sources"])}) for row in rows)


class _Peaks(Sequence[Peak]):
    """The table as a sequence, read from its file on first use."""

    @overload
    def __getitem__(self, at: int) -> Peak: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Peak, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        return _read()[at]

    def __len__(self) -> int:
        return len(_read())

    def __iter__(self) -> Iterator[Peak]:
        return iter(_read())


PEAKS: Sequence[Peak] = _Peaks()


def peak(product_or_gfx: str | None) -> Peak | None:
    """The row of a product (``'AMD Radeon RX 7900 XTX'``), or of a target that only one product of the table has.

    A target with several products (gfx1100) gives None: their peaks differ, so ask ``peaks_for`` or name the product.
    """
    if not product_or_gfx:
        return None
    wanted = _words(product_or_gfx)
    for row in PEAKS:
        if _words(row.product) == wanted or _words(re.sub(r"\(.*?\)", "", row.product)) == wanted:
            return row
        inner = re.search(r"\((Radeon .*?)\)", row.product)
        if inner and _words(inner.group(1)) == wanted:
            return row
    rows = peaks_for(product_or_gfx)
    return rows[0] if len(rows) == 1 else None


def peaks_for(gfx: str | None) -> tuple[Peak, ...]:
    """All rows of a target."""
    name = (gfx or "").strip().split(":")[0].lower()
    return tuple(row for row in PEAKS if row.gfx == name)


def _words(text: str) -> tuple[str, ...]:
    text = re.sub(r"\((?:tm|r)\)|[®™]", " ", text.lower())
    return tuple(word for word in re.findall(r"[a-z0-9+]+", text) if word not in ("amd", "graphics"))
