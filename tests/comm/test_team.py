"""A team starts, works, says in a sentence what went wrong, and never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest

from labkit.comm import sources, team
from labkit.comm.processes import cannot_start
from labkit.comm.rank_errors import RankError
from labkit.comm.team import Interrupted, Team
from labkit.errors import LabkitError

ROOT = Path(__file__).resolve().parents[2]
WORK = Path(__file__).with_name("ranks_work.py")
posix = pytest.mark.skipif(os.name != "posix", reason="signals")
Gone = Callable[[Iterable[int]], list[int]]


def test_every_rank_answers_in_its_place_and_sums_agree(work: ModuleType) -> None:
    with Team(3) as ranks:
        sums = ranks.run(work.add_up, 4, scale=0.5)
        told = ranks.run(work.about)
    assert [s.tolist() for s in sums] == [[3.0] * 4] * 3
    assert [(t.rank, t.ranks, t.threads) for t in told] == [(0, 3, 1), (1, 3, 1), (2, 3, 1)]
    assert isinstance(told[0], work.Told)


def test_ranks_stay_for_the_next_run_and_end_with_the_block(work: ModuleType, gone: Gone) -> None:
    with Team(2) as ranks:
        ranks.run(work.add_up, 1)
        first = ranks.pids
        ranks.run(work.add_up, 1)
        assert ranks.pids == first and len(set(first)) == 2
    assert ranks.pids == () and gone(first) == []


def test_two_teams_at_once_do_not_meet(work: ModuleType) -> None:
    with Team(2) as one, Team(2) as other:
        results: dict[str, list[float]] = {}

        def go(name: str, which: Team, scale: float) -> None:
            for _ in range(5):
                results[name] = [float(x[0]) for x in which.run(work.add_up, 1, scale=scale)]

        threads = [threading.Thread(target=go, args=a) for a in (("one", one, 1.0), ("other", other, 10.0))]
        one.start(), other.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {"one": [3.0, 3.0], "other": [30.0, 30.0]}


def test_threads_that_share_a_team_take_turns(work: ModuleType) -> None:
    sums: list[list[float]] = []
    with Team(2) as ranks:
        go = lambda scale: sums.append([float(x[0]) for x in ranks.run(work.add_up, 1, scale=scale, seconds=60)])  # noqa: E731
        threads = [threading.Thread(target=go, args=(scale,)) for scale in (1.0, 10.0, 100.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(sums) == [[3.0] * 2, [30.0] * 2, [300.0] * 2]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the folder of a process")
def test_why_no_rank_can_be_started_is_a_sentence(
    work: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(LabkitError, match=r"cannot be started: No such file .*missing"):
        Team(2).start()
    lost = tmp_path / "lost"
    lost.mkdir()
    monkeypatch.chdir(lost)
    lost.rmdir()
    with pytest.raises(LabkitError, match="the folder in which this process runs is gone"):
        Team(2).start()
    monkeypatch.chdir(tmp_path)
    assert "the process that starts them ended" in cannot_start(EOFError())[0]


def test_a_run_may_go_without_a_process_group(work: ModuleType) -> None:
    with Team(2) as ranks:
        assert ranks.run(work.alone, group=False) == [False, False]
        assert ranks.run(work.alone) == [True, True]


def test_what_ranks_print_is_shown_once_with_the_rank(work: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    with Team(2) as ranks:
        ranks.run(work.talk)
        ranks.run(work.talk, echo=False)
        ranks.run(work.same, 1)
    out, err = capfd.readouterr()
    assert out.splitlines()[:2] == ["rank 0: I am 0", "rank 1: I am 1"]
    assert "warning" not in out + err


def test_an_exception_names_its_rank_and_not_the_one_that_waited(work: ModuleType, gone: Gone) -> None:
    with Team(2) as ranks:
        for on in (0, 1):
            ranks.start()
            processes = ranks.pids
            with pytest.raises(RankError) as caught:
                ranks.run(work.fail, on, seconds=30)
            assert f"Rank {on} of 2 failed: ValueError: the shapes differ (ranks_work.py, line" in caught.value.problem
            assert caught.value.rank == on and "in fail" in caught.value.trace
            assert gone(processes) == []
        assert [x.tolist() for x in ranks.run(work.add_up, 1)] == [[3.0], [3.0]], "the next run starts new ranks"


@posix
def test_a_rank_that_is_killed_is_named_with_the_signal(work: ModuleType, gone: Gone) -> None:
    with Team(2) as ranks:
        ranks.start()
        processes = ranks.pids
        with pytest.raises(RankError, match=r"Rank 1 of 2 was killed by SIGKILL in die") as caught:
            ranks.run(work.die, 1, int(signal.SIGKILL), seconds=30)
        assert caught.value.rank == 1 and gone(processes) == []


def test_a_rank_that_leaves_is_named_with_its_status(work: ModuleType) -> None:
    with Team(2) as ranks, pytest.raises(RankError, match=r"of 2 ended with status 3 in leave"):
        ranks.run(work.leave, 3, seconds=30)


def test_a_hang_says_who_waits_where_and_who_left(work: ModuleType, gone: Gone) -> None:
    with Team(2) as ranks:
        ranks.start()
        processes = ranks.pids
        with pytest.raises(RankError) as caught:
            ranks.run(work.skip, 1, seconds=2)
        assert "No answer in skip within 2 s: rank 0 is in add_up (ranks_work.py, line" in caught.value.problem
        assert "Finished: rank 1." in caught.value.problem and "skipped it" in caught.value.remedy
        assert gone(processes) == []


@posix
def test_an_interrupt_ends_all_ranks_and_what_they_started(
    work: ModuleType, gone: Gone, appears: Callable[..., list[str]], tmp_path: Path
) -> None:
    with Team(2) as ranks:
        ranks.start()

        def interrupt() -> None:
            appears(tmp_path / "rank-0", tmp_path / "rank-1")
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(Interrupted, match="all 2 ranks were ended") as caught:
            ranks.run(work.wait_with_child, str(tmp_path), seconds=100)
        thread.join()
    assert caught.value._render_traceback_() == ["Interrupted: all 2 ranks were ended."]
    started = " ".join(appears(tmp_path / "rank-0", tmp_path / "rank-1")).split()
    assert gone(map(int, started)) == []


PARENT = """
import sys
from labkit.comm import Team, module_from
if {fork}:
    import os, time
