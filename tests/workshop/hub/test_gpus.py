"""Which GPUs are lent, on simulated machines, and what a learner's server is told about its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from labkit.catalog import masks
from labkit.machine import simulate
from labkit.workshop.hub import gpus
from labkit.workshop.hub.accounts import Folder
from labkit.workshop.hub.leases import Book, Lease
from labkit.workshop.hub.servers import MARK, is_alive, started_at, take_back


def node(simds: int, cpus: int = 0) -> str:
    return f"cpu_cores_count {cpus}\nsimd_count {simds}\n"


def test_a_gpu_inside_the_processor_counts_but_is_not_lent() -> None:
    kfd = {"10": node(400), "0": node(0, 64), "2": node(400), "1": node(8, 16)}
    assert gpus.found({"kfd": kfd}) == ("1", "2"), "index 0 is the processor's own; node 10 comes after node 2"


def test_no_gpu_no_lease() -> None:
    assert gpus.found({}) == () and gpus.found({"kfd": {"0": node(0, 8)}}) == ()


@pytest.mark.parametrize("name", simulate.names())
def test_simulated_machines(name: str) -> None:
    found = gpus.found(simulate.snapshot(name, []))
    assert found == tuple(sorted(found, key=int))


def test_a_lent_gpu_is_the_only_one_that_is_seen() -> None:
    assert gpus.variables(Lease("3", "ada", ""), pretended=False) == {
        "ROCR_VISIBLE_DEVICES": "3",
        "LABKIT_HUB_GPU": "3",
    }
    assert "pretended" in gpus.variables(Lease("3", "ada", ""), pretended=True)["LABKIT_HUB_GPU"]


def test_without_a_lease_there_is_none() -> None:
    hidden = gpus.variables(None, pretended=False)
    assert hidden["ROCR_VISIBLE_DEVICES"] == hidden["HIP_VISIBLE_DEVICES"] == "-1"
    assert set(hidden) - {"LABKIT_HUB_GPU"} <= set(masks.HIDING)


def test_a_process_that_is_dead_but_not_fetched_is_dead() -> None:
    child = subprocess.Popen(["sleep", "100"])
    began = started_at(child.pid)
    lease = Lease("0", "ada", "", child.pid, began)
    assert began > 0 and is_alive(lease)
    assert not is_alive(Lease("0", "ada", "", child.pid, began - 5)), "the number of another process"
    child.kill()
    end = time.monotonic() + 20
    while started_at(child.pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_alive(lease), "a zombie holds no GPU"
    child.wait()
    assert started_at(child.pid) == 0


def test_a_gpu_is_free_again_only_when_nothing_of_the_dead_server_runs(tmp_path: Path) -> None:
    place = Folder(tmp_path / "hub")
    place.make()
    ada, ben = place.account("ada", None), place.account("ben", None)
    left = subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: str(ada.home)})
    other = subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: str(ben.home)})
    try:
        book = Book(place.leases)
        book.change(lambda table: table.on(("0", "1"), 1).lend("ada").running("ada", 2**22 + 1, 5.0))  # no such process
        book.change(lambda table: table.lend("ben").running("ben", other.pid, started_at(other.pid)))
        take_back(place, None)
        assert [lease.learner for lease in book.read().leases] == ["ben"]
        assert left.wait(30) == -signal.SIGKILL and other.poll() is None
    finally:
        for process in (left, other):
            process.kill()
            process.wait()
