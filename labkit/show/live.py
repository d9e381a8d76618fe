"""Is anyone watching? A live front end gets moving pictures, a headless run only the final ones."""

from __future__ import annotations

import os
import sys


def watched() -> bool:
    """True where a person has the notebook open (JupyterLab, VS Code), False under papermill, nbval or plain Python.

    Front ends name the cell that they send (``cellId`` in the message's metadata); nbclient and nbval do not. The
    environment variable LABKIT_LIVE (1 or 0) decides instead where it is set.
    """
    wanted = os.environ.get("LABKIT_LIVE", "")
    if wanted in ("0", "1"):
        return wanted == "1"
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    kernel = getattr(shell, "kernel", None)
    try:
        return bool(kernel.get_parent("shell")["metadata"].get("cellId"))  # type: ignore[union-attr]
    except Exception:  # no kernel, or one that speaks another dialect: then nothing moves, and nothing is lost
        return False


def in_notebook() -> bool:
    """True inside an IPython kernel, watched or not: there ``display`` shows pictures."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
