"""What is special about lesson 10: its right answers are the doctor's, its wrong ones are refuted, its draws are fair."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from labkit.errors import LabkitError
from labkit.learn import check, forget, proofs
from labkit.learn.exercises.troubleshooting_lab import EXERCISES, Case, cases
from labkit.learn.solutions import path_of
from labkit.show.diagnosis import doctor

NAMES = [exercise.name for exercise in EXERCISES]
FIXED = cases()
MACHINES = [case for case in FIXED.values() if case.snapshot]
LIVE = [case for case in FIXED.values() if not case.snapshot]
SEEDS = (1, 2, 3, 7, 2026)
HARMFUL = re.compile(
    r"OVERRIDE_GFX_VERSION=\d|chmod|sudo (?:-\S+ )?pip|sudo jupyter|nvidia-driver|mknod|reinstall", re.IGNORECASE
)


def right_text(case: Case) -> str:
    return next(choice.text for choice in case.fixes if choice.key == case.fix)


def test_there_are_eight_machines_and_four_live_faults() -> None:
    assert len(MACHINES) == 8 and len(LIVE) == 4
    assert len({case.cause for case in FIXED.values()}) >= 11, "every case teaches another cause"


@pytest.mark.parametrize("case", MACHINES, ids=lambda case: case.name)
def test_the_right_cause_is_the_doctors_first(case: Case) -> None:
    findings = doctor(case.snapshot).findings
    assert findings[0].code == case.cause
    assert not {choice.key for choice in case.causes if choice.why_not} & {finding.code for finding in findings}


@pytest.mark.parametrize("case", FIXED.values(), ids=lambda case: case.name)
def test_the_right_fix_does_no_harm(case: Case) -> None:
    assert not HARMFUL.search(right_text(case))
    if case.snapshot.get("container"):
        assert "usermod" not in right_text(case)


def test_the_harmful_remedies_are_there_to_be_turned_down() -> None:
    wrong = "\n".join(choice.text for case in FIXED.values() for choice in case.fixes if choice.why_not)
    for remedy in (
        "HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "chmod 666",
        "sudo pip",
        "usermod -aG render,video root",
        "nvidia-driver",
    ):
        assert remedy in wrong, remedy


@pytest.mark.parametrize("case", FIXED.values(), ids=lambda case: case.name)
def test_place_and_form_of_a_choice_tell_nothing(case: Case) -> None:
    for choices in (case.causes, case.fixes):
        keys = [choice.key for choice in choices]
        assert keys == sorted(keys) and len(set(keys)) == len(keys) >= 3
        assert sum(not choice.why_not for choice in choices) == 1
    shown = str(case) + case._repr_html_()
    assert not [choice for choice in (*case.causes, *case.fixes) if choice.why_not and choice.why_not in shown]
    assert ("simulated" in shown) == bool(case.snapshot)


def test_every_refusal_is_written_for_its_case() -> None:
    reasons = [choice.why_not for case in FIXED.values() for choice in (*case.causes, *case.fixes) if choice.why_not]
    assert len(reasons) >= 65 and len(set(reasons)) == len(reasons)


def test_the_right_places_do_not_repeat() -> None:
    places = [[choice.key for choice in case.fixes].index(case.fix) for case in FIXED.values()]
    assert max(places.count(place) for place in range(4)) <= 7, "always the same line would be guessed"


# ------------------------------------------------------------------------------------------------------------- asking


def test_a_case_can_be_asked_and_a_live_fault_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    FIXED["verdict_2"].ask("groups")
    assert capsys.readouterr().out == "groups: user\n"
    with pytest.raises(LabkitError, match="live"):
        FIXED["verdict_9"].ask("groups")


# -------------------------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_cases_are_sound(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = [case for case in cases(seed).values() if case.snapshot]
    assert len(drawn) == 8 and len({case.cause for case in drawn}) == 8
    for case in drawn:
        assert doctor(case.snapshot).findings[0].code == case.cause
        assert case.snapshot["simulated"] and case.seen.startswith(">>> import torch")
        assert check(case.name, {"cause": case.cause, "fix": case.fix}, case)
        for part, choices in (("cause", case.causes), ("fix", case.fixes)):
            for choice in choices:
                if choice.why_not:
                    answer = {"cause": case.cause, "fix": case.fix, part: choice.key}
                    forget()
                    result = check(case.name, answer, case)
                    assert not result and choice.why_not.split("“")[0].strip() in result.message
    assert [case.name for case in cases(seed).values() if not case.snapshot] == [case.name for case in LIVE]
    forget()
    capsys.readouterr()


def test_a_seed_draws_the_same_again_and_another_one_others() -> None:
    def drawn(seed: int) -> list[tuple[str, str, str]]:
        return [(case.title, case.cause, case.fix) for case in cases(seed).values()]

    assert drawn(5) == drawn(5) != drawn(6)


# ---------------------------------------------------------------------------------------------------------- the lesson


def _text(notebook: Any) -> str:
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            parts.append(output.get("text", ""))
            parts += [str(value) for kind, value in output.get("data", {}).items() if kind.startswith("text/")]
    return "\n".join(parts)


@pytest.mark.notebooks
@pytest.mark.timeout(300)
def test_with_the_solutions_every_verdict_passes_and_the_doctor_speaks(tmp_path: Path) -> None:
    from labkit.course import execute

    source = proofs.notebook_of("10")
    filled = proofs.filled(json.loads(source.read_text(encoding="utf-8")), path_of("10"))
    path = tmp_path / source.name
    path.write_text(json.dumps(filled), encoding="utf-8")
    text = _text(execute.execute(path, {}, 120.0, 250.0).notebook)
    for name in NAMES:
        assert re.search(rf"^PASS {name}$", text, re.MULTILINE), name
    assert "TODO" not in text and "Score: 12 of 12" in text
    for case in MACHINES:
        assert f"[{case.cause}]" in text, "the doctor's report comes after the right answer"


@pytest.mark.notebooks
@pytest.mark.timeout(300)
def test_an_instructor_draws_cases_and_sees_the_answers() -> None:
    from labkit.course import execute

    text = _text(execute.execute(proofs.notebook_of("10"), {"draw": 7, "show_solutions": True}, 120.0, 250.0).notebook)
    for case in cases(7).values():
        assert case.title.replace("'", "&#x27;") in text or case.title in text
        if case.snapshot:
            assert f"[{case.cause}]" in text
    assert text.count("TODO verdict_") == 12 and "Score: 0 of 12" in text
    assert "clock-read-too-early" in text


def test_the_notebook_gives_no_verdict_away() -> None:
    text = proofs.notebook_of("10").read_text(encoding="utf-8")
    for case in FIXED.values():
        assert case.fix not in text or case.fix in ("unset", "usermod"), case.fix
        assert f'"cause": "{case.cause}"' not in text.replace("\\", "")
