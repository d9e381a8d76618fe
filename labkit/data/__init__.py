"""Data sets with provenance: MNIST, Fashion-MNIST and CIFAR-10, or stand-ins that say that they are.

    from labkit import data
    digits = data.mnist()           # never touches the network
    print(digits)                   # what it is, where it came from, under which licence
    digits.train_images             # uint8 [N, 1, 28, 28]

Looked for in this order: the folder LABKIT_DATA, labkit's cache, folders that torchvision commonly uses, a system
package, the network (only if download=True), and at last the stand-in within labkit. There is none for Fashion-MNIST:
handwritten digits under the names of clothes would be false data, so that case is an error with its remedy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from labkit.data import places, sources
from labkit.data.dataset import TITLES, Dataset, Provenance
from labkit.data.sources import DamagedFileError
from labkit.errors import LabkitError

__all__ = ["Dataset", "Provenance", "cifar10", "fashion_mnist", "load", "main", "mnist"]

_LABKIT = "py -m labkit" if sys.platform == "win32" else "python3 -m labkit"


def mnist(download: bool = False) -> Dataset:
    """MNIST: 60,000 and 10,000 grey pictures, 28x28. Its stand-in: 1,797 real handwritten digits, 8x8, upsampled."""
    return load("mnist", download)


def fashion_mnist(download: bool = False) -> Dataset:
    """Fashion-MNIST: 60,000 and 10,000 grey pictures of clothes, 28x28. No stand-in: LabkitError if it is nowhere."""
    return load("fashion_mnist", download)


def cifar10(download: bool = False) -> Dataset:
    """CIFAR-10: 50,000 and 10,000 colour pictures, 32x32. Its stand-in: 10,000 and 2,000 drawn shapes."""
    return load("cifar10", download)


def load(name: str, download: bool = False) -> Dataset:
    """The data set called 'mnist', 'fashion_mnist' or 'cifar10', from the best place that has it.

    download: fetch it into labkit's cache if it is nowhere on this machine. False never touches the network.
    Damaged files are skipped with a sentence in the provenance; in labkit's own cache they are also set aside.
    Raises LabkitError for an unknown name, and where nothing is there and no stand-in exists.
    """
    if name not in TITLES:
        raise LabkitError(f"There is no data set '{name}'.", f"Use one of: {', '.join(TITLES)}.")
    notes = [sentence] if (sentence := places.complaint()) else []
    notes += _flat(name)
    for place in places.candidates(name):
        try:
            found = sources.read(name, place.folder)
        except DamagedFileError as error:
            notes.append(_told(error, ours=place.ours))
            continue
        if found:
            return _real(name, found, f"{place.folder.resolve()} ({place.words})", notes)
        if partly := sources.incomplete(name, place.folder):
            notes.append(f"Skipped: {partly}")
    if download:
        folder = places.cache_root() / name
        try:
            notes += sources.fetch(name, folder)
            found = sources.read(name, folder)
        except DamagedFileError as error:
            notes.append(_told(error, ours=True))
        except LabkitError as error:
            notes.append(error.problem)
        else:
            if found:
                return _real(name, found, f"{folder} (downloaded just now)", notes)
    return _stand_in(name, notes, download)


def main(names: Sequence[str], fetch: bool = False) -> int:
    """Prints the card of each data set (all, if names is empty); with fetch, downloads what is missing first.

    Ends with how files are to lie in LABKIT_DATA. Returns 0, or 1 if something could not be fetched although that was
    asked, or if LABKIT_DATA names no folder.
    """
    status = 0
    for name in names or TITLES:
        try:
            dataset = load(name, download=fetch)
        except LabkitError as error:
            if name not in TITLES:
                raise
            print(f"data set  {TITLES[name]}: {error}\n")
            status = 1 if fetch else status
            continue
        print(f"{dataset}\n")
        if fetch and dataset.provenance.stand_in:
            status = 1
    print(_layout())
    return 1 if places.complaint() else status


def _flat(name: str) -> list[str]:
    """Sentences about IDX files that lie right in LABKIT_DATA, where nothing tells whose they are."""
    root = places.labkit_data()
    if root is None or name == "cifar10" or any(places.says_which(other, root) for other in places.FOLDERS):
        return []
    if partly := sources.incomplete(name, root):
        return [f"Skipped: {partly}"]
    if not sources.holds_flat_idx(root):
        return []
    notes = [
        f"Skipped: four IDX files lie flat in {root}; MNIST and Fashion-MNIST both call them so: "
        "put them in a folder named mnist or fashion_mnist there."
    ]
    try:
        sources.read(name, root)
    except DamagedFileError as error:
        notes.append(f"They are damaged as well: {error.problem}")
    return notes


def _layout() -> str:
    """What to put where, for people who bring their own files."""
    root = places.labkit_data()
    state = places.complaint() or (
        f"LABKIT_DATA is {root}." if root else "LABKIT_DATA is not set; it may name a folder."
    )
    width = max(len(title) for title in TITLES.values())
    rows = [f"  {title:<{width}}  {sources.layout(name)}" for name, title in TITLES.items()]
    return "\n".join(["files     " + state, "In that folder a data set is looked for as:", *rows])


def _told(error: DamagedFileError, ours: bool) -> str:
    """A sentence about a damaged file; one in labkit's own cache is renamed, so that the next fetch replaces it."""
    if not ours:
        return f"Skipped: {error.problem}"
    aside = error.path.with_name(f"{error.path.name}.damaged")
    try:
        error.path.replace(aside)
    except OSError:
        return f"Skipped: {error.problem}"
    return f"Set aside as {aside.name}: {error.problem}"


