"""The hub is for Linux only. On other systems just test_elsewhere.py runs, and the pages' tests."""

from __future__ import annotations

import sys

_NEED_LINUX = [
    "accounts",
    "auth",
    "command",
    "copies",
    "gpus",
    "hub_real",
    "leases",
    "limits",
    "ports",
    "progress",
    "thirty",
]

collect_ignore = [] if sys.platform == "linux" else [f"test_{name}.py" for name in _NEED_LINUX]
