"""Pre-trained weights: where they may be had, whether the file is the published one, and a loader that runs no program.

A file of weights is a pickle within a zip file, and a pickle is a program. ``load`` reads it with
``torch.load(weights_only=True)``, whose reader builds tensors and plain containers and refuses every other instruction. Before that
the file's SHA-256 is compared with the beginning that its own name carries: ``resnet50-11ad3fa6.pth`` is how torchvision names a file
whose SHA-256 begins with 11ad3fa6. Eight digits find a broken or mistaken file; against a forger they are weak, and the
safe reader is what protects then.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.data import places
from labkit.errors import LabkitError

if TYPE_CHECKING:
    import torch
    from torch import nn

BASE = "https://download.pytorch.org/models/"
_NAMED = re.compile(r"-([0-9a-f]{8,64})\.(?:pth|pt)$")
_ASKS = re.compile(r"GLOBAL ([\w.]+)")
_REMEDY = "Delete it and fetch it again (download = True), or name a good copy."


@dataclass(frozen=True)
class Published:
    """Weights that torchvision publishes. accuracy: top-1 on ImageNet in per cent, as torchvision states (``_metrics``).

    enum: the name to pass to torchvision as ``weights=``. mb: size of the file in MB.
    """

    model: str
    enum: str
    file: str
    mb: float
    accuracy: float
    source: str = "torchvision.models.resnet, meta of the weights (checked 2026-11-30, torchvision 0.29)"
    licence: str = "BSD-3 (torchvision); ImageNet's pictures have terms of their own"

    @property
    def url(self) -> str:
        """Where torchvision itself fetches the file."""
        return BASE + self.file


PUBLISHED = {
    "resnet18": Published("resnet18", "ResNet18_Weights.IMAGENET1K_V1", "resnet18-f37072fd.pth", 44.7, 69.758),
    "resnet50": Published("resnet50", "ResNet50_Weights.IMAGENET1K_V2", "resnet50-11ad3fa6.pth", 97.8, 80.858),
}


@dataclass(frozen=True)
class Weights:
    """A file that has been checked. sha256: of its bytes, 64 digits. source: where it was found. note: what was skipped."""

    path: Path
    sha256: str
    source: str
    note: str = ""

    def __str__(self) -> str:
        text = f"{self.path.name} from {self.source}; sha256 {self.sha256[:16]}... begins as the file's name says"
        return f"{text}. {self.note}" if self.note else text


def promised(path: str | Path) -> str:
    """The beginning of the SHA-256 that a file's name carries, at least 8 hexadecimal digits; '' where it carries none."""
    found = _NAMED.search(Path(path).name)
    return found.group(1) if found else ""


def sha256(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def verify(path: str | Path) -> str:
    """The file's SHA-256. Raises LabkitError if it is not there, its name carries no sum, or the sum is another one."""
    path = Path(path).expanduser()
    beginning = promised(path)
    if not beginning:
        raise LabkitError(
            f"The name of {path.name} carries no checksum.",
            "Use the name under which it was published, for example resnet50-11ad3fa6.pth.",
        )
    try:
        found = sha256(path)
    except FileNotFoundError:
        raise LabkitError(
            f"There is no file {path}.", "Check the path; in a notebook it counts from the notebook's folder."
        ) from None
    except OSError as error:
        raise LabkitError(f"{path} cannot be read: {error.strerror}.", _REMEDY) from None
    if not found.startswith(beginning):
        raise LabkitError(
            f"{path.name} is damaged or another file: its SHA-256 begins with {found[:8]}, its name says {beginning[:8]}.",
            _REMEDY,
        )
    return found


def folders() -> Iterator[tuple[Path, str]]:
    """Folders that may hold weights, best first, each with whose it is."""
    root = places.labkit_data()
    if root is not None:
        yield root, "LABKIT_DATA"
        yield root / "weights", "LABKIT_DATA"
    yield places.cache_root() / "weights", "labkit's cache"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    home = os.environ.get("TORCH_HOME") or Path(cache) / "torch"
    yield Path(home).expanduser() / "hub" / "checkpoints", "torch.hub's cache"


def find(model: str = "resnet50", download: bool = False) -> Weights | None:
    """The published weights of ``model`` ('resnet18' or 'resnet50'), checked; None where they are nowhere.

    A damaged copy is skipped, with a sentence in ``note``. download: fetch them into labkit's cache if they are nowhere; False
    never touches the network. Raises LabkitError for another model, where the fetch fails, and where only damaged copies are there.
    """
    if model not in PUBLISHED:
        raise LabkitError(f"No weights are listed for '{model}'.", f"Listed are: {', '.join(PUBLISHED)}.")
    published = PUBLISHED[model]
    notes: list[str] = []
    for folder, words in folders():
        path = folder / published.file
        if path.is_file():
            try:
                return Weights(path, verify(path), f"{folder} ({words})", " ".join(notes))
            except LabkitError as error:
                notes.append(f"Skipped: {error.problem}")
    if not download:
        if notes:
            raise LabkitError(" ".join(notes), _REMEDY)
        return None
    from labkit.data.download import fetch

    target = places.cache_root() / "weights" / published.file
    notes += fetch([published.url], target, f"sha256:{promised(target)}", size_limit_bytes=400 << 20)
    return Weights(target, verify(target), f"{published.url}, downloaded just now", " ".join(notes))


def read(path: str | Path) -> dict[str, torch.Tensor]:
    """The tensors of a checked file by name, on the CPU, without running anything in it.

    Raises LabkitError as ``verify`` does, and where the file holds anything but a mapping of names to tensors.
    """
    path = Path(path).expanduser()
    verify(path)
    return _tensors(path)


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the pickle protocol of a file that is refused anyway
            found: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # UnpicklingError, RuntimeError, EOFError, KeyError: whatever the bytes provoke
        raise LabkitError(
            f"{path.name} cannot be read as weights alone: {_why(str(error))}.",
            "Do not turn the safe reader off. Take the file from where it was published.",
        ) from None
    if not isinstance(found, dict) or not all(isinstance(v, torch.Tensor) for v in found.values()) or not found:
        inside = (
            ", ".join(map(str, list(found)[:6]))[:120] if isinstance(found, dict) and found else type(found).__name__
        )
        raise LabkitError(
            f"{path.name} holds no mapping of names to tensors, but: {inside}.",
            "Save the state_dict alone, torch.save(model.state_dict(), path), or take the published file.",
        )
    return dict(found)


def _why(said: str) -> str:
    """Half a sentence for what torch's safe reader said. Its own words tell people how to turn it off."""
    asks = _ASKS.search(said)
    if asks:
        return f"it wants to call or build {asks.group(1)[:80]}, which is no tensor"
    return "it is damaged, cut off, or no file of weights"


def load(path: str | Path, model: nn.Module) -> nn.Module:
    """Puts the tensors of a checked file into ``model`` (all names and shapes must fit) and returns it, in eval() mode.

    Raises LabkitError as ``read`` does, and for weights of another model.
    """
    tensors = read(path)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        first = str(error).strip().splitlines()
        raise LabkitError(
            f"{Path(path).name} does not fit this {type(model).__name__}: {' '.join(first[1:2])[:200].strip()}",
            "Build the model that the weights were made for, load them, and only then replace its head.",
        ) from None
    return model.eval()
