"""A reset loses no byte: whatever is in the way, the learner's notebook is whole under one of two names."""

from __future__ import annotations

import datetime
import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.jupyter.reset import reset

NOW = datetime.datetime(2026, 11, 30, 16, 30, 59)
PUBLISHED = b'{"cells": ["published"]}\n'
MINE = b'{"cells": ["mine"]}\n'


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    path = tmp_path / "01_mnist.ipynb"
    path.write_bytes(MINE)
    return path


def names(notebook: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in notebook.parent.iterdir()}


def test_the_copy_is_kept_by_the_minute_and_the_published_one_is_back(notebook: Path) -> None:
    kept = reset(notebook, PUBLISHED, NOW)
    assert kept is not None
    assert names(notebook) == {"01_mnist.ipynb": PUBLISHED, "01_mnist.mine-2026-11-30-1630.ipynb": MINE}
    assert kept.read_bytes() == MINE


def test_three_times_in_a_minute_keeps_three_copies(notebook: Path) -> None:
    for text in (b"one", b"two", b""):  # an empty one too: a learner's file is a learner's file
        notebook.write_bytes(text)
        reset(notebook, PUBLISHED, NOW)
    stem = "01_mnist.mine-2026-11-30-1630"
    assert names(notebook) == {
        "01_mnist.ipynb": PUBLISHED, f"{stem}.ipynb": b"one", f"{stem}-2.ipynb": b"two", f"{stem}-3.ipynb": b"",
    }  # fmt: skip


def test_a_missing_notebook_comes_back_and_a_folder_of_its_name_is_refused(notebook: Path) -> None:
    notebook.unlink()
    assert reset(notebook, PUBLISHED, NOW) is None
    assert names(notebook) == {"01_mnist.ipynb": PUBLISHED}
    notebook.unlink()
    notebook.mkdir()
    with pytest.raises(LabkitError, match="is a folder"):
        reset(notebook, PUBLISHED, NOW)
    assert [path.name for path in notebook.parent.iterdir()] == ["01_mnist.ipynb"]


@pytest.mark.skipif(os.name == "nt", reason="modes are of another kind there")
def test_the_new_notebook_can_be_read_by_whoever_could_read_the_old_one(notebook: Path) -> None:
    notebook.chmod(0o640)
    kept = reset(notebook, PUBLISHED, NOW)
    assert kept is not None and notebook.stat().st_mode & 0o777 == 0o640 == kept.stat().st_mode & 0o777


STEPS = ("os.fsync", "pathlib.Path.touch", "pathlib.Path.replace", "os.link", "tempfile.mkstemp", "os.fdopen")
CODES = [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO]


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.sets(st.sampled_from(STEPS), max_size=3), st.sampled_from(CODES))
def test_whatever_fails_the_notebook_is_whole_under_one_of_its_names(
    tmp_path_factory: pytest.TempPathFactory, mine: bytes, broken: set[str], code: int
) -> None:
    notebook = tmp_path_factory.mktemp("reset") / "01_mnist.ipynb"
    notebook.write_bytes(mine)

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    with pytest.MonkeyPatch.context() as patch:
        for step in broken:
            patch.setattr(step, fail)
        if "pathlib.Path.replace" in broken or "os.link" in broken:
            patch.setattr("pathlib.Path.rename", fail)
        try:
            reset(notebook, PUBLISHED, NOW)
            failed = False
        except LabkitError as problem:
            failed = True
            assert os.strerror(code) in problem.problem and problem.remedy
    found = names(notebook)
    assert failed == bool(broken)
    assert mine in found.values()
    assert not [name for name in found if name.endswith(".tmp")], "nothing half-made stays"
    if failed and "os.link" not in broken:
        assert found == {"01_mnist.ipynb": mine}, "it stands where it stood"
    elif failed:
        assert set(found.values()) == {mine}, "and where even that could not be: the sentence says where"


def test_without_hard_links_it_works_all_the_same(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*arguments: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr("os.link", no_links)
    kept = reset(notebook, PUBLISHED, NOW)
    assert kept is not None and names(notebook) == {"01_mnist.ipynb": PUBLISHED, kept.name: MINE}


def test_what_somebody_saves_in_between_is_kept_too(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, saves = os.link, iter([b"saved late", b"saved later"])

    def busy(source: Path, target: Path) -> None:
        if (text := next(saves, None)) is not None and target == notebook:
            notebook.write_bytes(text)
        link(source, target)

    monkeypatch.setattr("os.link", busy)
    reset(notebook, PUBLISHED, NOW)
    found = names(notebook)
    assert found.pop("01_mnist.ipynb") == PUBLISHED
    assert sorted(found.values()) == sorted([MINE, b"saved late", b"saved later"])


def test_somebody_who_saves_for_ever_is_told(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def always(source: Path, target: Path) -> None:
        notebook.write_bytes(b"again")
        raise FileExistsError(errno.EEXIST, "is there")

    monkeypatch.setattr("os.link", always)
    with pytest.raises(LabkitError, match="again and again"):
        reset(notebook, PUBLISHED, NOW)
    assert MINE in names(notebook).values()


@pytest.mark.skipif(os.name == "nt", reason="Windows does not let an open file be renamed; the reset then refuses")
def test_what_a_program_still_writes_to_an_open_file_lands_in_the_copy(notebook: Path) -> None:
    with notebook.open("ab") as stream:
        kept = reset(notebook, PUBLISHED, NOW)
        stream.write(b"more")
    assert kept is not None and kept.read_bytes() == MINE + b"more" and notebook.read_bytes() == PUBLISHED
