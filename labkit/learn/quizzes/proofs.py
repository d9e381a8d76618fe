"""What makes a quiz trustworthy, each as a list of what is wrong (empty: proved).

The four proofs of an exercise, for a quiz: an open answer does not pass; the right one passes; each wrong one is turned
down with a sentence of its own; the right one passes in every form in which people write it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labkit.learn.quizzes import units
from labkit.learn.quizzes.judge import judge_quiz, quiz_sentence, quiz_text
from labkit.learn.quizzes.kinds import AllOf, Number, OneOf, Order, Question

_ELSEWHERE = {"a time": ("s", "ms", "µs"), "an amount of memory": ("B", "MB", "MiB"), "a share": ("%",)}


def right_answers(quiz: Question) -> Iterator[Any]:
    """The right answer in every form in which it may be given."""
    if isinstance(quiz, (OneOf, AllOf)):
        places = [number for number, option in enumerate(quiz.options, 1) if option.right]
        texts = [option.text for option in quiz.options if option.right]
        if isinstance(quiz, OneOf):
            yield from (places[0], str(places[0]), f" {places[0]}. ", "abcdefghij"[places[0] - 1], f"{places[0]})")
            yield from (texts[0], texts[0].upper(), f"  {texts[0]}. ", [places[0]])
        else:
            yield from (places, tuple(reversed(places)), set(places), texts, [str(place) for place in places])
            yield from (", ".join(map(str, places)), " and ".join(map(str, places)), [*places, places[0]])
    elif isinstance(quiz, Number):
        unit = quiz.unit
        yield from (
            quiz.value,
            f"{quiz.value!r}",
            f"{quiz.value!r} {unit}",
            f"{quiz.value!r}{unit}",
            f" ~{quiz.value!r} {unit} ",
        )
        yield from (quiz.value + 0.99 * quiz.margin, quiz.value - 0.99 * quiz.margin)
        if "." in repr(quiz.value) and "e" not in repr(quiz.value):
            yield f"{quiz.value!r} {unit}".replace(".", ",")
        for other in _ELSEWHERE.get(units.kind(unit), ()):
            scale = units.factor(unit, other)
            if scale is not None:
                yield f"{quiz.value * scale!r} {other}"
    elif isinstance(quiz, Order):
        places = [quiz.shown.index(item) + 1 for item in quiz.items]
        yield from (places, tuple(places), list(quiz.items), [str(place) for place in places])
        yield from (sign.join(map(str, places)) for sign in (" ", ",", ", ", " > ", " → ", "; "))


def wrong_answers(quiz: Question) -> Iterator[tuple[Any, str, str]]:
    """(answer, the key that it must get, the reason that its sentence must give)."""
    if isinstance(quiz, OneOf):
        for number, option in enumerate(quiz.options, 1):
            if not option.right:
                yield number, "wrong", option.why
                yield option.text, "wrong", option.why
        yield [1, 2], "one_only", ""
        yield len(quiz.options) + 1, "unknown", ""
        yield "no such option", "unknown", ""
    elif isinstance(quiz, AllOf):
        right = [number for number, option in enumerate(quiz.options, 1) if option.right]
        for number, option in enumerate(quiz.options, 1):
            if not option.right:
                yield [*right, number], "surplus", option.why
        if len(right) > 1:
            yield from ((list(set(right) - {one}), "missing", "") for one in right)
        yield 0, "unknown", ""
    elif isinstance(quiz, Number):
        yield from ((slip.value, "slip", slip.why) for slip in quiz.slips)
        yield f"{quiz.value:g} apples", "unit_unknown" if quiz.unit else "unit_surplus", ""
        yield "no number", "no_number", ""
        yield float("nan"), "no_number", ""
        if units.kind(quiz.unit):
            other = "GB" if units.kind(quiz.unit) == "a time" else "ms"
            yield f"{quiz.value!r} {other}", "unit_kind", ""
    elif isinstance(quiz, Order):
        places = [quiz.shown.index(item) + 1 for item in quiz.items]
        for at, reason in enumerate(quiz.reasons):
            swapped = [*places]
            swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
            yield swapped, "order", reason
        yield list(reversed(places)), "order", quiz.reasons[0]
        yield places[:-1], "not_all_items", ""
        yield [places[0]] * len(places), "not_all_items", ""


def is_sound(quiz: Question) -> list[str]:
    """Is the quiz complete: enough wrong answers, reasons of their own, pushes, and no option that reads as another's number?"""
    problems = []
    reasons: list[str] = []
    if isinstance(quiz, (OneOf, AllOf)):
        rights = sum(option.right for option in quiz.options)
        if rights < 1 or (isinstance(quiz, OneOf) and rights != 1):
            problems.append(f"{quiz.name}: {rights} options are right")
        if len(quiz.options) - rights < 2:
            problems.append(f"{quiz.name}: fewer than two wrong options")
        reasons = [option.why for option in quiz.options]
        texts = [option.text.lower().strip() for option in quiz.options]
        if len(set(texts)) != len(texts):
            problems.append(f"{quiz.name}: two options say the same")
        for number, text in enumerate(texts, 1):
            if text != str(number) and (text.isdecimal() or len(text) == 1):
                problems.append(
                    f"{quiz.name}: the option '{text}' reads as the number of another: add a word or its unit"
                )
    elif isinstance(quiz, Number):
        reasons = [slip.why for slip in quiz.slips]
        if len(quiz.slips) < 2:
            problems.append(f"{quiz.name}: fewer than two slips are written down")
        problems += [f"{quiz.name}: the slip {slip.value:g} passes" for slip in quiz.slips if quiz.accepts(slip.value)]
        if not quiz.margin > 0:
            problems.append(f"{quiz.name}: a tolerance of nothing")
        if not quiz.why:
            problems.append(f"{quiz.name}: no reasoning for solution()")
    elif isinstance(quiz, Order):
        reasons = list(quiz.reasons)
        if len(quiz.items) < 3 or len(quiz.reasons) != len(quiz.items) - 1 or len(set(quiz.items)) != len(quiz.items):
            problems.append(f"{quiz.name}: three or more different items, and a reason for each pair of neighbours")
    if len(set(reasons)) != len(reasons) or not all(reason.strip() for reason in reasons):
        problems.append(f"{quiz.name}: each wrong answer needs a reason of its own")
    if len(quiz.push) < 1 or not quiz.question.strip():
        problems.append(f"{quiz.name}: a question and a push are needed")
    return problems


