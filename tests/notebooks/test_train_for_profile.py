"""The script that readers profile: it runs, marks its steps, and each sickness leaves its trace."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import ModuleType

import pytest
import torch

from labkit.course.table import NOTEBOOKS
from labkit.profile import questions as ask
from labkit.profile import record
from labkit.profile.questions import Host

SCRIPT = NOTEBOOKS / "scripts" / "train_for_profile.py"
STEPS, BATCH = 3, 16


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("train_for_profile", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield module
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def seen(script: ModuleType) -> dict[str, Host]:
    """Each training's own marked steps, recorded on the CPU; the recorder's mark around the whole is not among them."""
    found = {}
    for sick in script.SICKNESSES:
        run = record(lambda sick=sick: script.train(STEPS, 1, sick, BATCH, torch.device("cpu")), steps=1, warmup=0)
        marked = run.profile.of("marker").filter(run.profile.of("marker")["end_ns"] > 0)
        names = marked["name"].cast(str).to_list()
        assert names.count("load") == STEPS + 1 and {f"step {k}" for k in range(STEPS)} <= set(names)
        host = ask.host(run.profile)
        assert host is not None
        found[sick] = host
    return found


def test_reading_numbers_after_every_layer_shows(script: ModuleType, seen: dict[str, Host]) -> None:
    layers = len(list(script.make_model()))
    assert seen["synchronising"].reads == layers * (STEPS + 1) + 1
    assert {seen[s].reads for s in ("none", "loader", "launch-bound")} == {1}


def test_a_slow_loader_shows(seen: dict[str, Host]) -> None:
    assert seen["loader"].operators > 3 * seen["none"].operators


def test_tiny_batches_launch_as_much_for_fewer_pictures(script: ModuleType, seen: dict[str, Host]) -> None:
    assert seen["launch-bound"].operators == pytest.approx(seen["none"].operators, rel=0.1)
    assert script.TINY * 4 <= BATCH


def test_the_slow_loader_gives_the_same_pictures(script: ModuleType) -> None:
    images, labels = torch.randint(0, 256, (9, 3, 8, 8), dtype=torch.uint8), torch.arange(9)
    picks = torch.tensor([4, 0, 7])
    (slow, y), (fast, z) = (script.load(images, labels, picks, slowly=slowly) for slowly in (True, False))
    assert torch.allclose(slow, fast) and y.tolist() == z.tolist() == [4, 0, 7]


def test_its_command_line(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--steps", "1", "--warmup", "0", "--batch", "2", "--device", "cpu"]) == 0
    assert "1 steps on cpu, sick: none, last loss" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        script.main(["--steps", "0"])
