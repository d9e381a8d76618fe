"""The command line: on a bare Python, without anything installed, and what it says when something is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labkit import cli
from labkit import setup as setup_room
from labkit.errors import LabkitError
from tests import bare

ROOT = Path(__file__).resolve().parents[1]


def test_help_on_a_bare_python():
    answer = bare.labkit("--help")
    assert answer.returncode == 0 and "start" in answer.stdout and "New here?" in answer.stdout
    for command in cli._COMMANDS:
        assert bare.labkit(command, "--help").returncode == 0


def test_importing_labkit_and_set_up_brings_in_nothing_that_must_be_installed():
    program = (
        "import sys, labkit, labkit.cli, labkit.setup, labkit.setup.prepare\n"
        "print(sorted(set(sys.modules) & {'torch', 'numpy', 'matplotlib', 'ipywidgets', 'nbformat', 'papermill'}))"
    )
    answer = bare.python("-c", program)
    assert answer.returncode == 0 and answer.stdout.strip() == "[]", answer.stderr


def test_the_cheap_path_starts_little():
    """What runs before every command: no subprocess machinery of set-up, no catalog, no detection."""
    program = "import sys, labkit.cli, labkit.setup\nprint(sorted(name for name in sys.modules if name.startswith('labkit.')))"
    assert bare.python("-c", program).stdout.strip() == str(
        [
            "labkit.cli",
            "labkit.errors",
            "labkit.importable",
            "labkit.setup",
            "labkit.setup.environment",
            "labkit.setup.homes",
            "labkit.setup.requirements",
        ]
    )


def test_no_command_prints_the_help(capsys):
    assert cli.main([]) == 2
    assert "COMMAND" in capsys.readouterr().out


def test_a_foreseeable_problem_is_two_lines_without_a_traceback(monkeypatch, capsys):
    def refuse(*args: object) -> None:
        raise LabkitError("The disk is full.", "free some space.")

    monkeypatch.setattr(setup_room, "enter", refuse)
    assert cli.main(["setup"]) == 1
    assert capsys.readouterr().err == "labkit: The disk is full.\n  What to do: free some space.\n"


def test_set_up_comes_first_and_its_status_is_the_commands(monkeypatch):
    seen = []

    def enter(needs: str, options: object, argv: list[str]) -> int:
        seen.append((needs, argv))
        return 7

    monkeypatch.setattr(setup_room, "enter", enter)
    assert cli.main(["test", "--light"]) == 7 and cli.main(["start", "--no-browser"]) == 7
    assert seen == [("test", ["test", "--light"]), ("course", ["start", "--no-browser"])]


def test_an_unknown_torch_is_a_sentence(tmp_path):
    environ = {key: value for key, value in os.environ.items() if not key.startswith("LABKIT_")}
    answer = subprocess.run(
        [sys.executable, "-m", "labkit", "setup", "--torch", "nonsense", "--dry-run"],
        cwd=ROOT,
        timeout=120,
        env={**environ, "LABKIT_ENV": str(tmp_path / "env")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        answer.returncode == 1
        and "'nonsense' is not a build of PyTorch" in answer.stderr
        and "Traceback" not in answer.stderr
    )


def test_ctrl_c_is_a_sentence(monkeypatch, capsys):
    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(setup_room, "_enter", stop)
    assert cli.main(["setup"]) == 130
    assert "stopped by you; the same command goes on where this one stopped" in capsys.readouterr().err


@pytest.mark.parametrize("errno_and_words", [(28, "became full"), (13, "may not write"), (30, "may not write")])
def test_what_the_system_refuses_is_a_sentence(monkeypatch, capsys, errno_and_words):
    number, words = errno_and_words

    def refuse(*args: object) -> None:
        raise OSError(number, os.strerror(number), "/somewhere")

    monkeypatch.setattr(setup_room, "_enter", refuse)
    assert cli.main(["setup"]) == 1
    error = capsys.readouterr().err
    assert words in error and "/somewhere" in error and "What to do" in error


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["list"], ["doctor", "--symptom", "x", "--json"]])
def test_a_full_disk_is_a_sentence(arguments):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        answer = subprocess.run(
            [sys.executable, "-S", "-E", "-m", "labkit", *arguments],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip
    assert answer.returncode == 1
    assert answer.stderr.startswith("labkit: the output cannot be written") and "Traceback" not in answer.stderr
    assert len(answer.stderr.splitlines()) == 2


@pytest.mark.skipif(os.name == "nt", reason="pipes of Linux and macOS")
def test_a_reader_that_has_enough_is_no_failure():
    """As in 'labkit list | head -1': the reader closes, and nothing went wrong."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        answer = subprocess.run(
            [sys.executable, "-S", "-E", "-m", "labkit", "list"],
            cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_started_as_a_folder_it_says_how_it_is_started(tmp_path):
    answer = subprocess.run(
        [sys.executable, "-S", "-E", str(ROOT / "labkit"), "list"],
        cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert answer.returncode == 1 and "Traceback" not in answer.stderr
    assert "python3 -m labkit start" in answer.stderr and "clone" in answer.stderr
