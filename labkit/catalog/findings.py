"""The closed list of findings: every code that a reader or the doctor may use, its severity and what it is not.

The rows stand in ``findings.json``. How a finding is proved and mended is a rule in :mod:`labkit.machine.rules`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

SEVERITIES = ("blocks", "degrades", "info")  # gravest first


@dataclass(frozen=True)
class Code:
    """One code: 'blocks' (unusable until mended), 'degrades' (slow, wrong or at risk) or 'info' (nothing to do).

    An empty ``sources`` means that no public report of it was looked up.
    """

    code: str
    severity: str
    theme: str
    meaning: str
    not_to_be_confused_with: str
    sources: tuple[str, ...]
    checked: str


@lru_cache(maxsize=1)
def codes() -> Mapping[str, Code]:
    """All codes by name, in the order of the list."""
    rows = json.loads((Path(__file__).parent / "findings.json").read_text(encoding="utf-8"))
    return {row["code"]: Code(**{**row, "sources": tuple(row["sources"])}) for row in rows}
