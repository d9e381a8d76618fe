"""The folders in which data sets are looked for, in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SYSTEM_ROOTS: tuple[Path, ...] = (Path("/usr/share/datasets"), Path("/usr/local/share/datasets"))

# What each data set's own folder is called: labkit's cache, torchvision, Debian's package, and what people write.
FOLDERS = {
    "mnist": ("mnist", "MNIST/raw", "MNIST"),
    "fashion_mnist": ("fashion_mnist", "FashionMNIST/raw", "fashion-mnist", "FashionMNIST"),
    "cifar10": ("cifar10", "", "cifar-10", "CIFAR10"),  # "": torchvision puts CIFAR-10 straight into its root
}


@dataclass(frozen=True)
class Place:
    """A folder that may hold a data set. words: whose it is. ours: labkit may set damaged files aside in it."""

    folder: Path
    words: str
    ours: bool = False


def cache_root(
    environment: Mapping[str, str] | None = None, system: str = sys.platform, home: Path | None = None
) -> Path:
    """labkit's own cache folder (it need not exist): LABKIT_CACHE, or where this system keeps caches."""
    environment = os.environ if environment is None else environment
    if environment.get("LABKIT_CACHE"):
        return Path(environment["LABKIT_CACHE"]).expanduser()
    home = Path.home() if home is None else home
    if system == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "labkit" / "cache"
    if system == "darwin":
        return home / "Library" / "Caches" / "labkit"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "labkit"


def torchvision_roots(environment: Mapping[str, str] | None = None, home: Path | None = None) -> tuple[Path, ...]:
    """Folders that people commonly pass to torchvision as root; torchvision itself has no default."""
    environment = os.environ if environment is None else environment
    home = Path.home() if home is None else home
    torch_home = environment.get("TORCH_HOME") or Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "torch"
    return (
        Path("data"),
        Path("..", "data"),
        Path("datasets"),
        home / "data",
        home / "datasets",
        Path(torch_home, "datasets"),
    )


def labkit_data(environment: Mapping[str, str] | None = None) -> Path | None:
    """The folder that LABKIT_DATA names, whether it exists or not; None where it is not set."""
    named = (os.environ if environment is None else environment).get("LABKIT_DATA")
    return Path(named).expanduser() if named else None


def complaint() -> str:
    """A sentence about a LABKIT_DATA that names no folder; '' where it is not set or is one."""
    root = labkit_data()
    if root is None or root.is_dir():
        return ""
    what = "is not a folder" if os.path.lexists(root) else "does not exist"
    return f"LABKIT_DATA names {root}, which {what}."


def says_which(name: str, root: Path) -> bool:
    """Whether a folder's own name tells that its files are those of data set `name`."""
    return root.name.lower() in {folder.lower() for folder in FOLDERS[name] if folder}


def candidates(name: str) -> Iterator[Place]:
    """Every folder that may hold data set `name`, best first."""
    root = labkit_data()
    if root is not None:
        yield from _within(name, root, "LABKIT_DATA")
        # MNIST and Fashion-MNIST use the same file names, so files right in LABKIT_DATA count only if its name says which
        if name != "cifar10" and says_which(name, root):
            yield Place(root, "LABKIT_DATA")
    yield Place(cache_root() / name, "labkit's cache", ours=True)
    for root in torchvision_roots():
        yield from _within(name, root, "a folder that torchvision uses")
    for root in SYSTEM_ROOTS:
        yield from _within(name, root, "a system package")


def _within(name: str, root: Path, words: str) -> Iterator[Place]:
    for folder in FOLDERS[name]:
        yield Place(root / folder, words)
