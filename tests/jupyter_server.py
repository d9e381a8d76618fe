"""A real Jupyter server on a free port, with folders of its own. It is always ended."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

_START_S = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def private(environ: Mapping[str, str], base: Path) -> dict[str, str]:
    """These variables, with Jupyter's own folders below ``base`` and the token left to the command line."""
    made = {
        **environ,
        **{f"JUPYTER_{name}": str(base / name.lower()) for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")},
    }
    made.pop("JUPYTER_TOKEN", None)
    return made


@contextlib.contextmanager
def running(
    command: Sequence[str], *, folder: Path, environ: Mapping[str, str], url: str, token: str, log: Path
) -> Iterator[None]:
    """The server of this command, from when it answers at ``url``; ended with every kernel that it started."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
        )
    try:
        _wait(process, f"{url}/api/status?token={token}", log)
        yield
    finally:
        _end(process)


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Waits until the server answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    limit = time.monotonic() + _START_S
    while time.monotonic() < limit:
        if process.poll() is not None:
            break
        with (
            contextlib.suppress(urllib.error.URLError, OSError),
            opener.open(address, timeout=5) as answer,
        ):
            if answer.status == 200:
                return
        time.sleep(0.2)
    pytest.fail(f"Jupyter did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the server with every kernel that it started."""
    import psutil

    family: list[Any] = []
    with contextlib.suppress(psutil.Error):
        family = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child in family:
        with contextlib.suppress(psutil.Error):
            child.kill()
