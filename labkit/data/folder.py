"""A learner's own pictures: a folder with one sub-folder for each class -> tensors, with every file that was left out named.

    pets/
        cat/   a.jpg  b.png  ...
        dog/   c.jpg  ...

A picture file is input from anywhere, and decoding it runs Pillow's decoders. So the header is read first, and a picture
with more pixels than ``MOST_PIXELS`` is left out before it is decoded (a small file can unpack to gigabytes: a
'decompression bomb'; Pillow's own guard only warns up to twice its limit). Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.data.dataset import Dataset, Provenance
from labkit.errors import LabkitError

if TYPE_CHECKING:
    import numpy as np

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM")  # Pillow opens MPO, a kind of JPEG, with its JPEG reader
MOST_PIXELS = 50_000_000
MOST_BYTES = 64 << 20
_SPLITS = {"train", "training", "val", "valid", "validation", "test"}
_LAYOUT = "Make a folder with one sub-folder for each class, the pictures in them, and pass its path."


@dataclass(frozen=True)
class LeftOut:
    """A file that is not among the pictures. path: relative to the folder, with '/'. why: half a sentence."""

    path: str
    why: str


@dataclass(frozen=True)
class Folder:
    """What was read. left_out: files that were not used, each with its reason. counts: pictures used per class."""

    dataset: Dataset
    left_out: tuple[LeftOut, ...]
    counts: dict[str, int]

    def __str__(self) -> str:
        told = [str(self.dataset), "per class  " + ", ".join(f"{name} {n}" for name, n in self.counts.items())]
        told += [f"left out   {one.path}: {one.why}" for one in self.left_out[:20]]
        if len(self.left_out) > 20:
            told.append(f"left out   and {len(self.left_out) - 20} more")
        return "\n".join(told)

    __repr__ = __str__


@dataclass
class _Gathered:
    pictures: dict[str, list[tuple[str, np.ndarray]]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)


def read(folder: str | Path, side: int = 64, *, test_share: float = 0.3, most_per_class: int = 500) -> Folder:
    """The pictures in the sub-folders of ``folder``: uint8 [N, 3, side, side], shorter side scaled to ``side``, cut in the middle.

    test_share: part of each class kept for testing, at least one picture. Which ones is decided by a hash of the file, so a
    new picture does not move the others. most_per_class: the first files by name; the rest is left out and counted.
    A file that is broken, no picture, too large or there twice is left out and named in ``left_out``.
    Raises LabkitError if there is no such folder, or fewer than two classes with at least two pictures each.
    """
    root = Path(folder).expanduser()
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise LabkitError(f"The image folder {root} {what}.", _LAYOUT)
    if side < 8 or not 0 < test_share < 1:
        raise LabkitError(f"side is {side} and test_share {test_share}.", "side from 8, test_share between 0 and 1.")
    gathered = _Gathered()
    try:
        entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise LabkitError(f"The image folder {root} cannot be read: {error.strerror}.", _LAYOUT) from None
    names = [entry.name for entry in entries if entry.is_dir()]
    if names and all(name.lower() in _SPLITS for name in names):
        raise LabkitError(
            f"{root} holds {' and '.join(names)}, which are no classes.",
            f"Pass one of them, for example {root / names[0]}; the lesson splits by itself.",
        )
    for entry in entries:
        if entry.is_dir():
            _class(root, entry, side, most_per_class, gathered)
        else:
            gathered.left_out.append(LeftOut(_name(entry.name), "lies beside the class folders, so it has no class"))
    return _folder(root, gathered, test_share)


def _name(name: str) -> str:
    """A file's name that can be printed everywhere: bytes of another encoding become '\\xe9' and the like."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _class(root: Path, folder: Path, side: int, most: int, gathered: _Gathered) -> None:
    class_name = _name(folder.name)
    found = gathered.pictures.setdefault(class_name, [])
    extra = 0
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        gathered.left_out.append(LeftOut(f"{class_name}/", f"cannot be read ({error.strerror})"))
        return
    for path in paths:
        name = _name(path.relative_to(root).as_posix())
        if path.name.startswith(".") or path.name in ("Thumbs.db", "desktop.ini"):
            continue
        if path.is_dir():
            gathered.left_out.append(LeftOut(name, "a folder within a class folder"))
        elif path.suffix.lower() not in SUFFIXES:
            gathered.left_out.append(LeftOut(name, "not the name of a picture"))
        elif len(found) >= most:
            extra += 1
        else:
            _file(path, name, side, found, gathered)
    if extra:
        gathered.left_out.append(LeftOut(f"{class_name}/", f"{extra} more pictures than the {most} that are used"))


