"""The teacher's switch: what it says, what a learner reads meanwhile, and that it reaches a kernel that already runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.learn import check, forget, quiz, records, release, solution

ANSWER = "def output_size("


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()
    records.start_anew()


def said(capsys: pytest.CaptureFixture[str], name: str = "output_size") -> str:
    capsys.readouterr()
    solution(name)
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize("value", [None, "", "on", "ON"])
def test_a_learner_alone_sees_solutions(
    value: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(release.VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(release.VARIABLE, value)
    assert said(capsys).startswith(ANSWER)


def test_off_withholds_exercises_and_quizzes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(release.VARIABLE, "off")
    assert said(capsys) == (
        'Your teacher has not released the solutions of lesson 02 yet. Until then hint("output_size") gives a push.'
    )
    assert "has not released the solutions of lesson 01" in said(capsys, "who_waits")


def test_tried_counts_wrong_answers_and_not_placeholders(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(release.VARIABLE, "tried")
    check("output_size", None)
    assert said(capsys).startswith("The solution is shown after 3 more tries.")
    for left in ("2 more tries", "1 more try"):
        check("output_size", lambda size, kernel, stride=1, padding=0: size)
        assert f"after {left}." in said(capsys)
    check("output_size", lambda size, kernel, stride=1, padding=0: size)
    assert said(capsys).startswith(ANSWER)


def test_tried_shows_what_is_passed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(release.VARIABLE, "tried")
    check("output_size", lambda size, kernel, stride=1, padding=0: (size + 2 * padding - kernel) // stride + 1)
    assert said(capsys).startswith(ANSWER)
    assert quiz("who_waits", 99) is not None
    assert "after 2 more tries" in said(capsys, "who_waits")


def test_a_file_is_read_at_each_call_and_may_speak_of_one_lesson(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "switch"
    monkeypatch.setenv(release.VARIABLE, str(file))
    assert "cannot be read (No such file or directory)" in said(capsys), "no file: nothing is given away"
    file.write_text("off\n", encoding="utf-8")
    assert "has not released" in said(capsys)
    file.write_text("off\n02 on  # since ten o'clock\n", encoding="utf-8")
    assert said(capsys).startswith(ANSWER)
    assert "has not released the solutions of lesson 01" in said(capsys, "standardise")
    file.write_text("on\n", encoding="utf-8")
    assert said(capsys, "standardise").startswith("def standardise(")


@pytest.mark.parametrize("text", ["of\n", "on\nrelease everything\n", "1 on\n"])
def test_a_line_that_is_no_switch_withholds_and_is_named(text: str) -> None:
    found = release.parse(text)
    assert found.of("01") == "off" and "which is no switch" in found.problem


def test_an_empty_file_withholds() -> None:
    assert release.parse("\n# nothing yet\n") == release.Switch("off", {})


def test_a_word_with_a_slip_withholds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(release.VARIABLE, "of")
    assert said(capsys).startswith(
        "Solutions are withheld here: LABKIT_SOLUTIONS is 'of'; it must be on, tried, off or the path"
    )
