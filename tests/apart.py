"""Work in a thread of its own: after a browser's test, the tests' thread has an event loop that runs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Answer = TypeVar("Answer")


def apart(work: Callable[[], Answer]) -> Answer:
    """What ``work`` answers, or the error that it raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
