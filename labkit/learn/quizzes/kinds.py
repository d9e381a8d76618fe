"""What a quiz is: a question, its answers, and the reason of each. Plain data beside the lesson's exercises.

Four kinds: ``OneOf`` (one option is right), ``AllOf`` (several are), ``Number`` (with tolerance and unit) and ``Order``.
A lesson's package under ``labkit/learn/exercises`` lists its quizzes as ``QUIZZES``; ``labkit.learn.quizzes.proofs`` shows
that each can be trusted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Option:
    """One answer to choose. why: the reason why it is right or wrong, one or two sentences of its own."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True)
class Slip:
    """A wrong number that people reach, in the quiz's unit, and what went wrong on the way."""

    value: float
    why: str


@dataclass(frozen=True)
class Question:
    """What every quiz has.

    name: unique among the exercises and quizzes of the course. lesson: the lesson's id, for example ``"02"``.
    push: hints for ``hint(name)``, from vague to concrete, at least one.
    """

    name: str
    lesson: str
    question: str
    push: tuple[str, ...]


@dataclass(frozen=True)
class OneOf(Question):
    """Exactly one of the options is right. They are shown in the order given."""

    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class AllOf(Question):
    """At least one option is right; all right ones and no other must be named."""

    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Number(Question):
    """A number in ``unit`` ('' for none).

    relative, absolute: how far off an answer may be (the wider one counts). why: the reasoning, shown by ``solution``.
    """

    value: float = 0.0
    unit: str = ""
    relative: float = 0.01
    absolute: float = 0.0
    slips: tuple[Slip, ...] = ()
    why: str = ""

    @property
    def margin(self) -> float:
        """How far an answer may be from ``value``, in ``unit``."""
        return max(abs(self.value) * self.relative, self.absolute)

    def accepts(self, number: float) -> bool:
        """Is this number, in ``unit``, near enough?"""
        return abs(number - self.value) <= self.margin * (1 + 1e-9)


@dataclass(frozen=True)
class Order(Question):
    """Things to put in order. items: in the right order. reasons: one for each neighbours, why the first of them comes first.

    They are shown shuffled, always in the same way.
    """

    items: tuple[str, ...] = ()
    reasons: tuple[str, ...] = field(default=())

    @property
    def shown(self) -> tuple[str, ...]:
        """The items as they are shown: shuffled by their names' digests, never in the right order."""
        mixed = sorted(self.items, key=lambda item: hashlib.sha256(f"{self.name}|{item}".encode()).digest())
        return tuple(mixed if tuple(mixed) != self.items else [*mixed[1:], mixed[0]])
