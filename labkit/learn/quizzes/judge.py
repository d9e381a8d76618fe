"""From an answer to a quiz, typed or clicked, to a verdict with a sentence of its own. Pure functions."""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from labkit.learn.exercise import Hint
from labkit.learn.judge import Verdict, bounded, is_placeholder
from labkit.learn.quizzes import units
from labkit.learn.quizzes.kinds import AllOf, Number, OneOf, Order, Question

_LETTERS = string.ascii_lowercase
_NOT_STARTED = 'not started. Write your answer into the call: quiz("{name}", ...).'

# What a wrong answer gets, by key: at the first try and from the second on. ``why`` is the reason that the quiz gives.
TEXTS: dict[str, Hint] = {
    "not_started": Hint(_NOT_STARTED, _NOT_STARTED),
    "unknown": Hint(
        "{got} is none of the options. Name one by its number, 1 to {count}, or by its text.",
        '{got} is none of the options. For the first one write quiz("{name}", 1).',
    ),
    "one_only": Hint(
        "one option is right, and you named {named}.",
        'name a single option, for example quiz("{name}", 1); you named {named}.',
    ),
    "wrong": Hint("not {number}: {why}", "not {number}: {why} {push}"),
    "surplus": Hint("{number} does not belong there: {why}", "take {number} out: {why} {push}"),
    "missing": Hint(
        "what you named is right, but it is not all.",
        "what you named is right. {left} more: look again at what you left out. {push}",
    ),
    "no_number": Hint(
        "a number was asked for{in_unit}, and {got} is none.",
        'write a number{in_unit}, for example quiz("{name}", "{example}"); {got} is none.',
    ),
    "unit_unknown": Hint(
        "'{unit}' is no unit that fits here. The answer is asked for in {wanted}.",
        "leave '{unit}' out and give the number in {wanted}.",
    ),
    "unit_kind": Hint(
        "{unit} is the unit of {kind}, and {wanted_kind} is asked for, in {wanted}.",
        "give {wanted_kind} in {wanted}; {unit} is the unit of {kind}.",
    ),
    "unit_surplus": Hint(
        "a plain number is asked for, without '{unit}'.", "leave '{unit}' out: write the number alone."
    ),
    "unit_missing": Hint(
        'without a unit your number counts as {wanted}. In {other} it would be right: write "{better}".',
        'write the unit with it: quiz("{name}", "{better}").',
    ),
    "slip": Hint("{why}", "{why} {push}"),
    "sign": Hint("the size is right, the sign is not.", "the size is right, the sign is not: turn it round."),
    "too_small": Hint("too small.", "still too small, {far}. {push}"),
    "too_large": Hint("too large.", "still too large, {far}. {push}"),
    "not_all_items": Hint(
        'name each of the {count} items once, in order, for example quiz("{name}", "{example}").',
        "{count} numbers are needed, each once; yours were read as: {named}.",
    ),
    "order": Hint("{why}", "{first} comes before {second}: {why} {push}"),
}


def judge_quiz(quiz: Question, answer: Any) -> Verdict:
    """The verdict on an answer: a number, text, or a list of them. Never raises for what somebody typed."""
    if is_placeholder(answer) or (isinstance(answer, str) and not answer.strip()) or _is_empty(answer):
        return _no(quiz, "not_started")
    if isinstance(quiz, OneOf):
        return _one_of(quiz, answer)
    if isinstance(quiz, AllOf):
        return _all_of(quiz, answer)
    if isinstance(quiz, Number):
        return _number(quiz, answer)
    if isinstance(quiz, Order):
        return _order(quiz, answer)
    raise TypeError(f"{type(quiz).__name__} is no kind of quiz")


def quiz_sentence(quiz: Question, verdict: Verdict, tries: int) -> str:
    """What a wrong answer is told: with a push from the second try on, with the way to the solution from the third."""
    hint = TEXTS[verdict.key]
    place = min(max(0, tries - 2), len(quiz.push) - 1)
    push = quiz.push[place] if quiz.push else ""
    values = {"name": quiz.name, "push": push, **verdict.values}
    text = (hint.first if tries <= 1 else hint.then).format_map(values)
    if tries >= 3 and verdict.key != "not_started":
        text += f' Stuck? solution("{quiz.name}") shows the answer and why.'
    return bounded(text)


