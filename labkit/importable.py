"""How a process that is started from here finds labkit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def python_path(environ: Mapping[str, str], root: Path = ROOT) -> str:
    """PYTHONPATH with ``root`` first, then what ``environ`` has there; no empty entry, which would mean the current folder."""
    others = [part for part in environ.get("PYTHONPATH", "").split(os.pathsep) if part and part != str(root)]
    return os.pathsep.join([str(root), *others])
