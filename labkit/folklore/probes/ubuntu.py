"""Ubuntu set-up: what lspci, apt-key and a star in the shell do, and what PyTorch does without packages."""

from __future__ import annotations

import fnmatch
import shutil
import tempfile
from pathlib import Path

from labkit.catalog import gfx
from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe
from labkit.machine.readers import lspci

# A recorded line: gitlab.com OpenRGB#5219.
_LINE = (
    "03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] "
    "Navi 48 [Radeon RX 9070/9070 XT/9070 GRE] (rev c0)\n"
)


@probe("2.6")
def lspci_names_a_family(line: str = _LINE) -> Observation:
    """Reads a recorded line of lspci and counts the cards that it names."""
    found = lspci.read(line)["gpus"]
    name = str(found[0]["name"]) if found else ""
    cards = name[name.find("[") + 1 : name.find("]")].split("/") if "[" in name else []
    target = gfx.by_product(name)
    saw = "partly" if len(cards) > 1 else "holds" if cards else "broken"
    return Observation(
        saw,
        f"A recorded line names '{name}': {len(cards)} cards of one chip "
        f"({target.gfx if target else 'unknown target'}). Which one it is it does not say.",
    )


@probe("2.9", needs="tool:apt")
def apt_key_is_deprecated() -> Observation:
    """Asks apt-key for its list of keys, where it still exists, and listens for its warning."""
    if shutil.which("apt-key") is None:
        return Observation(
            "deprecated",
            f"This system has apt ({child.last_line(child.tool('apt', '--version').text)}) and no apt-key any more.",
        )
    text = child.tool("apt-key", "list").text
    warned = next((line.strip() for line in text.splitlines() if "deprecated" in line), "")
    return Observation(
        "deprecated" if warned else "holds", f"apt-key says: {warned or 'nothing about being deprecated'}"
    )


@probe("2.11", needs="rocm-torch tool:dpkg-query")
def torch_without_sdk_packages() -> Observation:
    """Runs a kernel and looks whether the two packages are installed."""
    import torch

    product = (torch.ones(3, 4, device="cuda") @ torch.ones(4, 5, device="cuda")).sum().item()
    names = ("rocm-hip-sdk", "rocm-opencl-sdk")
    installed = [name for name in names if "ok installed" in child.tool("dpkg-query", "-W", "-f=${Status}", name).text]
    if installed:
        return Observation("unmet", f"needs a machine without these packages; installed here: {', '.join(installed)}")
    return Observation(
        "deprecated" if product == 60 else "broken",
        f"A product on the GPU gives {product}; of {' and '.join(names)} none is installed here.",
    )


@probe("2.12", needs="amd-gpu")
def groups_of_kfd(device: Path = Path("/dev/kfd")) -> Observation:
    """Looks which group /dev/kfd belongs to, and whether others may open it."""
    if not device.exists():
        return Observation("unmet", f"needs {device}, which only Linux has")
    try:
        group = device.group()
    except KeyError:  # in a container the host's group is a number
        return Observation("unmet", f"needs a name for the group of {device}, which this container does not know")
    mode = device.stat().st_mode & 0o777
    anyone = mode & 0o006 == 0o006
    saw = "holds" if group in ("render", "video") else "partly" if anyone else "fails"
    return Observation(
        saw, f"{device} belongs to the group '{group}', mode {mode:o}{': here everyone may open it' if anyone else ''}."
    )


# Packages that a ROCm machine has: TheRock RELEASES.md, rocm-install-on-linux, rocm-cli diagnose.rs checks 7 and 12.
_PACKAGES = ("rocm-core", "rocm-hip-sdk", "hip-dev", "hipcc", "amdgpu-dkms", "amdrocm", "amdrocm-core-sdk")


@probe("2.34")
def star_in_the_shell(pattern: str = "rocm-*") -> Observation:
    """Lets a shell expand the star in a folder with one file, and sets the pattern against the names of packages."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rocm-notes.txt").write_text("", encoding="utf-8")
        if shutil.which("sh"):
            handed = child.tool("sh", "-c", f'cd "$1" && echo purge {pattern}', "sh", folder).text.strip()
        else:
            names = sorted(path.name for path in Path(folder).glob(pattern))
            handed = f"purge {' '.join(names or [pattern])} (Python's fnmatch: there is no sh here)"
    left = [name for name in _PACKAGES if not fnmatch.fnmatch(name, pattern)]
    saw = "fails" if left or pattern not in handed else "holds"
    return Observation(
        saw,
        f"In a folder with a file rocm-notes.txt the shell hands apt: '{handed}'. And '{pattern}' "
        f"leaves, of {len(_PACKAGES)} package names, "
        f"{', '.join(left) or 'none'}.",
    )
