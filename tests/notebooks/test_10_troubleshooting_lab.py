"""What is special about lesson 10: its right answers are the doctor's, its wrong ones are refuted, its draws are fair."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from labkit.catalog.findings import codes
from labkit.devices.stack import layers
from labkit.errors import LabkitError
from labkit.learn import check, forget, hint, proofs, solution
from labkit.learn.exercises.troubleshooting_lab import EXERCISES, QUIZZES, Case, cases
from labkit.learn.solutions import blocks, path_of
from labkit.machine import simulate
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


def _asked_in_the_notebook() -> dict[str, set[str]]:
    """Case -> the topics that its prepared cell asks for."""
    asked: dict[str, set[str]] = {}
    for cell in json.loads(proofs.notebook_of("10").read_text(encoding="utf-8"))["cells"]:
        for number, topics in re.findall(r"^case_(\d+)\.ask\((.+?)\)", "".join(cell["source"]), re.MULTILINE):
            asked.setdefault(number, set()).update(re.findall(r'"([^"]+)"', topics))
    return asked


def test_the_prepared_questions_suit_every_machine_that_can_be_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    asked = _asked_in_the_notebook()
    assert len(asked) == 8 and "rocminfo" in asked["5"]
    topics = sorted(set().union(*asked.values()))
    for machine in simulate.healthy():
        for fault in ("", *(code for code in simulate.faults(machine) if codes()[code].severity != "info")):
            made = Case("x", "x", "x", "x", "x", (), (), simulate.snapshot(machine, [fault] if fault else []))
            made.ask(*topics)
            said = "\n" + capsys.readouterr().out
            assert all(f"\n{topic}:" in said for topic in topics), (machine, fault)
    assert cases(11)["verdict_5"].snapshot["simulated_name"].startswith("windows")
    cases(11)["verdict_5"].ask(*asked["5"])
    assert "rocminfo: no answer on this machine\n" in capsys.readouterr().out


def test_a_topic_that_no_machine_has_is_still_refused() -> None:
    with pytest.raises(LabkitError, match="has no 'rokminfo'"):
        FIXED["verdict_2"].ask("groups", "rokminfo")


# -------------------------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize("seed", (1, 11))
def test_solution_and_hint_of_a_drawn_case_are_its_own(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    for name, case in cases(seed).items():
        if not case.snapshot:
            continue
        forget()
        for _ in range(3):
            check(name, {"cause": "gremlins", "fix": "none"}, case)
        assert f'solution("{name}")' in capsys.readouterr().out
        solution(name)
        told = capsys.readouterr().out
        space: dict[str, Any] = {}
        exec(told, space)
        assert check(name, space[name], case) and right_text(case) in told
        forget()
        capsys.readouterr()
        hint(name)
        hint(name)
        assert case.pointer in capsys.readouterr().out
        check(name, ..., FIXED[name])
        capsys.readouterr()
        solution(name)
        assert f'"cause": "{FIXED[name].cause}"' in capsys.readouterr().out, "the course's own again"
    check("verdict_1", ..., "no case")
    solution("verdict_1")
    assert FIXED["verdict_1"].cause in capsys.readouterr().out
    forget()


def test_what_is_not_of_a_drawn_case_says_so() -> None:
    written = blocks(path_of("10").read_text(encoding="utf-8"))
    lines = path_of("10").read_text(encoding="utf-8").splitlines()
    for case in MACHINES:
        assert any(line.startswith(f"{case.name} = ") and "draw = 0" in line for line in lines), case.name
        assert "draw = 0" in written[case.name], "solution() shows it, too"
    assert all("written for the course's own case" in case.story for case in cases(3).values() if case.snapshot)


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


def test_the_floors_are_counted_as_the_table_and_the_map_have_them() -> None:
    text = proofs.notebook_of("10").read_text(encoding="utf-8")
    table = re.search(r"word_table\(\[.*?\], title", "".join(json.loads(text)["cells"][5]["source"]), re.DOTALL)
    assert table
    floors = re.findall(r'^    \["(\w+)",', table[0], re.MULTILINE)
    words = ("no", "one", "two", "three", "four", "five")
    above = words[floors.index("PyTorch") - floors.index("driver")]
    assert re.search(rf"PyTorch is {above} floors(?: |\\n\",\s*\")above it", text)
    drawn = layers(simulate.snapshot("rx7900xtx", ["driver-not-loaded"]))
    names = [layer.name for layer in drawn]
    assert words[names.index("Driver") - names.index("PyTorch")] == above
    assert [layer.name for layer in drawn if layer.state == "bad"] == ["/dev/kfd and /dev/dri", "Driver"]
    assert "the driver is dark, and so are the doors" in text and "complete, PyTorch too" in text
    quiz = next(quiz for quiz in QUIZZES if quiz.name == "first_dark_floor")
    option = next(option for option in quiz.options if option.text == "the environment")
    higher = words[floors.index("environment") - floors.index("permission")]
    assert f"it lies {higher} floor higher" in option.why


def test_the_notebook_gives_no_verdict_away() -> None:
    text = proofs.notebook_of("10").read_text(encoding="utf-8")
    for case in FIXED.values():
        assert case.fix not in text or case.fix in ("unset", "usermod"), case.fix
        assert f'"cause": "{case.cause}"' not in text.replace("\\", "")
