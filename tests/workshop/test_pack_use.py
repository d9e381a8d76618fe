"""A pack in the room: which wheels fit, what a damaged or read-only copy says, and the start script on a small pack."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine
from labkit.workshop.pack import command, contents, scripts, sums, use
from labkit.workshop.pack.command import Around, Wish
from labkit.workshop.pack.contents import Contents, DataSet, WheelSet
from tests import bare
from tests.setup import conftest as small

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
HERE = Machine("linux", False, "x86_64", (sys.version_info[0], sys.version_info[1]), (), False, False)
CPU = WheelSet("linux", False, "x86_64", PYTHON, "cpu", "cpu", (), "2.14.1+cpu", (("torch-2.14.1+cpu.whl", 5),))
ROCM = replace(
    CPU, build="rocm", index="rocm7.2", gfx=("gfx1100",), torch="2.14.1+rocm7.2", files=(("torch-rocm.whl", 4),)
)
AMD = replace(ROCM, index="amd", gfx=("gfx1151",), torch="2.13.0+rocm10.0.0")
DATA = (DataSet("mnist", "MNIST", False, "", "Without it the lessons take a stand-in."),)


def with_gpu(gfx: str | None, **more: Any) -> Machine:
    return replace(HERE, gpus=(Gpu(gfx, "Radeon", False, "test"),), **more)


@pytest.mark.parametrize(
    ("machine", "expected", "told"),
    [
        (HERE, CPU, ""),
        (with_gpu("gfx1100"), ROCM, ""),
        (with_gpu("gfx90a"), ROCM, ""),  # the same wheels carry its kernels
        (with_gpu("gfx1151"), AMD, ""),
        (with_gpu("gfx1152"), CPU, "no build of PyTorch for"),
        (with_gpu("gfx1100", wsl=True), CPU, "no build of PyTorch for"),  # PyTorch's own wheels do not know /dev/dxg
        (with_gpu(None), CPU, "no build of PyTorch for"),
        (replace(HERE, python=(3, 9)), None, f"wheels for Python {PYTHON}; this is Python 3.9"),
        (replace(HERE, system="windows"), None, "no wheels for Windows on x86_64"),
        (replace(HERE, architecture="arm64"), None, "no wheels for Linux on arm64"),
    ],
)
def test_the_wheels_that_fit(machine: Machine, expected: WheelSet | None, told: str) -> None:
    chosen, note = contents.fitting((CPU, ROCM, AMD), machine)
    assert chosen == expected
    assert told in note and bool(note) == bool(told)


def test_a_rocm_build_serves_a_cpu_where_there_is_no_other() -> None:
    assert contents.fitting((ROCM,), HERE) == (ROCM, "")


def table(*sets: WheelSet) -> Contents:
    return Contents("2026-11-30", "abc", sets, DATA, True)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack with two sets of wheels that are no wheels."""
    folder = tmp_path / "Stick Übung 実験"
    for name, size in (*CPU.files, *ROCM.files):
        (folder / "wheels").mkdir(parents=True, exist_ok=True)
        (folder / "wheels" / name).write_bytes(b"x" * size)
    (folder / "course").mkdir()
    (folder / "pack.json").write_text(table(CPU, ROCM).as_json(), encoding="utf-8")
    scripts.write(folder, table(CPU, ROCM))
    sums.write(folder)
    return folder


def test_only_the_wheels_that_fit_are_offered(pack: Path, capsys: Any) -> None:
    folder = use.wheelhouse(pack, pack / "course", contents.read(pack), HERE)
    assert [path.name for path in folder.iterdir()] == ["torch-2.14.1+cpu.whl"]
    assert (folder / "torch-2.14.1+cpu.whl").read_bytes() == b"xxxxx"
    folder = use.wheelhouse(pack, pack / "course", contents.read(pack), with_gpu("gfx1100"))
    assert [path.name for path in folder.iterdir()] == ["torch-rocm.whl"]
    assert "torch 2.14.1+rocm7.2 for gfx1100" in capsys.readouterr().out
    only = use.wheelhouse(pack, pack / "course", table(CPU), HERE)
    assert only == pack / "wheels"


