"""The Slurm files in a real Slurm: two nodes, a rank that is killed, a node's task that is killed, and the same parameters."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.comm.available import distributed_missing
from tests.clusters.private_slurm import ROOT, Slurm

SLURM = ROOT / "notebooks" / "scripts" / "slurm"
TRAIN = "notebooks/scripts/ddp_train.py"
SMALL = ("--epochs=10", "--pictures=512", "--width=4", "--save-every=5", "--device=cpu")
FILES = sorted(SLURM.glob("*.sbatch"))
TWO_NODES = ("--nodes=2", "--gpus-per-node=1", "--cpus-per-task=1", "--time=5")


def processes(job: int, wanted: Callable[[dict[str, str], str], bool]) -> list[int]:
    """Process ids of a job's processes, chosen by (environment, command line)."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            parts = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            environment = dict(part.split("=", 1) for part in parts if "=" in part)
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if environment.get("SLURM_JOB_ID") == str(job) and wanted(environment, command):
                found.append(int(entry.name))
    return found


def of_second_node(job: int, part: str) -> list[int]:
    """On the second node: the processes that train ("RANK" is set), or torchrun."""
    if part == "ranks":
        return processes(job, lambda env, _: env.get("SLURM_NODEID") == "1" and "RANK" in env)
    return processes(job, lambda env, command: env.get("SLURM_NODEID") == "1" and "torch.distributed.run" in command)


def kill(numbers: list[int]) -> None:
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def until(ready: Callable[[], Any], slurm: Slurm, what: str, seconds: float = 100) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"{what} did not happen\n{slurm.logs()}"
        time.sleep(0.05)


@dataclass(frozen=True)
class Ended:
    state: str
    output: str

    @property
    def report(self) -> dict[str, Any]:
        lines = [line for line in self.output.splitlines() if line.startswith("{")]
        assert lines, self.output
        return dict(json.loads(lines[-1]))


