"""The four proofs that an exercise can be trusted, each as a list of what is wrong (empty: proved).

For an exercise and the notebook and solutions that belong to it:
1. the stub, as it stands in the notebook's cell, runs and does not pass;
2. the solution passes;
3. each known wrong answer is turned down, with its own hint;
4. a right answer written differently passes.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.learn.exercise import Exercise
from labkit.learn.isolation import untouched
from labkit.learn.judge import GENERAL, Verdict, judge, sentence
from labkit.learn.solutions import NOTEBOOKS, blocks, path_of

TAG = "exercise:"
_IMPORTS = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def notebook_of(lesson: str, notebooks: Path | None = None) -> Path:
    """The notebook of a lesson id. Raises LabkitError where there is none."""
    folder = notebooks or NOTEBOOKS
    found = sorted(path for path in folder.glob(f"{lesson}_*.ipynb") if "." not in path.stem)
    if not found:
        raise LabkitError(f"There is no notebook of lesson {lesson} in {folder}", "Run from a clone of the course.")
    return found[0]


def stubs(notebook: Path) -> dict[str, str]:
    """Exercise name -> source of its cell, from the cells that carry a tag ``exercise:NAME``."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    found: dict[str, str] = {}
    for cell in cells:
        for tag in cell.get("metadata", {}).get("tags", []):
            if tag.startswith(TAG):
                found[tag.removeprefix(TAG)] = "".join(cell["source"])
    return found


def filled(notebook: Mapping[str, Any], solutions: Path) -> dict[str, Any]:
    """A copy of a notebook (as parsed JSON) in which every exercise cell holds its solution."""
    answers = blocks(solutions.read_text(encoding="utf-8"))
    result: dict[str, Any] = copy.deepcopy(dict(notebook))
    for cell in result["cells"]:
        for tag in cell.get("metadata", {}).get("tags", []):
            if tag.startswith(TAG):
                cell["source"] = answers[tag.removeprefix(TAG)]
    return result


def namespace_of(exercise: Exercise, source: str | None = None, solutions: Path | None = None) -> dict[str, Any]:
    """The names that exist after an answer's source ran: the other solutions of the lesson, then the source itself.

    source None: the solution. Answers may lean on earlier exercises, so these are there as the solutions give them.
    """
    path = solutions or path_of(exercise.lesson)
    space: dict[str, Any] = {"__name__": "answer"}
    exec(compile(_IMPORTS, "<answer imports>", "exec"), space)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    if source is not None:
        space.pop(exercise.name, None)
        exec(compile(source, "<answer>", "exec"), space)
    return space


def verdict_on(exercise: Exercise, source: str | None = None) -> Verdict:
    """The verdict on an answer given as source (None: the solution), as ``check`` would reach it."""
    with untouched():
        namespace = namespace_of(exercise, source)
        answer, extra = exercise.arguments(namespace)
    return judge(exercise, *answer, **extra)


def stub_fails(exercise: Exercise, stub: str) -> list[str]:
    """Proof 1: the stub runs and gets the hint 'not started'."""
    try:
        verdict = verdict_on(exercise, stub)
    except Exception as error:
        return [f"{exercise.name}: the stub does not run: {error!r}"]
    if verdict.passed:
        return [f"{exercise.name}: the stub passes"]
    if verdict.key != "not_started":
        return [f"{exercise.name}: the stub gets the hint '{verdict.key}' instead of 'not_started'"]
    return []


def solution_passes(exercise: Exercise) -> list[str]:
    """Proof 2: the solution passes."""
    verdict = verdict_on(exercise)
    return [] if verdict.passed else [f"{exercise.name}: the solution is turned down: {sentence(exercise, verdict, 1)}"]


def mistakes_are_recognised(exercise: Exercise) -> list[str]:
    """Proof 3: at least three known mistakes, each turned down with its own hint, in words that differ by the try."""
    problems = []
    if len(exercise.mistakes) < 3:
        problems.append(f"{exercise.name}: only {len(exercise.mistakes)} known mistakes")
    for mistake in exercise.mistakes:
        verdict = verdict_on(exercise, mistake.code)
        if verdict.passed:
            problems.append(f"{exercise.name}: passes although: {mistake.name}")
        elif verdict.key != mistake.hint:
            problems.append(
                f"{exercise.name}: '{mistake.name}' should get the hint '{mistake.hint}', gets '{verdict.key}': "
                f"{sentence(exercise, verdict, 1)}"
            )
        else:
            said = [sentence(exercise, verdict, tries) for tries in (1, 2, 3)]
            if len(set(said)) != 3 or any("{" in text and "}" in text and "numel" in text for text in said):
                problems.append(f"{exercise.name}: the hint '{verdict.key}' does not grow from try to try")
    return problems


def variants_pass(exercise: Exercise) -> list[str]:
    """Proof 4: at least one right answer written differently, and all of them pass."""
    if not exercise.variants:
        return [f"{exercise.name}: no other right answer is written down"]
    problems = []
    for number, source in enumerate(exercise.variants, 1):
        verdict = verdict_on(exercise, source)
        if not verdict.passed:
            problems.append(f"{exercise.name}: right answer {number} is turned down: {sentence(exercise, verdict, 1)}")
    return problems


def texts_are_sound(exercise: Exercise) -> list[str]:
    """Every known mistake's hint exists; hints are not empty and do not repeat a general key without need."""
    problems = []
    for mistake in exercise.mistakes:
        if mistake.hint not in exercise.hints and mistake.hint not in GENERAL:
            problems.append(f"{exercise.name}: there is no hint '{mistake.hint}'")
    for key, hint in exercise.hints.items():
        if not hint.first or not hint.then or hint.first == hint.then:
            problems.append(f"{exercise.name}: the hint '{key}' needs two different sentences")
    if len(exercise.push) < 2:
        problems.append(f"{exercise.name}: hint() needs at least two steps")
    return problems


def prove(exercise: Exercise, stub: str) -> list[str]:
    """All proofs at once."""
    return [
        *texts_are_sound(exercise),
        *stub_fails(exercise, stub),
        *solution_passes(exercise),
        *mistakes_are_recognised(exercise),
        *variants_pass(exercise),
    ]
