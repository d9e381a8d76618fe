"""Processes that a test started, and whether they are gone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest

from labkit.comm.available import distributed_missing
from labkit.comm.sources import module_from


@pytest.fixture
def work() -> ModuleType:
    if distributed_missing():
        pytest.skip("this torch has no distributed")
    return module_from(Path(__file__).with_name("ranks_work.py"))


@pytest.fixture
def gone() -> Callable[[Iterable[int]], list[int]]:
    """Waits for processes to end; gives those that did not within 20 s."""
    psutil = pytest.importorskip("psutil")

    def lives(number: int) -> bool:
        try:
            return bool(psutil.Process(number).status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def wait(numbers: Iterable[int]) -> list[int]:
        left = list(numbers)
        deadline = time.monotonic() + 20
        while left and time.monotonic() < deadline:
            left = [number for number in left if lives(number)]
            time.sleep(0.05)
        return left

    return wait


@pytest.fixture
def appears() -> Callable[..., list[str]]:
    """Waits for files and gives their text."""

    def wait(*files: Path, seconds: float = 90) -> list[str]:
        deadline = time.monotonic() + seconds
        while not all(file.exists() for file in files):
            assert time.monotonic() < deadline, f"not there: {[str(file) for file in files if not file.exists()]}"
            time.sleep(0.05)
        return [file.read_text(encoding="ascii") for file in files]

    return wait


@pytest.fixture
def nameless() -> list[str]:
    """How a command begins that shall run where the host has a name that nothing resolves: in a name space of its own."""
    if sys.platform != "linux":
        pytest.skip("unshare is Linux's")
    inside = ["unshare", "--uts", "sh", "-c", 'hostname no-such-host-anywhere && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("no right to make a name space")
    asked = [sys.executable, "-c", "import socket; socket.getaddrinfo(socket.gethostname(), None)"]
    assert subprocess.run([*inside, *asked], capture_output=True).returncode, "the name must not resolve here"
    return inside