def _file(path: Path, name: str, side: int, found: list[tuple[str, np.ndarray]], gathered: _Gathered) -> None:
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            gathered.left_out.append(LeftOut(name, f"no plain file of at most {MOST_BYTES >> 20} MiB"))
            return
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if digest in gathered.seen:
            gathered.left_out.append(LeftOut(name, f"the same file as {gathered.seen[digest]}"))
            return
        found.append((digest, decode(data, side)))
        gathered.seen[digest] = name
    except LabkitError as error:
        gathered.left_out.append(LeftOut(name, error.problem))
    except OSError as error:
        gathered.left_out.append(LeftOut(name, f"cannot be read ({error.strerror or type(error).__name__})"))


def decode(data: bytes, side: int) -> np.ndarray:
    """One picture file as uint8 [3, side, side], turned as its camera noted. Raises LabkitError with the reason if it cannot be."""
    import numpy as np
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own guard warns; ours below refuses
            with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    raise LabkitError(f"{width}x{height} pixels are more than {MOST_PIXELS:,}", "Make it smaller.")
                if min(width, height) < 8:
                    raise LabkitError(f"only {width}x{height} pixels", "Use a larger picture.")
                picture.draft("RGB", (2 * side, 2 * side))  # a JPEG need not be decoded in full size
                upright: Any = ImageOps.exif_transpose(picture)
                if upright.mode.startswith(("I", "F")):
                    upright = _eight_bits(upright)
                square = ImageOps.fit(upright.convert("RGBA").convert("RGB"), (side, side), Image.Resampling.BILINEAR)
                return np.ascontiguousarray(np.asarray(square, dtype=np.uint8).transpose(2, 0, 1))
    except LabkitError:
        raise
    except Image.DecompressionBombError:  # Pillow's own guard, in picture.size
        raise LabkitError(f"more than {MOST_PIXELS:,} pixels", "Make it smaller.") from None
    except Exception as error:  # decoders raise all kinds of things for a broken file
        words = " ".join(str(error).split())[:80] if not isinstance(error, OSError) else "broken, or no picture"
        raise LabkitError(f"cannot be decoded ({words or type(error).__name__})", "Open and save it anew.") from None


def _eight_bits(picture: Any) -> Any:
    """16-bit and float greys, scaled by their own darkest and lightest value, as 8-bit grey."""
    import numpy as np
    from PIL import Image

    values = np.asarray(picture, dtype=np.float64)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    scaled = (values - low) / ((high - low) or 1.0) * 255
    return Image.fromarray(np.nan_to_num(scaled).astype(np.uint8))


def _count(number: int, thing: str, plural: str = "s") -> str:
    return f"{number or 'no'} {thing}{'' if number == 1 else plural}"


def _folder(root: Path, gathered: _Gathered, test_share: float) -> Folder:
    import numpy as np
    import torch

    for name in [name for name, found in gathered.pictures.items() if len(found) < 2]:
        found = gathered.pictures.pop(name)
        gathered.left_out.append(
            LeftOut(f"{name}/", f"{_count(len(found), 'usable picture')}; a class needs at least 2")
        )
    if len(gathered.pictures) < 2:
        why = "; ".join(f"{one.path}: {one.why}" for one in gathered.left_out[:3])
        raise LabkitError(
            f"{root} holds {_count(len(gathered.pictures), 'class', 'es')} with two pictures or more, and two are needed"
            + (f" ({why})." if why else "."),
            _LAYOUT,
        )
    classes = tuple(gathered.pictures)
    parts: tuple[list[Any], ...] = ([], [], [], [])
    total = hashlib.sha256()
    for label, name in enumerate(classes):
        found = sorted(gathered.pictures[name], key=lambda item: item[0])
        tests = min(len(found) - 1, max(1, round(test_share * len(found))))
        for place, (digest, picture) in enumerate(found):
            total.update(f"{name}/{digest}\n".encode())
            images, labels = (parts[2], parts[3]) if place < tests else (parts[0], parts[1])
            images.append(picture)
            labels.append(label)
    left_out = tuple(gathered.left_out)
    provenance = Provenance(
        source=_name(str(root.resolve())),
        checksum=f"sha256 {total.hexdigest()[:16]}... over the names of the classes and the files used",
        licence="yours to know: labkit cannot tell who took these pictures",
        stand_in=False,
        note=f"{len(left_out)} left out." if left_out else "",
    )
    train, test = (torch.from_numpy(np.stack(part)) for part in (parts[0], parts[2]))
    dataset = Dataset(
        _name(root.resolve().name) or "folder",
        train,
        torch.tensor(parts[1]),
        test,
        torch.tensor(parts[3]),
        classes,
        provenance,
    )
    return Folder(dataset, left_out, {name: len(gathered.pictures[name]) for name in classes})
