"""What is special about lesson 02: with every solution filled in, all checks pass and the target is beaten."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from labkit.course import table
from labkit.learn import proofs
from labkit.learn.exercises import everything
from labkit.learn.solutions import path_of
from tests.notebooks.outputs import cells

LESSON = table.find("02")
NAMES = [name for name, exercise in everything().items() if exercise.lesson == "02"]


def _texts(notebook: Any) -> str:
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            parts.append("".join(output.get("text", "")))  # a file holds lists of lines
            parts.append("".join(output.get("data", {}).get("text/markdown", "")))
    return "\n".join(parts)


@pytest.mark.notebooks
def test_with_the_solutions_every_check_passes_and_the_target_is_beaten(tmp_path: Path) -> None:
    import nbformat

    from labkit.course import execute

    source = proofs.notebook_of("02")
    filled = proofs.filled(json.loads(source.read_text(encoding="utf-8")), path_of("02"))
    path = tmp_path / source.name
    path.write_text(json.dumps(filled), encoding="utf-8")
    executed = execute.execute(path, {}, 120.0, 200.0)
    text = _texts(nbformat.from_dict(executed.notebook))
    for name in NAMES:
        assert re.search(rf"^PASS {name}$", text, re.MULTILINE), f"{name} did not pass:\n{text}"
    assert "TODO" not in text
    assert f"{len(NAMES)} of {len(NAMES)} exercises passed." in text
    assert "placeholder" not in text.replace("Replace the placeholder", "")


def test_the_lesson_has_all_its_exercises_and_each_is_checked() -> None:
    cells = json.loads(proofs.notebook_of("02").read_text(encoding="utf-8"))["cells"]
    assert len(NAMES) >= 10
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for name in NAMES:
        assert sum(f'check("{name}", ' in source for source in code) == 1, name


def test_the_notebook_gives_no_solution_away() -> None:
    """No line of a solution that carries its idea stands in the notebook."""
    text = proofs.notebook_of("02").read_text(encoding="utf-8")
    for idea in ("(0, 2, 3)", "2 * pad + 1", "// stride + 1", "was_training", "math.cos(", "p.requires_grad"):
        assert idea not in text, idea


def test_no_stored_output_answers_a_prediction() -> None:
    stored = json.dumps([cell.get("outputs", []) for cell in cells(LESSON)])
    assert "393" not in stored and "448" not in stored


def test_every_exercise_has_its_words_at_the_end() -> None:
    end = next("".join(cell["source"]) for cell in cells(LESSON) if "deeds = {" in "".join(cell["source"]))
    assert all(f'"{name}":' in end for name in NAMES)


def test_both_quizzes_are_asked() -> None:
    code = ["".join(cell["source"]) for cell in cells(LESSON) if cell["cell_type"] == "code"]
    for name in ("eval_mode", "faster_gpu"):
        assert code.count(f'quiz("{name}")') == 1, name


@pytest.mark.notebooks
def test_the_loaders_give_the_same_numbers_and_their_times_come_from_the_run(course_run: Any) -> None:
    import nbformat

    notebook = nbformat.from_dict(course_run.notebook(proofs.notebook_of("02").name))
    text = _texts(notebook)
    found = re.search(r"largest difference over 500 pictures: (\S+)", text)
    assert found and float(found[1]) < 1e-6
    assert "def batches(self, versions" in text, "the fast loop is shown"
    outputs = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    plain = "\n".join("".join(data.get("text/plain", "")) for data in outputs)
    for name in ("resident_batches", "Augmented"):
        assert re.search(rf"-> {name} .*DataLoader .*95 % interval", plain), "each with its interval"


def test_the_step_by_step_loader_and_the_batches_agree_in_every_window() -> None:
    import torch
    import torch.nn.functional as F

    space: dict[str, Any] = {"torch": torch, "F": F}
    for start in ("def take(", "def draw(", "def resident_batches("):
        source = next("".join(cell["source"]) for cell in cells(LESSON) if "".join(cell["source"]).startswith(start))
        exec(compile(source, "<cell>", "exec"), space)
    images = torch.randint(1, 256, (2, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    space |= {"loader_images": images, "loader_labels": torch.arange(2)}
    mean, std = torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1), torch.tensor([0.2, 0.3, 0.4]).view(3, 1, 1)
    space |= {"cpu_mean": mean, "cpu_std": std}
    every = torch.cartesian_prod(torch.arange(2), torch.arange(9), torch.arange(9), torch.arange(2))
    drawn = (*every[:, :3].T, every[:, 3].bool())
    padded = F.pad(images, (4, 4, 4, 4))
    batches = list(space["resident_batches"](padded, torch.arange(2), *drawn, mean, std, 100))
    right = torch.stack([space["version"](*one) for one in every.tolist()])
    assert torch.equal(torch.cat([x for x, _ in batches]), right)
    assert torch.equal(torch.cat([y for _, y in batches]), every[:, 0])


@pytest.mark.notebooks
def test_nothing_is_praised_that_was_not_done(course_run: Any) -> None:
    notebook = course_run.notebook(proofs.notebook_of("02").name)
    import nbformat

    text = _texts(nbformat.from_dict(notebook))
    assert f"0 of {len(NAMES)} exercises passed." in text and "No exercise is done yet." in text
    assert "built a convolutional network" not in text
    assert re.search(r"Flatten +\[3072\] +0 parameters", text), "forward hooks tell of every layer"


def test_the_layers_of_any_module_are_told() -> None:
    """The cell after exercise 5, on a module that is no nn.Sequential."""
    import contextlib
    import io

    small_cnn = next(e for e in everything().values() if e.name == "small_cnn")
    space = proofs.namespace_of(small_cnn, small_cnn.variants[0])
    space |= {"passed": {"small_cnn": True}, "device": "cpu"}
    source = next(
        "".join(cell["source"]) for cell in cells(LESSON) if "register_forward_hook" in "".join(cell["source"])
    )
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(source, "<cell>", "exec"), space)
    lines = said.getvalue().splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["Conv2d", "Conv2d", "Linear"], lines
