"""The sentence that a learner reads: whole words around what the error said, and the type of what was handed over."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from labkit.learn.exercise import Exercise, Wrong
from labkit.learn.exercises import mnist
from labkit.learn.judge import judge, sentence
from labkit.learn.numbers import as_numbers

EXERCISES: dict[str, Exercise] = {exercise.name: exercise for exercise in mnist.EXERCISES}


def made(code: str, name: str) -> Any:
    space: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec(compile(code, "<answer>", "exec"), space)
    return space[name]


@pytest.mark.parametrize("tries", [1, 2])
def test_an_error_is_followed_by_a_space_and_the_place(tries: int) -> None:
    answer = made("def standardise(images, mean, std):\n    return to_flaot(images)", "standardise")
    verdict = judge(EXERCISES["standardise"], answer)
    said = sentence(EXERCISES["standardise"], verdict, tries)
    assert verdict.key == "raised"
    assert "name 'to_flaot' is not defined in line 2." in said


def test_a_number_in_place_of_the_function_is_told_what_to_keep() -> None:
    verdict = judge(EXERCISES["linear_parameters"], 784 * 128 + 128)
    assert "type int" in (said := sentence(EXERCISES["linear_parameters"], verdict, 1)) and "`def`" in said


def test_a_huge_number_does_not_fill_the_line() -> None:
    verdict = judge(EXERCISES["linear_parameters"], made("def f(a, b):\n    return a ** b", "f"))
    said = sentence(EXERCISES["linear_parameters"], verdict, 1)
    assert "a number of 371 digits" in said and len(said) < 160


@pytest.mark.parametrize("value", [(torch.zeros(()), torch.nn.ReLU()), [torch.nn.ReLU()]])
def test_the_type_that_is_named_is_the_one_handed_over(value: Any) -> None:
    with pytest.raises(Wrong) as caught:
        as_numbers(value, "not_numbers")
    assert caught.value.values["kind"] == type(value).__name__


def test_a_middle_grey_is_named_where_black_and_white_are_right() -> None:
    code = "def standardise(images, mean, std):\n    return ((images / 255) ** 2 - mean) / std"
    verdict = judge(EXERCISES["standardise"], made(code, "standardise"))
    assert verdict.key == "values" and 0 < verdict.values["pixel"] < 255
    assert abs(verdict.values["right"] - verdict.values["got"]) > 0.5
