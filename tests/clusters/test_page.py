"""The page on clusters: its commands are valid, its files are there, its variables are the ones that the files use."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.comm import binding
from labkit.comm.available import distributed_missing
from labkit.comm.sources import module_from
from tests.clusters.private_slurm import ROOT, Slurm

PAGE = ROOT / "notebooks" / "pages" / "clusters.md"
TEXT = PAGE.read_text(encoding="utf-8")
SLURM = ROOT / "notebooks" / "scripts" / "slurm"
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.strip().splitlines()]
FITS = ["--nodes=2", "--gpus-per-node=4", "--cpus-per-task=8"]  # what the private Slurm has


def parts(line: str) -> tuple[dict[str, str], list[str]]:
    """Variables before the command, and the command."""
    words = shlex.split(line)
    count = next(k for k, word in enumerate(words) if not re.match(r"[A-Z_]+=", word))
    return dict(word.split("=", 1) for word in words[:count]), words[count:]


def of(program: str) -> list[str]:
    return [line for line in COMMANDS if parts(line)[1][0] == program]


def test_every_command_is_of_a_kind_that_is_checked_here() -> None:
    assert {parts(line)[1][0] for line in COMMANDS} == {"sbatch", "torchrun", "python3", "kubectl"}


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize("path", sorted(SLURM.glob("*.s*")), ids=lambda path: path.name)
def test_bash_can_read_the_files(path: Path) -> None:
    answer = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True, timeout=30, check=False)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="no bash here")
def test_bash_can_read_the_commands() -> None:
    text = "\n".join(COMMANDS)
    answer = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, timeout=30, check=False)
    assert answer.returncode == 0, answer.stderr


def test_every_file_that_is_named_is_there() -> None:
    named = set(re.findall(r"notebooks/[\w./]+\w", TEXT)) | {
        f"notebooks/scripts/slurm/{n}" for n in ("node.sh", "free_port.py")
    }
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize(
    "name", ["PYTHON", "CONTAINER", "MAX_RESTARTS", "MAX_REQUEUES", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"]
)
def test_every_variable_of_ours_is_one_that_the_files_use(name: str) -> None:
    assert f"`{name}" in TEXT
    files = "".join(path.read_text(encoding="utf-8") for path in SLURM.glob("*.s*"))
    assert re.search(rf"\b{name}\b", files)
    found = re.search(rf"{name}:-(\d)", files)
    if found:
        assert re.search(rf"`{name}` times \({found.group(1)}\)", TEXT)


@pytest.mark.parametrize("line", of("sbatch"))
def test_slurm_accepts_the_command(slurm: Slurm, line: str) -> None:
    variables, command = parts(line)
    at = next(k for k, word in enumerate(command) if word.endswith(".sbatch"))
    fits = FITS if "several" in command[at] else FITS[1:]
    options = [word for word in command[1:at] if word != "--test-only"]
    assert not [word for word in command[at + 1 :] if word.startswith("--test")]
    answer = slurm.ask("sbatch", "--test-only", *options, *fits, *command[at:], **variables)
    assert answer.returncode == 0, answer.stderr
    assert "to start at" in answer.stderr


@pytest.mark.parametrize("line", [*of("sbatch"), *of("torchrun")])
def test_the_training_understands_its_options(line: str) -> None:
    if distributed_missing():
        pytest.skip("this torch has no distributed")
    words = parts(line)[1]
    at = words.index("notebooks/scripts/ddp_train.py")
    module_from(ROOT / "notebooks" / "scripts" / "ddp_train.py").parse(words[at + 1 :])


@pytest.mark.parametrize("line", of("torchrun"))
def test_torchrun_understands_its_options(line: str) -> None:
    run = pytest.importorskip("torch.distributed.run")
    words = parts(line)[1]
    at = words.index("notebooks/scripts/ddp_train.py")
    found = run.parse_args(words[1:])
    assert found.training_script.endswith("bind.py")
    # Who masks has to say 'bound', and who does not must not: else 'invalid device ordinal'.
    assert ("--masked" in words[:at]) == ("bound" in words[at:])


@pytest.mark.parametrize("line", of("python3"))
def test_the_binding_is_printed(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = parts(line)[1]
    assert words[:3] == ["python3", "-m", "labkit.comm.binding"]
    assert binding.main(words[3:]) == 0
    assert "local rank" in capsys.readouterr().out


def test_what_the_page_says_of_the_first_gpu_of_mi250x(capsys: pytest.CaptureFixture[str]) -> None:
    binding.main(["--paper", "mi250x"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[:1].isdigit()]
    assert rows[0][4] == max(row[4] for row in rows) == "3"


def test_kubectl_is_given_files_that_are_checked() -> None:
    names = {Path(parts(line)[1][-1]).name for line in of("kubectl")}
    assert names == {"jobset.yaml", "pytorchjob.yaml"}


def test_the_switches_that_the_checklist_names_are_switches() -> None:
    text = (ROOT / "notebooks" / "scripts" / "ddp_train.py").read_text(encoding="utf-8")
    for switch in re.findall(r"`--([a-z-]+)(?: \w+)?`", TEXT[TEXT.index("## Before the first") :]):
        assert re.search(rf'"{switch}"|\b{switch.replace("-", "_")}\b', text), switch
