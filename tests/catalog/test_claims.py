"""The ledger of claims: whole, in the guides' order, in our own words, and every claim has a place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from labkit.catalog import claims as ledger
from labkit.errors import LabkitError

pytestmark = pytest.mark.light

ROWS = list(ledger.claims().values())
NUMBERS = [f"1.{number}" for number in range(1, 57)] + [f"2.{number}" for number in range(1, 38)]
SENTENCE = re.compile(r"^\S.*\.$", re.DOTALL)


def test_all_93_claims_stand_there_in_order() -> None:
    assert [claim.id for claim in ROWS] == NUMBERS


@pytest.mark.parametrize("claim", ROWS, ids=lambda claim: claim.id)
def test_a_claim_is_whole(claim: ledger.Claim) -> None:
    assert claim.guide == claim.id.split(".")[0]
    assert SENTENCE.match(claim.says) and SENTENCE.match(claim.right)
    assert claim.sources and all(len(source) > 8 for source in claim.sources)
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", claim.checked)
    assert bool(claim.probe) != bool(claim.why_no_probe), "either a probe, or one sentence why there is none"
    assert not claim.why_no_probe or (SENTENCE.match(claim.why_no_probe) and len(claim.why_no_probe) > 30)
    assert not claim.probe or claim.probe.split(".")[0] in ledger.THEMES
    assert claim.lessons, "every claim is treated by a lesson"
    assert all(re.fullmatch(r"\d\d", lesson) for lesson in claim.lessons)
    assert not re.search(r"[\u4e00-\u9fff]", claim.says + claim.right + claim.command), "in English"
    assert claim.says != claim.right


def test_themes_and_verdicts_are_all_used() -> None:
    assert {claim.theme for claim in ROWS} == set(ledger.THEMES)
    assert {claim.verdict for claim in ROWS} == set(ledger.VERDICTS)


def test_no_two_claims_say_the_same() -> None:
    assert len({claim.says for claim in ROWS}) == len(ROWS)


def test_chosen_by_id_theme_and_both() -> None:
    assert [claim.id for claim in ledger.chosen(["2.22", "1.30"])] == ["2.22", "1.30"]  # verification before bandwidth
    assert {claim.theme for claim in ledger.chosen(theme="memory")} == {"memory"}
    assert ledger.chosen(["1.30"], theme="memory") == ()
    assert len(ledger.chosen()) == len(ROWS)


@pytest.mark.parametrize(("ids", "theme"), [(["3.1"], None), (["1.57"], None), ([], "weather")])
def test_an_unknown_id_or_theme_is_told(ids: list[str], theme: str | None) -> None:
    with pytest.raises(LabkitError) as told:
        ledger.chosen(ids, theme)
    assert told.value.remedy


def test_of_lesson() -> None:
    assert "2.22" in [claim.id for claim in ledger.of_lesson("00")]
    assert ledger.of_lesson("99") == ()


@pytest.mark.parametrize(
    "spoil", [{"verdict": "MAYBE"}, {"theme": "weather"}, {"guide": "3"}, {"extra": 1}, {"id": "1.2"}]
)
def test_a_spoilt_table_is_noticed(spoil: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.loads((Path(ledger.__file__).parent / "claims.json").read_text(encoding="utf-8"))
    rows[0].update(spoil)
    (tmp_path / "claims.json").write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.setattr(ledger, "__file__", str(tmp_path / "claims.py"))
    with pytest.raises(ValueError, match=r"claims\.json"):
        ledger.claims.__wrapped__()


def test_commands_are_carried_as_facts() -> None:
    """What stands in the guides letter for letter is what a scan of the course can look for."""
    table = ledger.claims()
    assert table["2.16"].command == "torch.backends.hip.is_available()" and table["2.16"].verdict == "WRONG"
    assert table["1.20"].verdict == "TRUE" and "is_available" in table["1.20"].command
