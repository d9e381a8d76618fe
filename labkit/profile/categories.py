"""What kind of work a kernel does, told by its name.

The patterns stand in ``categories.json``, in the order in which they are tried: the first that is found anywhere in the
demangled name decides. A name is a hint, not a proof: what no pattern knows is ``other``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labkit.profile.names import demangle

CATEGORIES = (
    "gemm",
    "convolution",
    "attention",
    "normalisation",
    "elementwise",
    "reduction",
    "copy",
    "communication",
    "other",
)


@dataclass(frozen=True)
class Pattern:
    """A row of the table: names that match ``pattern`` are of ``category``; ``what`` says whose names they are."""

    category: str
    pattern: re.Pattern[str]
    what: str


@lru_cache(maxsize=1)
def patterns() -> tuple[Pattern, ...]:
    """The table, in order."""
    rows = json.loads((Path(__file__).parent / "categories.json").read_text(encoding="utf-8"))
    return tuple(Pattern(row["category"], re.compile(row["pattern"]), row["what"]) for row in rows)


@lru_cache(maxsize=65_536)
def category(name: str) -> str:
    """One of CATEGORIES for a kernel's name, mangled or not."""
    written = demangle(" ".join(name.split()))
    return next((row.category for row in patterns() if row.pattern.search(written)), "other")