def _real(name: str, found: sources.Found, source: str, notes: list[str]) -> Dataset:
    return _dataset(
        name,
        found.arrays,
        sources.CLASSES[name],
        Provenance(source, found.checksum, sources.LICENCES[name], stand_in=False, note=" ".join(notes)),
    )


def _stand_in(name: str, notes: list[str], download: bool) -> Dataset:
    if not download:
        notes.append(f"No copy was found on this machine; '{_LABKIT} data --fetch' downloads one.")
    if name == "mnist":
        from labkit.data import digits

        train, train_labels, test, test_labels = digits.digits()
        arrays = (train[:, None], train_labels, test[:, None], test_labels)
        return _dataset(
            name,
            arrays,
            sources.CLASSES[name],
            Provenance(
                source="embedded: 1,797 real handwritten digits of 8x8 pixels (UCI, by way of scikit-learn), enlarged",
                checksum=f"sha256 {digits.SHA256[:16]}... of the embedded file",
                licence=digits.LICENCE,
                stand_in=True,
                note=" ".join(notes),
            ),
            "8x8 digits, upsampled",
        )
    if name == "cifar10":
        from labkit.data import shapes

        arrays = shapes.pictures()
        return _dataset(
            name,
            arrays,
            shapes.CLASSES,
            Provenance(
                source=f"drawn by labkit just now, from seed {shapes.SEED}",
                checksum=f"sha256 {shapes.checksum(*arrays)[:16]}... of the drawn pictures",
                licence="MIT, as labkit",
                stand_in=True,
                note=" ".join(notes),
            ),
            "drawn shapes",
        )
    raise LabkitError(
        f"{TITLES[name]} is not on this machine, and there is no stand-in for it. {' '.join(notes)}".strip(),
        "On Debian and Ubuntu: sudo apt install dataset-fashion-mnist. Anywhere, with a network: download=True, or "
        f"{_LABKIT} data fashion_mnist --fetch. Or name a folder that has it in LABKIT_DATA.",
    )


def _dataset(
    name: str,
    arrays: tuple[Any, Any, Any, Any],
    classes: tuple[str, ...],
    provenance: Provenance,
    stand_in_words: str = "",
) -> Dataset:
    import torch

    train_images, train_labels, test_images, test_labels = (torch.from_numpy(array) for array in arrays)
    return Dataset(name, train_images, train_labels, test_images, test_labels, classes, provenance, stand_in_words)
