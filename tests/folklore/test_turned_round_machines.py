"""Probes for AMD GPUs and for Windows, which are not here: what they make of the answers that programs give."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.probes import (
    bandwidth,
    memory,
    ubuntu,
    verification,
    windows,
)
from labkit.machine.probes.commands import Answer
from tests.folklore.turning import Patch, Turned, says

real_ones = torch.ones
turned = Turned()


# for machines that are not here


def _device(patch: Patch, group: str, mode: int) -> Path:
    patch.setattr(Path, "exists", lambda self: True)
    patch.setattr(Path, "group", lambda self: group)
    patch.setattr(Path, "stat", lambda self, **options: SimpleNamespace(st_mode=0o020000 | mode))
    return Path("/dev/kfd")


def _card(patch: Patch, *, integrated: bool) -> None:
    card = SimpleNamespace(total_memory=2**30, is_integrated=integrated)
    patch.setattr(torch.cuda, "get_device_properties", lambda number: card)
    patch.setattr(torch, "empty", lambda size, dtype, device: None)


@turned("2.13", "fails")
def rocminfo_without_a_gpu(patch: Patch) -> Observation:
    says(patch, "ROCk module is NOT loaded, possibly no GPU devices\n", 1, "tool")
    return verification.rocminfo_shows_gpu()


@turned("1.55", "fails")
def rocminfo_without_agents(patch: Patch) -> Observation:
    says(patch, "ROCk module is NOT loaded, possibly no GPU devices\n", 1, "tool")
    return verification.rocminfo_agents()


@turned("2.31", "fails")
def an_enumerator_with_the_cpu_only(patch: Patch) -> Observation:
    says(patch, "gfx000\n", 0, "tool")
    return verification.agent_enumerator()


@turned("2.17", "fails")
def a_rocm_build_that_says_no(patch: Patch) -> Observation:
    patch.setattr(torch.version, "hip", "7.2")
    patch.setattr(torch.cuda, "is_available", lambda: False)
    for name in verification.HIDING:
        patch.delenv(name, raising=False)
    return verification.available_on_amd()


@turned("2.12", "partly")
def a_device_that_everyone_may_open(patch: Patch) -> Observation:
    return ubuntu.groups_of_kfd(_device(patch, "root", 0o666))


@turned("1.45", "holds")
def a_card_that_gives_more_than_it_has(patch: Patch) -> Observation:
    _card(patch, integrated=False)
    return memory.more_than_the_card_has()


@turned("1.19", "holds")
def linux_tools_found(patch: Patch) -> Observation:
    patch.setattr("shutil.which", lambda name: name)
    return windows.linux_tools_on_windows()


@pytest.mark.parametrize("claim", sorted(turned))
def test_another_subject_another_answer(claim: str, monkeypatch: Patch) -> None:
    turned.looks_different(claim, monkeypatch)


def test_what_a_machine_cannot_show_is_unmet(monkeypatch: Patch, tmp_path: Path) -> None:
    _card(monkeypatch, integrated=True)
    assert memory.more_than_the_card_has().saw == "unmet"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "-1")
    hidden = verification.available_on_amd()
    assert hidden.saw == "unmet" and "HIP_VISIBLE_DEVICES" in hidden.evidence
    closed = tmp_path / "kfd"
    closed.write_text("", encoding="utf-8")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "may open" in verification.available_on_amd(closed).evidence
    monkeypatch.setattr(child, "tool", lambda *command: Answer("install ok installed"))
    monkeypatch.setattr(torch, "ones", lambda *sizes, device: real_ones(*sizes))
    assert ubuntu.torch_without_sdk_packages().saw == "unmet"
    monkeypatch.setattr(child, "tool", lambda *command: Answer("no packages found", 1))
    assert ubuntu.torch_without_sdk_packages().saw == "deprecated"
    assert ubuntu.groups_of_kfd(tmp_path / "nothing").saw == "unmet"
    assert ubuntu.groups_of_kfd(_device(monkeypatch, "render", 0o660)).saw == "holds"
    assert ubuntu.groups_of_kfd(_device(monkeypatch, "root", 0o660)).saw == "fails"


def test_what_was_recorded_on_a_rocm_machine_would_hold(monkeypatch: Patch) -> None:
    """The readers of the programs' answers, with text that such machines print."""
    says(monkeypatch, "HSA System Attributes\nAgent 1\n  Name: AMD EPYC\nAgent 2\n  Name: gfx90a\n", 0, "tool")
    assert verification.rocminfo_agents().saw == verification.rocminfo_shows_gpu().saw == "holds"
    assert "gfx90a" in verification.agent_enumerator().evidence
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert windows.linux_tools_on_windows().saw == windows.no_hsa_tools_on_windows().saw == "fails"
    monkeypatch.setattr(child, "python", lambda *a, environment: Answer("100.0"))
    assert bandwidth.copy_with_allocator_options().saw == "fails"
