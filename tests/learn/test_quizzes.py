"""Quizzes: the proofs of each one of the course, what people type, and a proof that the proofs can fail."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.learn import check, exercises, forget, hint, lessons, quiz, solution
from labkit.learn.quizzes import AllOf, Number, OneOf, Option, Order, Question, Slip, kinds, proofs, units
from labkit.learn.quizzes import judge as judging
from labkit.learn.quizzes.judge import TEXTS, judge_quiz, quiz_sentence, quiz_solution, quiz_text

EVERY = list(exercises.quizzes().values())
PUSH = ("look at the first line", "the first line says it")

ONE = OneOf(
    "one",
    "02",
    "Which of these is trained?",
    PUSH,
    options=(
        Option("the running mean", "no optimizer touches a buffer."),
        Option("the weight", "It is a parameter with a gradient.", right=True),
        Option("the label", "labels are given, not learnt."),
    ),
)
ALL = AllOf(
    "all",
    "02",
    "Which of these take memory in training?",
    PUSH,
    options=(
        Option("the gradients", "One number for each weight.", right=True),
        Option("the learning rate", "one number, not one for each weight."),
        Option("the activations", "Kept for the way back.", right=True),
        Option("the docstrings", "they lie in the program's memory, training or not."),
    ),
)
TIME = Number(
    "time",
    "02",
    "How long is one step?",
    PUSH,
    value=2.5,
    unit="ms",
    relative=0.1,
    slips=(Slip(0.4, "that is steps per millisecond: turn it round."), Slip(25.0, "that is the time of ten steps.")),
    why="100 steps took 0.25 s.",
)
PLAIN = Number(
    "plain",
    "02",
    "How many?",
    PUSH,
    value=-30,
    absolute=0.4,
    relative=0.0,
    slips=(Slip(-32, "the padding was not taken off."), Slip(-28, "the padding was taken off twice.")),
    why="32 less 2.",
)
ORDER = Order(
    "steps",
    "02",
    "In which order?",
    PUSH,
    items=("forward", "loss", "backward", "step"),
    reasons=("no loss without an output.", "no gradient without a loss.", "no step without a gradient."),
)
SOUND: list[Question] = [ONE, ALL, TIME, PLAIN, ORDER]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    for one in SOUND:
        monkeypatch.setitem(exercises._all(), one.name, one)


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_the_proofs_of_each_quiz_of_the_course(one: Question) -> None:
    assert proofs.prove_quiz(one) == []


@pytest.mark.parametrize("lesson", lessons.lessons(), ids=lambda lesson: lesson.notebook)
def test_a_lesson_shows_only_quizzes_that_are_its_own(lesson: lessons.Lesson) -> None:
    shown = {item.name for item in lesson.items if item.kind == "quiz"}
    assert shown == {one.name for one in EVERY if one.lesson == lesson.id}


# ------------------------------------------------------------------------------------------- the proofs can fail, in each way


@pytest.mark.parametrize("one", SOUND, ids=lambda one: one.name)
def test_a_sound_quiz_is_proved(one: Question) -> None:
    assert proofs.prove_quiz(one) == []


def _options(one: OneOf | AllOf, *changes: tuple[int, dict[str, Any]]) -> OneOf | AllOf:
    options = list(one.options)
    for place, change in changes:
        options[place] = replace(options[place], **change)
    return replace(one, options=tuple(options))


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (_options(ONE, (0, {"right": True})), "2 options are right"),
        (_options(ONE, (1, {"right": False})), "0 options are right"),
        (_options(ONE, (0, {"why": ONE.options[2].why})), "a reason of its own"),
        (_options(ONE, (0, {"why": " "})), "a reason of its own"),
        (_options(ONE, (0, {"text": "2"})), "reads as the number of another"),
        (_options(ONE, (0, {"text": "The label "})), "say the same"),
        (replace(ONE, options=ONE.options[:2]), "fewer than two wrong"),
        (replace(ONE, push=()), "a push"),
        (_options(ALL, (0, {"right": False}), (2, {"right": False})), "0 options are right"),
        (replace(TIME, slips=TIME.slips[:1]), "fewer than two slips"),
        (replace(TIME, slips=(*TIME.slips, Slip(2.6, "nearly"))), "the slip 2.6 passes"),
        (replace(TIME, slips=(*TIME.slips, Slip(26.0, "shadowed by the one before"))), "gets 'slip'"),
        (replace(TIME, relative=0.0), "a tolerance of nothing"),
        (replace(TIME, why=""), "no reasoning"),
        (replace(ORDER, reasons=ORDER.reasons[:2]), "a reason for each pair"),
        (replace(ORDER, items=("a", "b", "b", "c")), "different items"),
    ],
)
def test_a_broken_quiz_is_seen(broken: Question, complaint: str) -> None:
    assert any(complaint in problem for problem in proofs.prove_quiz(broken)), proofs.prove_quiz(broken)


PASS = judging.Verdict(True)


def lenient(quiz: Question, answer: Any) -> judging.Verdict:
    return PASS


def harsh(quiz: Question, answer: Any) -> judging.Verdict:
    return judging.Verdict(False, "no_number", {"got": "x", "in_unit": "", "example": "1"})


@pytest.mark.parametrize("one", SOUND, ids=lambda one: one.name)
def test_each_proof_fails_when_the_judge_is_broken(one: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "judge_quiz", lenient)
    assert proofs.open_does_not_pass(one)
    assert len(proofs.wrong_is_explained(one)) == len(list(proofs.wrong_answers(one)))
    monkeypatch.setattr(proofs, "judge_quiz", harsh)
    assert len(proofs.right_passes(one)) == len(list(proofs.right_answers(one)))
    assert proofs.wrong_is_explained(one)


def test_a_question_that_tells_its_answer_is_seen() -> None:
    assert proofs.tells_nothing(replace(ONE, question="Which? Note: no optimizer touches a buffer."))


# ------------------------------------------------------------------------------------------------------- what people type


@pytest.mark.parametrize(
    ("one", "answer", "key"),
    [
        (ONE, 2, ""),
        (ONE, "B", ""),
        (ONE, "The Weight", ""),
        (ONE, torch.tensor(2), ""),
        (ONE, 2.0, ""),
        (ONE, 2.5, "unknown"),
        (ONE, True, "unknown"),
        (ONE, float("inf"), "unknown"),
        (ONE, "1 and 2", "one_only"),
        (ONE, {"a": 1}, "unknown"),
        (ONE, object(), "unknown"),
        (ONE, "9" * 5000, "unknown"),
        (ALL, "1,3", ""),
        (ALL, "a and c", ""),
        (ALL, {3, 1}, ""),
        (ALL, "3", "missing"),
        (ALL, "1, 2, 3", "surplus"),
        (ALL, "everything", "unknown"),
        (ALL, [...], "not_started"),
        (TIME, 2.5, ""),
        (TIME, "2.5", ""),
        (TIME, "2,5 ms", ""),
        (TIME, "0.0025 s", ""),
        (TIME, "2500 µs", ""),
        (TIME, "2500 us", ""),
        (TIME, "2.5e-3 seconds", ""),
        (TIME, "about 2.5 ms", "no_number"),
        (TIME, "~2.5 ms", ""),
        (TIME, torch.tensor([2.6]), ""),
        (TIME, [2.5], ""),
        (TIME, 2.74, ""),
        (TIME, 2.76, "too_large"),
        (TIME, 2.24, "too_small"),
        (TIME, "2.5 s", "too_large"),
        (TIME, 0.0025, "unit_missing"),
        (TIME, "2.5 GB", "unit_kind"),
        (TIME, "2.5 steps", "unit_unknown"),
        (TIME, "0.4 ms", "slip"),
        (TIME, -2.5, "sign"),
        (TIME, "ms", "no_number"),
        (TIME, float("nan"), "no_number"),
        (TIME, "1" * 200, "no_number"),
        (TIME, 10**400, "no_number"),
        (TIME, torch.ones(3), "no_number"),
        (PLAIN, "−30", ""),
        (PLAIN, "-30 px", "unit_surplus"),
        (PLAIN, -32, "slip"),
        (PLAIN, 0, "too_large"),
        (ORDER, ["forward", "loss", "backward", "step"], ""),
        (ORDER, "forward, loss, backward, step", ""),
        (ORDER, "forward > loss > backward > step", ""),
        (ORDER, "forward loss step backward", "order"),
        (ORDER, "1", "not_all_items"),
        (ORDER, 4321, "not_all_items"),
    ],
    ids=lambda value: value.name if isinstance(value, Question) else str(value)[:24],
)
def test_an_answer_gets_its_verdict(one: Question, answer: Any, key: str) -> None:
    verdict = judge_quiz(one, answer)
    assert (verdict.key, verdict.passed) == (key, not key)
    if key:
        for tries in (1, 2, 3):
            said = quiz_sentence(one, verdict, tries)
            assert len(said) <= 800 and "\n" not in said and not re.search(r"\{\w*\}", said)


@given(
    st.one_of(st.text(max_size=60), st.floats(), st.integers(), st.lists(st.one_of(st.text(max_size=9), st.integers())))
)
def test_nothing_that_is_typed_makes_the_judge_fail(answer: Any) -> None:
    for one in SOUND:
        verdict = judge_quiz(one, answer)
        if not verdict.passed:
            assert quiz_sentence(one, verdict, 3)


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("1.6 TB/s", "GB/s", 1600.0),
        ("1/4 FLOP/B", "FLOP/B", 0.25),
        ("-1 / 2 s", "ms", -500.0),
        ("1 GiB", "MiB", 1024.0),
        ("1 GB", "MB", 1000.0),
        ("8 bit", "B", 1.0),
        ("383 TFLOPS", "TFLOP/s", 383.0),
        ("383 tflop/s", "TFLOP/s", 383.0),
        ("0.4", "%", None),
        ("40 %", "%", 40.0),
        ("2 min", "s", 120.0),
        ("12 images / s", "image/s", 12.0),
        ("12 images per s", "images/s", 12.0),
        ("3 Images", "images", 3.0),
        ("3 GB", "GB/s", None),
        ("5 Mb", "MB", 5.0),
    ],
)
def test_units(text: str, wanted: str, expected: float | None) -> None:
    found = units.read(text)
    assert found is not None
    scale = units.factor(found.unit, wanted) if found.unit else None
    assert (None if scale is None else found.readings[0] * scale) == (
        None if expected is None else pytest.approx(expected)
    )


def test_a_unit_in_other_letters_is_only_taken_where_it_has_one_meaning() -> None:
    assert units.known("S") == units.known("s")
    assert units.known("MS") is None or units.known("MS") == units.known("ms")
    assert units.known("mb") == units.known("MB"), "mB is no unit"


def test_a_comma_can_mean_both() -> None:
    assert units.read("1/6") == units.Quantity((1 / 6,))
    assert units.read("1,500") == units.Quantity((1.5, 1500.0)) or units.read("1,500") == units.Quantity((1500.0, 1.5))
    assert units.read("1,500,000") == units.Quantity((1_500_000.0,))
    assert units.read("1,5") == units.Quantity((1.5,))
    assert units.read("1_500 ms") == units.Quantity((1500.0,), "ms")


# ----------------------------------------------------------------------------------------------------- as a learner meets it


def test_without_an_answer_the_question_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    for one in SOUND:
        assert quiz(one.name) is None
        text = capsys.readouterr().out
        assert one.question in text and f'quiz("{one.name}", ' in text
        assert text.rstrip("\n") == quiz_text(one)
        call = re.search(r"quiz\(.*\)", text)
        assert call is not None
        compile(call.group(), "<how to answer>", "eval")


def test_the_example_in_the_text_does_not_give_the_answer_away() -> None:
    for one in (*SOUND, *EVERY):
        answer = eval(re.search(r'quiz\("\w+", (.*)\)', quiz_text(one)).group(1))  # type: ignore[union-attr]
        assert not judge_quiz(one, answer).passed or isinstance(one, Number)


def test_right_and_wrong_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (quiz("one", 1) for _ in range(3))
    assert first is not None and second is not None and third is not None
    assert not first and len({first.message, second.message, third.message}) == 3
    assert "buffer" in first.message and PUSH[0] in second.message and 'solution("one")' in third.message
    assert capsys.readouterr().out.splitlines() == [first.message, second.message, third.message]
    passed = quiz("one", 2)
    assert passed and passed.message == "PASS one (after 4 tries)"


def test_an_open_answer_is_no_try() -> None:
    for _ in range(3):
        result = quiz("steps", None)
        assert result is not None and result.key == "not_started"
    assert quiz("steps", "1 2 3 4") is not None


def test_several_arguments_are_a_list() -> None:
    assert quiz("all", 1, 3)


def test_hint_and_solution_know_quizzes(capsys: pytest.CaptureFixture[str]) -> None:
    hint("one")
    assert capsys.readouterr().out == f"HINT one (1 of 2): {PUSH[0]}\n"
    quiz("one", 3)
    capsys.readouterr()
    hint("one")
    assert "labels are given" in capsys.readouterr().out
    for one in SOUND:
        solution(one.name)
        assert capsys.readouterr().out.rstrip("\n") == quiz_solution(one)
    assert quiz_solution(ONE) == "2. the weight\n   It is a parameter with a gradient."
    assert quiz_solution(TIME) == "2.5 ms\n   100 steps took 0.25 s."


def test_a_quiz_is_no_exercise_and_the_other_way_round() -> None:
    with pytest.raises(LabkitError, match="is a quiz") as caught:
        check("one", 2)
    assert 'quiz("one"' in caught.value.remedy
    with pytest.raises(LabkitError, match="is an exercise"):
        quiz("output_size", 2)
    with pytest.raises(LabkitError, match="no quiz called 'stepz'") as caught:
        quiz("stepz", 2)
    assert "steps" in caught.value.remedy


def test_an_order_is_shown_shuffled_and_always_the_same() -> None:
    assert ORDER.shown == replace(ORDER).shown and ORDER.shown != ORDER.items
    assert sorted(ORDER.shown) == sorted(ORDER.items)
    for number in range(40):
        assert replace(ORDER, name=f"q{number}").shown != ORDER.items


def test_every_sentence_grows() -> None:
    for key, text in TEXTS.items():
        assert text.first != text.then or key == "not_started"
    assert set(kinds.__dict__) >= {"OneOf", "AllOf", "Number", "Order"}
