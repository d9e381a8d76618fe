"""The twelve exercises, their common probe, and the cases that the lesson shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Own, Wrong
from labkit.learn.exercises.troubleshooting_lab.case import Case, Choice
from labkit.learn.exercises.troubleshooting_lab.drawn import draw_cases
from labkit.learn.exercises.troubleshooting_lab.live import live_cases
from labkit.learn.exercises.troubleshooting_lab.machines import fixed_cases
from labkit.learn.judge import is_placeholder

_PLACE = "{why}"
_HINTS = {
    "shape": Hint(
        'answer in the form {{"cause": "…", "fix": "…"}}, with two words from the lists.',
        'the cell must read: {name} = {{"cause": "a word of the first list", "fix": "a word of the second list"}}.',
    ),
    "unknown": Hint(
        "'{got}' is not on the list of {part}s. The list: {known}.",
        "'{got}' is no {part} of this case. Copy one of these words: {known}.",
    ),
    "half": Hint(
        "the cause is right. Now choose the fix.",
        "the cause is right. Now a word of the second list: which fix reaches that cause, and harms nothing?",
    ),
    "other": Hint(_PLACE, _PLACE + " {pointer}"),
}


@cache
def _fixed() -> Mapping[str, Case]:
    return {case.name: case for case in (*fixed_cases(), *live_cases())}


def cases(draw: int = 0) -> dict[str, Case]:
    """The twelve cases by the name of their exercise.

    draw: 0 gives the eight machines of the course; another number is a seed that draws eight machines with a fault each
    at random. The four live faults are always the same.
    """
    found = dict(_fixed())
    if draw:
        names = [name for name, case in found.items() if case.snapshot]
        found.update({case.name: case for case in draw_cases(draw, names)})
    return found


def judge_choices(answer: Any, case: Case) -> None:
    """Raises Wrong for an answer that is open, malformed or wrong: the cause is judged first, then the fix."""
    if not isinstance(answer, Mapping) or set(answer) != {"cause", "fix"}:
        raise Wrong("shape")
    if is_placeholder(answer["cause"]):
        raise Wrong("not_started")
    for part, choices in (("cause", case.causes), ("fix", case.fixes)):
        given = answer[part]
        if is_placeholder(given):
            raise Wrong("half")
        if not isinstance(given, str):
            raise Wrong("shape")
        word = "-".join(given.lower().replace("_", "-").split())
        chosen = next((choice for choice in choices if choice.key.lower() == word), None)
        if chosen is None:
            raise Wrong("unknown", got=given, part=part, known=", ".join(choice.key for choice in choices))
        if chosen.why_not:
            key = _key(part, chosen)
            known = key in _keys(case.name)
            raise Wrong(key if known else "other", why=chosen.why_not, pointer=case.pointer)


def _key(part: str, choice: Choice) -> str:
    return f"{part} {choice.key}"


@cache
def _keys(name: str) -> frozenset[str]:
    case = _fixed()[name]
    return frozenset(
        _key(part, choice) for part, choices in (("cause", case.causes), ("fix", case.fixes)) for choice in choices
    )


def _probe_of(name: str) -> Callable[..., None]:
    @wraps(judge_choices)
    def probe(answer: Any, case: Case | None = None) -> None:
        judge_choices(answer, case or _fixed()[name])

    return probe


_PUSH = "Ask for evidence before you choose: which part of the machine do you know to be fine?"


def _own_of(name: str) -> Callable[..., Own | None]:
    def own(case: Any = None) -> Own | None:
        """The hints and the answer of a drawn case; None for the course's own, whose answer is in the solutions file."""
        if not isinstance(case, Case) or case is _fixed()[name]:
            return None
        fix = next(choice.text for choice in case.fixes if choice.key == case.fix)
        answer = f'{name} = {{"cause": "{case.cause}", "fix": "{case.fix}"}}'
        return Own((_PUSH, case.pointer), f"# {case.title}\n{answer}\n# {case.fix}: {fix}")

    return own


def _exercise(case: Case) -> Exercise:
    wrong = [
        (part, choice)
        for part, choices in (("cause", case.causes), ("fix", case.fixes))
        for choice in choices
        if choice.why_not
    ]
    answers = {
        "cause": "{name} = {{'cause': {key!r}, 'fix': {fix!r}}}",
        "fix": "{name} = {{'cause': {cause!r}, 'fix': {key!r}}}",
    }
    return Exercise(
        name=case.name,
        lesson="10",
        probe=_probe_of(case.name),
        hints={**_HINTS, **{_key(part, choice): Hint(_PLACE, _PLACE + " {pointer}") for part, choice in wrong}},
        push=(_PUSH, case.pointer),
        own=_own_of(case.name),
        mistakes=(
            *(
                KnownMistake(
                    f"{part}: {choice.key}",
                    answers[part].format(name=case.name, key=choice.key, cause=case.cause, fix=case.fix),
                    _key(part, choice),
                )
                for part, choice in wrong
            ),
            KnownMistake(
                "a word of one's own", f"{case.name} = {{'cause': 'gremlins', 'fix': {case.fix!r}}}", "unknown"
            ),
            KnownMistake("the fix left open", f"{case.name} = {{'cause': {case.cause!r}, 'fix': ...}}", "half"),
            KnownMistake("only a cause", f"{case.name} = {case.cause!r}", "shape"),
        ),
        variants=(
            f"{case.name} = {{'fix': {case.fix.upper()!r}, 'cause': ' {case.cause} '}}",
            f"cause, fix = {case.cause.replace('-', '_')!r}, {case.fix.replace('-', ' ')!r}\n{case.name} = dict(cause=cause, fix=fix)",
        ),
    )


EXERCISES = tuple(_exercise(case) for case in _fixed().values())
