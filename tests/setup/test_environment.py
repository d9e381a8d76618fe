"""Where the environment is, whose it is, and what is remembered; Windows by the name of its system."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.setup import environment
from labkit.setup.environment import Environment


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    return path


def test_in_the_repository_or_where_labkit_env_says(tmp_path):
    assert environment.locate(tmp_path, {}).path == tmp_path / ".venv"
    assert environment.locate(tmp_path, {"LABKIT_ENV": " "}).path == tmp_path / ".venv"
    chosen = environment.locate(tmp_path, {"LABKIT_ENV": str(tmp_path / "x")})
    assert chosen.path == tmp_path / "x" and chosen.chosen and chosen.is_new
    with pytest.raises(LabkitError, match="is a file"):
        environment.locate(tmp_path, {"LABKIT_ENV": str(touch(tmp_path / "y"))})


@pytest.mark.parametrize(
    ("system", "file"),
    [("posix", "bin/python"), ("posix", "bin/python3"), ("nt", "Scripts/python.exe"), ("nt", "python.exe")],
)
def test_the_interpreter_of_a_venv_or_a_conda_prefix(tmp_path, system, file):
    touch(tmp_path / file)
    assert environment.interpreter(tmp_path, system) == tmp_path / file


def test_where_nothing_is_there_the_venv_layout_is_expected(tmp_path):
    assert environment.interpreter(tmp_path, "nt") == tmp_path / "Scripts" / "python.exe"
    assert environment.interpreter(tmp_path, "posix") == tmp_path / "bin" / "python"


def test_only_an_environment_of_labkit_is_cleared(tmp_path):
    place = Environment(tmp_path / "env", tmp_path)
    touch(place.path / "lib" / "precious")
    with pytest.raises(LabkitError, match="not made by labkit"):
        environment.clear(place)
    assert (place.path / "lib" / "precious").exists()
    environment.mark(place)
    environment.clear(place)
    assert [entry.name for entry in place.path.iterdir()] == [environment.MARKER]


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_clearing_does_not_follow_links(tmp_path):
    place = Environment(tmp_path / "env", tmp_path)
    environment.mark(place)
    outside = touch(tmp_path / "outside" / "precious")
    (place.path / "lib64").symlink_to(outside.parent)
    environment.clear(place)
    assert outside.exists() and not (place.path / "lib64").exists()


def test_labkits_own_files_lie_in_its_own_environment_only(tmp_path):
    place = Environment(tmp_path / "env", tmp_path)
    assert place.notes == place.path  # nothing there: it will be labkit's
    touch(environment.interpreter(place.path, os.name))
    assert place.notes.parent == tmp_path / ".labkit"
    environment.mark(place)
    assert place.notes == place.path


def test_the_stamp_is_written_whole_and_a_broken_one_counts_as_none(tmp_path):
    place = Environment(tmp_path / "env", tmp_path)
    environment.mark(place)
    assert environment.read_stamp(place) == {}
    environment.write_stamp(place, {"schema": 1, "path": "Übung"})
    assert environment.read_stamp(place)["path"] == "Übung"
    (place.path / environment.STAMP).write_text('{"schema": 1', encoding="utf-8")
    assert environment.read_stamp(place) == {}
    assert not list(place.path.glob("*.tmp"))


def test_a_folder_that_changed_is_noticed(tmp_path):
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    before = environment.watched(tmp_path)
    assert before == environment.watched(tmp_path) and len(before) == 5
    os.utime(tmp_path / "torch" / "lib", ns=(1, 1))
    assert environment.changed_ns(tmp_path / "torch" / "lib") == 1 != before[str(tmp_path / "torch" / "lib")]
    assert environment.changed_ns(tmp_path / "nowhere") == 0


def test_the_path_file_is_plain_ascii_and_names_any_path(tmp_path):
    root = tmp_path / "Lab Übung 実験 'quoted'"
    root.mkdir()
    environment.make_importable(tmp_path, root)
    line = next(tmp_path.glob("*.pth")).read_bytes().decode("ascii")
    before = list(sys.path)
    try:
        exec(line)  # what Python's site module does with it
        assert sys.path[-1] == str(root)
    finally:
        sys.path[:] = before


def test_the_fingerprint_changes_with_the_hardware(tmp_path, monkeypatch):
    monkeypatch.delenv("ROCM_BOOTSTRAP_FORCE_GFX_ARCH", raising=False)
    sysfs, dev = tmp_path / "sys", tmp_path / "dev"

    def fingerprint() -> str:
        return environment.hardware_fingerprint("linux", sysfs, dev)

    seen = [fingerprint()]
    touch(sysfs / "class/kfd/kfd/topology/nodes/1/properties").write_text(
        "cpu_cores_count 0\ngfx_target_version 110000\n"
    )
    seen.append(fingerprint())
    touch(dev / "dxg")
    seen.append(fingerprint())
    monkeypatch.setenv("ROCM_BOOTSTRAP_FORCE_GFX_ARCH", "gfx942")
    seen.append(fingerprint())
    assert len(set(seen)) == 4 and fingerprint() == seen[-1]
    assert environment.hardware_fingerprint("win32") and environment.hardware_fingerprint("darwin")


@pytest.mark.skipif(os.name == "nt", reason="holds the lock by POSIX means")
def test_one_set_up_at_a_time_and_a_dead_ones_lock_is_free(tmp_path):
    place = Environment(tmp_path / "env", tmp_path)
    environment.mark(place)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, os, sys, time\nf = open(sys.argv[1], 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\n"
            "f.write(str(os.getpid())); f.flush(); print('held', flush=True); time.sleep(60)",
            str(place.path / environment.LOCK),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    said: list[str] = []
    done = threading.Event()

    def second() -> None:
        with environment.locked(place, said.append) as descriptor:
            assert descriptor is not None
            done.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not done.wait(0.5)
    holder.kill()  # as a power cut would: nothing cleans up
    holder.wait()
    holder.stdout.close()
    assert done.wait(10)
    thread.join(10)
    assert len(said) == 1 and f"process {holder.pid}" in said[0]
