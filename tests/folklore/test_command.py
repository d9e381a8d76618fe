"""``labkit claims``: on a bare Python too, readable, and its exit status says whether a probe contradicts the ledger."""

from __future__ import annotations

import json
import subprocess

import pytest

from labkit.catalog.claims import THEMES, claims
from labkit.folklore import command, ledger, running
from labkit.folklore.observation import Observation, Outcome
from labkit.importable import ROOT
from tests import bare

pytestmark = pytest.mark.light


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``labkit claims`` on a bare Python that has no environment of the course either."""
    return bare.labkit("claims", *arguments, LABKIT_ENV=str(ROOT / "no-such-environment"))


def test_the_ledger_on_a_bare_python() -> None:
    answer = call()
    assert answer.returncode == 0, answer.stderr
    for theme in THEMES.values():
        assert f"\n{theme}\n" in f"\n{answer.stdout}"
    for number, claim in claims().items():
        assert f"{number:<6}{claim.verdict}: " in answer.stdout
    assert answer.stdout.rstrip().splitlines()[-2].startswith("93 claims: ")


def test_ids_themes_and_mistakes() -> None:
    assert call("2.22", "--theme", "verification").stdout.startswith("Verification\n")
    assert call("2.22", "--theme", "memory").stdout == "None of these claims is of that theme.\n"
    assert [row["id"] for row in json.loads(call("1.30,1.36", "1.37,", "--json").stdout)] == ["1.30", "1.36", "1.37"]
    wrong = call("9.9")
    assert wrong.returncode == 1 and "There is no claim 9.9" in wrong.stderr and "Traceback" not in wrong.stderr
    assert "Themes are: windows" in call("--theme", "weather").stderr


def test_json_has_every_field() -> None:
    (row,) = json.loads(call("1.30", "--json").stdout)
    assert row["id"] == "1.30" and row["verdict"] == "WRONG" and row["sources"] and "saw" not in row


def outcome(number: str, saw: str) -> Outcome:
    return Outcome(claims()[number], Observation(saw, "What was seen."), 0.5)


@pytest.mark.parametrize(
    ("saw", "status", "words"),
    [
        ("fails", 0, "Seen here, as the verdict says: it is not so. What was seen."),
        ("holds", 1, "Seen here, NOT AS THE VERDICT SAYS: it is so. What was seen."),
        ("unmet", 0, "Not shown here: What was seen."),
        ("broken", 0, "Came to no end: 1 (2.22)"),
    ],
)
def test_the_status_is_1_only_where_outcome_and_verdict_part_ways(
    saw: str, status: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "run", lambda ids, told: (outcome("2.22", saw),))
    assert command.main(["2.22"], theme=None, probes=True, as_json=False) == status
    assert words in " ".join(capsys.readouterr().out.split())
    assert command.main(["2.22"], theme=None, probes=True, as_json=True) == status
    (row,) = json.loads(capsys.readouterr().out)
    assert row["saw"] == saw and row["agrees"] == {"fails": True, "holds": False}.get(saw)


def test_without_torch_a_probe_says_what_it_needs() -> None:
    answer = call("--run", "2.22", "2.33")
    assert answer.returncode == 0, answer.stderr
    assert "Not shown here: needs PyTorch" in answer.stdout or "as the verdict says" in answer.stdout
    assert "the lowest is rocm5.3" in " ".join(answer.stdout.split())


def test_no_line_is_wider_than_asked_but_commands() -> None:
    commands = {claim.command for claim in claims().values()}
    for line in ledger.as_text(tuple(claims().values()), width=70).splitlines():
        assert len(line) <= 70 or line.strip() in commands or " " not in line.strip(), line
