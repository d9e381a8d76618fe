"""load(): the order of places, stand-ins that say so, damaged files, the command line. Nothing here uses a network."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from labkit import data
from labkit.data import download, places, sources
from labkit.errors import LabkitError

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home, a working folder and a cache with nothing in them, no system packages, and no network."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("LABKIT_DATA", "TORCH_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(places, "SYSTEM_ROOTS", ())

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("this must not touch the network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)


def _idx_files(folder: Path, fill: int = 7, packed: bool = True, train: int = 20, test: int = 10) -> None:
    """Small but well-formed MNIST files: every pixel is `fill`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in zip(_FILES, (train, train, test, test), strict=True):
        if "images" in name:
            content = (
                b"\0\0\x08\x03"
                + b"".join(n.to_bytes(4, "big") for n in (count, 28, 28))
                + bytes([fill]) * (count * 784)
            )
        else:
            content = b"\0\0\x08\x01" + count.to_bytes(4, "big") + bytes(i % 10 for i in range(count))
        (folder / (name + (".gz" if packed else ""))).write_bytes(gzip.compress(content) if packed else content)


def _batch(fill: int, count: int = 10) -> bytes:
    return b"".join(bytes([i % 10]) + bytes([fill]) * 3072 for i in range(count))


def _check(dataset: data.Dataset, channels: int, side: int) -> None:
    for images, labels in ((dataset.train_images, dataset.train_labels), (dataset.test_images, dataset.test_labels)):
        assert images.dtype == torch.uint8 and labels.dtype == torch.int64
        assert images.shape == (len(labels), channels, side, side) and labels.shape == (len(images),)
        assert images.is_contiguous() and images.device.type == "cpu"
        assert int(labels.min()) >= 0 and int(labels.max()) < len(dataset.classes)
    assert len(dataset.classes) == 10


@pytest.mark.parametrize(
    ("name", "channels", "side", "title"), [("mnist", 1, 28, "MNIST"), ("cifar10", 3, 32, "CIFAR-10")]
)
def test_with_nothing_there_a_stand_in_comes_and_says_so_everywhere(
    name: str, channels: int, side: int, title: str
) -> None:
    dataset = data.load(name)
    _check(dataset, channels, side)
    assert dataset.provenance.stand_in is True
    assert dataset.label.startswith(f"{title} stand-in (")
    for card in (str(dataset), repr(dataset), dataset._repr_html_()):
        assert (
            "STAND-IN" in card
            and f"This is not {title}" in card
            and dataset.provenance.licence in card.replace("&#x27;", "'")
        )
    assert "sha256" in str(dataset.provenance.checksum)
    assert "--fetch" in dataset.provenance.note


def test_clothes_have_no_stand_in_but_a_remedy() -> None:
    with pytest.raises(LabkitError, match="Fashion-MNIST is not on this machine") as caught:
        data.fashion_mnist()
    assert "apt install dataset-fashion-mnist" in caught.value.remedy and "download=True" in caught.value.remedy


def test_an_unknown_name_is_a_sentence() -> None:
    with pytest.raises(LabkitError, match="no data set 'imagenet'") as caught:
        data.load("imagenet")
    assert "mnist, fashion_mnist, cifar10" in caught.value.remedy


def test_each_place_gives_way_to_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "SYSTEM_ROOTS", (tmp_path / "system",))
    steps = [
        (tmp_path / "system" / "mnist", "a system package"),
        (tmp_path / "home" / "data" / "MNIST" / "raw", "a folder that torchvision uses"),
        (Path("data", "MNIST", "raw"), "a folder that torchvision uses"),
        (tmp_path / "cache" / "mnist", "labkit's cache"),
        (tmp_path / "class" / "mnist", "LABKIT_DATA"),
    ]
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path / "class"))
    for fill, (folder, words) in enumerate(steps):
        _idx_files(folder, fill=fill, packed=bool(fill % 2))
        dataset = data.mnist()
        assert int(dataset.train_images[0, 0, 0, 0]) == fill
        assert str(folder.resolve()) in dataset.provenance.source and words in dataset.provenance.source
        assert dataset.label == "MNIST" and not dataset.provenance.stand_in and "STAND-IN" not in str(dataset)
        assert dataset.provenance.checksum is None  # these are not the published files
    _check(dataset, 1, 28)


