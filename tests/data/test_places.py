"""Where data sets are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.data.places import cache_root, candidates

HOME = Path("home")


@pytest.mark.parametrize(
    ("environment", "system", "expected"),
    [
        ({}, "linux", HOME / ".cache" / "labkit"),
        ({"XDG_CACHE_HOME": "x"}, "linux", Path("x", "labkit")),
        ({}, "darwin", HOME / "Library" / "Caches" / "labkit"),
        ({}, "win32", HOME / "AppData" / "Local" / "labkit" / "cache"),
        ({"LOCALAPPDATA": "local"}, "win32", Path("local", "labkit", "cache")),
        ({"LABKIT_CACHE": "mine", "XDG_CACHE_HOME": "x"}, "linux", Path("mine")),
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(environment: dict[str, str], system: str, expected: Path) -> None:
    assert cache_root(environment, system, HOME) == expected


def test_the_order_is_labkit_data_then_cache_then_torchvision_then_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path / "class"))
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    found = list(candidates("fashion_mnist"))
    words = list(dict.fromkeys(place.words for place in found))
    assert words == ["LABKIT_DATA", "labkit's cache", "a folder that torchvision uses", "a system package"]
    assert [place.folder for place in found if place.ours] == [tmp_path / "cache" / "fashion_mnist"]
    assert Path("data", "FashionMNIST", "raw") in [place.folder for place in found]
    assert Path("/usr/share/datasets/fashion-mnist") in [place.folder for place in found]


@pytest.mark.parametrize(
    ("name", "folder", "itself"),
    [
        ("fashion_mnist", "fashion-mnist", True),
        ("mnist", "fashion-mnist", False),
        ("mnist", "MNIST", True),
        ("fashion_mnist", "MNIST", False),
        ("mnist", "my-data", False),
    ],
)
def test_files_right_in_labkit_data_count_only_if_its_name_says_which(
    name: str, folder: str, itself: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path / folder))
    assert (tmp_path / folder in [place.folder for place in candidates(name)]) is itself
