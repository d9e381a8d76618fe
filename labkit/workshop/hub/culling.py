"""Runs jupyterhub-idle-culler, and ends with the hub that started it, also where that was killed.

Else the culler of a killed hub would ask for ever, beside that of the next hub.
"""

from __future__ import annotations

import os
import threading
import time


def main() -> None:
    """Takes the arguments of jupyterhub-idle-culler."""
    from jupyterhub_idle_culler import main as cull

    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    cull()


def _end_with(hub: int) -> None:
    while os.getppid() == hub:
        time.sleep(0.5)
    os._exit(0)


if __name__ == "__main__":
    main()
