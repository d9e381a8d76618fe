"""Wheels and versions: what pip chooses, and what the tables of the indexes say."""

from __future__ import annotations

import re
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from labkit.catalog import gfx, wheels
from labkit.folklore import indexes
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe

_TAGS = {"linux": "manylinux_2_28_x86_64", "windows": "win_amd64"}


@probe("1.9")
def python_versions(requires: str | None = None) -> Observation:
    """Sets 3.8 to 3.11 against what the wheel that is installed asks for, or the catalog where none is."""
    first, last = wheels.CHANNELS["pytorch-rocm"].pythons
    asked = ""
    if requires is None:
        try:
            requires = metadata.metadata("torch")["Requires-Python"] or ""
            asked = f"torch {metadata.version('torch')}, which is installed here, says 'Requires-Python: {requires}'. "
        except metadata.PackageNotFoundError:
            requires = ""
    lowest = re.search(r">=\s*3\.(\d+)", requires or "")
    if lowest:
        first = int(lowest.group(1))
    claimed, real = set(range(8, 12)), set(range(first, last + 1))
    saw = "holds" if claimed == real else "deprecated" if claimed & real else "fails"
    return Observation(
        saw,
        f"{asked}Wheels are for Python 3.{first} to 3.{last}. Of the claimed versions "
        f"{_minors(claimed - real) or 'none'} find no wheel, and {_minors(real - claimed) or 'none'} are missing from the claim.",
    )


def _minors(numbers: set[int]) -> str:
    return ", ".join(f"3.{number}" for number in sorted(numbers))


@probe("1.15", needs="module:pip")
def windows_from_pytorch_index() -> Observation:
    """Lets pip choose from a local index with the systems that PyTorch's ROCm channel has, once as Linux, once as Windows."""
    systems = wheels.CHANNELS["pytorch-rocm"].systems
    files = [f"torch-2.6.0+rocm6.1-cp311-cp311-{_TAGS[system]}.whl" for system in systems]
    with tempfile.TemporaryDirectory() as folder:
        index = indexes.make(Path(folder) / "rocm6.1", "torch", files)
        chosen = {system: indexes.choose(Path(folder), "torch", index, platform=tag) for system, tag in _TAGS.items()}
    saw = "holds" if chosen["windows"].version else "fails" if chosen["linux"].version else "broken"
    return Observation(
        saw,
        f"A local index with wheels for {' and '.join(systems)}, as PyTorch's ROCm index has. pip as Linux takes "
        f"{chosen['linux'].version}. pip as Windows: {chosen['windows'].version or chosen['windows'].said}",
    )


@probe("1.16")
def last_torch_of_rocm61() -> Observation:
    """Looks up which torch versions the rocm6.1 index got, and which indexes the newest established one has."""
    known = [row for row in wheels.TORCH_INDEXES if row.established]
    carried = [row.torch for row in known if "rocm6.1" in row.indexes]
    newest = known[-1]
    saw = "holds" if "rocm6.1" in newest.indexes else "deprecated" if carried else "fails"
    return Observation(
        saw,
        f"By the catalog the rocm6.1 index has torch {', '.join(carried) or '(none)'}. "
        f"torch {newest.torch} is in {', '.join(newest.indexes)}.",
    )


@probe("1.48")
def indexes_in_use() -> Observation:
    """Asks whether '6.1 or newer' still divides the indexes that a current torch comes from."""
    usable = wheels.usable_rocm_indexes()
    below = [name for name in usable if wheels.version(name[4:]) < (6, 1)]
    oldest = min(usable, key=lambda name: wheels.version(name[4:]))
    saw = "holds" if below or oldest == "rocm6.1" else "deprecated"
    newest = [row.torch for row in wheels.TORCH_INDEXES if row.established][-1]
    return Observation(
        saw,
        f"By the catalog torch 2.10 to {newest} come from {', '.join(usable)}. "
        f"The oldest of them is {oldest}, so '6.1 or newer' chooses nothing.",
    )


@probe("1.49", needs="rocm-torch")
def where_rocm_is_loaded_from() -> Observation:
    """Runs a kernel and looks where the HIP library in this process comes from."""
    import torch

    (torch.ones(8, device="cuda") * 2).sum().item()
    maps = Path("/proc/self/maps")
    text = maps.read_text(encoding="utf-8", errors="replace") if maps.exists() else ""
    loaded = sorted(set(re.findall(r"\S*libamdhip64\S*", text)))
    inside = [path for path in loaded if "site-packages" in path or path.startswith(sys.prefix)]
    version = Path("/opt/rocm/.info/version")
    installed = version.read_text(encoding="utf-8").strip() if version.exists() else "none in /opt/rocm"
    return Observation(
        "partly" if inside else "holds" if loaded else "broken",
        f"PyTorch was built for HIP {torch.version.hip}, ROCm installed here: {installed}. Loaded: {', '.join(loaded) or 'not visible'}.",
    )


@probe("2.15", needs="module:pip")
def extra_index_chooses(elsewhere: str = "2.15.0") -> Observation:
    """Lets pip choose between two local indexes, with --extra-index-url and with --index-url."""
    rocm_wheel, plain_wheel = "torch-2.0.1+rocm5.4.2-py3-none-any.whl", f"torch-{elsewhere}-py3-none-any.whl"
    with tempfile.TemporaryDirectory() as folder:
        default = indexes.make(Path(folder) / "default", "torch", [plain_wheel])
        rocm = indexes.make(Path(folder) / "rocm5.4.2", "torch", [rocm_wheel])
        extra = indexes.choose(Path(folder), "torch", default, extra=rocm)
        alone = indexes.choose(Path(folder), "torch", rocm)
    carried = [row.torch for row in wheels.TORCH_INDEXES if "rocm5.4.2" in row.indexes]
    has_gfx1100 = "rocm5.4.2" in gfx.TARGETS["gfx1100"].pytorch_indexes
    saw = "holds" if "+rocm" in (extra.version or "") else "fails" if "+rocm" in (alone.version or "") else "broken"
    return Observation(
        saw,
        f"Two local indexes, one with torch {elsewhere}, one with 2.0.1+rocm5.4.2. With --extra-index-url pip "
        f"takes {extra.version or extra.said}; "
        f"with --index-url alone {alone.version or alone.said}. By the catalog rocm5.4.2 has torch {', '.join(carried)}, "
        f"{'with' if has_gfx1100 else 'without'} gfx1100.",
    )


@probe("2.33")
def rocm_of_torch_20() -> Observation:
    """Looks up the lowest ROCm index that torch 2.0 was published in."""
    found = wheels.indexes_for("2.0.0")
    lowest = min(found, key=lambda name: wheels.version(name[4:]))
    saw = "fails" if wheels.version(lowest[4:])[:2] < (5, 4) else "holds"
    return Observation(saw, f"By the catalog torch 2.0 came in {' and '.join(found)}; the lowest is {lowest}.")
