"""What set-up refuses before it makes anything: each in a sentence, and nothing is made for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.setup import environment, homes, sources, words
from labkit.setup.environment import Environment

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links or permissions")


@pytest.mark.parametrize(
    ("torch", "index", "house", "told"),
    [
        ("", None, None, "--torch is empty"),
        (" ", None, None, "--torch is empty"),
        ("ftp://x.example/whl", None, None, "not by ftp"),
        ("file:///nonexistent", None, None, "which is not there"),
        ("https:///whl", None, None, "has no host"),
        (None, "blah", None, "neither an address nor a folder"),
        (None, "cpu", None, "neither an address nor a folder"),
        (None, None, "/nonexistent", "does not exist"),
        (None, None, __file__, "is a file, not a folder"),
        (None, None, "", "is empty"),
    ],
)
def test_a_wish_that_can_be_nothing(torch, index, house, told):
    with pytest.raises(LabkitError, match=told) as problem:
        sources.check_wishes(torch, index, house)
    assert problem.value.remedy


def test_wishes_that_can_be_something(tmp_path):
    for torch in (None, "auto", "rocm7.2", "https://x.example/whl", tmp_path.as_uri()):
        sources.check_wishes(torch, str(tmp_path), str(tmp_path))


def test_an_invalid_index_is_told_before_anything_is_made(new_clone, picture_of):
    before = picture_of(new_clone.path)
    result = new_clone.setup(LABKIT_TORCH_INDEX="blah")
    assert result.returncode == 1 and result.stdout == "" and "LABKIT_TORCH_INDEX names blah" in result.stderr
    assert picture_of(new_clone.path) == before


# -- places that cannot be one -------------------------------------------------------------------------------------


@posix
def test_a_file_or_a_link_to_nowhere_in_the_place_of_the_environment(tmp_path):
    path = tmp_path / ".venv"
    path.write_text("", encoding="utf-8")
    with pytest.raises(LabkitError, match="is a file") as problem:
        environment.locate(tmp_path, {})
    assert f"rename the file {path}" in problem.value.remedy
    path.unlink()
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(LabkitError, match="nothing is there") as problem:
        environment.locate(tmp_path, {})
    assert f"rename the link {path}" in problem.value.remedy
    with pytest.raises(LabkitError, match=r"LABKIT_ENV names .* is a link"):
        environment.locate(tmp_path, {"LABKIT_ENV": str(path)})


def test_the_whole_file_system_is_no_environment(tmp_path):
    with pytest.raises(LabkitError, match="whole file system"):
        environment.locate(tmp_path, {"LABKIT_ENV": tmp_path.anchor})


@posix
@pytest.mark.parametrize("variables", [{}, {"LABKIT_ENV": "env"}])
def test_a_python_behind_a_closed_folder(tmp_path, monkeypatch, variables):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / variables.get("LABKIT_ENV", ".venv")
    closed = tmp_path / "closed" / "bin"
    closed.mkdir(parents=True)
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").symlink_to(closed / "python3")
    really = Path.stat

    def stat(path, **options):
        if path.name.startswith("python"):
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(environment.os, "access", lambda path, mode: Path(path) != closed.parent)
    with pytest.raises(LabkitError, match="this user may not enter") as problem:
        environment.locate(tmp_path, variables)
    assert f"under {closed.parent}," in problem.value.problem and "LABKIT_ENV" in problem.value.remedy


def test_labkit_env_with_another_python_says_what_holds_it(tmp_path):
    from labkit.machine.facts import Machine
    from labkit.setup import prepare

    place = Environment(tmp_path / "env", tmp_path, chosen=True)
    environment.interpreter(place.path, os.name).parent.mkdir(parents=True)
    there = prepare.Inventory((3, 9, 2), tmp_path, True, {}, (), ())
    with pytest.raises(LabkitError, match=r"LABKIT_ENV names, has Python 3\.9") as problem:
        prepare.decide(
            place,
            prepare.Wish("course"),
            there,
            ("torch",),
            {},
            Machine("linux", False, "x86_64", (3, 12), (), False, False),
        )
    assert problem.value.remedy.startswith("unset LABKIT_ENV")


# -- the home folder, and words ------------------------------------------------------------------------------------


@posix
def test_a_home_that_is_not_there_gets_a_private_place(tmp_path):
    found = homes.private({"HOME": "/proc/nohome", "IPYTHONDIR": "/mine"}, tmp_path)
    assert found["JUPYTER_RUNTIME_DIR"].startswith(str(tmp_path)) and "IPYTHONDIR" not in found
    assert homes.private({"HOME": str(tmp_path)}, tmp_path) == {}


@posix
def test_jupyter_finds_folders_it_can_write(tmp_path):
    program = (
        "from jupyter_core.paths import jupyter_runtime_dir as f; import pathlib; pathlib.Path(f()).mkdir(parents=True)"
    )
    environ = {**os.environ, "HOME": "/proc/nohome", **homes.private({"HOME": "/proc/nohome"}, tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environ, check=True, timeout=60)


def test_labkit_is_called_as_in_the_readme():
    assert words.labkit("start", os_name="posix") == "python3 -m labkit start"
    assert words.labkit("start", os_name="nt") == "py -m labkit start"
