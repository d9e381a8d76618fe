"""The doctor on described machines: broken ones of every kind, healthy ones with tempting words, two faults at once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labkit.catalog.findings import codes
from labkit.machine import doctor
from labkit.machine.evidence import from_case
from labkit.machine.rules import RULES
from tests.machine.case_files import load, misses

CASES = load()


def findings(case: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = doctor.diagnose(from_case(case)).as_json()["findings"]
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_described_machine_gets_its_diagnosis(case: dict[str, Any]) -> None:
    found = findings(case)
    assert misses(case["expect"], found) == []
    for finding in found:
        assert finding["code"] == "ok" or (finding["evidence"] and all(finding["evidence"])), "a finding needs evidence"
        assert finding["severity"] == "info" or finding["fix"], "what is wrong needs a remedy"


def test_every_code_has_its_rule_and_a_case_that_reaches_it() -> None:
    ruled = doctor.rule_codes()
    assert set(codes()) - {"ok"} == set(ruled)
    reached = {code for case in CASES for code in (case["expect"]["top"], *case["expect"].get("also", ()))}
    assert reached == set(codes())


def test_what_a_rule_explains_exists() -> None:
    for rule in RULES:
        assert rule.explains <= set(codes()), rule.code
        assert rule.code not in rule.explains


FORBIDDEN = (
    r"chmod\s+(?:a\+rw|0?666|777)", r"sudo\s+pip|sudo\s+python\S*\s+-m\s+pip", r"nvidia\.com|nvidia[- ]driver|nvidia-smi",
    r"(?:export|set|set -gx|env|\$env:)\s*HSA_OVERRIDE_GFX_VERSION\s*=", r"HSA_OVERRIDE_GFX_VERSION=\d", r"--break-system-packages",
    r"\bln -s\b",
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_no_remedy_holds_forbidden_advice(case: dict[str, Any]) -> None:
    for finding in findings(case):
        if finding["code"] == "env-not-exported":
            continue  # it hands on the variable that the person chose
        steps = "\n".join(finding["fix"])
        for pattern in FORBIDDEN:
            assert not re.search(pattern, steps, re.I), (finding["code"], pattern, steps)
        if case["platform"] == "container":
            assert "usermod" not in steps, finding["code"]


def test_groups_are_not_changed_inside_a_container_and_no_module_is_loaded_in_wsl() -> None:
    for case in CASES:
        for finding in findings(case):
            steps = "\n".join(finding["fix"])
            if case["platform"] == "wsl":
                assert "modprobe" not in steps and "usermod" not in steps, case["id"]
            if case["platform"] == "windows":
                assert "sudo " not in steps, (case["id"], steps)
