"""Probes for AMD GPUs and for Windows, which are not here: what they make of the answers that programs give."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from labkit.catalog.claims import claims
from labkit.folklore import child
from labkit.folklore.observation import EXPECTED, Observation
from labkit.folklore.probes import (
    bandwidth,
    verification,
    windows,
)
from labkit.machine.probes.commands import Answer

Patch = pytest.MonkeyPatch
ANSWERED: dict[str, tuple[str, Callable[[Patch], Observation]]] = {}


def turned(claim: str, saw: str) -> Callable[[Callable[[Patch], Observation]], Callable[[Patch], Observation]]:
    def keep(function: Callable[[Patch], Observation]) -> Callable[[Patch], Observation]:
        ANSWERED[claim] = (saw, function)
        return function

    return keep


def says(patch: Patch, text: str, status: int = 0, which: str = "python") -> None:
    patch.setattr(child, which, lambda *arguments, **settings: Answer(text, status))


# for machines that are not here


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


@turned("1.19", "holds")
def linux_tools_found(patch: Patch) -> Observation:
    patch.setattr("shutil.which", lambda name: name)
    return windows.linux_tools_on_windows()


@pytest.mark.parametrize("claim", sorted(ANSWERED))
def test_another_subject_another_answer(claim: str, monkeypatch: Patch) -> None:
    expected, look = ANSWERED[claim]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = look(monkeypatch)
    assert seen.saw == expected, seen
    assert seen.saw != EXPECTED[claims()[claim].verdict], "this is what the verdict says: nothing was turned round"


def test_what_was_recorded_on_a_rocm_machine_would_hold(monkeypatch: Patch) -> None:
    """The readers of the programs' answers, with text that such machines print."""
    says(monkeypatch, "HSA System Attributes\nAgent 1\n  Name: AMD EPYC\nAgent 2\n  Name: gfx90a\n", 0, "tool")
    assert verification.rocminfo_agents().saw == verification.rocminfo_shows_gpu().saw == "holds"
    assert "gfx90a" in verification.agent_enumerator().evidence
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert windows.linux_tools_on_windows().saw == windows.no_hsa_tools_on_windows().saw == "fails"
    monkeypatch.setattr(child, "python", lambda *a, environment: Answer("100.0"))
    assert bandwidth.copy_with_allocator_options().saw == "fails"
