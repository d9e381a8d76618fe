"""Profiles: every profiler's format read into one table, and every question asked of that table.

``read`` takes a file, a folder or several files; ``record`` makes a profile here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# name -> module that holds it; looked up late, so that a question costs no import that it does not need
_HOME = {
    "Profile": "labkit.profile.table",
    "read": "labkit.profile.readers",
    "diagnose": "labkit.profile.diagnosis",
    "record": "labkit.profile.recording",
    "watch": "labkit.profile.watching",
}
_ROOMS = ("questions", "readers", "simulate", "table")

__all__ = ["Profile", "diagnose", "questions", "read", "readers", "record", "simulate", "table", "watch"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _ROOMS:
        return import_module(f"labkit.profile.{name}")
    raise AttributeError(f"labkit.profile has no '{name}'; it has: {', '.join(sorted(__all__))}")