def test_a_damaged_file_in_the_cache_is_set_aside(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "mnist"
    _idx_files(folder)
    path = folder / f"{_FILES[2]}.gz"
    path.write_bytes(path.read_bytes()[:-20])
    dataset = data.mnist()
    assert dataset.provenance.stand_in
    assert not path.exists() and (folder / f"{path.name}.damaged").exists()
    assert "Set aside" in dataset.provenance.note and path.name in dataset.provenance.note


def test_a_damaged_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    theirs, later = Path("data", "MNIST", "raw"), tmp_path / "home" / "data" / "MNIST" / "raw"
    _idx_files(theirs)
    _idx_files(later, fill=9)
    path = theirs / f"{_FILES[0]}.gz"
    path.write_bytes(b"\x1f\x8b broken")
    dataset = data.mnist()
    assert path.read_bytes() == b"\x1f\x8b broken" and int(dataset.train_images[0, 0, 0, 0]) == 9
    assert "Skipped" in dataset.provenance.note and "damaged" in dataset.provenance.note


def _spoilt_labels(folder: Path) -> None:
    (folder / f"{_FILES[1]}.gz").write_bytes(
        gzip.compress(b"\0\0\x08\x01" + (20).to_bytes(4, "big") + bytes([10]) * 20)
    )


def _too_few_labels(folder: Path) -> None:
    (folder / f"{_FILES[1]}.gz").write_bytes(gzip.compress(b"\0\0\x08\x01" + (19).to_bytes(4, "big") + bytes(19)))


def _other_size(folder: Path) -> None:
    header = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (20, 8, 8))
    (folder / f"{_FILES[0]}.gz").write_bytes(gzip.compress(header + bytes(20 * 64)))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_spoilt_labels, "label 10"),
        (_too_few_labels, "19 labels for 20 pictures"),
        (_other_size, "not pictures of 28x28"),
    ],
)
def test_files_that_do_not_fit_together_are_damaged(spoil: Callable[[Path], None], words: str) -> None:
    folder = Path("data", "MNIST", "raw")
    _idx_files(folder)
    spoil(folder)
    assert words in data.mnist().provenance.note


def test_cifar_binary_batches_and_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("data", "cifar-10-batches-bin")
    folder.mkdir(parents=True)
    for i, file in enumerate(sources._BINARY_FILES):
        (folder / file).write_bytes(_batch(i + 1))
    dataset = data.cifar10()
    _check(dataset, 3, 32)
    assert dataset.label == "CIFAR-10" and dataset.classes[0] == "airplane"
    assert dataset.train_images[:, 0, 0, 0].tolist() == [fill for fill in range(1, 6) for _ in range(10)]
    assert set(dataset.test_images.flatten().tolist()) == {6}
    monkeypatch.chdir(tmp_path)
    assert data.cifar10().provenance.stand_in
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path / "work" / "data" / "cifar-10-batches-bin"))
    assert not data.cifar10().provenance.stand_in


def test_cifar_python_batches_as_torchvision_leaves_them() -> None:
    folder = Path("data", "cifar-10-batches-py")
    folder.mkdir(parents=True)
    for i, file in enumerate(sources._BATCHES):
        batch = {b"labels": [0, 9], b"data": np.full((2, 3072), i, np.uint8)}
        (folder / file).write_bytes(pickle.dumps(batch, 2))
    dataset = data.cifar10()
    _check(dataset, 3, 32)
    assert dataset.train_labels.tolist() == [0, 9] * 5 and dataset.test_images.flatten().unique().tolist() == [5]
    (folder / "test_batch").write_bytes(pickle.dumps({b"labels": print}, 2))
    refused = data.cifar10()
    assert refused.provenance.stand_in and "it was not run" in refused.provenance.note


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_a_cifar_archive_is_read_without_unpacking() -> None:
    Path("data").mkdir()
    members = {f"../../{file}": _batch(i) for i, file in enumerate(sources._BINARY_FILES)}
    Path("data", "cifar-10-binary.tar.gz").write_bytes(_tar(members))
    dataset = data.cifar10()
    _check(dataset, 3, 32)
    assert not dataset.provenance.stand_in and [path.name for path in Path("data").iterdir()] == [
        "cifar-10-binary.tar.gz"
    ]


