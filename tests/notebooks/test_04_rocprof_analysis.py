"""Lesson 04: what it claims is what its run shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labkit.course import table
from labkit.profile import simulate
from tests.notebooks.outputs import cells, numbers, shown, words_of_figures

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("04")


def test_it_says_whether_a_gpu_was_profiled(text: str) -> None:
    on_cpu = "working on cpu" in text
    assert ("No GPU here: the operators of the CPU, no kernels." in text) == on_cpu
    assert ("operators on the CPU" in text) == on_cpu


def test_a_step_has_many_operators(text: str) -> None:
    assert numbers(r"Operators in one training step\?\n.*measured ([\d.,]+) operators", text)[0] > 200


def test_everything_simulated_is_called_so(notebook: dict[str, Any], text: str) -> None:
    assert "SIMULATED: no GPU made these files." in text and "says that it is simulated: True" in text
    for cell in notebook["cells"]:
        source, told = "".join(cell["source"]), shown({"cells": [cell]})
        if (
            "simulated(" in source
            or "draw.kernels(amd" in source
            or "Timeline(amd" in source
            or "draw.compare" in source
        ):
            assert "SIMULATED" in told, source
    assert "SIMULATED on Radeon RX 7900 XTX: how busy, and how well used" in text


def test_both_forms_of_the_same_run_give_the_same_answer(text: str) -> None:
    assert "same kernels: True" in text and "same answer:  True" in text
    assert "Simulated: **Nothing stands out: the GPU computes" in text


def test_busy_is_not_used(text: str) -> None:
    rows = re.findall(rf"^({'|'.join(simulate.MODELS)}) +(\d+)% +[\d.]+ +\d+ \(\S+\) +(\d+)%", text, re.MULTILINE)
    assert len(rows) == len(simulate.MODELS)
    busy, used = [int(r[1]) for r in rows], [int(r[2]) for r in rows]
    assert min(busy) >= 90 and max(used) <= 50 and max(used) >= 2 * min(used)


def test_the_starved_training_loads_most_of_the_time(text: str) -> None:
    assert numbers(r"Loading takes (\d+)% of a step", text)[0] > 40


def test_tiny_batches_launch_more_per_picture(text: str) -> None:
    spread = r"\d+ \(\d+ to \d+\)"
    small, large = numbers(rf"\n2 +([\d.]+) +{spread}\n64 +([\d.]+) +{spread}", text)
    assert small > 20 * large
    times = r"measured ([\d.,]+) times \(([\d.,]+) to ([\d.,]+)\)"
    found, low, high = numbers(rf"Time of the pass, batches of 2 against 64\?\n.*{times}", text)
    assert low <= found <= high and found > 2


def test_the_watchful_loop_stops_three_times_a_batch(text: str) -> None:
    stops, batches = numbers(r"(\d+) (?:numbers read from tensors|blocking calls to the GPU) in (\d+) batches", text)
    assert stops >= 3 * batches and f"{stops:.0f} stops per pass." in text


def test_each_simulated_sickness_is_named(text: str) -> None:
    for words in (
        "data loading.",
        "launching the kernels takes longer than running them.",
        "too many synchronisations.",
    ):
        assert re.search(rf"Simulated: \*\*\d+ % of the time .*{words}\*\*", text)
    pairs = re.findall(r"played: (\S+) +named: (\S+)", text)
    assert len(pairs) == 10 and all(played == named for played, named in pairs)


def test_bottleneck_was_really_tried(text: str) -> None:
    assert "No module named 'torch.utils.bottleneck'" in text or "This PyTorch still has it" in text


def test_nothing_is_written_to_stderr(notebook: dict[str, Any]) -> None:
    streams = [o for c in notebook["cells"] for o in c.get("outputs", []) if o.get("name") == "stderr"]
    assert ["".join(o["text"]) for o in streams] == []


def test_pictures_have_words(notebook: dict[str, Any]) -> None:
    alts = words_of_figures(notebook)
    assert len(alts) >= 12 and all(alts)


def test_it_claims_nothing_for_rocm_that_nobody_ran() -> None:
    source = "\n".join("".join(cell["source"]) for cell in cells(LESSON))
    assert "not yet verified on ROCm" in source and "torchvision" not in source


def test_the_exercises_stay_open_in_the_course_s_run(text: str) -> None:
    assert len(re.findall(r"^TODO \w+: not started", text, re.MULTILINE)) == 5
    assert "0 of 7 passed" in text
