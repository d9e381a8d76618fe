"""Ctrl-C in a terminal goes to every process of its group: one sentence, no traceback, nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

psutil = pytest.importorskip("psutil")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process groups, and the server that starts ranks")
ROOT = Path(__file__).resolve().parents[2]

BENCH = """
from labkit import cli, setup
cli._need_environment = lambda what: None
setup.enter = lambda *_: None
raise SystemExit(cli.main(["bench", "collectives", "--seconds", "60"]))
"""


def server(of: Any) -> list[Any]:
    return [child for child in of.children() if any("forkserver import" in word for word in child.cmdline())]


def loading(of: Any) -> bool:
    return any(time.time() - one.create_time() > 0.7 for one in server(of))


def ranks(of: Any) -> bool:
    return any(len(one.children()) >= 2 for one in server(of))


@pytest.mark.parametrize("moment", [loading, ranks])
def test_one_sentence_and_nothing_left(
    moment: Callable[[Any], bool], work: ModuleType, gone: Callable[[Iterable[int]], list[int]], tmp_path: Path
) -> None:
    script = tmp_path / "bench.py"
    script.write_text(BENCH, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LABKIT_DEVICE": "cpu"},
        start_new_session=True,
    )
    try:
        told = psutil.Process(process.pid)
        deadline = time.monotonic() + 120
        while not moment(told):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        everyone = [child.pid for child in told.children(recursive=True)]
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in output and output.splitlines()[-1] == "labkit: stopped by you."
    assert gone(everyone) == []


def test_the_server_s_other_processes_take_interrupts_as_usual(work: ModuleType) -> None:
    """What a DataLoader starts from the same server is not deaf to interrupts."""
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from labkit.comm.processes import context_for_ranks, server_ready

if __name__ == "__main__":
    assert server_ready(120)
    context = context_for_ranks()
    process = context.Process(target=eval, args=("__import__('time').sleep(60)",))
    process.start()
    import os, signal, time
    time.sleep(1)
    os.kill(process.pid, signal.SIGINT)
    process.join(20)
    print("exit", process.exitcode)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert "exit 1" in done.stdout and "KeyboardInterrupt" in done.stderr, done.stderr