def open_does_not_pass(quiz: Question) -> list[str]:
    """Proof 1: no answer, a placeholder or an empty one is 'not started'."""
    answers: tuple[Any, ...] = (None, ..., NotImplemented, "", "  ", [], ())
    return [
        f"{quiz.name}: {answer!r} is not 'not started'"
        for answer in answers
        if judge_quiz(quiz, answer).key != "not_started"
    ]


def right_passes(quiz: Question) -> list[str]:
    """Proofs 2 and 4: the right answer passes, in each of its forms."""
    return [
        f"{quiz.name}: the right answer {answer!r} is turned down: {quiz_sentence(quiz, verdict, 1)}"
        for answer in right_answers(quiz)
        if not (verdict := judge_quiz(quiz, answer)).passed
    ]


def wrong_is_explained(quiz: Question) -> list[str]:
    """Proof 3: each wrong answer is turned down, with its own reason, in words that grow from try to try."""
    problems = []
    for answer, key, reason in wrong_answers(quiz):
        verdict = judge_quiz(quiz, answer)
        if verdict.passed:
            problems.append(f"{quiz.name}: passes although wrong: {answer!r}")
            continue
        said = [quiz_sentence(quiz, verdict, tries) for tries in (1, 2, 3)]
        if verdict.key != key or " ".join(reason.split()) not in said[0]:
            problems.append(
                f"{quiz.name}: {answer!r} should get '{key}' and its reason, gets '{verdict.key}': {said[0]}"
            )
        elif len(set(said)) != 3:
            problems.append(f"{quiz.name}: the sentence for {answer!r} does not grow from try to try")
    return problems


def tells_nothing(quiz: Question) -> list[str]:
    """The question as it is shown holds no reason, and an order is not shown in its right order."""
    shown = quiz_text(quiz)
    reasons = [option.why for option in quiz.options] if isinstance(quiz, (OneOf, AllOf)) else []
    problems = [
        f"{quiz.name}: the question tells a reason" for reason in reasons if len(reason) > 12 and reason in shown
    ]
    if isinstance(quiz, Order) and quiz.shown == quiz.items:
        problems.append(f"{quiz.name}: it is shown in its right order")
    return problems


def prove_quiz(quiz: Question) -> list[str]:
    """All proofs at once; where the quiz is not even complete, what it lacks."""
    return is_sound(quiz) or [
        *open_does_not_pass(quiz),
        *right_passes(quiz),
        *wrong_is_explained(quiz),
        *tells_nothing(quiz),
    ]
