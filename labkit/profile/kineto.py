"""torch.profiler's library writes notes to developers on the error stream; here they are kept out of a learner's notebook."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_LEVEL = "KINETO_LOG_LEVEL"


@contextmanager
def quiet() -> Iterator[None]:
    """No notes while a profiler runs in the block, unless somebody set their level.

    The library asks for the level once, when a process first profiles: what was loud before stays loud.
    """
    if _LEVEL in os.environ:
        yield
        return
    os.environ[_LEVEL] = "99"
    try:
        yield
    finally:
        os.environ.pop(_LEVEL, None)
