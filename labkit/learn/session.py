"""check, hint, solution and quiz: what a notebook calls.

The state of this kernel is how often each exercise was tried since it last passed, and what was said about it; what stays
is in ``labkit.learn.records``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.learn import records, release, stage
from labkit.learn.exercise import Exercise, Own
from labkit.learn.exercises import find, find_any, find_quiz
from labkit.learn.judge import Verdict, judge, sentence
from labkit.learn.quizzes.judge import judge_quiz, quiz_sentence, quiz_solution, quiz_text
from labkit.learn.quizzes.kinds import Question
from labkit.learn.solutions import source_of


@dataclass(frozen=True)
class Result:
    """What ``check`` and ``quiz`` give back: true when the answer passed. Shows nothing by itself in a notebook.

    name: the exercise. passed: the verdict. key: which hint fitted ('' when passed). message: the printed line.
    """

    name: str
    passed: bool
    key: str
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return "PASS" if self.passed else "TODO"

    def _ipython_display_(self) -> None:
        """The line is already printed: an expression at a cell's end adds nothing."""


_tries: dict[str, int] = {}
_last: dict[str, Verdict] = {}
_pushes: dict[str, int] = {}
_own: dict[str, Own] = {}  # hints and answers that fit what check was last given
_told: set[str] = set()  # exercises whose last mistake hint() has talked about already


def check(name: str, *answer: Any, **extra: Any) -> Result:
    """Probe an answer and print one line: ``PASS name …`` or ``TODO name: hint``.

    answer: what the exercise asks for (a function, a model, a number …); further values as the exercise's text says.
    Never raises for an unfinished or broken answer, changes no random state and no model's mode that it was not given for
    that purpose. From the second try on the hint is more concrete, from the third on it names ``solution``. Where somebody
    watches the notebook, buttons for a hint and the solution stand under a line that says TODO.
    Raises LabkitError for a name that is no exercise.
    """
    exercise = find(name)
    _remember_own(exercise, *answer[1:], **extra)
    result, note = _reach(exercise, judge(exercise, *answer, **extra))
    print(result.message)
    if note:
        print(note)
    _offer(result)
    return result


def quiz(name: str, *answer: Any) -> Result | None:
    """Show a quiz, or judge an answer to it and print one line: ``PASS name`` or ``TODO name: hint``.

    answer: the number or the text of an option, several of them in a list, a number with its unit such as ``"3 ms"``, or
    an order such as ``"2 1 3"``. Without it the question is shown: as a form where somebody watches the notebook, else as
    plain text, and None is given back. Raises LabkitError for a name that is no quiz.
    """
    question = find_quiz(name)
    if not answer:
        if not (stage.watched() and _show_form(question)):
            print(quiz_text(question))
        return None
    given = answer[0] if len(answer) == 1 else list(answer)
    result, note = answer_quiz(question, given)
    print(result.message)
    if note:
        print(note)
    _offer(result)
    return result


def answer_quiz(question: Question, given: Any) -> tuple[Result, str]:
    """Judges an answer and remembers it, without printing: the result, and a sentence about the progress file or ''."""
    return _reach(question, judge_quiz(question, given))


def hint(name: str) -> None:
    """Print the next hint for an exercise or quiz: first about your last mistake if there was one, then one general push after another."""
    print(next_hint(name))


def next_hint(name: str) -> str:
    """What ``hint`` prints."""
    one = find_any(name)
    verdict = _last.get(name)
    if verdict is not None and not verdict.passed and verdict.key != "not_started" and name not in _told:
        _told.add(name)
        return f"HINT {name}: {_sentence(one, verdict, 2)}"
    push = _own[name].push if name in _own else one.push
    step = min(_pushes.get(name, 0), len(push) - 1)
    _pushes[name] = step + 1
    more = "" if step + 1 < len(push) else f' That was the last one; solution("{name}") shows one way.'
    return f"HINT {name} ({step + 1} of {len(push)}): {push[step]}{more}"


def solution(name: str) -> None:
    """Print one right answer, from the lesson's file in ``notebooks/solutions``; a quiz's with its reasons.

    Where ``check`` was given a case that is not the lesson's own (a drawn one), the answer is that case's.
    Where a teacher withholds solutions (``labkit.learn.release``), a sentence says so instead. Raises LabkitError where it
    is missing.
    """
    print(solution_text(name))


def solution_text(name: str) -> str:
    """What ``solution`` prints."""
    one = find_any(name)
    now = release.switch()
    entry = records.entries().get(name) if now.of(one.lesson) == "tried" else None
    tries = max(_tries.get(name, 0), entry.tries if entry else 0)
    sentence_instead = release.withheld(now, name, one.lesson, passed=entry is not None and entry.passed, tries=tries)
    if sentence_instead:
        return sentence_instead
    if name in _own:
        return _own[name].solution
    return source_of(one.lesson, name) if isinstance(one, Exercise) else quiz_solution(one)


def _remember_own(exercise: Exercise, *beside: Any, **extra: Any) -> None:
    """Keeps what fits the case that check was given, until check is given another."""
    _own.pop(exercise.name, None)
    try:
        own = exercise.own(*beside, **extra) if exercise.own else None
    except TypeError:  # check was called with more than the exercise takes; the verdict says so
        own = None
    if own is not None:
        _own[exercise.name] = own


def forget(name: str | None = None) -> None:
    """Forget the tries of one exercise, or of all, in this kernel. What is passed stays in the progress file."""
    for store in (_tries, _last, _pushes):
        if name is None:
            store.clear()
        else:
            store.pop(name, None)
    if name is None:
        _told.clear()
    else:
        _told.discard(name)


def _sentence(one: Exercise | Question, verdict: Verdict, tries: int) -> str:
    return sentence(one, verdict, tries) if isinstance(one, Exercise) else quiz_sentence(one, verdict, tries)


def _reach(one: Exercise | Question, verdict: Verdict) -> tuple[Result, str]:
    """Counts the try, keeps the verdict, remembers the progress; the result and a sentence about the file or ''."""
    name = one.name
    if not _same(_last.get(name), verdict):
        _told.discard(name)
    _last[name] = verdict
    if verdict.passed:
        tries = _tries.pop(name, 0)
        message = f"PASS {name}" + (f" (after {tries + 1} tries)" if tries else "")
    else:
        if verdict.key != "not_started":
            _tries[name] = _tries.get(name, 0) + 1
        message = f"TODO {name}: {_sentence(one, verdict, _tries.get(name, 0))}"
    note = ""
    if verdict.passed or verdict.key != "not_started":
        kind = "exercise" if isinstance(one, Exercise) else "quiz"
        note = records.note(name, one.lesson, kind, verdict.passed)
    return Result(name, verdict.passed, verdict.key, message), note


def _same(one: Verdict | None, other: Verdict) -> bool:
    """Whether two verdicts say the same; values that cannot be compared, such as tensors, count as different."""
    try:
        return bool(one == other)
    except Exception:
        return False


def _offer(result: Result) -> None:
    """Buttons under a line that says TODO, where somebody can press them; none where the exercise is passed."""
    if not stage.watched():
        return
    from labkit.learn import panel

    if result.passed:
        panel.clear(result.name)
    else:
        panel.offer(result.name, next_hint, solution_text)


def _show_form(question: Question) -> bool:
    from labkit.learn.quizzes import form

    return form.show(question)
