"""How the room is switched on: by three variables, the same in labkit start, Binder and a hub."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import labkit
from labkit.course import form, lab, table

ROOM = lab.ROOT / "labkit" / "jupyter" / "share" / "labextensions" / "rocm-labs"


@pytest.mark.skipif(os.name == "nt", reason="Binder runs on Linux")
def test_binder_sets_what_labkit_start_sets() -> None:
    names = ("PYTHONPATH", "JUPYTER_CONFIG_PATH", "JUPYTER_PATH")
    for before in ({}, dict.fromkeys(names, "/theirs")):
        environ = {"PATH": os.environ["PATH"], "CONDA_PREFIX": "/conda", **before}
        printed = " ".join(f'"${{{name}}}"' for name in names)
        answer = subprocess.run(
            ["bash", str(lab.ROOT / "binder" / "start"), "bash", "-c", f"printf '%s\\n' {printed}"],
            env=environ,
            cwd="/",
            check=True,
            timeout=60,
            capture_output=True,
            encoding="utf-8",
        )
        assert answer.stdout.splitlines() == [lab.room(before)[name] for name in names]


def test_the_front_end_is_complete_and_of_this_version() -> None:
    package = json.loads((ROOM / "package.json").read_text(encoding="utf-8"))
    assert package["name"] == ROOM.name and package["version"] == labkit.__version__
    assert (ROOM / package["jupyterlab"]["_build"]["load"]).is_file()
    for path in (ROOM / "room").glob("*.js"):
        for name in re.findall(r"""(?:from|import\(new URL\() ?'\./([\w.]+)'""", path.read_text(encoding="utf-8")):
            assert (ROOM / "room" / name).is_file(), f"{path.name} imports {name}"


def test_its_folder_may_be_read_anew_by_every_browser() -> None:
    """JupyterLab lets browsers keep what is in a folder 'static' for a year: an old page would stay after an update."""
    assert not [path for path in ROOM.rglob("*") if path.is_dir() and path.name == "static"]


def test_nothing_is_asked_of_another_server_and_no_text_becomes_html() -> None:
    for path in (ROOM / "room").iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text and "innerHTML" not in text, path.name


def test_the_format_check_lets_a_learners_kept_copy_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("01_mnist.mine-2026-11-30-1630.ipynb", "stray.ipynb"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(table, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(table, "load", lambda: table.Course("c", ()))
    form.main([])
    told = capsys.readouterr()
    assert "stray.ipynb" in told.out + told.err and ".mine-" not in told.out + told.err
