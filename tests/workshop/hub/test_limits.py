"""Limits: what the watch ends, how a folder is measured, when control groups are used; and one that Linux enforces, for real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traitlets.config import Config

from labkit.errors import LabkitError
from labkit.importable import ROOT
from labkit.workshop.hub import limits
from labkit.workshop.hub.limits import Limits, Process

G = 2**30


@pytest.mark.parametrize(
    ("text", "bytes_"), [("4G", 4 * G), ("512M", 512 * 2**20), ("1.5g", 3 * G // 2), ("100", 100), ("2 GB", 2 * G)]
)
def test_sizes(text: str, bytes_: int) -> None:
    assert limits.size(text) == bytes_


@pytest.mark.parametrize("text", ["4G", "1.5g", "100", "2 GB"])
def test_a_size_means_the_same_on_the_command_line_and_in_the_configuration(text: str) -> None:
    from labkit.workshop.hub.spawner import LeaseSpawner

    mine = {"disk_limit": text, "file_limit": text}
    found = LeaseSpawner(config=Config({"Spawner": {"mem_limit": text}, "LeaseSpawner": mine})).limits
    assert found.memory == found.folder == found.file == limits.size(text)


@pytest.mark.parametrize("text", ["", "0", "G", "-1G", "4X", "four"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(LabkitError, match="is no size"):
        limits.size(text)


def process(pid: int, memory: int = 0, parent: int = 1, uid: int = 70001) -> Process:
    return Process(pid, parent, uid, memory, 1.0)


def test_above_the_limit_the_largest_is_ended_but_never_the_server() -> None:
    own = [process(10, 3 * G), process(11, 1 * G), process(12, 2 * G)]
    assert limits.to_end(own, 10, 7 * G) is None
    assert limits.to_end(own, 10, 5 * G) == own[2]
    assert limits.to_end(own[:1], 10, 1 * G) is None


@given(st.lists(st.integers(0, 8 * G), max_size=6), st.integers(1, 8 * G))
def test_nobody_below_the_limit_loses_anything(memory: list[int], limit: int) -> None:
    own = [process(10 + n, size) for n, size in enumerate(memory)]
    victim = limits.to_end(own, 10, limit)
    assert (victim is not None) == (sum(memory) > limit and len(own) > 1)


def test_a_learner_s_processes_are_found_by_their_user_id_or_by_descent() -> None:
    everything = [
        process(10),
        process(11, parent=10),
        process(12, parent=11),
        process(13, uid=70002),
        process(14, uid=0),
    ]
    assert [one.pid for one in limits.belonging(everything, 10, 70001)] == [10, 11, 12]
    assert [one.pid for one in limits.belonging(everything, 10, None)] == [10, 11, 12]
    assert limits.belonging(everything, 99, None) == []


def test_this_process_is_seen_with_its_memory() -> None:
    mine = next(one for one in limits.processes() if one.pid == os.getpid())
    assert mine.uid == os.getuid() and mine.memory > 10 * 2**20 and mine.parent == os.getppid()


def test_a_folder_is_measured_without_following_links(tmp_path: Path) -> None:
    folder, other = tmp_path / "mine", tmp_path / "other"
    (folder / "deep").mkdir(parents=True)
    other.mkdir()
    (other / "large").write_bytes(b"x" * 3_000_000)
    (folder / "deep" / "file").write_bytes(b"x" * 1_000_000)
    os.link(folder / "deep" / "file", folder / "again")
    (folder / "link").symlink_to(other)
    (folder / "loop").symlink_to(folder)
    assert 1_000_000 <= limits.folder_bytes(folder) < 1_100_000
    assert limits.folder_bytes(tmp_path / "missing") == 0


def test_linux_enforces_memory_and_file_size() -> None:
    code = f"""
from labkit.workshop.hub import limits
limits.apply(limits.Limits({G // 2}, 1_000_000, 0, 4096), own_uid=False)
try:
    bytearray({G})
except MemoryError:
    print("no memory")
import os, tempfile, mmap
mmap.mmap(-1, {64 * G}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)  # reserved, as ROCm does
print("address space")
with tempfile.TemporaryFile() as file:
    try:
        file.write(b"x" * 2_000_000); file.flush()
    except OSError as error:
        print(error.strerror)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines() == ["no memory", "address space", "File too large"], done.stderr


def test_control_groups_only_where_systemd_delegated_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "system.slice" / "hub.scope"
    group.mkdir(parents=True)
    own = "12:memory:/x\n0::/system.slice/hub.scope\n"
    assert limits.delegated(tmp_path, own) is None, "no controllers: not cgroup v2"
    (group / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    assert limits.delegated(tmp_path, own) is None, "not marked as delegated"
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"1")
    assert limits.delegated(tmp_path, own) == group
    assert limits.delegated(tmp_path, "0::/\n") is None, "the root group is the system's"
    (group / "cgroup.controllers").write_text("cpu io\n")
    assert limits.delegated(tmp_path, own) is None, "memory is missing"


def test_what_is_written_into_a_learner_s_control_group(tmp_path: Path) -> None:
    """Simulated: plain files. No machine with a delegated cgroup v2 was at hand."""
    (tmp_path / "cgroup.procs").write_text("100\n200\n")
    assert limits.open_groups(tmp_path)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    assert (tmp_path / "hub" / "cgroup.procs").read_text() == "200"
    mine = limits.learner_group(tmp_path, "ada", Limits(4 * G, 1, 1, 1000, 1.5))
    assert {file.name: file.read_text() for file in mine.iterdir()} == {
        "memory.max": str(4 * G), "pids.max": "1000", "cpu.max": "150000 100000",
    }  # fmt: skip


def test_the_words_say_who_sees_to_what() -> None:
    one = Limits(1, 1, 1, 1, 1.0)
    assert limits.words(one, separate=False, groups=False)["processes"] == "nobody"
    assert "NPROC" in limits.words(one, separate=True, groups=False)["processes"]
    assert "cgroup" in limits.words(one, separate=True, groups=True)["memory of a learner"]
