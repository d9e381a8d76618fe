"""The doctor and the snapshot as commands, on this machine as it is and on worse ones: always an answer, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


def labkit(*arguments: str, python: str = sys.executable, env: dict[str, str] | None = None, user: str | None = None,
           flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    environment.pop("LABKIT_ENV", None)
    return subprocess.run([python, *flags, "-m", "labkit", *arguments], cwd=ROOT, env=environment, capture_output=True, encoding="utf-8",
                          errors="replace", timeout=120, check=False, user=user)  # fmt: skip


def is_useful(answer: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in answer.stdout + answer.stderr, answer.stdout + answer.stderr
    assert answer.returncode in (0, 1), answer.stderr
    assert "Looked at:" in answer.stdout and "changes nothing" in answer.stdout
    assert "[" in answer.stdout.split("Looked at:")[0]  # at least one finding, with its code


def broken_python(folder: Path, torch: str) -> str:
    """A program that stands for an interpreter whose torch is this text."""
    package = folder / "packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(torch, encoding="utf-8")
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={folder / "packages"} exec {sys.executable} -S "$@"\n', encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python without any package: it answers at once that there is no torch."""
    if os.name != "posix":
        return sys.executable
    path = tmp_path_factory.mktemp("bare") / "python"
    path.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {sys.executable} -S -E "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_on_this_machine_as_it_is() -> None:
    is_useful(labkit("doctor"))


def test_as_json_and_as_markdown_with_a_symptom(bare: str) -> None:
    symptom = "RuntimeError: PyTorch is not linked with support for hip devices"
    found = json.loads(labkit("doctor", "--python", bare, "--json", "--symptom", symptom).stdout)
    assert "wrong-device-string" in [finding["code"] for finding in found["findings"]]
    assert "###" in labkit("doctor", "--python", bare, "--markdown").stdout


@POSIX
def test_without_torch(bare: str) -> None:
    answer = labkit("doctor", "--python", bare)
    is_useful(answer)
    assert "torch-missing" in answer.stdout and "No module named" in answer.stdout


@POSIX
@pytest.mark.parametrize("torch", [
    "raise ImportError('/x/libtorch_cpu.so: file too short')",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "def f(:\n",
    "raise OSError('/x/libtorch_hip.so: invalid ELF header')",
])  # fmt: skip
def test_with_a_broken_torch(tmp_path: Path, torch: str) -> None:
    answer = labkit("doctor", "--python", broken_python(tmp_path, torch))
    is_useful(answer)
    assert "torch-missing" in answer.stdout and "install" in answer.stdout


@POSIX
def test_with_a_torch_one_of_whose_real_files_is_cut_short(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    real = Path(torch.__file__).parent
    copy = tmp_path / "packages" / "torch"
    (copy / "lib").mkdir(parents=True)
    for name in real.iterdir():
        if name.name not in ("lib", "__init__.py", "__pycache__"):
            (copy / name.name).symlink_to(name)
    shutil.copy(real / "__init__.py", copy / "__init__.py")
    core = next(real.glob("_C.*"))
    (copy / core.name).unlink()
    (copy / core.name).write_bytes(core.read_bytes()[:3000])
    for name in (real / "lib").iterdir():
        (copy / "lib" / name.name).symlink_to(name)
    site = real.parent
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={tmp_path / "packages"}:{site} exec {sys.executable} "$@"\n', encoding="utf-8"
    )
    python.chmod(0o755)
    answer = labkit("doctor", "--python", str(python))
    is_useful(answer)
    assert "torch-missing" in answer.stdout


@POSIX
def test_without_any_of_the_tools(tmp_path: Path, bare: str) -> None:
    is_useful(labkit("doctor", "--python", bare, env={"PATH": str(tmp_path), "HOME": str(tmp_path)}))


@POSIX
def test_where_every_tool_is_a_wreck(tmp_path: Path, bare: str) -> None:
    for name in (
        "rocminfo",
        "rocm-smi",
        "amd-smi",
        "lspci",
        "dmesg",
        "clinfo",
        "dkms",
        "nvidia-smi",
        "rocm_agent_enumerator",
    ):
        (tmp_path / name).write_text(
            "#!/bin/sh\necho 'Traceback (most recent call last): \\377'; exit 139\n", encoding="utf-8"
        )
        (tmp_path / name).chmod(0o755)
    answer = labkit("doctor", "--python", bare, "--json", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert answer.returncode in (0, 1) and json.loads(answer.stdout)["findings"]


@POSIX
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become somebody else")
def test_as_another_user(tmp_path: Path) -> None:
    python = next((path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if _runs_as_nobody(path)), None)
    if python is None:
        pytest.skip("no Python that the user 'nobody' may run")
    answer = labkit("doctor", python=python, user="nobody", env={"HOME": "/nonexistent"})
    is_useful(answer)


def _runs_as_nobody(python: str) -> bool:
    if not Path(python).exists():
        return False
    code = "import sys; sys.path.insert(0, sys.argv[1]); import labkit.cli; sys.exit(sys.version_info < (3, 10))"
    try:
        done = subprocess.run(
            [python, "-B", "-c", code, str(ROOT)], user="nobody", cwd="/", capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def test_in_a_container(bare: str) -> None:
    is_useful(labkit("doctor", "--python", bare, env={"container": "podman"}))


def test_on_a_bare_python() -> None:
    answer = labkit("doctor", flags=("-S",))
    is_useful(answer)


ODD = (
    "{}", "[1]", '{"given": 5}', "\x00\x01", "", '{"labkit_snapshot": 1}',
    '{"labkit_snapshot": 1, "torch": 7, "tools": [], "devices": {"/dev/kfd": 3}}',
    '{"labkit_snapshot": 1, "kfd": {"1": null}, "pci": [3], "groups": 4}',
)  # fmt: skip


@pytest.mark.parametrize("content", ODD)
def test_any_file_gets_an_answer_or_a_sentence(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content, encoding="utf-8")
    answer = labkit("doctor", "--from", str(file))
    assert "Traceback" not in answer.stderr and answer.returncode in (0, 1)
    assert "Looked at" in answer.stdout or "changes nothing" in answer.stdout or "What to do" in answer.stderr


def test_the_snapshot_command_writes_a_file_that_the_doctor_reads(tmp_path: Path) -> None:
    file = tmp_path / "snapshot.json"
    answer = labkit("snapshot", "-o", str(file))
    assert answer.returncode == 0 and "nothing was sent" in answer.stdout, answer.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["redacted"] is True and "identity" not in found
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot.json"]
    is_useful(labkit("doctor", "--from", str(file)))


def test_the_snapshot_command_prints_and_says_when_it_is_plain(tmp_path: Path, bare: str) -> None:
    assert "identity" in json.loads(labkit("snapshot", "--python", bare, "--plain").stdout)
    assert "as they are" in labkit("snapshot", "--python", bare, "--plain", "-o", str(tmp_path / "p.json")).stdout
    refused = labkit("snapshot", "--python", bare, "-o", str(tmp_path / "none" / "p.json"))
    assert refused.returncode == 1 and "cannot be written" in refused.stderr
    assert "is no program" in labkit("snapshot", "--python", "no-such-python").stderr