def quiz_solution(quiz: Question) -> str:
    """The right answer with its reasons, as text."""
    if isinstance(quiz, (OneOf, AllOf)):
        return "\n".join(f"{n}. {o.text}\n   {_capital(o.why)}" for n, o in enumerate(quiz.options, 1) if o.right)
    if isinstance(quiz, Number):
        return f"{quiz.value:g} {quiz.unit}".strip() + (f"\n   {_capital(quiz.why)}" if quiz.why else "")
    if isinstance(quiz, Order):
        rows = [f"{n}. {item}" for n, item in enumerate(quiz.items, 1)]
        for place, reason in enumerate(quiz.reasons):
            rows[place] += f"\n   {_capital(reason)}"
        return "\n".join(rows)
    raise TypeError(f"{type(quiz).__name__} is no kind of quiz")


def quiz_text(quiz: Question) -> str:
    """The question as plain text, with numbered options and how to answer."""
    rows = textwrap.wrap(f"QUIZ {quiz.name}: {quiz.question}", 100, break_long_words=False)
    if isinstance(quiz, (OneOf, AllOf)):
        rows += [f"  {n}. {option.text}" for n, option in enumerate(quiz.options, 1)]
        if isinstance(quiz, OneOf):
            rows.append(f'Answer with the number of one option: quiz("{quiz.name}", ...)')
        else:
            rows.append(f'Answer with the numbers of all that are right: quiz("{quiz.name}", [...])')
    elif isinstance(quiz, Order):
        rows += [f"  {n}. {item}" for n, item in enumerate(quiz.shown, 1)]
        rows.append(f'Put them in order, first things first: quiz("{quiz.name}", "{_example(len(quiz.items))}")')
    elif isinstance(quiz, Number):
        asked = f"a number in {quiz.unit}" if quiz.unit else "a number"
        rows.append(f'Answer with {asked}: quiz("{quiz.name}", "{_number_example(quiz)}")')
    return "\n".join(rows)


def _no(quiz: Question, key: str, **values: Any) -> Verdict:
    return Verdict(False, key, {"name": quiz.name, **values})


def _is_empty(answer: Any) -> bool:
    return isinstance(answer, (list, tuple, set, frozenset, dict)) and all(is_placeholder(part) for part in answer)


def _one_of(quiz: OneOf, answer: Any) -> Verdict:
    places = _chosen(answer, [option.text for option in quiz.options])
    if isinstance(places, str):
        return _no(quiz, "unknown", got=places, count=len(quiz.options))
    if len(places) != 1:
        return _no(quiz, "one_only", named=_list(places))
    option = quiz.options[places[0]]
    return Verdict(True) if option.right else _no(quiz, "wrong", number=places[0] + 1, why=_ended(option.why))


def _all_of(quiz: AllOf, answer: Any) -> Verdict:
    places = _chosen(answer, [option.text for option in quiz.options])
    if isinstance(places, str):
        return _no(quiz, "unknown", got=places, count=len(quiz.options))
    surplus = next((place for place in places if not quiz.options[place].right), None)
    if surplus is not None:
        return _no(quiz, "surplus", number=surplus + 1, why=_ended(quiz.options[surplus].why))
    left = sum(option.right for option in quiz.options) - len(places)
    return _no(quiz, "missing", left=left) if left else Verdict(True)


def _number(quiz: Number, answer: Any) -> Verdict:
    found = units.read(answer[0] if isinstance(answer, (list, tuple)) and len(answer) == 1 else answer)
    in_unit = f" in {quiz.unit}" if quiz.unit else ""
    if found is None:
        return _no(quiz, "no_number", got=_said(answer), in_unit=in_unit, example=_number_example(quiz))
    scale = 1.0
    if found.unit:
        scaled = units.factor(found.unit, quiz.unit)
        if scaled is None:
            return _wrong_unit(quiz, found.unit[:40])
        scale = scaled
    readings = [number * scale for number in found.readings]
    if any(quiz.accepts(number) for number in readings):
        return Verdict(True)
    number = min(readings, key=lambda value: abs(value - quiz.value))
    for slip in quiz.slips:
        if any(abs(value - slip.value) <= max(abs(slip.value) * quiz.relative, quiz.absolute) for value in readings):
            return _no(quiz, "slip", why=_ended(slip.why))
    if not found.unit:
        other = _right_elsewhere(quiz, found.readings)
        if other is not None:
            better = f"{other[0]:g} {other[1]}"
            return _no(quiz, "unit_missing", wanted=quiz.unit, other=other[1], better=better)
    if quiz.value and quiz.accepts(-number):
        return _no(quiz, "sign")
    ratio = max(abs(number), abs(quiz.value)) / max(min(abs(number), abs(quiz.value)), 1e-300)
    far = "by more than ten times" if ratio > 10 else "by more than twice" if ratio > 2 else "but not by much"
    return _no(quiz, "too_small" if number < quiz.value else "too_large", far=far)