def test_a_copy_that_was_cut_off_is_named(pack: Path) -> None:
    (pack / "wheels" / "torch-2.14.1+cpu.whl").write_bytes(b"xx")
    with pytest.raises(LabkitError, match=r"not complete: torch-2.14.1\+cpu.whl"):
        use.wheelhouse(pack, pack / "course", contents.read(pack), HERE)
    use.wheelhouse(pack, pack / "course", contents.read(pack), with_gpu("gfx1100"))


def test_a_folder_that_cannot_be_written_is_to_be_copied(pack: Path, monkeypatch: Any) -> None:
    def refuse(self: Path, *_: Any, **__: Any) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(LabkitError, match=r"Read-only file system") as caught:
        use.wheelhouse(pack, pack / "course", contents.read(pack), HERE)
    assert "Copy the whole folder to the disk" in caught.value.remedy


def test_a_stick_without_links_is_to_be_copied(pack: Path, monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    folder = use.wheelhouse(pack, pack / "course", contents.read(pack), HERE)  # then a symbolic link
    assert (folder / "torch-2.14.1+cpu.whl").is_symlink()
    monkeypatch.setattr(Path, "symlink_to", refuse)
    with pytest.raises(LabkitError, match="no links"):
        use.wheelhouse(pack, pack / "course", contents.read(pack), HERE)


def test_another_python_that_the_pack_serves_is_found(tmp_path: Path) -> None:
    assert use.other_python("3.99") is None
    program = tmp_path / "python3.98"
    program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    assert use.other_python("3.98", lambda name: str(tmp_path / name)) is None  # not on the path: it does not start
    found = use.other_python(PYTHON, lambda name: name)
    assert found in ([f"python{PYTHON}"], ["py", f"-{PYTHON}"], None)


# -- checksums ---------------------------------------------------------------------------------------------------------


def test_a_flipped_byte_is_named(pack: Path) -> None:
    assert sums.problems(pack) == []
    path = pack / "wheels" / "torch-rocm.whl"
    path.write_bytes(b"xxyx")
    assert sums.problems(pack) == ["wheels/torch-rocm.whl is damaged: its checksum differs."]
    path.unlink()
    assert sums.problems(pack) == ["wheels/torch-rocm.whl is missing."]


def test_what_work_adds_is_no_damage_and_is_not_in_the_sums(pack: Path) -> None:
    for name in (".venv/bin/python", "build/report.json", "labkit/__pycache__/a.pyc", "my.ipynb"):
        path = pack / "course" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    assert sums.problems(pack) == []
    before = set(sums.read(pack))
    sums.write(pack)
    assert set(sums.read(pack)) - before == {"course/my.ipynb"}


@pytest.mark.parametrize(
    "line", ["garbage", f"{'0' * 64}  /etc/passwd", f"{'0' * 64}  ../x", f"{'0' * 63}  x", f"{'0' * 64}  a\0b"]
)
def test_sums_that_are_none_are_refused(pack: Path, line: str) -> None:
    (pack / "SHA256SUMS").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(LabkitError, match="is damaged"):
        sums.problems(pack)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="the sums are read by labkit; coreutils is not here")
def test_sha256sum_reads_them_too(pack: Path) -> None:
    answer = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=pack, capture_output=True, check=False)
    assert answer.returncode == 0, answer.stderr


def test_verify_is_a_command_for_a_bare_python(pack: Path) -> None:
    words = ("workshop", "pack", "--verify", str(pack))
    assert bare.labkit(*words).returncode == 0
    (pack / "start.sh").write_text("rm -rf /\n", encoding="utf-8")
    answer = bare.labkit(*words)
    assert answer.returncode == 1 and "start.sh is damaged" in answer.stdout


def told_of(**changes: Any) -> str:
    """A pack.json with one set of wheels, one thing of which is wrong."""
    wheels = {**json.loads(table(CPU).as_json())["wheels"][0], **changes}
    return json.dumps({**json.loads(table(CPU).as_json()), "wheels": [wheels]})


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"labkit_pack": 7}', '{"labkit_pack": 1, "wheels": [{}]}', "[" * 100_000,
        told_of(build="tpu"), told_of(python="three"), told_of(index=None), told_of(gfx=[7]), told_of(files=[["../x", 1]]),
        table(CPU).as_json().replace(table(CPU).made, "yesterday"),
    ],
    ids=range(12),
)  # fmt: skip
def test_a_table_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "pack.json").write_text(text, encoding="utf-8")
    with pytest.raises(LabkitError, match="damaged"):
        contents.read(tmp_path)


