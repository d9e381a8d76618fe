"""Can the hub have its ports? Asked before JupyterHub starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from labkit.course import lab
from labkit.errors import LabkitError
from labkit.workshop.hub.accounts import Folder


def check(place: Folder, settings: Mapping[str, Any]) -> None:
    """Says that the hub runs already, or that another program has its port. JupyterHub itself would end the running proxy in the
    first case, and in the second call itself running although browsers reach the other program. Raises LabkitError."""
    hub = settings.get("JupyterHub", {})
    inner = _taken(hub.get("hub_bind_url", ""))
    if inner:
        raise LabkitError(
            f"This hub runs already, or another program has its inner port: {inner}.",
            f"look with `ss -ltnp`; another port is hub_bind_url in {place.config}.",
        )
    outer = _taken(hub.get("bind_url", ""))
    if outer and not _lives(place.private / "proxy.pid"):  # a proxy that outlived its hub is ours
        raise LabkitError(
            f"The hub cannot have its address: {outer}.",
            f"end the program that has it (`ss -ltnp` names it), or change bind_url in {place.config}.",
        )


def _taken(url: str) -> str:
    """The address and why no server can listen there now; empty where one can."""
    parts = urlsplit(url)
    if parts.hostname is None or parts.port is None:
        return ""
    why = lab.taken(parts.hostname, parts.port)
    return why and f"{parts.hostname}:{parts.port}, {why}"


def _lives(pid_file: Path) -> bool:
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (OSError, ValueError):
        return False
    return True
