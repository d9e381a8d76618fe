from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.workshop.hub import ports
from labkit.workshop.hub.accounts import Folder


def test_a_port_that_another_program_has_is_told(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    place.private.mkdir()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"http://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(LabkitError, match="cannot have its address"):
            ports.check(place, {"JupyterHub": {"bind_url": taken}})
        with pytest.raises(LabkitError, match="runs already"):
            ports.check(place, {"JupyterHub": {"hub_bind_url": taken}})
        (place.private / "proxy.pid").write_text(str(os.getpid()))  # the hub's own proxy, which outlived it
        ports.check(place, {"JupyterHub": {"bind_url": taken}})
    (place.private / "proxy.pid").unlink()
    ports.check(place, {"JupyterHub": {"bind_url": taken, "hub_bind_url": taken}})


def test_an_address_that_is_not_this_machine_s_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match=r"192\.0\.2\.1:8000"):
        ports.check(Folder(tmp_path), {"JupyterHub": {"bind_url": "http://192.0.2.1:8000"}})
