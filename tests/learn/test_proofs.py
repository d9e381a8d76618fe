"""The four proofs, for every exercise of the course; and a proof that the proofs can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.learn import proofs
from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises import everything
from labkit.learn.solutions import NOTEBOOKS, blocks, path_of

EVERY = list(everything().values())
LESSONS = sorted({exercise.lesson for exercise in EVERY})
every_exercise = pytest.mark.parametrize("exercise", EVERY, ids=[e.name for e in EVERY])


def stub_of(exercise: Exercise) -> str:
    return proofs.stubs(proofs.notebook_of(exercise.lesson))[exercise.name]


@every_exercise
def test_the_stub_runs_and_does_not_pass(exercise: Exercise) -> None:
    assert proofs.stub_fails(exercise, stub_of(exercise)) == []


@every_exercise
def test_the_solution_passes(exercise: Exercise) -> None:
    assert proofs.solution_passes(exercise) == []


@every_exercise
def test_each_known_mistake_gets_its_own_hint(exercise: Exercise) -> None:
    assert proofs.mistakes_are_recognised(exercise) == []


@every_exercise
def test_a_right_answer_written_differently_passes(exercise: Exercise) -> None:
    assert proofs.variants_pass(exercise) == []


@every_exercise
def test_hints_are_complete(exercise: Exercise) -> None:
    assert proofs.texts_are_sound(exercise) == []


def test_every_exercise_cell_of_the_course_is_known() -> None:
    in_notebooks = {name for path in NOTEBOOKS.glob("[0-9]*.ipynb") for name in proofs.stubs(path)}
    assert in_notebooks == set(everything())


@pytest.mark.parametrize("lesson", LESSONS)
def test_exercises_solutions_and_cells_are_in_step(lesson: str) -> None:
    names = [e.name for e in EVERY if e.lesson == lesson]
    assert list(proofs.stubs(proofs.notebook_of(lesson))) == names, "the cells have the exercises' order"
    answers = blocks(path_of(lesson).read_text(encoding="utf-8"))
    assert [name for name in answers if name in names] == names


def test_every_key_that_a_probe_can_raise_has_a_hint() -> None:
    """Read from the probe's own code: each Wrong("key") is in the exercise's hints, or is general."""
    import ast
    import inspect
    import sys

    from labkit.learn.judge import GENERAL

    for exercise in EVERY:
        module = sys.modules[exercise.probe.__module__]
        tree = ast.parse(inspect.getsource(module))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        todo, seen, keys = [exercise.probe.__name__], set(), set()
        while todo:
            name = todo.pop()
            if name in seen or name not in functions:
                continue
            seen.add(name)
            for node in ast.walk(functions[name]):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    todo.append(node.func.id)
                    if node.func.id in ("Wrong", "as_numbers") and node.args:
                        place = node.args[0] if node.func.id == "Wrong" else node.args[1]
                        if isinstance(place, ast.Constant):
                            keys.add(place.value)
        assert keys, exercise.name
        missing = keys - set(exercise.hints) - set(GENERAL)
        assert not missing, f"{exercise.name}: no hint for {sorted(missing)}"


# The meta-test: a small sound exercise, and every way to break its check.


def _probe(answer: object) -> None:
    value = answer(3)  # type: ignore[operator]
    if value is NotImplemented:
        raise Wrong("not_started")
    if value == 3:
        raise Wrong("unchanged", got=value)
    if value == 6:
        raise Wrong("doubled", got=value)
    if value != 9:
        raise Wrong("other", got=value)


STUB = "def output_size(x):\n    return NotImplemented"
SOUND = Exercise(
    name="output_size",  # the solutions file needs a name that it has; the meaning is another
    lesson="02",
    probe=_probe,
    hints={
        "unchanged": Hint("nothing happened", "multiply {got} by itself"),
        "doubled": Hint("that is twice", "x * x, not 2 * x"),
        "other": Hint("not the square", "{got} is not 9"),
    },
    push=("square it", "x * x"),
    mistakes=(
        KnownMistake("same", "def output_size(x):\n    return x", "unchanged"),
        KnownMistake("twice", "def output_size(x):\n    return 2 * x", "doubled"),
        KnownMistake("one more", "def output_size(x):\n    return x * x + 1", "other"),
    ),
    variants=("def output_size(x):\n    return sum(x for _ in range(x))",),
)


@pytest.fixture
def sound_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    original = proofs.namespace_of

    def namespace(exercise: Exercise, source: str | None = None) -> dict[str, object]:
        return original(exercise, "output_size = lambda x: x ** 2" if source is None else source)

    monkeypatch.setattr(proofs, "namespace_of", namespace)


def _always_fails(answer: object) -> None:
    raise Wrong("other", got=0)


def _crashes(answer: object) -> None:
    raise ZeroDivisionError


def test_a_sound_exercise_is_proved(sound_solution: None) -> None:
    assert proofs.prove(SOUND, STUB) == []


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (replace(SOUND, probe=lambda answer: None), "the stub passes"),
        (replace(SOUND, probe=lambda answer: None), "passes although"),
        (replace(SOUND, probe=_always_fails), "the solution is turned down"),
        (replace(SOUND, probe=_always_fails), "right answer 1 is turned down"),
        (replace(SOUND, probe=_always_fails), "should get the hint 'doubled', gets 'other'"),
        (replace(SOUND, probe=_crashes), "the solution is turned down"),
        (
            replace(SOUND, mistakes=(replace(SOUND.mistakes[0], hint="doubled"), *SOUND.mistakes[1:])),
            "should get the hint 'doubled', gets 'unchanged'",
        ),
        (replace(SOUND, mistakes=SOUND.mistakes[:2]), "only 2 known mistakes"),
        (replace(SOUND, variants=()), "no other right answer"),
        (replace(SOUND, variants=("def output_size(x):\n    return x + 1",)), "right answer 1 is turned down"),
        (replace(SOUND, hints={**SOUND.hints, "other": Hint("same", "same")}), "needs two different sentences"),
        (replace(SOUND, push=()), "at least two steps"),
    ],
)
def test_a_broken_check_is_seen(sound_solution: None, broken: Exercise, complaint: str) -> None:
    assert any(complaint in problem for problem in proofs.prove(broken, STUB)), proofs.prove(broken, STUB)


def test_a_stub_that_already_passes_or_does_not_run_is_seen(sound_solution: None) -> None:
    assert proofs.stub_fails(SOUND, "def output_size(x):\n    return x * x")
    assert proofs.stub_fails(SOUND, "def output_size(x):\n    return x")
    assert proofs.stub_fails(SOUND, "1 / 0")


def _turns_everything_down(*answer: object, **extra: object) -> None:
    raise Wrong("no_such_mistake")


@pytest.mark.parametrize("name", ["channel_stats", "augment", "evaluate", "verdict_3"])
def test_the_real_proofs_fail_when_a_real_check_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the four proofs, on exercises of the course, with the one fault that it is there to find."""
    exercise = everything()[name]
    lenient = replace(exercise, probe=lambda *answer, **extra: None)
    assert proofs.stub_fails(lenient, f"{name} = 1"), "1: a stub that passes"
    assert len(proofs.mistakes_are_recognised(lenient)) == len(exercise.mistakes), "3: mistakes that pass"

    hints = {**exercise.hints, "no_such_mistake": Hint("no.", "still no.")}
    harsh = replace(exercise, probe=_turns_everything_down, hints=hints)
    assert proofs.solution_passes(harsh), "2: a solution that is turned down"
    assert len(proofs.variants_pass(harsh)) == len(exercise.variants), "4: right answers that are turned down"
    assert len(proofs.mistakes_are_recognised(harsh)) == len(exercise.mistakes), "3: all with the same hint"

    first = exercise.mistakes[0]
    other = next(mistake.hint for mistake in exercise.mistakes if mistake.hint != first.hint)
    mixed = replace(exercise, mistakes=(replace(first, hint=other), *exercise.mistakes[1:]))
    assert len(proofs.mistakes_are_recognised(mixed)) == 1, "3: a wrong hint key"

    wrong_variant = replace(exercise, variants=(*exercise.variants, first.code))
    assert len(proofs.variants_pass(wrong_variant)) == 1, "4: a variant that is not right"

    original = proofs.namespace_of
    monkeypatch.setattr(proofs, "namespace_of", lambda one, source=None: original(one, source or first.code))
    assert proofs.solution_passes(exercise), "2: a solution that does not solve"


@every_exercise
def test_at_least_three_wrong_answers_are_known(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 3
    assert len({mistake.code for mistake in exercise.mistakes}) == len(exercise.mistakes)
    assert len({mistake.hint for mistake in exercise.mistakes}) >= 2, "one hint for all is no hint"
