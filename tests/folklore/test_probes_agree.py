"""Every probe that this machine can run sees what the verdict of its claim says, in processes of their own.

When a new PyTorch makes one of these fail, a sentence of the ledger (labkit/catalog/claims.json) went stale, and with it the
lessons that it names: correct them, then the verdict.
"""

from __future__ import annotations

import re

import pytest

from labkit.catalog.claims import VERDICTS, Claim, claims
from labkit.folklore import Outcome, run
from labkit.folklore.observation import EXPECTED, NOT_SEEN, agrees
from labkit.folklore.registry import find

PROBED = [claim for claim in claims().values() if claim.probe]
# what the course's own environment has everywhere
EVERYWHERE = {"torch", "module:pip", "module:numpy"}


def needs(claim: Claim) -> tuple[str, ...]:
    found = find(claim)
    assert found is not None
    return found.needs


ON_A_CPU = [claim.id for claim in PROBED if set(needs(claim)) <= EVERYWHERE]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {outcome.claim.id: outcome for outcome in run([claim.id for claim in PROBED])}


def test_at_least_forty_run_on_a_machine_without_a_gpu() -> None:
    assert len(ON_A_CPU) >= 40


@pytest.mark.parametrize("number", ON_A_CPU)
def test_the_probe_sees_what_the_verdict_says(number: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[number]
    told = f"{outcome.claim.verdict}, but seen: {outcome.observation.saw}. {outcome.observation.evidence}"
    assert outcome.agrees is True, told


@pytest.mark.parametrize("number", [claim.id for claim in PROBED if claim.id not in ON_A_CPU])
def test_a_probe_with_needs_agrees_or_says_what_it_lacks(number: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[number]
    what = outcome.observation
    assert outcome.agrees is True or (what.saw == "unmet" and what.evidence.startswith("needs ")), what


@pytest.mark.parametrize("number", ON_A_CPU)
def test_with_the_verdict_turned_round_they_part_ways(number: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[number]
    others = [verdict for verdict in VERDICTS if verdict != outcome.claim.verdict]
    assert [agrees(verdict, outcome.observation.saw) for verdict in others] == [False] * 4


def test_the_evidence_is_a_sentence_of_bounded_length(outcomes: dict[str, Outcome]) -> None:
    for outcome in outcomes.values():
        assert 5 < len(outcome.observation.evidence) < 700, outcome
        assert "/work/" not in outcome.observation.evidence and not re.search(
            r"[\n{}]", outcome.observation.evidence
        ), outcome


@pytest.mark.light
def test_each_verdict_has_one_thing_that_its_probe_has_to_see() -> None:
    assert set(EXPECTED) == set(VERDICTS) and len(set(EXPECTED.values())) == len(EXPECTED)
    assert all(agrees(verdict, saw) is None for verdict in VERDICTS for saw in NOT_SEEN)


@pytest.mark.light
@pytest.mark.parametrize("claim", PROBED, ids=lambda claim: claim.id)
def test_the_ledger_and_the_functions_name_each_other(claim: Claim) -> None:
    found = find(claim)
    assert found is not None and found.name == claim.probe and found.function.__doc__
    for need in found.needs:
        kind = need.split(":")[0]
        assert kind in {"torch", "rocm-build", "rocm-torch", "amd-gpu", "windows", "module", "tool"}, need


@pytest.mark.light
def test_no_function_is_registered_for_a_claim_that_does_not_name_it() -> None:
    from labkit.folklore import registry

    for claim in PROBED:
        find(claim)
    assert set(registry._PROBES) == {claim.id for claim in PROBED}
