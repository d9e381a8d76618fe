"""Set-up for real: environments are made, wheels come from indexes on this machine, processes are killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals, links or paths")


def test_torch_comes_from_its_own_index_and_stays(made):
    """pip's settings offer a higher torch as an extra index, and another package asks for any torch: both in vain."""
    assert made.result.returncode == 0, made.result.stdout + made.result.stderr
    versions = made.clone.versions()
    assert versions["torch"] == "2.14.1+cpu"
    assert versions["torchvision"] == "0.29.1+cpu"
    assert versions["greedy"] == "1.5" and versions["lessonware"] == "1.0"
    assert "checker" not in versions  # only for the tests
    wheels = [path for path in made.asked if path.endswith(".whl")]
    assert [path.split("/")[1] for path in wheels if "/torch-" in path] == ["cpu"]
    assert "/torch-" in wheels[0]  # first and alone
    assert (made.clone.env / "labkit-constraints.txt").read_text() == "torch==2.14.1+cpu\ntorchvision==0.29.1+cpu\n"


def test_it_says_what_from_where_and_why(made):
    said = made.result.stdout
    assert "the CPU build from http://127.0.0.1" in said
    assert "LABKIT_TORCH_INDEX asks for" in said
    assert "Size of it: about 1.3 GB" in said
    assert "a matrix product and a convolution ran right on cpu" in said
    assert "The environment is ready" in said


