"""What an exercise is: a probe, hints that fit mistakes, and the wrong and right answers that prove both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Wrong(Exception):
    """Raised by a probe: the answer is wrong in a way that has a name.

    key: which hint of the exercise fits. values: what the hint's text may mention, for example ``got`` and ``expected``.
    """

    def __init__(self, key: str, **values: Any) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


@dataclass(frozen=True)
class Hint:
    """Two sentences for one mistake: ``first`` for the first try, ``then`` (more concrete) from the second on.

    Both are ``str.format`` templates and may use the values that the probe gave with its Wrong.
    """

    first: str
    then: str


@dataclass(frozen=True)
class KnownMistake:
    """A wrong answer that a real beginner writes, and the key of the hint that it must get.

    code: Python source that defines the exercise's name; it may use what earlier exercises of the lesson define.
    """

    name: str
    code: str
    hint: str


@dataclass(frozen=True)
class Stopped:
    """Stands for the result of a learner's function that stopped with an error; ``check`` turns it into a hint."""

    error: BaseException

    def __str__(self) -> str:
        return f"stopped with {type(self.error).__name__}: {self.error}"

    __repr__ = __str__


@dataclass(frozen=True)
class Own:
    """What fits the very thing that ``check`` was given beside the answer, where that may differ from the lesson's.

    push: general hints, from vague to concrete. solution: Python source of one right answer.
    """

    push: tuple[str, ...]
    solution: str


Prepared = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Exercise:
    """One exercise of one lesson.

    name: the same in the cell's tag (``exercise:NAME``), in ``check("NAME", …)`` and in the solutions file.
    lesson: the lesson's id, for example ``"02"``.
    probe: called with what the learner handed to ``check``; returns for a right answer, raises Wrong for a wrong one.
        It never looks at source text, uses small tensors of its own, and is the same on every call.
    hints: by key; every key that the probe raises must be there.
    push: general hints for ``hint(name)``, from vague to concrete.
    mistakes, variants: wrong answers with their hint; right answers written differently (Python source each).
    prepare: how the proofs make ``check``'s arguments from a namespace in which an answer's source ran; by default the
        object of the exercise's name alone.
    errors: part of an exception's text -> key of the hint that fits when the answer stops with that exception.
    of_result: True where ``check`` gets what the learner's function gave back, not the function: None is then a forgotten
        ``return``.
    own: called with what ``check`` was given beside the answer (a drawn case, for example); None from it: ``push`` and the
        solutions file fit.
    """

    name: str
    lesson: str
    probe: Callable[..., None]
    hints: Mapping[str, Hint]
    push: tuple[str, ...]
    mistakes: tuple[KnownMistake, ...]
    variants: tuple[str, ...]
    prepare: Callable[[Mapping[str, Any]], Prepared] | None = field(default=None)
    errors: Mapping[str, str] = field(default_factory=dict)
    of_result: bool = False
    own: Callable[..., Own | None] | None = None

    def arguments(self, namespace: Mapping[str, Any]) -> Prepared:
        """What ``check`` would be given for the answer in this namespace."""
        if self.prepare is not None:
            return self.prepare(namespace)
        return (namespace[self.name],), {}
