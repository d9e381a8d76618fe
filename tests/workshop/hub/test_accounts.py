"""Numbers, folders and user ids of learners."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.workshop.hub import accounts
from labkit.workshop.hub.accounts import Folder


@pytest.fixture
def place(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "hub")
    folder.make()
    return folder


def test_the_folder_is_closed_where_it_must_be(place: Folder) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in place.path.iterdir()}
    assert modes == {"private": 0o700, "shared": 0o755, "homes": 0o711, "run": 0o711}
    assert place.path.stat().st_mode & 0o777 == 0o711


def test_a_number_is_kept(place: Folder) -> None:
    names = ["ada", "ben", "ada", "cleo"]
    assert [place.account(name, None).number for name in names] == [0, 1, 0, 2]
    assert Folder(place.path).account("ben", None).number == 1
    home = place.account("ada", None).home
    assert home == place.path / "homes" / "ada" and home.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_as_root_home_and_runtime_folder_are_the_learner_s(place: Folder) -> None:
    account = place.account("ada", 70000)
    assert account.uid == 70000
    assert {(path.stat().st_uid, path.stat().st_gid) for path in (account.home, account.runtime)} == {(70000, 70000)}
    assert place.account("ben", 70000).uid == 70001


@pytest.mark.parametrize("name", ["", "Ada", "../x", "a b", "-a", "1a", "a" * 33, "ä", "a\n"])
def test_what_is_no_name(place: Folder, name: str) -> None:
    with pytest.raises(LabkitError, match="is no name"):
        place.account(name, None)
    assert list((place.path / "homes").iterdir()) == []


def test_a_forgotten_user_id_never_becomes_root(place: Folder) -> None:
    with pytest.raises(LabkitError, match="not set"):
        place.account("ada", 0)


def test_a_damaged_list_is_one_sentence(place: Folder) -> None:
    (place.private / "accounts.json").write_text("[1")
    with pytest.raises(LabkitError, match="cannot be read"):
        place.account("ada", None)


def test_two_hubs_never_share_user_ids(tmp_path: Path) -> None:
    blocks = tmp_path / "blocks.json"
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for folder in (one, two, three):
        folder.mkdir()
    first = [accounts.claim_uids(folder, blocks) for folder in (one, two, one)]
    assert first == [70000, 71000, 70000]
    one.rmdir()
    assert accounts.claim_uids(three, blocks) == 70000, "of a hub that is gone"
    blocks.write_text(json.dumps({str(two): "x"}))
    with pytest.raises(LabkitError, match="cannot be used"):
        accounts.claim_uids(three, blocks)


def test_a_way_that_is_closed_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    inner = tmp_path / "inner"
    inner.mkdir(mode=0o700)
    file = inner / "file"
    file.touch()
    closed = accounts.reachable(file)
    assert closed is not None and (closed == inner or closed in tmp_path.parents)
    assert accounts.reachable(Path("/usr")) is None


def test_as_learner_nothing_of_the_learner_s_folder_is_imported(place: Folder) -> None:
    account = place.account("ada", None)
    (account.home / "json.py").write_text("print('mine')\n")
    source = account.home / "course"
    source.mkdir()
    (source / "01_x.ipynb").write_text("x")
    arguments = ["labkit.workshop.hub.copies", str(source), str(account.notebooks)]
    assert accounts.as_learner(account, arguments, root=accounts_root()) == "brought 01_x.ipynb\n"
    with pytest.raises(LabkitError, match="In the folder of ada"):
        accounts.as_learner(account, ["labkit.workshop.hub.copies"], root=accounts_root())


def accounts_root() -> Path:
    from labkit.importable import ROOT

    return ROOT
