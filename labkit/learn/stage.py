"""Where the learner's code runs: in a kernel or not, and whether a person looks on."""

from __future__ import annotations

import sys
from typing import Any


def shell() -> Any:
    """IPython's shell, where this process has one; IPython is not imported for the question."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def in_kernel() -> bool:
    """True inside a notebook's kernel."""
    return getattr(shell(), "kernel", None) is not None


def watched() -> bool:
    """True where a person has the notebook open and widgets can be used (``labkit.show.live`` decides)."""
    from labkit.show import live

    return live.watched()
