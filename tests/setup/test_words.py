"""How set-up talks."""

from __future__ import annotations

import io
import shlex
import sys

from labkit.setup import words


def test_commands_can_be_copied_into_either_systems_shell():
    arguments = [
        "C:\\Lab Übung\\python.exe",
        "-m",
        "pip",
        "install",
        "torch>=2.10,<2.16",
        "--index-url",
        "https://x.example/cpu",
    ]
    assert shlex.split(words.command(arguments, "posix")) == arguments
    assert words.command(arguments, "nt") == (
        '"C:\\Lab Übung\\python.exe" -m pip install "torch>=2.10,<2.16" --index-url https://x.example/cpu'
    )


def test_sizes():
    assert [words.size(count) for count in (10, 812_000_000, 5_550_000_000)] == ["1 MB", "812 MB", "5.5 GB"]


def test_reasons_are_wrapped_and_addresses_stay_whole():
    address = "https://download.pytorch.org/whl/" + "x" * 60
    text = words.because(
        ["A reason that is told in so many words that a line does not hold it: " + address, "Another."]
    )
    assert (
        all(line.startswith("    ") for line in text.splitlines()) and address in text and text.endswith("    Another.")
    )


def test_a_terminal_without_a_letter_does_not_stop_set_up(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    words.say("Übung")
    stream.flush()
    assert stream.buffer.getvalue() == b"?bung\n"