def test_labkit_can_be_imported_from_anywhere_with_a_path_of_any_letters(made, tmp_path):
    environ = {key: value for key, value in made.clone.environ.items() if key != "PYTHONUTF8"}
    answer = subprocess.run(
        [made.clone.python, "-c", "import labkit; print(ascii(labkit.__file__))"],
        cwd=tmp_path,
        env={**environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ascii(str(made.clone.path / "labkit"))[1:-1] in answer.stdout


def test_a_second_call_looks_at_a_few_files_only(made, indexes, picture_of):
    before, asked = picture_of(made.clone.path), len(indexes.asked)
    result = made.clone.setup()
    assert result.returncode == 0
    assert result.stdout.splitlines() == [f"The environment is ready: {made.clone.env}"]
    assert picture_of(made.clone.path) == before
    assert len(indexes.asked) == asked  # no pip, no network
    assert made.clone.setup(LABKIT_TORCH_INDEX="").returncode == 0  # a choice once made holds
    assert len(indexes.asked) == asked


def test_the_needs_of_the_tests_are_added_and_torch_is_not_touched(ready, indexes):
    before = (ready.site / "torch" / "__init__.py").stat().st_mtime_ns
    asked = len(indexes.asked)
    ready.call("test", "--light")  # the command itself cannot run here: this clone has no tests
    assert ready.versions()["checker"] == "1.0"
    assert (ready.site / "torch" / "__init__.py").stat().st_mtime_ns == before
    assert not [path for path in indexes.asked[asked:] if "/torch-" in path]
    again = len(indexes.asked)
    assert ready.setup().returncode == 0 and len(indexes.asked) == again


@posix
def test_a_set_up_that_was_killed_in_the_middle_is_finished_by_the_next_call(new_clone, indexes):
    """Its pip lives on and still holds the lock: the next set-up waits for it, and goes on when that was killed too."""

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            new_clone.command("setup"),
            cwd=new_clone.path,
            env=new_clone.environ,
            start_new_session=True,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    indexes.hold = "/cpu/torch/torch-"
    try:
        first = start()
        assert indexes.held.wait(60)  # pip is in the middle of torch
        first.kill()
        first.wait(30)
        second = start()
        assert second.stdout is not None and first.stdout is not None
        line = second.stdout.readline()
        assert f"A set-up (process {first.pid}) was ended, and the pip that it started is still at work" in line
        indexes.hold = ""
        os.killpg(first.pid, signal.SIGKILL)  # the pip that it left
        first.stdout.close()
    finally:
        indexes.hold = ""
        indexes.let_go.set()
    said, _ = second.communicate(timeout=120)
    assert second.returncode == 0, said
    assert "labkit completes the environment" in said
    assert new_clone.versions()["torch"] == "2.14.1+cpu"
    assert not (new_clone.env / "labkit-tmp").exists()


def test_half_installed_packages_are_installed_again(ready):
    (ready.site / "torch-2.14.1+cpu.dist-info" / "RECORD").unlink()
    (ready.site / "torch" / "nn.py").unlink()
    (ready.site / "lessonware" / "__init__.py").unlink()
    (ready.site / "~reedy").mkdir()
    result = ready.setup()
    assert result.returncode == 0, result.stdout + result.stderr
    assert (ready.site / "torch" / "nn.py").exists() and (ready.site / "lessonware" / "__init__.py").exists()
    assert ready.versions()["torch"] == "2.14.1+cpu"
    assert not (ready.site / "~reedy").exists()


@posix
def test_an_environment_whose_python_is_gone_is_made_anew(ready):
    for link in ("python", "python3"):
        (ready.env / "bin" / link).unlink(missing_ok=True)
        (ready.env / "bin" / link).symlink_to("/nowhere/python")
    result = ready.setup()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "anew: it is only half made, or its Python is gone" in result.stdout
    assert ready.versions()["torch"] == "2.14.1+cpu"


def test_a_folder_of_wheels_without_any_network(bare, indexes, tmp_path, wheel):
    house = tmp_path / "wheels é"
    for index in ("default", "cpu", "rocm7.2"):
        for path in (indexes.folder / index).rglob("*.whl"):
            house.mkdir(exist_ok=True)
            shutil.copy(path, house)
    asked = len(indexes.asked)
    dead = {"PIP_INDEX_URL": "http://127.0.0.1:9/none", "LABKIT_TORCH_INDEX": ""}
    (bare.site / "rubbish.py").write_text("", encoding="utf-8")
    result = bare.setup("--wheelhouse", str(house), "--torch", "cpu", "--recreate", **dead)
    assert not (bare.site / "rubbish.py").exists()
    assert result.returncode == 0, result.stdout + result.stderr
    assert bare.versions()["torch"] == "2.14.1+cpu"  # three builds lie there; the planned one is taken
    assert "--no-index" in bare.log and len(indexes.asked) == asked and "127.0.0.1:9/" not in bare.log


def test_a_folder_of_wheels_that_is_not_there_or_lacks_torch(bare, tmp_path):
    missing = bare.setup("--wheelhouse", str(tmp_path / "nowhere"))
    assert missing.returncode == 1 and "does not exist" in missing.stderr
    (tmp_path / "empty").mkdir()
    empty = bare.setup("--wheelhouse", str(tmp_path / "empty"))
    assert empty.returncode == 1 and "holds no torch, torchvision, " in empty.stderr and "lessonware" in empty.stderr
    torch_line, rest_line = [line for line in empty.stderr.splitlines() if "pip download -d" in line]
    assert "--index-url" in torch_line and "torchvision>=" in torch_line and "lessonware" not in torch_line
    assert "lessonware>=1" in rest_line and "torch" not in rest_line.split("empty")[1]
    file = bare.setup("--wheelhouse", str(bare.path / "pyproject.toml"))
    assert file.returncode == 1 and "is a file, not a folder" in file.stderr
    assert "Traceback" not in missing.stderr + empty.stderr


def test_where_the_cpu_index_cannot_be_reached_the_default_one_is_taken(bare):
    """A proxy that is not there makes every outside address unreachable, on any machine."""
    result = bare.setup(
        "--torch", "cpu", LABKIT_TORCH_INDEX="", HTTPS_PROXY="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9"
    )
    assert result.returncode == 0, result.stdout + result.stderr
    if sys.platform.startswith("linux"):  # elsewhere the default index has the CPU build anyway
        assert "https://download.pytorch.org/whl/cpu cannot be reached" in result.stdout
        assert "large CUDA build" in result.stdout
    assert bare.versions()["torch"] == "2.14.9"
    assert bare.setup("--torch", "cpu", LABKIT_TORCH_INDEX="").stdout.startswith("The environment is ready")


def test_no_index_reachable_is_a_sentence(bare):
    result = bare.setup(
        PIP_INDEX_URL="http://127.0.0.1:9/none", LABKIT_TORCH_INDEX="http://127.0.0.1:9/cpu", PIP_RETRIES="1"
    )
    assert result.returncode == 1
    assert "http://127.0.0.1:9/cpu could not be reached" in result.stderr
    assert "What to do: check the address and the network" in result.stderr and "Traceback" not in result.stderr
    assert "LABKIT_TORCH_INDEX" in result.stderr and "PIP_INDEX_URL" not in result.stderr
    assert "--torch cpu" not in result.stderr  # that is the build that is out of reach


def test_a_torch_that_does_not_load_is_a_sentence(bare, indexes):
    result = bare.setup(LABKIT_TORCH_INDEX=indexes.url("broken/cpu"))
    assert result.returncode == 1
    assert "torch does not load: OSError: libamdhip64.so.7" in result.stderr and "Traceback" not in result.stderr
    assert not (bare.env / "labkit-stamp.json").exists()


def test_a_local_folder_as_index_and_rocm_by_its_address(bare, indexes):
    folder = indexes.folder / "rocm7.2"
    result = bare.setup(LABKIT_TORCH_INDEX=folder.as_uri(), ROCM_BOOTSTRAP_DISABLE_DETECTION="1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert bare.versions()["torch"] == "2.14.1+rocm7.2"
    assert "a ROCm build (HIP 7.2.1)" in result.stdout and "Stand-in GPU, gfx1100" in result.stdout


def test_a_dry_run_changes_nothing(new_clone, indexes, picture_of):
    before, asked = picture_of(new_clone.path), len(indexes.asked)
    result = new_clone.setup("--dry-run")
    assert result.returncode == 0, result.stderr
    assert picture_of(new_clone.path) == before and len(indexes.asked) == asked
    commands = [line.strip() for line in result.stdout.splitlines() if " -m pip install " in line]
    assert len(commands) == 3
    assert (
        f"--index-url {indexes.url('cpu')}" in commands[0] and "torch>=2" in commands[0] and "greedy" not in commands[0]
    )
    assert (
        f"--index-url {indexes.url('cpu')}" in commands[1]
        and "--constraint" in commands[1]
        and "torchvision" in commands[1]
    )
    assert "--index-url" not in commands[2] and "--constraint" in commands[2] and "greedy>=1" in commands[2]
    assert "torch" not in commands[2].split("labkit-constraints.txt")[1]


def test_somebody_elses_environment_keeps_its_torch_and_gets_what_is_missing(ready, new_clone, indexes, picture_of):
    (ready.env / "labkit-environment.json").unlink()
    for name in (
        "labkit-stamp.json",
        "labkit-torch.json",
        "labkit-constraints.txt",
        "labkit-setup.log",
        "labkit-setup.lock",
    ):
        (ready.env / name).unlink(missing_ok=True)
    (ready.site / "labkit_course.pth").unlink()
    shutil.rmtree(ready.site / "lessonware")
    shutil.rmtree(ready.site / "lessonware-1.0.dist-info")
    other = {"LABKIT_ENV": str(ready.env), "LABKIT_TORCH_INDEX": indexes.url("rocm7.2")}
    result = new_clone.setup(**other)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ready.versions()["torch"] == "2.14.1+cpu" and ready.versions()["lessonware"] == "1.0"
    assert "stays as it is" in " ".join(result.stdout.split())
    assert not new_clone.env.exists()

    shutil.rmtree(new_clone.path / ".labkit")  # nothing remembered, nothing missing: nothing is changed there
    before, asked = picture_of(ready.env), len(indexes.asked)
    assert new_clone.setup(**other).returncode == 0
    assert new_clone.setup(**other).stdout.splitlines() == [f"The environment is ready: {ready.env}"]
    assert picture_of(ready.env) == before and len(indexes.asked) == asked

    refused = new_clone.setup("--recreate", **other)
    assert refused.returncode == 1 and "was not made by labkit" in refused.stderr
    assert picture_of(ready.env) == before


def test_labkit_env_that_does_not_exist_is_made_and_one_that_is_none_is_refused(new_clone, tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear", encoding="utf-8")
    result = new_clone.setup(LABKIT_ENV=str(folder))
    assert result.returncode == 1 and "has files in it but no Python" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
    shown = new_clone.setup("--dry-run", LABKIT_ENV=str(tmp_path / "later"))
    assert str(tmp_path / "later") in shown.stdout and not (tmp_path / "later").exists()


@posix
def test_a_folder_that_cannot_be_written_is_a_sentence(new_clone, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    result = new_clone.setup(LABKIT_ENV=str(blocked / "env"))
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert "What to do" in result.stderr


def test_the_stamp_is_whole_and_has_the_proof(made):
    stamp = json.loads((made.clone.env / "labkit-stamp.json").read_text(encoding="utf-8"))
    assert stamp["verdict"]["works"] and stamp["verdict"]["build"] == "cpu" and stamp["torch"] == "2.14.1+cpu"
    assert not list(made.clone.env.glob("*.tmp"))
    assert Path(next(iter(stamp["watched"]))) == made.clone.site
