"""Lesson 11: every claim is shown, what the probes saw is told as it was, and nothing is claimed for ROCm."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from labkit.catalog.claims import THEMES, VERDICTS, chosen, claims
from labkit.course import table
from tests.notebooks.outputs import cells, numbers, said, until

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("11")


def outputs(notebook: dict[str, Any], call: str) -> list[str]:
    """The text of each cell that begins with this call."""
    return [
        "".join(said(cell))
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and "".join(cell["source"]).startswith(call)
    ]


def test_every_claim_is_asked_and_answered_once_in_the_guides_order(notebook: dict[str, Any]) -> None:
    decks, told = outputs(notebook, "deck("), outputs(notebook, "answers(")
    assert len(decks) == len(told) == len(THEMES)
    for deck, answer, theme in zip(decks, told, THEMES, strict=True):
        mine = [claim.id for claim in chosen(theme=theme)]
        assert re.findall(r"^([12]\.\d+) ", deck, re.MULTILINE) == mine
        assert re.findall(rf"^([12]\.\d+) +(?:{'|'.join(VERDICTS)})\b", answer, re.MULTILINE) == mine
    assert sum(len(re.findall(r"^[12]\.\d+ ", deck, re.MULTILINE)) for deck in decks) == 93


def test_a_claim_is_answered_with_what_is_right_its_source_and_the_day(notebook: dict[str, Any]) -> None:
    told = " ".join(" ".join(outputs(notebook, "answers(")).split())
    for claim in claims().values():
        assert " ".join(claim.right.split()) in told and claim.sources[0][:60] in told and claim.checked in told


def test_the_probes_of_this_machine_agree_with_the_ledger(text: str) -> None:
    spoke, every, agreed, unmet, slow, without = numbers(
        r"\*\*(\d+)\*\* of (\d+) claims could be shown here, \*\*(\d+)\*\* of them as the ledger says\. "
        r"(\d+) probes need something that is not here, (\d+) were left out as slow, (\d+) claims have no probe",
        text,
    )
    assert every == 93 == spoke + unmet + slow + without and agreed == spoke >= 40
    assert "NOT AS THE VERDICT SAYS" not in text and "came to no end" not in text


def test_what_needs_an_amd_gpu_and_what_nobody_should_run_says_so(text: str) -> None:
    flat = " ".join(text.split())
    if "Not shown on this machine: needs an AMD GPU" not in flat:
        assert "as the verdict says" in flat
    assert flat.count("No probe: ") == sum(not claim.probe for claim in claims().values())
    assert "The script commits and pushes to a repository" in flat
    assert flat.count('Not run in this profile: profile = "full" runs it.') == 5


def test_the_score_of_nobody_is_none_and_the_base_rate_is_told(text: str) -> None:
    assert "No guesses, so no score. Whoever says WRONG to everything is right in 35% of the 93 claims." in text
    assert "always 'wrong': right in 35% of 93 claims" in text


def test_the_worked_example_sees_both_answers(text: str) -> None:
    assert "torch.from_numpy copies the array. fails | the array now begins with 7, the tensor with 7 | True" in text
    assert "torch.tensor copies the array. holds | the array now begins with 7, the tensor with 0 | True" in text
    assert "x.view(-1) makes a copy of the data." in text and "both begin at the same address: True" in text


def test_exercise_and_quizzes_stay_open_in_the_course_s_run(text: str) -> None:
    assert len(re.findall(r"^TODO \w+: not started", text, re.MULTILINE)) == 1
    assert "0 of 4 passed" in text


def test_it_claims_nothing_for_rocm_that_nobody_ran() -> None:
    source = "\n".join("".join(cell["source"]) for cell in cells(LESSON))
    assert "not yet verified on ROCm" in source and "torchvision" not in source


@pytest.mark.parametrize(("wrong", "named"), [({"profile": "fast"}, "profile"), ({"slow": "1.10 9.9"}, "9.9")])
def test_a_parameter_that_cannot_be_is_named_at_once(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(AssertionError, match=named):
        until(LESSON, "assert profile in", **wrong)


def test_a_guess_typed_into_the_dict_is_enough() -> None:
    """Without buttons: the cells of a group with a guess in the dict, as a person types it."""
    from labkit.show.folklore import answers, deck

    guesses = {"2.28": "misleading", "2.27": "true"}
    assert "Your guess: misleading" in str(deck("precision", guesses))
    assert "You guessed 2 of 3, 1 as the ledger has it." in str(answers("precision", guesses, {}))
    assert json.loads(json.dumps(guesses)) == guesses
