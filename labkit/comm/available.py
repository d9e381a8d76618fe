"""Whether this torch has torch.distributed, and with which transport processes of one machine can talk."""

from __future__ import annotations

import os
import socket
from typing import Any

PARTS_LEFT = "what needs no second process (formulas, recorded messages, readers of RCCL's logs) still works"


def distributed_missing() -> str | None:
    """One sentence on why several processes cannot work together here; None where they can.

    Some wheels have no torch.distributed: AMD's for Windows before June 2026 (ROCm/TheRock#5694, #1179; checked
    2026-11-30)."""
    try:
        import torch
    except ImportError:
        return f"torch is not installed here, so several processes cannot work together; {PARTS_LEFT}."
    distributed = _distributed(torch)
    if distributed is None or not distributed.is_available():
        return f"torch {getattr(torch, '__version__', '')} here is built without torch.distributed; {PARTS_LEFT}."
    if not (_has(distributed, "gloo") or _has(distributed, "nccl")):
        return f"torch {torch.__version__} here has torch.distributed, but neither gloo nor NCCL/RCCL; {PARTS_LEFT}."
    return None


def backend_for(ranks: int) -> str:
    """``nccl`` (RCCL on AMD) where torch sees a GPU for each of ``ranks`` processes, else ``gloo``.

    Raises ValueError where torch has neither; ask ``distributed_missing`` first.
    """
    import torch

    distributed = _distributed(torch)
    if distributed is not None:
        if _has(distributed, "nccl") and torch.cuda.is_available() and torch.cuda.device_count() >= ranks:
            return "nccl"
        if _has(distributed, "gloo"):
            return "gloo"
    raise ValueError("this torch can move nothing between processes")


def loopback() -> str | None:
    """The name of the loopback interface ('lo', 'lo0'); None where the system does not tell it by such a name
    (Windows)."""
    try:
        names = [name for _, name in socket.if_nameindex()]
    except OSError:
        return None
    return next((name for name in names if name in ("lo", "lo0")), None)


def loopback_settings() -> dict[str, str]:
    """Environment variables that keep processes of one machine on its loopback interface.

    Without them gloo asks which address the host's name has, which fails or takes seconds on many laptops and
    containers. What is set already stays. Windows' loopback has no name that gloo knows, so nothing is set there."""
    name = loopback()
    return {"GLOO_SOCKET_IFNAME": name} if name and "GLOO_SOCKET_IFNAME" not in os.environ else {}


def _distributed(torch: Any) -> Any:
    try:
        import torch.distributed as distributed
    except (ImportError, AttributeError):
        return None
    return distributed if hasattr(distributed, "is_available") else None


def _has(distributed: Any, backend: str) -> bool:
    return bool(getattr(distributed, f"is_{backend}_available", bool)())
