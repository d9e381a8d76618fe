"""A torch without torch.distributed gets one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from labkit.comm import available

ROOT = Path(__file__).resolve().parents[2]


def fake(monkeypatch: pytest.MonkeyPatch, **parts: object) -> None:
    torch = ModuleType("torch")
    torch.__path__ = []  # type: ignore[attr-defined]
    torch.__version__ = "2.10.0"  # type: ignore[attr-defined]
    torch.cuda = SimpleNamespace(
        is_available=lambda: parts.get("gpus", 0) > 0, device_count=lambda: parts.get("gpus", 0)
    )  # type: ignore
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    if "distributed" in parts:
        monkeypatch.setitem(sys.modules, "torch.distributed", parts["distributed"])
        torch.distributed = parts["distributed"]  # type: ignore[attr-defined]


def distributed(**has: bool) -> ModuleType:
    module = ModuleType("torch.distributed")
    module.is_available = lambda: has.get("itself", True)  # type: ignore[attr-defined]
    module.is_gloo_available = lambda: has.get("gloo", False)  # type: ignore[attr-defined]
    module.is_nccl_available = lambda: has.get("nccl", False)  # type: ignore[attr-defined]
    return module


def test_what_is_missing_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        ({}, "built without torch.distributed"),
        ({"distributed": ModuleType("torch.distributed")}, "built without torch.distributed"),
        ({"distributed": distributed(itself=False)}, "built without torch.distributed"),
        ({"distributed": distributed()}, "neither gloo nor NCCL/RCCL"),
    ]
    for parts, words in cases:
        fake(monkeypatch, **parts)
        said = available.distributed_missing()
        assert said is not None and words in said and "\n" not in said and said.count(". ") == 0, said
    fake(monkeypatch, distributed=distributed(gloo=True))
    assert available.distributed_missing() is None


def test_no_torch_at_all_is_said() -> None:
    text = "import sys; sys.modules['torch'] = None\nfrom labkit.comm import distributed_missing; print(distributed_missing())"
    answer = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("torch is not installed here")


def test_nccl_where_each_rank_has_a_gpu_else_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    both = distributed(gloo=True, nccl=True)
    for gpus, ranks, backend in ((0, 2, "gloo"), (1, 2, "gloo"), (2, 2, "nccl"), (8, 4, "nccl")):
        fake(monkeypatch, distributed=both, gpus=gpus)
        assert available.backend_for(ranks) == backend
    fake(monkeypatch, distributed=distributed(), gpus=0)
    with pytest.raises(ValueError, match="nothing between processes"):
        available.backend_for(2)


def test_a_set_interface_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available.socket, "if_nameindex", lambda: [(1, "eth0"), (2, "lo0")])
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    assert available.loopback_settings() == {"GLOO_SOCKET_IFNAME": "lo0"}
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth0")
    assert available.loopback_settings() == {}
    monkeypatch.setattr(available.socket, "if_nameindex", lambda: [(1, "ethernet_32769")])
    monkeypatch.delenv("GLOO_SOCKET_IFNAME")
    assert available.loopback_settings() == {}
