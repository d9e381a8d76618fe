"""The data sets of a pack: found on this machine or fetched, each with its licence; what is absent is told."""

from __future__ import annotations

import shutil
from pathlib import Path

from labkit.data import places, sources
from labkit.data.dataset import TITLES
from labkit.errors import LabkitError
from labkit.workshop.pack.contents import DataSet

_WITHOUT = {
    "mnist": "the lessons take 1,797 real digits of 8x8 pixels that come with labkit, and call them a stand-in",
    "fashion_mnist": "whoever asks a lesson for it is told that it is missing; nothing takes its place",
    "cifar10": "the lessons take drawn shapes, and call them a stand-in",
}
_MIT = "The text of the MIT licence stands in ../LICENSE; for this data set its first line is: Copyright (c) 2017 Zalando SE"


def collect(target: Path, fetch: bool) -> tuple[DataSet, ...]:
    """Copies every data set that is there, or that can be fetched, into ``target``; writes LICENCES.txt beside them."""
    found = tuple(_one(name, target, fetch) for name in TITLES)
    target.mkdir(parents=True, exist_ok=True)
    (target / "LICENCES.txt").write_text(_licences(found), encoding="utf-8")
    return found


def _one(name: str, target: Path, fetch: bool) -> DataSet:
    note = ""
    folder = _folder(name)
    if folder is None and fetch:
        try:
            sources.fetch(name, places.cache_root() / name)
            folder = _folder(name)
        except LabkitError as error:
            note = error.problem
    shutil.rmtree(target / name, ignore_errors=True)
    if folder is None:
        return DataSet(name, TITLES[name], False, "", f"{note} Without it {_WITHOUT[name]}.".strip())
    for path in sources.files(name, folder):
        # batches of CIFAR-10 belong into the folder that says which kind they are
        inner = path.parent.name if path.parent.name.startswith("cifar-10-batches") else ""
        place = target / name / inner / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return DataSet(name, TITLES[name], True, sources.LICENCES[name], "")


def _folder(name: str) -> Path | None:
    """The first folder that holds the data set, whole and undamaged."""
    for place in places.candidates(name):
        try:
            if sources.read(name, place.folder):
                return place.folder
        except LabkitError:
            continue
    return None


def _licences(found: tuple[DataSet, ...]) -> str:
    lines = ["Data sets in this folder, and under which licence", ""]
    for item in found:
        lines += [f"{item.title} ({item.name}): {item.licence if item.present else 'not in this pack'}"]
        if item.present and item.name == "fashion_mnist":
            lines += [f"    {_MIT}"]
        if not item.present:
            lines += [f"    {item.note}"]
    return "\n".join(lines) + "\n"
