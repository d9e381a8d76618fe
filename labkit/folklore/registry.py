"""Which function shows which claim, and what it needs of a machine."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from labkit.catalog.claims import Claim
from labkit.folklore.observation import Observation

# Any: a test may call the function itself, with another subject than this machine's
Function = TypeVar("Function", bound=Callable[..., Observation])


@dataclass(frozen=True)
class Probe:
    """``needs``: 'torch', 'rocm-build' (PyTorch for ROCm), 'rocm-torch' (one that sees a GPU), 'amd-gpu', 'windows',
    'module:NAME', 'tool:NAME'."""

    claim: str
    name: str  # as in the ledger: module.function
    function: Callable[..., Observation]
    needs: tuple[str, ...]


_PROBES: dict[str, Probe] = {}


def probe(claim: str, *, needs: str | Iterable[str] = ()) -> Callable[[Function], Function]:
    """Registers a function as the probe of a claim. It takes no argument that it needs, and changes nothing.

    ValueError where the claim has one already.
    """
    wanted = tuple(needs.split()) if isinstance(needs, str) else tuple(needs)

    def register(function: Function) -> Function:
        name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        if claim in _PROBES and _PROBES[claim].name != name:
            raise ValueError(f"claim {claim} has a probe already: {_PROBES[claim].name}")
        _PROBES[claim] = Probe(claim, name, function, wanted)
        return function

    return register


def find(claim: Claim) -> Probe | None:
    """The probe of a claim; None where it has none. LookupError where the ledger names one that does not exist."""
    if not claim.probe:
        return None
    import_module(f"labkit.folklore.probes.{claim.probe.split('.')[0]}")
    found = _PROBES.get(claim.id)
    if found is None or found.name != claim.probe:
        raise LookupError(f"claim {claim.id} names the probe '{claim.probe}', and there is no such function for it")
    return found


def missing(needs: Iterable[str]) -> str:
    """What of the needs this machine lacks, as a sentence's end ('needs an AMD GPU'); '' where nothing is missing."""
    for need in needs:
        kind, _, name = need.partition(":")
        if kind in ("torch", "rocm-build") and find_spec("torch") is None:
            return "needs PyTorch"
        if kind == "amd-gpu" and not (_has_kfd() or _rocm_torch()):
            return "needs an AMD GPU"
        if kind == "rocm-build" and not _rocm_build():
            return "needs PyTorch's ROCm build"
        if kind == "rocm-torch" and not _rocm_torch():
            return "needs PyTorch's ROCm build on an AMD GPU" if _has_kfd() else "needs an AMD GPU"
        if kind == "windows" and sys.platform != "win32":
            return "needs Windows"
        if kind == "module" and find_spec(name) is None:
            return f"needs the package {name}"
        if kind == "tool" and shutil.which(name) is None:
            return f"needs the program {name}"
    return ""


def _has_kfd() -> bool:
    """Whether the kernel driver offers a GPU for computing: a node of its topology with a target version (a CPU has 0)."""
    if not Path("/dev/kfd").exists():
        return False
    for node in Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties"):
        with contextlib.suppress(OSError):
            if re.search(r"^gfx_target_version [1-9]", node.read_text(encoding="utf-8"), re.MULTILINE):
                return True
    return False


def _rocm_build() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return torch.version.hip is not None


def _rocm_torch() -> bool:
    if not _rocm_build():
        return False
    import torch

    return torch.cuda.is_available()
