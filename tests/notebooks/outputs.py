"""What an executed lesson showed."""

from __future__ import annotations

from typing import Any


def shown(notebook: dict[str, Any]) -> str:
    """Everything that the code cells printed or displayed, as text."""
    told = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            told.append("".join(output.get("text") or data.get("text/markdown") or data.get("text/plain") or ""))
    return "\n".join(told)
