"""labkit: what the notebooks of ROCm Labs need beside PyTorch itself.

Names are looked up when they are first used, so that ``import labkit`` costs next to nothing and works where torch is
missing or broken.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# name in a notebook -> module that holds it
_HOME = {
    "device": "labkit.devices",
    "describe": "labkit.devices",
    "smoke_test": "labkit.devices",
    "benchmark": "labkit.timing",
    "compare": "labkit.timing",
    "doctor": "labkit.show.diagnosis",
    "check": "labkit.learn",
    "hint": "labkit.learn",
    "solution": "labkit.learn",
    "progress": "labkit.learn",
    "quiz": "labkit.learn",
    "predict": "labkit.show",
    "LabkitError": "labkit.errors",
}
_ROOMS = (
    "catalog",
    "comm",
    "course",
    "data",
    "devices",
    "errors",
    "folklore",
    "learn",
    "machine",
    "memory",
    "profile",
    "setup",
    "show",
    "threads",
    "timing",
)

__all__ = [*_HOME, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _ROOMS:
        return import_module(f"labkit.{name}")
    raise AttributeError(f"labkit has no '{name}'; it has: {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