with Team(2) as team:
    team.start()
    if {fork} and os.fork() == 0:  # a child that keeps copies of every pipe
        time.sleep(600)
    team.run(module_from({work!r}).wait_with_child, {folder!r}, seconds=500)
"""


@posix
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("fork", [False, True])
def test_ranks_end_with_their_parent_however_it_ends(
    how: str, fork: bool, gone: Gone, appears: Callable[..., list[str]], tmp_path: Path, work: ModuleType
) -> None:
    """A real grandparent (this test) kills a real parent; its ranks, and what they started, are gone."""
    psutil = pytest.importorskip("psutil")
    text = PARENT.format(work=str(WORK), folder=str(tmp_path), fork=fork)
    parent = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, start_new_session=True)
    forked: list[int] = []
    try:
        started = " ".join(appears(tmp_path / "rank-0", tmp_path / "rank-1")).split()
        below = {child.pid for child in psutil.Process(parent.pid).children(recursive=True)}
        assert set(map(int, started)) <= below
        if fork:
            forked = [c.pid for c in psutil.Process(parent.pid).children() if str(WORK) in str(c.cmdline())]
            assert len(forked) == 1
        os.kill(parent.pid, getattr(signal, how))
        parent.wait(20)
        assert gone(map(int, started) if fork else below) == []  # the fork keeps the server's pipes too
    finally:
        for number in (parent.pid, *forked):
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass


SCRIPT = """
from labkit.comm import Team
import torch.distributed as dist

def mine(n):
    return (dist.get_rank(), n)

with Team(2) as team:
    print(team.run(mine, 5))
"""


def test_a_function_of_the_script_that_runs_is_found(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    guarded = SCRIPT.replace("with Team", "if __name__ == '__main__':\n  with Team").replace("    print", "      print")
    script.write_text(guarded, encoding="utf-8")
    settings = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script)]
    answer = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=120)
    assert answer.stdout.strip() == "[(0, 5), (1, 5)]", answer.stderr


NAMELESS = """
from labkit.comm import Team, module_from
work = module_from({work!r})
with Team(2) as team:
    print([x.tolist() for x in team.run(work.add_up, 2)])
"""


def test_nothing_depends_on_the_host_s_name(work: ModuleType, nameless: list[str]) -> None:
    command = [*nameless, sys.executable, "-c", NAMELESS.format(work=str(WORK))]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert answer.stdout.strip() == "[[3.0, 3.0], [3.0, 3.0]]" and answer.stderr == ""


def test_what_cannot_be_sent_is_said_before_anything_starts(work: ModuleType) -> None:
    with Team(2) as ranks:
        with pytest.raises(LabkitError, match="An argument cannot be sent"):
            ranks.run(work.same, lambda: None)
        with pytest.raises(LabkitError, match="has no name at the top of a file"):
            ranks.run(lambda: None)
        assert ranks.pids == ()
        with pytest.raises(LabkitError, match=r"what the function returned \(function\) cannot be sent"):
            ranks.run(work.unsendable)


def test_a_function_of_a_notebook_cell_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType as Module

    notebook = Module("__main__")
    exec("def mine(): return 1", notebook.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    with pytest.raises(LabkitError, match="lives in this notebook") as caught:
        sources.place_of(notebook.mine)
    assert "%%writefile" in caught.value.remedy and "module_from('work.py').mine" in caught.value.remedy


def test_a_changed_file_is_loaded_anew_here_and_in_the_ranks(tmp_path: Path, work: ModuleType) -> None:
    file = tmp_path / "shifting.py"
    with Team(1) as ranks:
        for stamp, value in ((1, "old"), (2, "new")):
            file.write_text(f"def say():\n    return {value!r}\n", encoding="utf-8")
            os.utime(file, (stamp, stamp))
            assert ranks.run(sources.module_from(file).say) == [value]


def test_no_team_without_distributed_and_no_team_of_nobody(monkeypatch: pytest.MonkeyPatch, work: ModuleType) -> None:
    with pytest.raises(LabkitError, match="A team of 0"):
        Team(0)
    monkeypatch.setattr(team, "distributed_missing", lambda: "torch here is built without it.")
    with pytest.raises(LabkitError, match="built without it"):
        Team(2)


def test_a_lost_peer_is_a_consequence(work: ModuleType) -> None:
    """The rank that lost its peer tells so first; the one that was the cause is named."""
    for _ in range(3):
        with Team(2) as ranks, pytest.raises(RankError) as caught:
            ranks.run(work.die, 0, int(signal.SIGTERM), seconds=30)
        assert caught.value.rank == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems start a new interpreter each time")
def test_later_ranks_come_from_the_server_that_has_torch(work: ModuleType) -> None:
    """No absolute time: the later start is compared with an import of torch in the same minute."""
    Team(1).start().close()
    begun = time.perf_counter()
    with Team(2) as ranks:
        ranks.start()
        later = time.perf_counter() - begun
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    assert later < time.perf_counter() - begun
