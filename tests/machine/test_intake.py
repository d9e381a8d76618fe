"""What is named on the command line is read in bounds, and never waited for in silence."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit import cli
from labkit.errors import LabkitError
from labkit.machine import evidence, intake
from labkit.machine.readers import recognise


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.truncate(5 << 30)  # sparse: it takes no room
    assert len(intake.read(path, 1000)) == 1000


def test_no_more_than_the_limit_is_asked_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class File(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            asked.append(-1 if size is None else size)
            return b"torch"

    path = tmp_path / "x.txt"
    path.write_text("x", encoding="utf-8")
    monkeypatch.setattr(Path, "open", lambda self, mode: File())
    evidence.load(path)
    recognise.read_path(path)
    assert len(asked) == 2 and all(0 < size <= 200 << 20 for size in asked)


@pytest.mark.skipif(os.name == "nt", reason="devices of Linux and macOS")
@pytest.mark.parametrize("command", [["doctor", "--from"], ["read"]])
def test_a_device_without_end_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*command, "/dev/zero"]) == 1
    assert "is a device and no file" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="named pipes of Linux and macOS")
def test_a_named_pipe_is_waited_for_with_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("No HIP GPUs are available\n", encoding="utf-8"))
    writer.start()
    assert intake.read(path, 100) == b"No HIP GPUs are available\n"
    writer.join()
    assert f"waiting for what is written into {path}" in capsys.readouterr().err


def test_a_folder_and_a_missing_file_are_sentences(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(LabkitError) as told:
            intake.read(path, 10)
        assert str(path) in told.value.problem and told.value.remedy


def _given(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO(text), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stream)


def test_a_dash_is_standard_input_for_both_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _given(b"RuntimeError: HIP error: invalid device function\n", monkeypatch)
    assert cli.main(["doctor", "--from", "-"]) == 1
    assert "[arch-not-in-wheel]" in capsys.readouterr().out
    _given(b"nothing that labkit knows\n", monkeypatch)
    assert cli.main(["read", "-"]) == 2
    _given(b"", monkeypatch)
    assert cli.main(["doctor", "--from", "-"]) == 1
    assert "no text in standard input" in capsys.readouterr().err


def test_too_little_memory_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    path.write_text("x", encoding="utf-8")

    def refuse(self: Path, mode: str) -> None:
        raise MemoryError

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(LabkitError, match="memory"):
        intake.read(path, 10)
