"""Pre-trained weights: found, checked, and read without running what they hold."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from labkit.data import weights
from labkit.errors import LabkitError


def saved(folder: Path, what: Any, name: str = "toy") -> Path:
    """A file as torchvision names them: with the beginning of its own SHA-256."""
    rough = folder / "rough"
    torch.save(what, rough)
    return rough.replace(folder / f"{name}-{weights.sha256(rough)[:8]}.pth")


def model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))


def test_weights_arrive_where_name_and_sum_agree(tmp_path: Path) -> None:
    first = model()
    path = saved(tmp_path, first.state_dict())
    second = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    assert weights.load(path, second) is second and not second.training
    assert all(
        torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    )
    assert weights.verify(path).startswith(weights.promised(path))


def test_one_changed_byte_is_found(tmp_path: Path) -> None:
    path = saved(tmp_path, model().state_dict())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(LabkitError, match="damaged or another file"):
        weights.read(path)


def test_a_name_without_a_sum_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, model().state_dict()).replace(tmp_path / "mine.pth")
    with pytest.raises(LabkitError, match="carries no checksum"):
        weights.read(path)
    assert weights.promised("resnet50-11ad3fa6.pth") == "11ad3fa6" and weights.promised("resnet50-best.pth") == ""


class Program:
    """Unpickling this would run a command."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("plain", [False, True])
def test_a_program_in_the_file_is_refused_and_does_not_run(tmp_path: Path, plain: bool) -> None:
    mark = tmp_path / "it ran"
    path = saved(tmp_path, {"weight": Program(mark)})
    if plain:
        path.write_bytes(pickle.dumps(Program(mark)))
        path = path.replace(tmp_path / f"toy-{weights.sha256(path)[:8]}.pth")
    with pytest.raises(LabkitError, match="cannot be read as weights alone"):
        weights.read(path)
    assert not mark.exists()


@pytest.mark.parametrize("what", [[1, 2], {}, {"epoch": 3}, torch.ones(2)])
def test_something_else_is_no_mapping_of_tensors(tmp_path: Path, what: Any) -> None:
    with pytest.raises(LabkitError, match="no mapping"):
        weights.read(saved(tmp_path, what))


def test_weights_of_another_model_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="does not fit this Linear"):
        weights.load(saved(tmp_path, model().state_dict()), nn.Linear(2, 2))


@pytest.fixture
def places_of_mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LABKIT_DATA", "LABKIT_CACHE", "TORCH_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path


def listed(path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    toy = weights.Published("toy", "Toy_Weights.V1", file, 0.1, 50.0)
    monkeypatch.setitem(weights.PUBLISHED, "toy", toy)


def test_without_a_copy_there_is_none_and_no_network(places_of_mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("went to the network"))
    assert weights.find("resnet50") is None
    with pytest.raises(LabkitError, match="No weights are listed"):
        weights.find("resnet51")


@pytest.mark.parametrize(
    "place", ["LABKIT_DATA", "LABKIT_DATA/weights", "LABKIT_CACHE/weights", "TORCH_HOME/hub/checkpoints"]
)
def test_it_is_found_where_people_keep_it(places_of_mine: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    path = saved(places_of_mine, model().state_dict())
    listed(path, monkeypatch, path.name)
    (places_of_mine / place).mkdir(parents=True)
    path = path.replace(places_of_mine / place / path.name)
    found = weights.find("toy")
    assert found and found.path == path and place.split("/")[0].split("_")[0].lower() in found.source.lower()


def test_a_damaged_copy_is_skipped_with_a_word(places_of_mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(places_of_mine, model().state_dict())
    listed(path, monkeypatch, path.name)
    bad = places_of_mine / "LABKIT_DATA" / path.name
    bad.parent.mkdir()
    bad.write_bytes(b"half a file")
    with pytest.raises(LabkitError, match="damaged"):
        weights.find("toy")
    good = places_of_mine / "LABKIT_CACHE" / "weights" / path.name
    good.parent.mkdir(parents=True)
    path.replace(good)
    found = weights.find("toy")
    assert found and found.path == good and "Skipped" in str(found)


def test_a_download_is_checked_by_the_sum_in_its_name(places_of_mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(places_of_mine, model().state_dict())
    listed(path, monkeypatch, path.name)
    monkeypatch.setattr(weights, "BASE", (places_of_mine.as_uri() + "/"))
    given = path.read_bytes()

    def transfer(url: str, part: Path, *_: Any) -> None:
        assert url.endswith(path.name)
        part.write_bytes(given)

    monkeypatch.setattr("labkit.data.download._transfer", transfer)
    found = weights.find("toy", download=True)
    assert found and found.path.parent == places_of_mine / "LABKIT_CACHE" / "weights"
    found.path.unlink()
    given = b"an error page"
    with pytest.raises(LabkitError, match="could not be fetched"):
        weights.find("toy", download=True)
    assert not found.path.exists()


def test_the_listed_names_are_torchvision_s_own() -> None:
    models = pytest.importorskip("torchvision.models")
    for one in weights.PUBLISHED.values():
        enum, _, member = one.enum.partition(".")
        theirs = getattr(models, enum)[member]
        assert theirs.url == one.url and theirs.meta["_metrics"]["ImageNet-1K"]["acc@1"] == one.accuracy


def test_a_refusal_names_what_the_file_wants_and_never_how_to_read_it_all_the_same(tmp_path: Path) -> None:
    whole = saved(tmp_path, nn.Linear(2, 2))
    cut = tmp_path / "cut"
    cut.write_bytes(whole.read_bytes()[:200])
    cut = cut.replace(tmp_path / f"cut-{weights.sha256(cut)[:8]}.pth")
    for path, words in ((whole, "build torch.nn.modules.linear.Linear"), (cut, "damaged, cut off")):
        with pytest.raises(LabkitError, match=words) as refused:
            weights.read(path)
        assert "weights_only" not in str(refused.value) and "trust" not in str(refused.value)


def test_a_checkpoint_tells_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="no mapping of names to tensors, but: model, epoch"):
        weights.read(saved(tmp_path, {"model": {"w": torch.ones(1)}, "epoch": 3}))


def test_a_path_that_leads_nowhere_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="There is no file"):
        weights.read(tmp_path / "resnet50-11ad3fa6.pth")
