"""A home folder that is not there, or that may not be written, must not stop JupyterLab."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# variable -> where its programs write when it is not set, and the folder of the private place
_FOLDERS = {
    "JUPYTER_CONFIG_DIR": ".jupyter",
    "JUPYTER_DATA_DIR": ".local/share/jupyter",
    "JUPYTER_RUNTIME_DIR": ".local/share/jupyter",
    "IPYTHONDIR": ".ipython",
    "MPLCONFIGDIR": ".config",
}


def private(environ: Mapping[str, str], root: Path) -> dict[str, str]:
    """Variables that lead Jupyter, IPython and matplotlib into the repository's .labkit folder; mostly none.

    Only for those whose usual place in the home folder cannot be written, and that the user did not set.
    """
    if os.name == "nt":
        return {}  # Windows names these folders itself
    home = Path(environ.get("HOME") or Path.home())
    if home.is_dir() and os.access(home, os.W_OK | os.X_OK):
        return {}
    place = root / ".labkit" / "home"
    return {
        name: str(place / name.lower())
        for name, usual in _FOLDERS.items()
        if not environ.get(name) and not os.access(home / usual, os.W_OK | os.X_OK)
    }