@pytest.fixture(scope="module")
def runs(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """The same training twice, side by side on the same two nodes. One is left alone. In the other a rank is killed, and after
    a later checkpoint all that runs on the second node, as when a node fails."""
    if distributed_missing():
        pytest.skip("this torch has no distributed")
    folder = tmp_path_factory.mktemp("jobs")
    jobs = {}
    for name in ("alone", "killed"):
        target = (f"--output={folder / name}.txt", str(SLURM / "several_nodes.sbatch"), TRAIN, *SMALL)
        jobs[name] = slurm.submit(*TWO_NODES, *target, f"--checkpoint={folder / name}.pt")
    checkpoint, job = folder / "killed.pt", jobs["killed"]
    until(lambda: checkpoint.exists() and of_second_node(job, "ranks"), slurm, "the first checkpoint")
    first = of_second_node(job, "ranks")
    kill(first)
    written = checkpoint.stat().st_mtime_ns
    until(lambda: set(of_second_node(job, "ranks")) - set(first), slurm, "a new start of the rank")
    until(lambda: checkpoint.stat().st_mtime_ns > written, slurm, "a checkpoint after the first death")
    kill(of_second_node(job, "torchrun") + of_second_node(job, "ranks"))
    ended = {name: (slurm.wait(number), folder / f"{name}.txt") for name, number in jobs.items()}
    return {name: Ended(state, path.read_text(encoding="utf-8")) for name, (state, path) in ended.items()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_slurm_accepts_the_file_for_nodes_that_are_large_enough(slurm: Slurm, path: Path) -> None:
    fits = ("--gpus-per-node=2", "--cpus-per-task=8")
    answer = slurm.ask("sbatch", "--test-only", *fits, str(path), TRAIN)
    assert answer.returncode == 0, answer.stderr
    assert "to start at" in answer.stderr


def test_slurm_refuses_what_no_node_has(slurm: Slurm) -> None:
    answer = slurm.ask("sbatch", "--test-only", "--gpus-per-node=16", str(FILES[0]), TRAIN)
    assert answer.returncode != 0


def test_a_training_left_alone_runs_on_both_nodes(runs: dict[str, Ended]) -> None:
    alone = runs["alone"]
    assert alone.state == "COMPLETED", alone.output
    assert alone.report["world"] == 2
    assert (alone.report["restarts"], alone.report["resumed_from"]) == (0, None)
    assert "one,two" in alone.output


def test_a_killed_rank_is_started_again_within_the_job(runs: dict[str, Ended]) -> None:
    first_start = runs["killed"].output.split(", start 2:")[0]
    assert first_start.count("exitcode: -9") == 1
    assert first_start.count("2 process(es), cpu, gloo") == 2, first_start


def test_a_killed_task_puts_the_job_back_into_the_queue(runs: dict[str, Ended]) -> None:
    killed = runs["killed"]
    assert killed.state == "COMPLETED", killed.output
    assert "back into the queue" in killed.output
    assert killed.output.count(", start 2: one,two") == 1


def test_after_both_the_training_went_on_from_its_checkpoint_to_the_same_parameters(runs: dict[str, Ended]) -> None:
    killed, alone = runs["killed"].report, runs["alone"].report
    assert 0 < killed["resumed_from"] < killed["steps"] == alone["steps"]
    assert killed["parameters"] == alone["parameters"]


def test_jobs_beside_each_other_have_ports_of_their_own(runs: dict[str, Ended]) -> None:
    first = {run.output.split("rendezvous ")[1].split(",")[0] for run in runs.values()}
    assert len(first) == len(runs)


def test_a_job_whose_time_is_nearly_up_goes_back_into_the_queue(slurm: Slurm, tmp_path: Path) -> None:
    """What --signal=B:USR1@120 does, sent by hand. A file that says how often it was started stands in for Python and torch."""
    stub, output = tmp_path / "python", tmp_path / "time.txt"
    ports = 'if [ "${1##*/}" = free_port.py ]; then echo 20000; exit; fi'
    stub.write_text(
        f'#!/bin/sh\n{ports}\necho run ${{SLURM_RESTART_COUNT:-0}}\n[ -n "$SLURM_RESTART_COUNT" ] || sleep 60\n'
    )
    stub.chmod(0o700)
    job = slurm.submit(*TWO_NODES, f"--output={output}", str(SLURM / "several_nodes.sbatch"), TRAIN, PYTHON=str(stub))
    until(lambda: output.exists() and output.read_text().count("run 0") == 2, slurm, "the start")
    assert slurm.ask("scancel", "--batch", "--signal=USR1", str(job)).returncode == 0
    assert slurm.wait(job) == "COMPLETED", output.read_text()
    said = output.read_text()
    assert "time is nearly up" in said
    assert said.count("run 1") == 2


def test_what_fails_again_and_again_stays_down(slurm: Slurm, tmp_path: Path) -> None:
    stub, output = tmp_path / "python", tmp_path / "down.txt"
    stub.write_text('#!/bin/sh\nif [ "${1##*/}" = free_port.py ]; then echo 20000; exit; fi\nexit 3\n')
    stub.chmod(0o700)
    options = (*TWO_NODES, f"--output={output}", str(SLURM / "several_nodes.sbatch"), TRAIN)
    job = slurm.submit(*options, PYTHON=str(stub), MAX_REQUEUES="0")
    assert slurm.wait(job) == "FAILED"
    assert "back into the queue" not in output.read_text()


@pytest.mark.parametrize(
    ("node", "names"),
    [
        ("one", {"ROCR_VISIBLE_DEVICES"}),  # gres.conf: Flags=amd_gpu_env
        ("two", {"ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}),
    ],
)
def test_what_slurm_sets_for_gpus_with_and_without_a_word_on_whose_they_are(
    slurm: Slurm, node: str, names: set[str]
) -> None:
    answer = slurm.ask("srun", f"--nodelist={node}", "--gpus-per-node=2", "env")
    assert answer.returncode == 0, answer.stderr
    found = {part[0]: part[1] for line in answer.stdout.splitlines() if len(part := line.split("=", 1)) == 2}
    masks = {name: found[name] for name in found if "VISIBLE_DEVICES" in name or name == "GPU_DEVICE_ORDINAL"}
    assert masks == dict.fromkeys(names, "0,1")


def test_one_node_in_a_container(slurm: Slurm, tmp_path: Path) -> None:
    """`env` stands in for the container's runtime: what is prefixed is what starts the processes."""
    if distributed_missing():
        pytest.skip("this torch has no distributed")
    output = tmp_path / "one.txt"
    options = ("--gpus-per-node=2", "--cpus-per-task=2", "--time=5", f"--output={output}")
    script = tmp_path / "who.py"
    words = "'inside', os.environ['INSIDE'], os.environ['LOCAL_RANK']"
    script.write_text(f"import os\nos.write(1, ' '.join(({words}, chr(10))).encode())\n")  # one write: two ranks speak
    job = slurm.submit(*options, str(SLURM / "one_node.sbatch"), str(script), CONTAINER="env INSIDE=yes")
    assert slurm.wait(job) == "COMPLETED", output.read_text(encoding="utf-8")
    said = [line.strip() for line in output.read_text(encoding="utf-8").splitlines() if line.startswith("inside")]
    assert sorted(said) == ["inside yes 0", "inside yes 1"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_torchrun_gets_the_cores_that_the_job_asked_for(slurm: Slurm, tmp_path: Path, path: Path) -> None:
    """Slurm 22.05 and newer do not hand sbatch's --cpus-per-task on to srun by themselves."""
    stub, output = tmp_path / "python", tmp_path / "cores.txt"
    stub.write_text('#!/bin/sh\necho "cores ${SRUN_CPUS_PER_TASK:-not said}"\n')
    stub.chmod(0o700)
    options = ("--gpus-per-node=1", "--cpus-per-task=3", "--time=5", f"--output={output}")
    job = slurm.submit(*options, str(path), TRAIN, PYTHON=str(stub))
    assert slurm.wait(job) == "COMPLETED", output.read_text()
    said = [line for line in output.read_text().splitlines() if line.startswith("cores")]
    assert said == ["cores 3"] * (2 if "several" in path.name else 1)


def test_a_restart_on_one_node_helps_a_script_that_joins_in_the_usual_way(slurm: Slurm, tmp_path: Path) -> None:
    """Which is what a script of one's own does: nothing in it knows of restarts. Rank 1 comes late the second time, so that rank 0
    would surely find what the dead left."""
    if distributed_missing():
        pytest.skip("this torch has no distributed")
    output, script = tmp_path / "own.txt", tmp_path / "own.py"
    script.write_text(
        "import datetime, os, signal, time, torch, torch.distributed as dist\n"
        "again = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "time.sleep(3 * int(again) * int(os.environ['RANK']))\n"
        "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=20))\n"
        "x = torch.ones(1)\n"
        "dist.all_reduce(x)\n"
        "if again == '0' and dist.get_rank() == 1:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "dist.all_reduce(x)\n"
        "os.write(1, f'restart {again} sum {x.item():g}\\n'.encode())\n"
        "os._exit(0)\n"  # as the scripts of the course end, whose docstrings say why
    )
    options = ("--gpus-per-node=2", "--cpus-per-task=2", "--time=5", f"--output={output}")
    job = slurm.submit(*options, str(SLURM / "one_node.sbatch"), str(script), GLOO_SOCKET_IFNAME="lo")
    assert slurm.wait(job) == "COMPLETED", output.read_text(encoding="utf-8")
    assert output.read_text(encoding="utf-8").count("restart 1 sum 4") == 2


def test_a_file_submitted_from_elsewhere_or_without_a_script_says_so(slurm: Slurm, tmp_path: Path) -> None:
    output = tmp_path / "said.txt"
    job = slurm.submit(*TWO_NODES, f"--output={output}", f"--chdir={tmp_path}", str(SLURM / "several_nodes.sbatch"))
    assert slurm.wait(job) == "FAILED"
    assert "name the script" in output.read_text(encoding="utf-8")
