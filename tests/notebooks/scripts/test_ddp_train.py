"""The trainer: killed and started again it ends as if nothing had happened; its checkpoint, data, devices and command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from labkit.comm import LaunchError, Team, launch

SMALL = {"pictures": 160, "global_batch": 32, "width": 4, "save_every": 3}
WORDS = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]


def test_a_killed_rank_and_a_restart_change_no_bit(
    scripts: Path, pair: Team, equality: ModuleType, tmp_path: Path
) -> None:
    run = launch(
        scripts / "ddp_train.py",
        *WORDS,
        "--device=cpu",
        f"--checkpoint={tmp_path / 'run.pt'}",
        "--die-at=8",
        max_restarts=1,
        env={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "0"},  # the script gets along with torchrun's default
        seconds=240,
    )
    report = run.records[-1]
    whole = pair.run(equality.train_once, echo=False, device="cpu", **SMALL)[0]
    assert (report["restarts"], report["resumed_from"], report["steps"]) == (1, 6, 10)
    assert report["parameters"] == whole["parameters"] and report["same_on_all_ranks"]
    assert report["loss"] == whole["loss"] and whole["restarts"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


def test_without_restarts_the_kill_is_the_end(scripts: Path, tmp_path: Path) -> None:
    with pytest.raises(LaunchError) as failure:
        launch(scripts / "ddp_train.py", *WORDS, "--device=cpu", "--die-at=2", "--die-rank=0", seconds=240)
    assert failure.value.run.status and not failure.value.run.records


def test_copied_away_it_runs_without_a_launcher(scripts: Path, tmp_path: Path) -> None:
    script = shutil.copy(scripts / "ddp_train.py", tmp_path)
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "RANK", "WORLD_SIZE", "SLURM_PROCID")}
    answer = subprocess.run(
        [sys.executable, script, *WORDS, "--epochs=1"],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    report = json.loads(answer.stdout.splitlines()[-1])
    assert report["world"] == 1 and report["steps"] == 5 and "stand-in" in report["data"]
    assert not any(
        name.startswith("labkit") for name in re.findall(r"^(?:from|import) (\S+)", script_text(scripts), re.M)
    )


def script_text(scripts: Path) -> str:
    return (scripts / "ddp_train.py").read_text(encoding="utf-8")


def test_ten_lines_are_marked_in_their_order(scripts: Path) -> None:
    assert re.findall(r"# DDP (\d+)$", script_text(scripts), re.M) == [str(n) for n in range(1, 11)]


def test_batches_cover_every_picture_once_in_a_new_order(ddp_train: ModuleType) -> None:
    batches = ddp_train.GlobalBatches(10, 4, seed=3)
    orders = []
    for epoch in range(3):
        batches.set_epoch(epoch)
        parts = list(batches)
        assert [len(part) for part in parts] == [4, 4, 2]
        orders.append(torch.cat(parts).tolist())
        assert sorted(orders[-1]) == list(range(10))
    assert len({tuple(order) for order in orders}) == 3


def test_made_pictures_are_the_same_everywhere(ddp_train: ModuleType) -> None:
    images, labels = ddp_train.made_pictures(50, 0)
    again, _ = ddp_train.made_pictures(50, 0)
    assert images.shape == (50, 3, 32, 32) and images.dtype == torch.uint8 and set(labels.tolist()) <= set(range(10))
    assert torch.equal(images, again) and not torch.equal(images, ddp_train.made_pictures(50, 1)[0])


def test_a_folder_of_pictures(ddp_train: ModuleType, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for name, colour in (("blue", (0, 0, 200)), ("red", (250, 10, 0))):
        (tmp_path / name).mkdir()
        for number in range(10):
            image.new("RGB", (50, 40), colour).save(tmp_path / name / f"{number}.png")
    (images, labels), (test_images, test_labels), classes = ddp_train.folder_pictures(tmp_path)
    assert classes == 2 and images.shape == (16, 3, 32, 32) and test_images.shape == (4, 3, 32, 32)
    assert images[labels == 1].float().mean((0, 2, 3)).tolist() == [250, 10, 0]
    assert sorted(test_labels.tolist()) == [0, 0, 1, 1]
    with pytest.raises(SystemExit, match="subfolder per class"):
        ddp_train.folder_pictures(tmp_path / "red")


def test_a_checkpoint_is_whole_or_not_there(
    ddp_train: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.pt"
    ddp_train.save(path, {"step": 1, "options": {}})

    def half(state: object, file: object) -> None:
        file.write(b"half a file")  # type: ignore[attr-defined]
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(torch, "save", half)
        with pytest.raises(OSError):
            ddp_train.save(path, {"step": 2, "options": {}})
    assert ddp_train.load(path, {})["step"] == 1
    ddp_train.save(path, {"step": 3, "options": {}})
    assert ddp_train.load(path, {})["step"] == 3 and [p.name for p in tmp_path.iterdir()] == ["run.pt"]


def test_a_wrong_checkpoint_is_told_in_a_sentence(ddp_train: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    assert ddp_train.load(path, {}) is None
    for content in (b"", b"no checkpoint", b"PK\x03\x04 torn"):
        path.write_bytes(content)
        with pytest.raises(SystemExit, match="no checkpoint of this script"):
            ddp_train.load(path, {})
    ddp_train.save(path, {"options": {"width": 8}})
    with pytest.raises(SystemExit, match="another training"):
        ddp_train.load(path, {"width": 16})


def test_norms(ddp_train: ModuleType) -> None:
    kinds = {"group": nn.GroupNorm, "plain": nn.BatchNorm2d, "sync": nn.SyncBatchNorm}
    for name, kind in kinds.items():
        assert sum(isinstance(layer, kind) for layer in ddp_train.make_model(8, 10, name).modules()) == 3


def test_sync_batch_norm_on_a_cpu_is_refused(ddp_train: ModuleType) -> None:
    with pytest.raises(SystemExit, match="GPUs only"):
        ddp_train.main(["--batch-norm", "sync", "--device", "cpu"])


@pytest.mark.parametrize(
    ("wanted", "gpus", "local_rank", "local_world", "answer"),
    [
        ("auto", 0, 0, 2, ("cpu", "gloo")),
        ("auto", 1, 1, 2, ("cpu", "gloo")),
        ("auto", 8, 5, 8, ("cuda:5", "nccl")),
        ("cpu", 8, 5, 8, ("cpu", "gloo")),
        ("bound", 1, 5, 8, ("cuda:0", "nccl")),
        ("cuda", 1, 1, 2, None),
    ],
)
def test_which_device_and_backend(
    ddp_train: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
    gpus: int,
    local_rank: int,
    local_world: int,
    answer: tuple[str, str] | None,
) -> None:
    monkeypatch.setenv("LOCAL_RANK", str(local_rank))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(local_world))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    if answer is None:
        with pytest.raises(SystemExit, match="2 processes here, but 1 GPU"):
            ddp_train.choose_device(wanted)
    else:
        device, backend = ddp_train.choose_device(wanted)
        assert (str(device), backend) == answer


def test_slurms_names_become_torchruns(ddp_train: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"SLURM_PROCID": "9", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "8(x2)"}
    environment = {**given, "MASTER_ADDR": "node0"}
    monkeypatch.setattr(os, "environ", environment)
    ddp_train.slurm()
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    assert [environment[name] for name in names] == ["9", "16", "1", "8"]
    monkeypatch.setattr(os, "environ", {**given, "MASTER_ADDR": "node0", "RANK": "3"})  # torchrun under srun
    ddp_train.slurm()
    assert os.environ["RANK"] == "3" and "LOCAL_WORLD_SIZE" not in os.environ


def test_a_restart_is_counted(ddp_train: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    assert ddp_train.incarnation() == 0
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    assert ddp_train.incarnation() == 2


def test_command_line(ddp_train: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert ddp_train.parse([]) == ddp_train.Options()
    o = ddp_train.parse(["--no-set-epoch", "--fsdp", "--die-rank=0", "--bucket-mb=0.5", "--lr", "0.1"])
    assert (o.set_epoch, o.fsdp, o.die_rank, o.bucket_mb, o.lr) == (False, True, 0, 0.5, 0.1)
    for words in (["--epochs=0"], ["--width=6"], ["--timeout=-1"], ["--checkpoint", str(tmp_path / "no" / "run.pt")]):
        with pytest.raises(SystemExit):
            ddp_train.parse(words)
    with pytest.raises(SystemExit):
        ddp_train.parse(["--help"])
    assert "torchrun --nproc-per-node 2" in capsys.readouterr().out