def _served(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> list[str]:
    """Puts `files` behind download.fetch, with their own checksums; returns the list of what was asked for."""
    asked: list[str] = []

    def fetch(urls: list[str], target: Path, checksum: str, **_: object) -> list[str]:
        asked.append(target.name)
        if target.name not in files:
            raise LabkitError(f"{target.name} could not be fetched: example.org: answered 404.", "Check the network.")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[target.name])
        assert all(url.endswith(f"/{target.name}") for url in urls) and len(urls) > 1
        return ["one.example gave a file with the wrong checksum."]

    monkeypatch.setattr(download, "fetch", fetch)
    return asked


def test_download_fills_the_cache_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _idx_files(tmp_path / "server", fill=3)
    asked = _served(monkeypatch, {path.name: path.read_bytes() for path in (tmp_path / "server").iterdir()})
    first = data.fashion_mnist(download=True)
    assert (
        len(asked) == 4
        and "downloaded just now" in first.provenance.source
        and "wrong checksum" in first.provenance.note
    )
    again = data.fashion_mnist()
    assert len(asked) == 4 and int(again.train_images[0, 0, 0, 0]) == 3 and "labkit's cache" in again.provenance.source


def test_downloaded_cifar_is_unpacked_and_its_batches_carry_sums(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    members = {f"cifar-10-batches-bin/{file}": _batch(i) for i, file in enumerate(sources._BINARY_FILES)}
    asked = _served(monkeypatch, {"cifar-10-binary.tar.gz": _tar(members)})
    dataset = data.cifar10(download=True)
    assert asked == ["cifar-10-binary.tar.gz"] and not dataset.provenance.stand_in
    assert "as in the archive" in str(dataset.provenance.checksum)
    batch = tmp_path / "cache" / "cifar10" / "cifar-10-batches-bin" / "data_batch_1.bin"
    assert not (tmp_path / "cache" / "cifar10" / "cifar-10-binary.tar.gz").exists()
    batch.write_bytes(_batch(99))
    assert data.cifar10().provenance.checksum is None  # changed since


def test_a_failed_download_leaves_the_stand_in_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    _served(monkeypatch, {})
    dataset = data.mnist(download=True)
    assert dataset.provenance.stand_in and "could not be fetched" in dataset.provenance.note
    with pytest.raises(LabkitError, match="could not be fetched"):
        data.fashion_mnist(download=True)


def test_the_sums_in_the_table_are_those_of_the_installed_torchvision() -> None:
    mnist = pytest.importorskip("torchvision.datasets.mnist")
    cifar = pytest.importorskip("torchvision.datasets.cifar")
    for name, theirs in (("mnist", mnist.MNIST), ("fashion_mnist", mnist.FashionMNIST)):
        assert (
            list(zip((f"{file}.gz" for file in sources._IDX_FILES), sources._MD5[name], strict=True))
            == theirs.resources
        )
    assert f"md5:{cifar.CIFAR10.tgz_md5}" == sources._PYTHON_SUM
    listed = dict([*cifar.CIFAR10.train_list, *cifar.CIFAR10.test_list])
    assert {name: f"md5:{checksum}" for name, checksum in listed.items()} == sources._PYTHON_SUMS


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_debians_sixty_thousand_pictures_are_read_at_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "SYSTEM_ROOTS", (DEBIAN.parent,))
    start = time.process_time()
    dataset = data.fashion_mnist()
    print(f"read in {time.process_time() - start:.2f} s of processor time")
    _check(dataset, 1, 28)
    assert (len(dataset.train_images), len(dataset.test_images)) == (60_000, 10_000)
    assert torch.bincount(dataset.train_labels).tolist() == [6000] * 10
    assert "sha256" in str(dataset.provenance.checksum) and "a system package" in dataset.provenance.source
    assert hashlib.sha256(dataset.train_images.numpy()).hexdigest() == (
        "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012"
    )


