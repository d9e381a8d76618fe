"""What each data set's files are called, what they must contain, and where they can be fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labkit.data import cifar, download
from labkit.data.idx import read_idx
from labkit.errors import LabkitError

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
_Reader = Callable[[bytes, str], tuple[np.ndarray, np.ndarray]]


class DamagedFileError(LabkitError):
    """A file of a data set is there but is not what it should be."""

    def __init__(self, path: Path, cause: LabkitError) -> None:
        super().__init__(cause.problem, cause.remedy)
        self.path = path


@dataclass(frozen=True)
class Found:
    """What was read: uint8 [N, C, H, W] and int64 [N], for training and for testing, and the checksum that agreed."""

    arrays: Arrays
    checksum: str | None


# MD5 sums: torchvision 0.29.1, datasets/mnist.py (MNIST.resources, FashionMNIST.resources), read 2026-11-30.
# SHA-256 sums: the same pictures as Debian's package dataset-fashion-mnist 0.0~git20200523.55506a9-1 compresses them.
_IDX_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_MD5 = {
    "mnist": (
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
    "fashion_mnist": (
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
}
_DEBIAN_SHA256 = {
    "fashion_mnist": (
        "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
        "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
        "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
        "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
    ),
}
# Mirrors: torchvision's own first, then those of CVDF (MNIST), of Keras and of the authors' repository (Fashion-MNIST).
MIRRORS = {
    "mnist": ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    "fashion_mnist": (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ),
    "cifar10": (
        "https://www.cs.toronto.edu/~kriz/",
        "https://cave.cs.toronto.edu/kriz/",
        "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/",
    ),
}
LICENCES = {
    "mnist": "CC BY-SA 3.0, copyright Y. LeCun and C. Cortes (as Keras' documentation states it)",
    "fashion_mnist": "MIT, copyright 2017 Zalando SE",
    "cifar10": "none stated; its author asks to cite A. Krizhevsky, Learning Multiple Layers of Features, 2009",
}
CLASSES = {
    "mnist": ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
    "fashion_mnist": (
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ),
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
}

# The author's page (www.cs.toronto.edu/~kriz/cifar.html) gives both sums; torchvision 0.29.1 has the second one too.
_BINARY_ARCHIVE, _BINARY_SUM = "cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530"
_PYTHON_ARCHIVE, _PYTHON_SUM = "cifar-10-python.tar.gz", "md5:c58f30108f718f92721af3b95e74349a"
# MD5 sums of the single Python batches: torchvision 0.29.1, datasets/cifar.py.
_PYTHON_SUMS = {
    "data_batch_1": "md5:c99cafc152244af753f735de768cd75f",
    "data_batch_2": "md5:d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "md5:54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "md5:634d18415352ddfa80567beed471001a",
    "data_batch_5": "md5:482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "md5:40351d587109b95175f43aff81a1287e",
}
_BATCHES = tuple(_PYTHON_SUMS)
_BINARY_FILES = tuple(f"{batch}.bin" for batch in _BATCHES)
_SUMS_FILE = "labkit-sums.txt"
_BINARY_FOLDER, _PYTHON_FOLDER = "cifar-10-batches-bin", "cifar-10-batches-py"


@dataclass(frozen=True)
class _Form:
    """One of the two forms in which CIFAR-10 is published: its folder, the six batches in it, and the archive with its sum."""

    folder: str
    files: tuple[str, ...]
    archive: str
    checksum: str
    read: _Reader


_BINARY = _Form(_BINARY_FOLDER, _BINARY_FILES, _BINARY_ARCHIVE, _BINARY_SUM, cifar.read_binary_batch)
_PYTHON = _Form(_PYTHON_FOLDER, _BATCHES, _PYTHON_ARCHIVE, _PYTHON_SUM, cifar.read_python_batch)


def read(name: str, folder: Path) -> Found | None:
    """Reads data set `name` from a folder; None if its files are not all there. Raises DamagedFileError."""
    return _read_cifar(folder) if name == "cifar10" else _read_idx_files(name, folder)


def layout(name: str) -> str:
    """How the files of `name` are to lie in a folder such as LABKIT_DATA, in one line."""
    if name == "cifar10":
        return (
            f"{_BINARY_FOLDER}/ with {_BINARY_FILES[0]} to _5.bin and {_BINARY_FILES[-1]}; or {_PYTHON_FOLDER}/ with "
            f"{_BATCHES[0]} to _5 and {_BATCHES[-1]}; or {_BINARY_ARCHIVE} or {_PYTHON_ARCHIVE} itself"
        )
    return f"{name}/ with {', '.join(_IDX_FILES)} (each plain or .gz)"


def incomplete(name: str, folder: Path) -> str:
    """A sentence about a folder that holds some of the four IDX files and not all; '' for all, for none, and for CIFAR-10."""
    if name == "cifar10":
        return ""
    missing = [file for file in _IDX_FILES if not (folder / file).is_file() and not (folder / f"{file}.gz").is_file()]
    if not 0 < len(missing) < len(_IDX_FILES):
        return ""
    return f"{folder} has only {len(_IDX_FILES) - len(missing)} of the four files; missing: {', '.join(missing)}."


def holds_flat_idx(folder: Path) -> bool:
    """Whether all four IDX files lie right in a folder; MNIST's and Fashion-MNIST's have the same names."""
    return bool(_idx_paths(folder))


def files(name: str, folder: Path) -> list[Path]:
    """The files in a folder from which ``read`` takes data set `name`; empty where they are not all there."""
    if name != "cifar10":
        return _idx_paths(folder)
    if batches := _batches_in(folder):
        inner, form = batches
        sums = inner / _SUMS_FILE
        return [*(inner / file for file in form.files), *([sums] if sums.is_file() else [])]
    archive = _archive_in(folder)
    return [archive[0]] if archive else []


def _idx_paths(folder: Path) -> list[Path]:
    """The four IDX files, each plain or else packed; empty where they are not all there."""
    pairs = [(folder / file, folder / f"{file}.gz") for file in _IDX_FILES]
    found = [path for pair in pairs if (path := next((one for one in pair if one.is_file()), None))]
    return found if len(found) == len(pairs) else []


def _batches_in(folder: Path) -> tuple[Path, _Form] | None:
    """Where all six batches of CIFAR-10 lie, and in which form."""
    for form in (_BINARY, _PYTHON):
        for inner in (folder / form.folder, folder):  # beside, or LABKIT_DATA is that folder itself
            if all((inner / file).is_file() for file in form.files):
                return inner, form
    return None


def _archive_in(folder: Path) -> tuple[Path, _Form] | None:
    """An archive of CIFAR-10, and of which form."""
    return next(((folder / one.archive, one) for one in (_BINARY, _PYTHON) if (folder / one.archive).is_file()), None)


def fetch(name: str, folder: Path, say: Callable[[str], None] | None = None) -> list[str]:
    """Downloads the files of `name` into labkit's folder for it.

    Returns sentences about mirrors that failed. Raises LabkitError if no mirror gave a good file.
    """
    say = download.say if say is None else say
    notes: list[str] = []
    if name == "cifar10":
        archive = folder / _BINARY_ARCHIVE
        if not archive.exists():
            notes += download.fetch(
                [root + _BINARY_ARCHIVE for root in MIRRORS[name]],
                archive,
                _BINARY_SUM,
                size_limit_bytes=200 << 20,
                say=say,
            )
        _unpack(archive, folder / _BINARY_FOLDER)
        return notes
    for file, md5 in zip(_IDX_FILES, _MD5[name], strict=True):
        target = folder / f"{file}.gz"
        if not target.exists():
            notes += download.fetch(
                [root + target.name for root in MIRRORS[name]], target, f"md5:{md5}", size_limit_bytes=64 << 20, say=say
            )
    return notes


def _unpack(archive: Path, folder: Path) -> None:
    """The six batches of the binary archive, each complete or not there; then the archive goes."""
    try:
        members = cifar.archive_members(archive.read_bytes(), _BINARY_FILES, archive.name)
    except LabkitError as error:
        raise DamagedFileError(archive, error) from None
    folder.mkdir(parents=True, exist_ok=True)
    for member, data in members.items():
        _write(folder / member, data)
    sums = "".join(f"{download.digest_of(data, 'sha256:')}  {member}\n" for member, data in members.items())
    _write(folder / _SUMS_FILE, sums.encode())
    archive.unlink()


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)


def _read_idx_files(name: str, folder: Path) -> Found | None:
    paths = _idx_paths(folder)
    if not paths:
        return None
    arrays, packed_files = [], []
    for path, dimensions in zip(paths, (3, 1, 3, 1), strict=True):
        data = _bytes(path)
        try:
            array = read_idx(data, str(path))
            _check_idx(array, dimensions, str(path))
        except LabkitError as error:
            raise DamagedFileError(path, error) from None
        arrays.append(array[:, None] if dimensions == 3 else array.astype(np.int64))
        packed_files.append(data)
    train_images, train_labels, test_images, test_labels = arrays
    for images, labels, path in ((train_images, train_labels, paths[1]), (test_images, test_labels, paths[3])):
        if len(images) != len(labels):
            problem = f"{path} has {len(labels):,} labels for {len(images):,} pictures."
            raise DamagedFileError(path, LabkitError(problem))
    return Found((train_images, train_labels, test_images, test_labels), _agreed(name, packed_files))


def _agreed(name: str, files: list[bytes]) -> str | None:
    """Which published sums the four gzipped files have; None for none of them, and for unpacked files."""
    for kind, table, words in (
        ("sha256", _DEBIAN_SHA256, "as in Debian's package dataset-fashion-mnist"),
        ("md5", _MD5, "as published"),
    ):
        sums = table.get(name, ())
        if sums and all(
            download.digest_of(data, f"{kind}:") == f"{kind}:{known}" for data, known in zip(files, sums, strict=True)
        ):
            return f"{kind} of all four files {words}"
    return None


def _check_idx(array: np.ndarray, dimensions: int, name: str) -> None:
    if array.dtype != np.uint8 or array.ndim != dimensions or (dimensions == 3 and array.shape[1:] != (28, 28)):
        raise LabkitError(
            f"{name} holds {array.dtype} {array.shape}, not "
            + ("pictures of 28x28 bytes." if dimensions == 3 else "one byte for each label.")
        )
    if not len(array):
        raise LabkitError(f"{name} is empty.")
    if dimensions == 1 and array.max() > 9:
        raise LabkitError(f"{name} has label {int(array.max())}; there are only 0 to 9.")


def _read_cifar(folder: Path) -> Found | None:
    if batches := _batches_in(folder):
        return _read_batches(*batches)
    archive = _archive_in(folder)
    if archive is None:
        return None
    path, form = archive
    data = _bytes(path)
    try:
        members = cifar.archive_members(data, form.files, str(path))
        parts = [form.read(members[file], f"{file} in {path}") for file in form.files]
    except LabkitError as error:
        raise DamagedFileError(path, error) from None
    agrees = download.digest_of(data, form.checksum) == form.checksum
    return Found(_train_and_test(parts), "md5 of the archive as published" if agrees else None)


def _read_batches(folder: Path, form: _Form) -> Found:
    sums, words = _PYTHON_SUMS, "md5 of all six batches as published"
    if form is _BINARY:
        sums, words = _written_sums(folder), "sha256 of all six batches as in the archive, whose md5 was as published"
    parts, agreed = [], 0
    for file in form.files:
        data = _bytes(folder / file)
        try:
            parts.append(form.read(data, str(folder / file)))
        except LabkitError as error:
            raise DamagedFileError(folder / file, error) from None
        agreed += file in sums and download.digest_of(data, sums[file]) == sums[file]
    return Found(_train_and_test(parts), words if agreed == len(form.files) else None)


def _train_and_test(parts: list[tuple[np.ndarray, np.ndarray]]) -> Arrays:
    """Five training batches and one for testing, in that order."""
    return (
        np.concatenate([images for images, _ in parts[:-1]]),
        np.concatenate([labels for _, labels in parts[:-1]]),
        parts[-1][0],
        parts[-1][1],
    )


def _written_sums(folder: Path) -> dict[str, str]:
    """The sums that _unpack wrote beside the batches, once the archive's own sum had agreed."""
    try:
        lines = (folder / _SUMS_FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    parts = [line.partition("  ") for line in lines]
    return {name: checksum for checksum, _, name in parts if checksum.startswith("sha256:")}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFileError(path, LabkitError(f"{path} cannot be read: {error.strerror}.")) from None
