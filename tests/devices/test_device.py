"""labkit.device() itself: what it does with a real torch, with a broken one, and with facts of a GPU that is not here."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import devices
from labkit.devices import SmokeTest
from labkit.devices.simulate import torch_on
from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine

RX6600 = Machine("linux", False, "x86_64", (3, 12), (Gpu("gfx1032", "Radeon RX 6600", False, "kfd"),), False, False)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("LABKIT_DEVICE", raising=False)
    monkeypatch.setattr(devices, "_told", set())
    monkeypatch.setattr(devices, "_tested", {})
    kept = devices._facts_here, devices._first_kernel
    for function in kept:
        function.cache_clear()
    yield
    for function in kept:
        function.cache_clear()


def test_the_device_here_computes() -> None:
    torch = pytest.importorskip("torch")
    device = devices.device()
    assert isinstance(device, torch.device)
    assert torch.ones(3, device=device).device == device
    assert device.type == "cpu" or device.index is not None


def test_the_override(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("LABKIT_DEVICE", "cpu")
    assert str(devices.device()) == "cpu"
    monkeypatch.setenv("LABKIT_DEVICE", "rocm")  # changed within one process: obeyed at once
    with pytest.raises(LabkitError, match="calls AMD GPUs 'cuda'"):
        devices.device()


def test_a_gpu_without_kernels_gives_the_cpu_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(devices, "_facts_here", lambda: torch_on(RX6600, "rocm7.2"))
    assert str(devices.device()) == "cpu" == str(devices.device())
    told = capsys.readouterr().out
    assert told.count("no kernels for gfx1032") == 1


def test_a_first_kernel_that_fails_gives_the_cpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(devices, "_facts_here", lambda: torch_on(RX6600, "amd"))
    monkeypatch.setattr(devices, "_first_kernel", lambda device: "HIP error: hipErrorInvalidImage")
    assert str(devices.device()) == "cpu"
    assert "torch[device-gfx1032]" in capsys.readouterr().out


def test_a_failed_smoke_test_is_remembered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(devices, "_facts_here", lambda: torch_on(RX6600, "amd"))
    monkeypatch.setattr(devices, "_tested", {"auto": SmokeTest("cuda:0", problem="it crashed")})
    assert str(devices.device()) == "cpu"
    assert "failed the smoke test" in capsys.readouterr().out


def test_the_first_kernel_on_the_cpu_is_right() -> None:
    pytest.importorskip("torch")
    assert devices._first_kernel("cpu") == ""
    assert devices._first_kernel("meta") != ""  # a device without numbers cannot be right


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModuleNotFoundError("No module named 'torch'"), "not installed"),
        (OSError("libamdhip64.so.7: cannot open shared object file: No such file or directory"), "libamdhip64.so.7"),
        (ImportError("undefined symbol: _ZN3c10"), "cannot start"),
    ],
)
def test_a_torch_that_does_not_import_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    real = builtins.__import__

    def broken(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "torch":
            raise error
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(LabkitError) as caught:
        devices.device()
    assert words in caught.value.problem and caught.value.remedy and "\n" not in caught.value.problem


def test_the_card_comes_from_one_child_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def run(device: str = "auto", timeout_s: float = 120.0, command: Any = None) -> SmokeTest:
        calls.append(device)
        return SmokeTest("cpu", facts=torch_on(RX6600, "cpu"))

    monkeypatch.setattr(devices._smoke, "run", run)
    monkeypatch.setattr(devices, "_machine_here", lambda: RX6600)
    devices.describe()
    devices.describe(smoke=False)
    devices.smoke_test()
    assert calls == ["auto"]
    devices.smoke_test(again=True)
    assert calls == ["auto", "auto"]
    monkeypatch.setenv("LABKIT_DEVICE", "cpu")
    devices.smoke_test()
    assert calls[2:] == ["cpu"]  # another device is another test


def test_without_a_smoke_test_no_kernel_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def run(device: str, timeout_s: float) -> SmokeTest:
        calls.append(device)
        return SmokeTest(None, facts=torch_on(RX6600, "cpu"))

    monkeypatch.setattr(devices._smoke, "run", run)
    monkeypatch.setattr(devices, "_machine_here", lambda: RX6600)
    assert "not run" in str(devices.describe(smoke=False))
    assert calls == ["none"]


def test_importing_the_room_does_not_import_torch() -> None:
    code = "import sys, labkit.devices; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=devices._smoke.ROOT, timeout=60).returncode == 0


def test_the_snapshot_has_the_smoke_test_s_torch_in_the_shape_of_a_collected_one() -> None:
    torch = pytest.importorskip("torch")
    from labkit.machine.probes import torch_probe

    found = devices.snapshot()
    assert set(torch_probe.describe(torch)) | {"kernel_result"} == set(found["torch"])
    assert found["torch"]["version"] == torch.__version__ and "torch" in found["packages"]
    assert found["simulated"] is False and "tools" in found


def test_of_a_torch_that_does_not_start_the_snapshot_keeps_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"torch": {"error": "ImportError: libamdhip64.so.6: cannot open shared object file"}}
    monkeypatch.setattr(devices, "_tested", {"auto": SmokeTest(None, problem="torch does not start")})
    monkeypatch.setattr(devices, "_snapshot_here", lambda *, torch: broken if torch else {})
    assert devices.snapshot() == broken
