"""The real torchrun: its output, its failures in a sentence, and nothing that stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from labkit.comm import torchrun
from labkit.comm.available import distributed_missing
from labkit.comm.team import Interrupted
from labkit.comm.torchrun import LaunchError, cause, launch
from labkit.errors import LabkitError

ROOT = Path(__file__).resolve().parents[2]
Gone = Callable[[Iterable[int]], list[int]]
Appears = Callable[..., list[str]]
real = pytest.mark.skipif(bool(distributed_missing()), reason="this torch has no distributed")
posix = pytest.mark.skipif(os.name != "posix", reason="signals")

SCRIPT = """
import json, os, signal, sys, time
from pathlib import Path
import torch, torch.distributed as dist
mode = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()
if mode == "stay":
    folder = Path(sys.argv[2])
    (folder / f".{rank}").write_text(f"{os.getpid()} {os.getppid()}")
    (folder / f".{rank}").replace(folder / f"rank-{rank}")
    time.sleep(600)
first = os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0"
if mode == "die" and rank == 1 and (len(sys.argv) < 3 or first):
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "raise" and rank == 1:
    raise ValueError("the shapes differ")
x = torch.full((3,), rank + 1.0)
dist.all_reduce(x)
if rank == 0:
    print(json.dumps({"sum": x.tolist(), "threads": torch.get_num_threads(), "restarts": not first, "at": os.environ["MASTER_ADDR"]}))
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)  # as the scripts of the course end, whose docstrings say why
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@real
def test_two_runs_at_once_each_give_their_result_and_nothing_else(script: Path) -> None:
    runs: dict[int, torchrun.Run] = {}

    def go(number: int) -> None:
        runs[number] = launch(script, "sum", ranks=1 + number)

    threads = [threading.Thread(target=go, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [runs[n].records[0]["sum"] for n in (0, 1)] == [[1.0] * 3, [3.0] * 3]
    for run in runs.values():
        assert run.status == 0 and run.seconds > 0 and len(run.output.splitlines()) == 1, run.output
        assert run.records[0]["threads"] == 1 and run.records[0]["at"] == "127.0.0.1"


@real
def test_a_failing_rank_is_named_and_the_output_is_kept(script: Path) -> None:
    lines: list[str] = []
    with pytest.raises(LaunchError) as caught:
        launch(script, "raise", show=lines.append)
    assert caught.value.problem == "script.py failed (exit status 1): rank 1: ValueError: the shapes differ"
    assert "\n".join(lines) == caught.value.run.output.rstrip("\n") and "Traceback" in caught.value.run.output


@real
@posix
def test_a_killed_rank_is_started_again(script: Path) -> None:
    run = launch(script, "die", "once", max_restarts=1, check=False)
    assert run.status == 0 and run.records[0]["restarts"] is True


@real
@posix
def test_a_time_limit_ends_torchrun_and_its_ranks(script: Path, gone: Gone, appears: Appears, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"script.py did not end within 12 s") as caught:
        launch(script, "stay", tmp_path, seconds=12)
    assert caught.value.run.timed_out
    started = " ".join(appears(tmp_path / "rank-0", tmp_path / "rank-1")).split()
    assert gone(map(int, started)) == []


@real
@posix
def test_an_interrupt_ends_torchrun_and_its_ranks(script: Path, gone: Gone, appears: Appears, tmp_path: Path) -> None:
    def interrupt() -> None:
        appears(tmp_path / "rank-0", tmp_path / "rank-1")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(Interrupted, match="everything that was started has been ended"):
        launch(script, "stay", tmp_path, seconds=200)
    thread.join()
    started = " ".join(appears(tmp_path / "rank-0", tmp_path / "rank-1")).split()
    assert gone(map(int, started)) == []


@real
@posix
def test_a_killed_notebook_takes_torchrun_along(script: Path, gone: Gone, appears: Appears, tmp_path: Path) -> None:
    text = f"from labkit.comm import launch; launch({str(script)!r}, 'stay', {str(tmp_path)!r}, seconds=500)"
    kernel = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT)
    try:
        started = " ".join(appears(tmp_path / "rank-0", tmp_path / "rank-1")).split()
        psutil = pytest.importorskip("psutil")
        below = {child.pid for child in psutil.Process(kernel.pid).children(recursive=True)}
        assert set(map(int, started)) <= below and len(below) >= 4
    finally:
        kernel.kill()
        kernel.wait(20)
    assert gone(below) == []


@real
def test_torchrun_needs_no_host_name(script: Path, nameless: list[str]) -> None:
    text = f"from labkit.comm import launch; print(launch({str(script)!r}, 'sum').output)"
    answer = subprocess.run(
        [*nameless, sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert '"sum": [3.0, 3.0, 3.0]' in answer.stdout and len(answer.stdout.strip().splitlines()) == 1, answer.stdout


def test_a_script_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torchrun, "distributed_missing", lambda: None)
    with pytest.raises(LabkitError, match=r"There is no script .*nothing.py"):
        launch(tmp_path / "nothing.py")
    monkeypatch.setattr(torchrun, "distributed_missing", lambda: "torch here is built without it.")
    with pytest.raises(LabkitError, match="built without it"):
        launch(tmp_path / "nothing.py")


def test_the_environment_is_quiet_and_the_caller_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    plain = torchrun.quiet_settings()
    assert plain["OMP_NUM_THREADS"] == "1" and "NCCL_DEBUG" not in plain
    asked = torchrun.quiet_settings({"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "2"})
    assert (asked["NCCL_DEBUG"], asked["OMP_NUM_THREADS"]) == ("INFO", "2")


def test_the_cause_is_the_first_failure_and_not_what_followed() -> None:
    followed = "[rank0]: RuntimeError: Connection closed by peer\n"
    root = "Root Cause (first observed failure):\n[0]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : {}\n  traceback : {}\n=====\n"
    killed = followed + root.format("-9 (pid: 7)  (SIGKILL)", "Signal 9 (SIGKILL) received by PID 7")
    assert cause(killed) == "rank 1 was killed by SIGKILL."
    raised = followed + "[rank1]: ValueError: bad\n" + root.format("1", "To enable traceback")
    assert cause(raised) == "rank 1: ValueError: bad"
    assert cause("usage: x.py\nx.py: error: no such option") == "x.py: error: no such option"
    assert cause("") == "it said nothing."