def test_the_command_line_prints_a_card_for_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data.main([]) == 0
    out = capsys.readouterr().out
    assert out.count("STAND-IN") == 2 and "Fashion-MNIST is not on this machine" in out
    _served(monkeypatch, {})
    assert data.main(["mnist"], fetch=True) == 1
    assert "could not be fetched" in capsys.readouterr().out
    with pytest.raises(LabkitError, match="no data set 'x'"):
        data.main(["x"])


def test_reading_data_loads_no_torch_until_there_are_tensors() -> None:
    import subprocess
    import sys

    code = (
        "import labkit.data, labkit.data.shapes, sys; sys.exit('torch' in sys.modules or 'pickle' in vars(labkit.data))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0


@pytest.mark.parametrize(("kind", "words"), [("missing", "does not exist"), ("file", "is not a folder")])
def test_a_labkit_data_that_is_no_folder_is_said(
    kind: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = tmp_path / "dtaa"
    if kind == "file":
        named.write_text("x", encoding="utf-8")
    monkeypatch.setenv("LABKIT_DATA", str(named))
    sentence = f"LABKIT_DATA names {named}, which {words}."
    assert sentence in str(data.mnist())
    with pytest.raises(LabkitError) as caught:
        data.fashion_mnist()
    assert sentence in caught.value.problem
    assert data.main(["mnist"]) == 1
    assert sentence in capsys.readouterr().out
    _idx_files(Path("data", "MNIST", "raw"))
    found = data.mnist()
    assert not found.provenance.stand_in and sentence in found.provenance.note


def test_the_layout_is_printed_and_is_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert data.main(["mnist"]) == 0
    printed = capsys.readouterr().out
    assert "LABKIT_DATA is not set" in printed
    rows = {title: line for title in ("MNIST", "Fashion-MNIST", "CIFAR-10") for line in printed.splitlines()
            if line.startswith(f"  {title} ")}  # fmt: skip
    assert len(rows) == 3 and "cifar-10-batches-bin/" in rows["CIFAR-10"]
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path / "own"))
    for name, title in (("mnist", "MNIST"), ("fashion_mnist", "Fashion-MNIST")):
        folder = rows[title].split()[1].rstrip("/")
        assert all(file in rows[title] for file in _FILES)
        _idx_files(tmp_path / "own" / folder)
        assert not data.load(name).provenance.stand_in


def test_flat_files_that_may_be_either_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = tmp_path / "pictures"
    _idx_files(flat)
    monkeypatch.setenv("LABKIT_DATA", str(flat))
    dataset = data.mnist()
    assert dataset.provenance.stand_in
    assert f"Skipped: four IDX files lie flat in {flat}" in dataset.provenance.note
    assert "a folder named mnist or fashion_mnist" in dataset.provenance.note
    path = flat / f"{_FILES[0]}.gz"
    path.write_bytes(path.read_bytes()[:-20])
    assert f"{path} is" in data.mnist().provenance.note and "damaged as well" in data.mnist().provenance.note
    assert "IDX" not in data.cifar10().provenance.note
    _idx_files(flat / "mnist", fill=3)
    assert int(data.mnist().train_images[0, 0, 0, 0]) == 3


def test_a_cut_file_in_a_flat_folder_with_a_name_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = tmp_path / "mnist"
    _idx_files(flat, packed=False)
    monkeypatch.setenv("LABKIT_DATA", str(flat))
    assert not data.mnist().provenance.stand_in
    path = flat / _FILES[0]
    path.write_bytes(path.read_bytes()[:100])
    assert str(path) in data.mnist().provenance.note and "Skipped" in data.mnist().provenance.note


@pytest.mark.parametrize("folder", ["", "mnist"])
def test_a_folder_with_three_of_four_files_is_reported(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    _idx_files(own / folder)
    (own / folder / f"{_FILES[3]}.gz").unlink()
    monkeypatch.setenv("LABKIT_DATA", str(own))
    note = data.mnist().provenance.note
    assert "has only 3 of the four files" in note and _FILES[3] in note
