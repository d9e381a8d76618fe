"""Every simulated machine with every fault that it can have: the doctor names it first. And every two that can coexist."""

from __future__ import annotations

import re

import pytest

from labkit.catalog.findings import SEVERITIES, codes
from labkit.devices.cards import card
from labkit.devices.simulate import torch_of
from labkit.devices.stack import layers
from labkit.machine import doctor, evidence, simulate
from labkit.machine.checks import checks
from labkit.machine.facts import machine
from labkit.machine.simulate.faults import FAULTS
from labkit.machine.simulate.pairs import excluded, explained_by, pairs


def found(name: str, *faults: str) -> list[str]:
    return [
        finding.code for finding in doctor.diagnose(evidence.from_snapshot(simulate.snapshot(name, faults))).findings
    ]


def gravity(code: str) -> int:
    return SEVERITIES.index(codes()[code].severity)


@pytest.mark.parametrize("name", simulate.healthy())
def test_a_healthy_machine_is_healthy(name: str) -> None:
    assert found(name) == (["no-amd-gpu"] if name == "no_gpu" else ["ok"])


@pytest.mark.parametrize("name", simulate.healthy())
def test_the_injected_fault_is_named_first(name: str) -> None:
    wrong = {}
    for fault in simulate.faults(name):
        got = found(name, fault)
        expected = ["ok", fault] if codes()[fault].severity == "info" else [fault]
        if got[: len(expected)] != expected:
            wrong[fault] = got
    assert not wrong


def test_a_single_fault_brings_hardly_anything_else_along() -> None:
    """A second blocking finding beside the injected one would send people on two errands."""
    also = {}
    for name in simulate.healthy():
        for fault in simulate.faults(name):
            extra = [
                code for code in found(name, fault) if code not in (fault, "ok") and codes()[code].severity == "blocks"
            ]
            if extra:
                also[name, fault] = extra
    assert not also


def test_every_finding_is_reached_by_a_simulated_machine() -> None:
    possible = {fault for name in simulate.healthy() for fault in simulate.faults(name)}
    assert possible == set(codes()) - {"ok"}


def test_every_rule_is_reached_by_a_simulated_machine_or_named_here() -> None:
    """Some codes have a second rule for evidence that no fault of the simulation gives."""
    second = {code for code, count in doctor.rule_codes().items() if count > 1}
    assert second <= {"torch-missing"}, "reach it in a test of its own, then name it here"


@pytest.mark.parametrize("name", simulate.healthy())
def test_no_forbidden_or_foreign_advice_on_any_machine(name: str) -> None:
    wrong = []
    for fault in simulate.faults(name):
        snapshot = simulate.snapshot(name, (fault,))
        for finding in doctor.diagnose(evidence.from_snapshot(snapshot)).findings:
            for step in (*finding.fix, *finding.verify):
                bad = re.search(
                    r"chmod (?:a\+rw|[0-7]?666)|sudo (?:python3? -m )?pip|nvidia-driver|\b(?:export|set -gx) HSA_OVERRIDE_GFX_VERSION",
                    step,
                )
                foreign = snapshot["system"] == "Windows" and re.search(
                    r"\bsudo |\bexport |\bapt |~/|/dev/kfd|\bunset [A-Z]|\bgrep\b|dmesg|\$USER", step
                )
                useless = snapshot["container"] and re.search(r"\busermod\b", step)
                if bad or foreign or useless:
                    wrong.append((fault, finding.code, step))
    assert not wrong


@pytest.mark.parametrize("name", simulate.healthy())
def test_whoever_else_looks_at_a_broken_machine_has_an_answer_too(name: str) -> None:
    for fault in simulate.faults(name):
        snapshot = simulate.snapshot(name, (fault,))
        assert checks(snapshot) and layers(snapshot), fault
        assert "simulated" in str(card(torch_of(snapshot), machine=machine(snapshot), simulated=name)).lower(), fault


def all_pairs() -> dict[tuple[str, str], list[str]]:
    where: dict[tuple[str, str], list[str]] = {}
    for name in simulate.healthy():
        for pair in pairs(simulate.faults(name)):
            where.setdefault(pair, []).append(name)
    return where


@pytest.mark.parametrize("part", range(4))
def test_of_two_faults_both_are_named_and_the_blocking_one_first(part: int) -> None:
    wrong = {}
    for number, (pair, names) in enumerate(all_pairs().items()):
        if number % 4 != part:
            continue
        got = found(names[number % len(names)], *pair)
        one, other = pair
        expected = {code for code, beside in ((one, other), (other, one)) if code not in explained_by(FAULTS[beside])}
        first = next((code for code in got if code != "ok"), "")
        if (
            not expected <= set(got)
            or first not in pair
            or (expected and gravity(first) != min(map(gravity, expected)))
        ):
            wrong[pair] = got
    assert not wrong


def test_the_pairs_are_many_and_every_exclusion_says_why() -> None:
    assert len(all_pairs()) > 1200
    assert "driver" in excluded("driver-not-loaded", "nomodeset")
    assert (
        "never" not in excluded("wrong-wheel-cpu", "kfd-permission")
        and excluded("wrong-wheel-cpu", "kfd-permission") == ""
    )
    assert "'build'" in excluded("wrong-wheel-cpu", "oom-real") or "'sees'" in excluded("wrong-wheel-cpu", "oom-real")


def test_no_fault_excludes_all_others() -> None:
    """Apart from those that leave nothing to look at, a fault that no second one can join would be hidden from this test."""
    joined = {fault for pair in all_pairs() for fault in pair}
    assert {fault for name in simulate.healthy() for fault in simulate.faults(name)} <= joined
