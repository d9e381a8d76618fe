"""A learner's own pictures: what is read, and that every file that is not is named."""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from labkit.data import folder
from labkit.errors import LabkitError


def picture(colour: tuple[int, int, int], size: tuple[int, int] = (30, 20), seed: int = 0) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 20, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(noise + np.array(colour, dtype=np.uint8))


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    root = tmp_path / "pets"
    for name, colour in (("cat", (200, 10, 10)), ("dog", (10, 10, 200))):
        (root / name).mkdir(parents=True)
        for k in range(6):
            picture(colour, seed=k).save(root / name / f"{k}.png")
    return root


def test_sub_folders_become_classes_and_pictures_tensors(pets: Path) -> None:
    found = folder.read(pets, side=16)
    data = found.dataset
    assert data.classes == ("cat", "dog") and found.left_out == () and found.counts == {"cat": 6, "dog": 6}
    assert data.train_images.shape == (8, 3, 16, 16) and data.test_images.shape == (4, 3, 16, 16)
    assert data.train_images.dtype == torch.uint8 and torch.bincount(data.test_labels).tolist() == [2, 2]
    red = data.train_images[data.train_labels == 0].float().mean((0, 2, 3))
    assert red[0] > 180 and red[2] < 40  # channels first, in the order red, green, blue
    assert not data.provenance.stand_in and str(pets.resolve()) in str(data) and data.label == "pets"


def test_a_new_picture_moves_no_other_between_training_and_test(pets: Path) -> None:
    before = {p.numpy().tobytes() for p in folder.read(pets, side=16).dataset.test_images}
    assert before == {p.numpy().tobytes() for p in folder.read(pets, side=16).dataset.test_images}
    picture((10, 200, 10)).save(pets / "cat" / "00 first.png")
    after = {p.numpy().tobytes() for p in folder.read(pets, side=16).dataset.test_images}
    assert len(before - after) <= 1


def test_everything_left_out_is_named_with_its_reason(pets: Path) -> None:
    (pets / "cat" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not a picture")
    whole = io.BytesIO()
    picture((1, 2, 3), (300, 300)).save(whole, "PNG")
    (pets / "cat" / "cut.png").write_bytes(whole.getvalue()[: len(whole.getvalue()) // 2])
    (pets / "cat" / "notes.txt").write_text("cats", encoding="utf-8")
    (pets / "cat" / "more").mkdir()
    (pets / "dog" / "again.png").write_bytes((pets / "dog" / "1.png").read_bytes())
    (pets / "dog" / "tiny.png").write_bytes(b"")
    (pets / "readme.md").write_text("mine", encoding="utf-8")
    (pets / ".hidden").mkdir()
    (pets / "fish").mkdir()
    found = folder.read(pets, side=16)
    why = {one.path: one.why for one in found.left_out}
    assert set(why) == {"cat/broken.jpg", "cat/cut.png", "cat/notes.txt", "cat/more", "dog/again.png", "dog/tiny.png",
                        "readme.md", "fish/"}  # fmt: skip
    assert "the same file as dog/1.png" in why["dog/again.png"] and "at least 2" in why["fish/"]
    assert "cannot be decoded" in why["cat/cut.png"] and found.counts == {"cat": 6, "dog": 6}
    assert "left out   cat/broken.jpg" in str(found)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize("side", [8_000, 60_000])
def test_a_picture_with_too_many_pixels_is_not_decoded(side: int) -> None:
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )
    with pytest.raises(LabkitError, match=r"more than 50,000,000( pixels)?\n"):
        folder.decode(bomb, 16)


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n????", b"GIF89a", b"some text"])
def test_what_is_no_picture_is_told_in_words(data: bytes) -> None:
    with pytest.raises(LabkitError, match=r"cannot be decoded \(broken, or no picture\)"):
        folder.decode(data, 16)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "I;16", "F"])
def test_every_kind_of_picture_becomes_three_channels(mode: str) -> None:
    if mode == "I;16":
        made = Image.fromarray(np.arange(600, dtype=np.uint16).reshape(20, 30) * 100)
    else:
        made = picture((90, 90, 90)).convert("L").convert(mode) if mode == "F" else picture((90, 90, 90)).convert(mode)
    file = io.BytesIO()
    made.save(file, "TIFF" if mode in ("CMYK", "F") else "PNG")
    decoded = folder.decode(file.getvalue(), 16)
    assert decoded.shape == (3, 16, 16) and decoded.dtype == np.uint8


def test_a_picture_is_turned_as_its_camera_noted() -> None:
    made = Image.fromarray(
        np.repeat(np.array([[0, 255]], dtype=np.uint8), 16, 0).repeat(8, 1)
    )  # dark left, light right
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees to the right
    file = io.BytesIO()
    made.save(file, "JPEG", exif=exif)
    decoded = folder.decode(file.getvalue(), 16)[0]
    assert decoded[:4].mean() < 50 < 200 < decoded[-4:].mean()


def test_too_little_is_one_sentence_with_its_remedy(pets: Path, tmp_path: Path) -> None:
    for wrong, words in ((tmp_path / "nowhere", "does not exist"), (pets / "cat" / "1.png", "is a file"),
                         (pets / "cat", "no classes")):  # fmt: skip
        with pytest.raises(LabkitError, match=words):
            folder.read(wrong)
    split = tmp_path / "split"
    (split / "train").mkdir(parents=True)
    (split / "test").mkdir()
    with pytest.raises(LabkitError, match="no classes"):
        folder.read(split)


def test_no_more_than_asked_for_are_used_and_the_rest_is_counted(pets: Path) -> None:
    found = folder.read(pets, side=16, most_per_class=4)
    assert found.counts == {"cat": 4, "dog": 4}
    assert [one.path for one in found.left_out] == ["cat/", "dog/"] and "2 more" in found.left_out[0].why


@pytest.mark.skipif(sys.platform != "linux", reason="file names are any bytes on Linux only")
def test_names_in_another_encoding_can_be_printed(pets: Path) -> None:
    strange = os.fsencode(pets) + b"/caf\xe9"
    Path(os.fsdecode(strange)).mkdir()
    for k in range(3):
        picture((9, 9, 9), seed=50 + k).save(os.fsdecode(strange + b"/%d.png" % k))
    Path(os.fsdecode(strange + b"/\xff.txt")).write_text("no picture", encoding="utf-8")
    found = folder.read(pets, side=16)
    assert "caf\\xe9" in found.dataset.classes and str(found).encode("utf-8")
    assert [one.path for one in found.left_out] == ["caf\\xe9/\\xff.txt"]


def test_a_class_that_may_not_be_read_is_left_out(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pets / "fox").mkdir()
    listing = Path.iterdir

    def guarded(path: Path) -> Iterator[Path]:
        if path.name == "fox":
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(Path, "iterdir", guarded)
    found = folder.read(pets, side=16)
    assert {(one.path, one.why.split(" (")[0]) for one in found.left_out} >= {("fox/", "cannot be read")}
    assert found.dataset.classes == ("cat", "dog")


def test_a_folder_within_itself_and_a_picture_that_is_its_own_link_end(pets: Path) -> None:
    try:
        (pets / "cat" / "loop.png").symlink_to(pets / "cat" / "loop.png")
        (pets / "again").symlink_to(pets)
    except OSError:
        pytest.skip("no symbolic links here")
    found = folder.read(pets, side=16)
    assert found.dataset.classes == ("cat", "dog")
    assert {"cat/loop.png", "again/", "again/cat"} <= {one.path for one in found.left_out}
