"""The supervisor ends the whole tree: when its starter lets go, is killed, or the time is over."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from labkit.comm import lifeline

PROGRAM = str(lifeline.__file__)
Gone = Callable[[Iterable[int]], list[int]]
Appears = Callable[..., list[str]]
posix = pytest.mark.skipif(os.name != "posix", reason="signals")

TREE = """
import os, subprocess, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
depth = int(sys.argv[2])
(folder / f".{depth}").write_text(str(os.getpid()))
(folder / f".{depth}").replace(folder / f"pid-{depth}")
if depth:
    again = [sys.executable, "-c", os.environ["TREE"], str(folder), str(depth - 1)]
    subprocess.Popen(again, start_new_session=True)
    if depth == 2:
        time.sleep(0.3)
        sys.exit() if os.environ.get("ORPHAN") else None
time.sleep(600)
"""
HOLDER = """
import subprocess, sys, time
p = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE)
time.sleep(600)
"""


def tree(folder: Path, depth: int = 3) -> list[str]:
    return [sys.executable, "-c", TREE, str(folder), str(depth)]


def start(folder: Path, seconds: float = 0, **settings: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "TREE": TREE, **settings}
    return subprocess.Popen([sys.executable, PROGRAM, str(seconds), *tree(folder)], stdin=subprocess.PIPE, env=env)


def pids(folder: Path, appears: Appears) -> list[int]:
    return [int(text) for text in appears(*(folder / f"pid-{k}" for k in range(4)))]


def test_the_status_of_the_command_comes_through() -> None:
    for status in (0, 3):
        command = [sys.executable, PROGRAM, "60", sys.executable, "-c", f"import sys; sys.exit({status})"]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            assert process.wait(60) == status


@posix
def test_a_signal_becomes_a_status_as_in_a_shell() -> None:
    text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with subprocess.Popen(
        [sys.executable, PROGRAM, "60", sys.executable, "-c", text], stdin=subprocess.PIPE
    ) as process:
        assert process.wait(60) == 128 + 9


def test_a_command_that_is_not_there_is_said() -> None:
    command = [sys.executable, PROGRAM, "60", "no-such-program-anywhere"]
    answer = subprocess.run(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert answer.returncode == lifeline.NOT_STARTED and "could not be started" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_when_the_starter_lets_go_everything_ends(tmp_path: Path, gone: Gone, appears: Appears) -> None:
    """Four generations, each in a session of its own, as torchrun's ranks are."""
    process = start(tmp_path)
    started = pids(tmp_path, appears)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == lifeline.STARTER_GONE
    assert gone(started) == []


def test_when_the_time_is_over_everything_ends(tmp_path: Path, gone: Gone, appears: Appears) -> None:
    process = start(tmp_path, seconds=4)
    started = pids(tmp_path, appears)
    assert process.wait(60) == lifeline.TIME_OVER
    assert gone(started) == []


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are found by their environment on Linux")
def test_a_grandchild_whose_parent_has_ended_ends_too(tmp_path: Path, gone: Gone, appears: Appears) -> None:
    process = start(tmp_path, ORPHAN="1")
    started = pids(tmp_path, appears)
    assert gone(started[2:3]) == [], "the one in between leaves by itself"
    assert process.stdin is not None and process.poll() is None
    process.stdin.close()
    process.wait(30)
    assert gone(started) == []


def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path, gone: Gone, appears: Appears) -> None:
    text = (
        "import subprocess, sys; from pathlib import Path\n"
        "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        f"Path({str(tmp_path / 'left')!r}).write_text(str(left.pid))"
    )
    command = [sys.executable, PROGRAM, "60", sys.executable, "-c", text]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.wait(60) == 0
    assert gone(map(int, appears(tmp_path / "left"))) == []


@posix
def test_a_killed_starter_takes_the_tree_along(tmp_path: Path, gone: Gone, appears: Appears) -> None:
    env = {**os.environ, "TREE": TREE}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, PROGRAM, "0", *tree(tmp_path)], env=env)
    started = pids(tmp_path, appears)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(10)
    assert gone(started) == []


def test_it_is_standard_library_only() -> None:
    """It must start within a moment; psutil is looked for where it is needed."""
    tops = {
        alias.name
        for node in ast.parse(Path(PROGRAM).read_text(encoding="utf-8")).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert {name.split(".")[0] for name in tops} <= set(sys.stdlib_module_names)
