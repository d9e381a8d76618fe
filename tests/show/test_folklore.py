"""Lesson 11's decks, answers and score: the same in words and in the buttons, and honest about luck."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog.claims import THEMES, VERDICTS, chosen, claims
from labkit.errors import LabkitError
from labkit.folklore.observation import Observation, Outcome
from labkit.show.folklore import answers, deck, shown, verdict_of
from labkit.show.folklore_score import base_rate, score, wilson

RIGHT = {claim.id: claim.verdict for claim in claims().values()}


def outcome(number: str, saw: str, evidence: str = "seen <b>so</b>") -> Outcome:
    return Outcome(claims()[number], Observation(saw, evidence), 0.1)


def choices(widget: Any) -> dict[str, dict[str, Any]]:
    """The buttons of each claim, by the claim's id and the button's word."""
    rows = [row.children for row in widget.children if type(row).__name__ == "HBox"]
    return {row[0].tooltip.split(":")[0]: {button.description: button for button in row} for row in rows}


def chosen_of(row: dict[str, Any]) -> list[str]:
    return [word for word, button in row.items() if button.value]


def test_the_decks_together_hold_every_claim_once() -> None:
    every = [claim.id for theme in THEMES for claim in deck(theme, {}).claims]
    assert sorted(every) == sorted(claims()) and len(every) == 93


@pytest.mark.parametrize("theme", THEMES)
def test_the_words_of_a_deck_do_not_give_the_verdict_away(theme: str) -> None:
    made = deck(theme, {})
    for claim in made.claims:
        assert claim.says[:30] in " ".join(str(made).split()) and claim.command in str(made)
        assert claim.right not in str(made) and claim.right not in made._still()
    assert not any(verdict in str(made) for verdict in VERDICTS)


def test_a_button_writes_into_the_dict_and_shows_what_stands_there() -> None:
    guesses = {"1.39": "outdated"}
    widget = deck("variables", guesses).widget()
    rows = choices(widget)
    assert len(rows) == 6 and chosen_of(rows["1.39"]) == ["outdated"] and chosen_of(rows["1.40"]) == []
    rows["1.40"]["true"].value = True
    assert guesses == {"1.39": "outdated", "1.40": "TRUE"} and "1.40: true. 2 of 6 guessed" in widget.children[-1].value
    rows["1.39"]["wrong"].value = True
    assert guesses["1.39"] == "WRONG" and chosen_of(rows["1.39"]) == ["wrong"]
    assert "1.39: wrong. 2 of 6 guessed" in widget.children[-1].value
    assert "Your guess: true" in str(deck("variables", guesses))


def test_the_chosen_button_pressed_again_withdraws_the_guess() -> None:
    guesses = {"1.39": "outdated"}
    widget = deck("variables", guesses).widget()
    row = choices(widget)["1.39"]
    row["outdated"].value = False
    assert guesses == {} and "1.39: withdrawn. 0 of 6 guessed" in widget.children[-1].value
    row["outdated"].value = True
    row["true"].value = True
    assert guesses == {"1.39": "TRUE"} and chosen_of(row) == ["true"]
    row["true"].value = False
    assert guesses == {} and chosen_of(row) == []


@pytest.mark.parametrize("call", [lambda: deck("variables", {"1.39": "maybe"}), lambda: score({"1.39": "maybe"})])
def test_a_word_that_is_no_verdict_is_named(call: Any) -> None:
    with pytest.raises(LabkitError, match="'maybe' is no verdict"):
        call()
    with pytest.raises(LabkitError, match="no theme"):
        deck("cooking", {})


@pytest.mark.parametrize(("given", "word"), [("wrong", "WRONG"), (" True ", "TRUE"), ("", "")])
def test_spellings_of_a_guess(given: str, word: str) -> None:
    assert verdict_of(given) == word


def test_answers_say_what_was_seen_what_was_not_and_why() -> None:
    seen = {
        "1.39": outcome("1.39", "deprecated"),
        "1.40": outcome("1.40", "fails"),
        "1.44": outcome("1.44", "unmet", "needs an AMD GPU"),
    }
    text = str(answers("variables", {"1.39": "outdated", "1.40": "wrong"}, seen))
    assert "OUTDATED, as you said" in text and "TRUE; you said WRONG" in text
    assert "This machine, as the verdict says" in text and "This machine, NOT AS THE VERDICT SAYS" in text
    assert "Not shown on this machine: needs an AMD GPU" in text and "No probe: " in text
    assert 'Not run in this profile: profile = "full" runs it.' in text
    assert text.endswith("You guessed 2 of 6, 1 as the ledger has it.")
    for claim in chosen(theme="variables"):
        assert claim.right[:40] in " ".join(text.split()) and f"Source, {claim.checked}" in text


def test_the_page_form_escapes_what_a_machine_said() -> None:
    page = shown(outcome("1.39", "deprecated"))._repr_html_()
    assert "<b>so</b>" not in page and "&lt;b&gt;so" in page


def test_an_outcome_of_one_s_own_counts_no_guesses() -> None:
    own = replace(outcome("1.39", "fails"), claim=replace(claims()["1.39"], id="own", right=""))
    assert "guessed" not in str(shown(own))


def test_without_guesses_there_is_no_score_but_a_base_rate() -> None:
    picture = score({})
    assert str(picture).endswith(
        "No guesses, so no score. Whoever says WRONG to everything is right in 35% of the 93 claims."
    )
    assert sum(row[2] for row in picture.values.values()) == 93 and picture.alt and picture.png()[:4] == b"\x89PNG"


def test_a_score_is_set_against_the_one_word() -> None:
    assert "So you knew more than that." in str(score(RIGHT))
    word, share = base_rate(chosen())
    always = str(score(dict.fromkeys(claims(), word)))
    assert "does not tell knowledge from luck" in always and f"is right in {share:.0%}" in always
    assert "that rule would have served you better" in str(score(dict.fromkeys(claims(), "MISLEADING")))
    assert "does not tell knowledge from luck" in str(score({"1.39": "OUTDATED"}))


@given(st.integers(1, 200), st.floats(0, 1))
def test_the_interval_holds_the_share(guessed: int, share: float) -> None:
    right = round(share * guessed)
    low, high = wilson(right, guessed)
    assert -1e-9 <= low <= right / guessed + 1e-9 and right / guessed - 1e-9 <= high <= 1 + 1e-9


def test_the_interval_of_a_textbook() -> None:
    """10 of 20: Wilson gives 0.299 to 0.701."""
    assert wilson(10, 20) == (pytest.approx(0.299, abs=1e-3), pytest.approx(0.701, abs=1e-3))
