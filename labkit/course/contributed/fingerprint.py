"""Which text of a lesson was executed: a short fingerprint of its cells, the same before and after the execution."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.course import form


def of(notebook: Mapping[str, Any]) -> str:
    """Four groups of four hexadecimal digits: of kind, tags and source of all cells that were committed.

    Outputs, counts and cells that papermill added do not count. Raises ValueError for what is no notebook.
    """
    try:
        cells = [
            [cell["cell_type"], sorted(map(str, _tags(cell))), "".join(cell["source"]).strip()]
            for cell in notebook["cells"]
            if not {form.INJECTED, form.BANNER} & set(_tags(cell))
        ]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("not a notebook") from None
    digits = hashlib.sha256(json.dumps(cells, ensure_ascii=True).encode()).hexdigest()
    return "-".join(digits[at : at + 4] for at in range(0, 16, 4))


def _tags(cell: Mapping[str, Any]) -> list[Any]:
    return list(cell.get("metadata", {}).get("tags", []))


def read(path: Path) -> str | None:
    """The fingerprint of a notebook's file; None where there is none, or it cannot be read as a notebook."""
    try:
        return of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return None
