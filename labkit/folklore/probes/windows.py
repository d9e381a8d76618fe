"""Windows set-up: what is in AMD's wheels, what a wheel needs, and what does not exist under Windows."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from labkit.catalog import gfx, wheels
from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe

_BUILDERS = ("git", "cl", "gcc", "g++", "clang", "cc", "c++", "cmake")
# Prints which of the programs named behind it can be found, and a matrix product.
_COMPUTE = """
import shutil, sys
found = [name for name in sys.argv[1:] if shutil.which(name)]
import torch
print("found:", found, "product:", (torch.ones(3, 4) @ torch.ones(4, 5)).sum().item())
"""


@probe("1.3")
def windows_wheels_exist() -> Observation:
    """Looks up whether an index of AMD's has Windows wheels, and for how many targets."""
    indexes = [row.url for name, row in wheels.CHANNELS.items() if name.startswith("amd") and "windows" in row.systems]
    targets = wheels.amd_targets("windows")
    if not indexes or not targets:
        return Observation("holds", "The catalog has no index of AMD's with wheels for Windows.")
    return Observation(
        "deprecated",
        f"By the catalog AMD's indexes with wheels for Windows: {', '.join(map(str, indexes))}. "
        f"Its install page for ROCm 10.0.0 lists {len(targets)} targets under Windows: {', '.join(targets)}.",
    )


@probe("1.7")
def instinct_on_windows() -> Observation:
    """Looks up which Instinct, RX 6000 and RX 7000 targets AMD lists for Windows."""
    listed = set(wheels.amd_targets("windows"))
    instinct = gfx.with_products("Instinct")
    radeon = gfx.with_products("RX 6", "RX 7")
    with_windows = [row.gfx for row in instinct if row.gfx in listed]
    saw = "fails" if not with_windows else "holds" if len(with_windows) == len(instinct) else "partly"
    return Observation(
        saw,
        f"By the catalog, of {len(instinct)} targets of Instinct ({', '.join(row.gfx for row in instinct)}) AMD lists "
        f"{len(with_windows)} for Windows; of {len(radeon)} targets of RX 6000 and RX 7000 it lists "
        f"{sum(row.gfx in listed for row in radeon)}.",
    )


@probe("1.10", needs="torch")
def torch_without_compiler() -> Observation:
    """Lets a fresh Python multiply matrices where no git and no compiler can be found."""
    with tempfile.TemporaryDirectory() as empty:
        without = child.python("-c", _COMPUTE, *_BUILDERS, environment={"PATH": empty})
    line = child.last_line(without.text)
    works = without.status == 0 and "found: []" in line and "product: 60.0" in line
    if not works and child.python("-c", _COMPUTE, *_BUILDERS).status != 0:
        return Observation("broken", f"PyTorch cannot multiply here, with this machine's own PATH neither: {line}")
    here = [name for name in _BUILDERS if shutil.which(name)]
    return Observation(
        "fails" if works else "holds",
        f"With a PATH that is empty, so that none of {', '.join(_BUILDERS)} is found, a new Python says: {line} "
        f"(on this machine's own PATH: {', '.join(here) or 'none'}).",
    )


@probe("1.19", needs="windows")
def linux_tools_on_windows() -> Observation:
    """Looks for the two programs on a Windows machine."""
    found = [name for name in ("rocminfo", "rocm-smi") if shutil.which(name)]
    other = [name for name in ("hipInfo", "offload-arch") if shutil.which(name)]
    return Observation(
        "holds" if len(found) == 2 else "partly" if found else "fails",
        f"On this Windows there is {' and '.join(found) or 'neither rocminfo nor rocm-smi'}; there is "
        f"{' and '.join(other) or 'no hipInfo'}.",
    )


@probe("1.5", needs="windows")
def no_hsa_tools_on_windows() -> Observation:
    """Looks for HSA's own library and its program on a Windows machine."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    known = ("hsa-runtime64.dll", "libhsa-runtime64.dll")
    libraries = [name for name in known if any((folder / name).exists() for folder in folders)]
    tools = [name for name in ("rocminfo", "amd-smi") if shutil.which(name)]
    return Observation(
        "holds" if libraries else "fails",
        f"On this Windows the PATH has {', '.join([*libraries, *tools]) or 'no library of HSA, no rocminfo and no amd-smi'}.",
    )