def _wrong_unit(quiz: Number, unit: str) -> Verdict:
    if not quiz.unit:
        return _no(quiz, "unit_surplus", unit=unit)
    kind, wanted_kind = units.kind(unit), units.kind(quiz.unit)
    if kind and wanted_kind:
        return _no(quiz, "unit_kind", unit=unit, kind=kind, wanted=quiz.unit, wanted_kind=wanted_kind)
    return _no(quiz, "unit_unknown", unit=unit, wanted=quiz.unit)


def _right_elsewhere(quiz: Number, readings: Iterable[float]) -> tuple[float, str] | None:
    """The number and the unit of the same kind in which it would be right."""
    wanted = units.kind(quiz.unit)
    for unit, (kind, _) in units.UNITS.items():
        scale = units.factor(unit, quiz.unit) if wanted and kind == wanted else None
        if scale is None or scale == 1.0:
            continue
        for number in readings:
            if quiz.accepts(number * scale):
                return number, unit
    return None


def _order(quiz: Order, answer: Any) -> Verdict:
    places = _chosen(answer, list(quiz.shown))
    count = len(quiz.items)
    if isinstance(places, str) or sorted(places) != list(range(count)):
        named = places if isinstance(places, str) else _list(places)
        return _no(quiz, "not_all_items", count=count, named=named, example=_example(count))
    at = {quiz.shown[place]: position for position, place in enumerate(places)}
    for first, second, why in zip(quiz.items, quiz.items[1:], quiz.reasons, strict=False):
        if at[first] > at[second]:
            return _no(quiz, "order", first=f"“{first}”", second=f"“{second}”", why=_ended(why))
    return Verdict(True)


def _chosen(answer: Any, texts: Sequence[str]) -> list[int] | str:
    """The places (from 0) that an answer names, in its order; or what of it names nothing, as text."""
    parts = list(answer) if isinstance(answer, (list, tuple, set, frozenset)) else [answer]
    if len(parts) > 100:
        return "so long a list"
    if len(parts) == 1 and isinstance(parts[0], str) and _place(parts[0], texts) is None:
        parts = [part for part in re.split(r"[\s,;>→]+|\band\b", parts[0][:1000]) if part]
    if isinstance(answer, (set, frozenset)):
        parts = sorted(parts, key=str)
    places: list[int] = []
    for part in parts:
        place = _place(part, texts)
        if place is None:
            return _said(part if len(parts) < 8 else answer)
        if place not in places:
            places.append(place)
    return places


def _place(part: Any, texts: Sequence[str]) -> int | None:
    """The place of one option: its number from 1, its letter, or its text."""
    if isinstance(part, bool):
        return None
    if not isinstance(part, str):
        try:
            number = float(part)
        except Exception:  # anything at all can be handed over
            return None
        return int(number) - 1 if 1 <= number <= len(texts) and number.is_integer() else None
    text = " ".join(part.lower().split()).rstrip(".)").strip()
    plain = [" ".join(option.lower().split()).rstrip(".)").strip() for option in texts]
    if text in plain:
        return plain.index(text)
    if text.isdecimal() and 1 <= int(text[:6]) <= len(texts):
        return int(text) - 1
    if len(text) == 1 and text in _LETTERS[: len(texts)]:
        return _LETTERS.index(text)
    return None


def _said(value: Any) -> str:
    """What somebody wrote, quoted and short."""
    if isinstance(value, (str, int, float)):
        text = str(value)
        return f"'{text if len(text) <= 40 else text[:39] + '…'}'"
    return f"a {type(value).__name__}"


def _list(places: Sequence[int]) -> str:
    return ", ".join(str(place + 1) for place in places)


def _example(count: int) -> str:
    return " ".join(str(number) for number in range(1, count + 1))


def _number_example(quiz: Number) -> str:
    return f"1.5 {quiz.unit}".strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."