# -- scripts -----------------------------------------------------------------------------------------------------------


def test_scripts_have_the_line_ends_of_their_system(pack: Path) -> None:
    for name in ("start", "check"):
        shell = (pack / f"{name}.sh").read_bytes()
        assert b"\r" not in shell and shell.isascii() and (pack / f"{name}.sh").stat().st_mode & 0o100
        batch = (pack / f"{name}.bat").read_bytes()
        assert batch.count(b"\r\n") == batch.count(b"\n") and batch.isascii()
    here = (pack / "START_HERE.txt").read_text(encoding="utf-8")
    assert "Copy this whole folder" in here and "not in this pack" in here and "sh start.sh" in here


def test_outside_of_a_pack_the_way_of_a_clone_is_told(tmp_path: Path, capsys: Any) -> None:
    assert use.main(["setup"], root=tmp_path) == 1
    assert "belongs to no finished pack" in capsys.readouterr().err


# -- the whole way with small wheels -----------------------------------------------------------------------------------


def test_the_start_script_sets_up_from_the_wheels_that_fit(tmp_path: Path) -> None:
    """Two sets of wheels, real set-up, pip with an index that nobody answers; the path has spaces and other scripts."""
    indexes = tmp_path / "indexes"
    small.add_torch(indexes / "default", "2.14.9", "0.29.9")
    small.add_torch(indexes / "cpu", "2.14.1+cpu", "0.29.1+cpu")
    for name in ("lessonware", "greedy"):
        small.add(indexes / "default", name, "1.0")
    clone = tmp_path / "clone"
    small.copy_repository(clone)
    (clone / "notebooks").mkdir()
    (clone / "notebooks" / "00.ipynb").write_text("{}\n", encoding="utf-8")
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "LABKIT_"))},
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": (indexes / "default").as_uri(),
    }
    folder = tmp_path / "Stick Übung 実験" / "ROCm Labs"
    around = Around(
        root=clone, environ=environ, machine=lambda: HERE, site=lambda out, _: out, data=lambda target, _: DATA
    )
    command.make(
        Wish(folder, ("here", "windows"), index=(indexes / "cpu").as_uri(), without=("site",)), around
    )  # a second set, so that the first is offered by links
    home = tmp_path / "home"
    home.mkdir()
    room = {
        "PATH": os.pathsep.join(
            [str(Path(getattr(sys, "_base_executable", sys.executable)).parent), "/usr/bin", "/bin"]
        ),
        "HOME": str(home),
        "PIP_INDEX_URL": "http://127.0.0.1:9/",
        "PIP_RETRIES": "0",
        "ROCM_BOOTSTRAP_DISABLE_DETECTION": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def start() -> subprocess.CompletedProcess[str]:
        words = ["sh", str(folder / "start.sh"), "setup"]
        return subprocess.run(words, cwd="/", env=room, capture_output=True, text=True, check=False, timeout=280)

    answer = start()
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "2.14.1+cpu" in answer.stdout
    stamp = json.loads((folder / "course" / ".venv" / "labkit-stamp.json").read_text(encoding="utf-8"))
    assert stamp["torch"] == "2.14.1+cpu"
    assert sums.problems(folder) == []
    again = start()
    assert again.returncode == 0 and "From the pack" not in again.stdout, "what is set up is not looked at again"


def test_the_check_script_asks_for_the_same_python_as_the_start(pack: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """A machine with two Pythons, of which the pack serves the one that is not called python3."""
    other = replace(CPU, python="3.98")
    (pack / "pack.json").write_text(table(other).as_json(), encoding="utf-8")
    called: list[list[str]] = []
    monkeypatch.setattr(use, "other_python", lambda version: [f"python{version}"])
    monkeypatch.setattr(use, "become", lambda words, _: called.append(words) or 7)
    monkeypatch.chdir(tmp_path)  # and back at the end
    assert use.main(["workshop", "check", "--seat", "3"], root=pack / "course") == 7
    assert called == [["python3.98", "-m", "labkit.workshop.pack.use", "workshop", "check", "--seat", "3"]]
    for name in ("check.sh", "check.bat"):
        assert "labkit.workshop.pack.use workshop check" in (pack / name).read_text(encoding="utf-8")
