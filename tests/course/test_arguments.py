"""What is refused before set-up begins, on a bare Python: each in a sentence, and nothing is made for it."""

from __future__ import annotations

import pytest

from labkit import cli
from labkit import setup as room
from labkit.course import arguments


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run 99", "no lesson '99'"),
        ("run 99 --dry-run", "no lesson '99'"),
        ("run -p 1x 2", "cannot be a parameter's name"),
        ("run -p nosuch 2", "declares a parameter 'nosuch'"),
        ("run 01 -p profile full", "not set with -p"),
        ("data nosuch", "no data set 'nosuch'"),
        ("format nosuch.ipynb", "no notebook nosuch.ipynb"),
        ("start --port 80", "not a port"),
        ("start --port 70000", "not a port"),
    ],
)
def test_a_slip_is_told_before_set_up(line, told, monkeypatch, capsys):
    monkeypatch.setattr(room, "enter", lambda *_: pytest.fail("set-up began"))
    assert cli.main(line.split()) == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("line", ["run 01 -p epochs 1", "run", "data mnist --fetch", "format", "start --port 8899"])
def test_what_is_right_goes_on(line, monkeypatch):
    monkeypatch.setattr(room, "enter", lambda *_: 5)
    assert cli.main(line.split()) == 5


def test_the_names_of_the_data_sets():
    from labkit.data.dataset import TITLES

    assert tuple(TITLES) == arguments.DATA_SETS


@pytest.mark.parametrize("asked", [["data"], ["profile", "run.csv"], ["simulate-profile", "--list"]], ids=" ".join)
def test_a_question_installs_nothing(asked, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LABKIT_ENV", str(tmp_path / "env"))
    monkeypatch.setattr(room, "enter", lambda *_: pytest.fail("set-up began"))
    assert cli.main(asked) == 1
    assert "not installed yet" in capsys.readouterr().err and not (tmp_path / "env").exists()
