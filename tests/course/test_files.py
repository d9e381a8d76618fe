"""Writing a file: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from labkit.course import files
from labkit.errors import LabkitError


def test_the_text_arrives_with_plain_line_ends_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    files.write_text(path, "a\nµ\n")
    files.write_text(path, "b\nµ\n")
    assert path.read_bytes() == "b\nµ\n".encode()
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_a_failure_in_the_middle_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.txt"
    files.write_text(path, "old\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(LabkitError, match="No space left"):
        files.write_text(path, "new\n")
    assert path.read_text(encoding="utf-8") == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("", encoding="utf-8")
    with pytest.raises(LabkitError, match="cannot be written"):
        files.write_text(tmp_path / "a" / "b.txt", "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """Root could otherwise rename a file onto /dev/null; a named pipe stands for it here."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(LabkitError, match="is a device and no file"):
        files.write_text(pipe, "x")
    assert pipe.is_fifo()
