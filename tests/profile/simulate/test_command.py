"""python -m labkit simulate-profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import setup
from labkit.cli import main
from labkit.profile import read, simulate


@pytest.fixture(autouse=True)
def inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the environment were entered already."""
    monkeypatch.setattr(setup, "enter", lambda *_: None)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate-profile", "--list"]) == 0
    printed = capsys.readouterr().out
    for name in (*simulate.MODELS, *simulate.GPUS, *simulate.SICKNESSES, *simulate.FORMS):
        assert name in printed


def test_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "simulate-profile",
        "mlp",
        "--gpu",
        "Radeon RX 7600",
        "--sickness",
        "loader",
        "--steps",
        "2",
        "--form",
        "rocpd",
    ]
    assert main([*words, "-o", str(tmp_path / "new")]) == 0
    printed = capsys.readouterr().out
    assert "no GPU made these files" in printed and "simulated_results.db" in printed
    assert read(tmp_path / "new").simulated


@pytest.mark.parametrize(
    ("words", "said"),
    [(["mlp"], "-o"), (["mlp", "--gpu", "x9", "-o", "X"], "x9"), (["gpt9", "-o", "X"], "gpt9"),
     (["mlp", "--form", "nsys", "-o", "X"], "nsys"),
     (["mlp", "--sickness", "flu", "-o", "X"], "flu"), (["mlp", "--steps", "0", "-o", "X"], "0 steps")],
)  # fmt: skip
def test_wrong_words(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate-profile", *(str(tmp_path) if word == "X" else word for word in words)]) == 1
    assert said in capsys.readouterr().err
