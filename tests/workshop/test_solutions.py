"""Lessons with solutions for the teacher, and the file that withholds and releases them."""

from __future__ import annotations

import ast
import builtins
import json
from pathlib import Path

import pytest

from labkit.course import form, table
from labkit.errors import LabkitError
from labkit.learn import release
from labkit.learn.solutions import path_of
from labkit.workshop import solutions
from labkit.workshop.arguments import add


def options(*arguments: str) -> object:
    import argparse

    parser = argparse.ArgumentParser()
    add(parser, argparse.ArgumentParser(add_help=False))
    return parser.parse_args(["solutions", *arguments])


def main(*arguments: str) -> int:
    return solutions.main(options(*arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize("lesson", [one for one in table.load().lessons if one.id != "00"], ids=lambda one: one.label)
def test_every_exercise_cell_is_filled_and_nothing_else_changes(lesson: table.Lesson) -> None:
    before, after = form.parse(form.read(lesson.path))["cells"], form.parse(solutions.filled(lesson))["cells"]
    changed = [new for old, new in zip(before, after, strict=True) if old["source"] != new["source"]]
    names = [tag.split(":")[1] for cell in changed for tag in cell["metadata"]["tags"] if tag.startswith("exercise:")]
    assert names == list(solutions.exercises(lesson)) and len(names) == len(changed)
    assert "return NotImplemented  # your code instead" not in "".join("".join(cell["source"]) for cell in after)


def test_plain_writes_and_executes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("01", "-o", str(tmp_path), "--plain") == 0
    assert "5 exercises solved, not executed" in capsys.readouterr().out
    cells = json.loads((tmp_path / "01_mnist.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells)
    assert "def share_right" in path_of("01").read_text(encoding="utf-8") and text.count("def share_right") == 1


@pytest.mark.notebooks
def test_executed_every_check_says_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("01", "-o", str(tmp_path)) == 0
    assert "01_mnist: 5 exercises solved, each says PASS" in capsys.readouterr().out
    assert "PASS share_right" in (tmp_path / "01_mnist.ipynb").read_text(encoding="utf-8")


def test_an_exercise_that_does_not_pass_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nbformat = pytest.importorskip("nbformat")
    from labkit.course import execute

    cell = nbformat.v4.new_code_cell(
        "x", outputs=[nbformat.v4.new_output("stream", text="PASS standardise\nTODO share_right: no\n")]
    )
    done = execute.Execution(notebook=nbformat.v4.new_notebook(cells=[cell]), seconds=1.0)
    monkeypatch.setattr(execute, "execute", lambda *_: done)
    assert main("01", "-o", str(tmp_path)) == 1
    assert "01_mnist: NOT PASSED: linear_parameters, training_step, read_losses, share_right" in capsys.readouterr().out


def test_what_cannot_be_solved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="Lesson 00 has no exercises"):
        main("00", "-o", str(tmp_path))
    for folder in (table.NOTEBOOKS, table.NOTEBOOKS / "solutions", table.NOTEBOOKS / "new"):
        with pytest.raises(LabkitError, match="belongs to the lessons"):
            main("01", "--plain", "-o", str(folder))
        assert not (folder.name == "new" and folder.exists())
    assert not list(tmp_path.iterdir())


def test_the_switch_is_set_for_all_and_for_one_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "switch"
    assert main("--let", "off", "--file", str(file)) == 0
    assert file.read_text(encoding="utf-8") == "off\n" and "now says:\n    off" in capsys.readouterr().out
    monkeypatch.setenv(release.VARIABLE, str(file))
    assert main("--let", "on", "mnist") == 0 and main("--let", "tried", "2") == 0
    assert file.read_text(encoding="utf-8") == "off\n01 on\n02 tried\n"
    assert (release.switch().of("01"), release.switch().of("02"), release.switch().of("03")) == ("on", "tried", "off")
    capsys.readouterr()
    assert main() == 0
    assert "Solutions are 'off'" in (text := capsys.readouterr().out) and "Lesson 02: 'tried'." in text
    assert main("--let", "on") == 0
    assert file.read_text(encoding="utf-8") == "on\n", "released for all: what was said of single lessons is over"


@pytest.mark.parametrize("content", [b"years of work\n", b"\xff\xfe\0"], ids=["text", "bytes"])
def test_a_file_that_is_no_switch_is_never_overwritten(tmp_path: Path, content: bytes) -> None:
    thesis = tmp_path / "thesis.txt"
    thesis.write_bytes(content)
    for lessons in ([], ["01"]):
        with pytest.raises(LabkitError, match="is no file of this switch"):
            solutions.let("on", lessons, thesis)
    assert thesis.read_bytes() == content


def test_without_a_file_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(release.VARIABLE, "off")
    with pytest.raises(LabkitError, match="Which file is the switch"):
        solutions.let("on", [])
    with pytest.raises(LabkitError, match="two different things"):
        main("--let", "on", "-o", "somewhere")


@pytest.mark.parametrize("lesson", [one for one in table.load().lessons if one.id != "00"], ids=lambda one: one.label)
def test_a_solution_that_is_pasted_into_its_cell_finds_its_names(lesson: table.Lesson) -> None:
    """What a function's head names (annotations, defaults, bases) is looked up when the cell runs, so the notebook must have it."""
    cells = [cell for cell in form.parse(solutions.filled(lesson))["cells"] if cell["cell_type"] == "code"]
    known = set(dir(builtins))
    for cell in cells:
        tree = ast.parse("".join(cell["source"]))
        exercise = "exercise" in cell["metadata"].get("tags", [])
        for node in tree.body if exercise else ():
            heads = [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]
            if isinstance(node, ast.FunctionDef):
                arguments = node.args
                every = [
                    *arguments.posonlyargs,
                    *arguments.args,
                    *arguments.kwonlyargs,
                    arguments.vararg,
                    arguments.kwarg,
                ]
                heads += [one.annotation for one in every if one is not None and one.annotation is not None]
                heads += [
                    *arguments.defaults,
                    *(one for one in arguments.kw_defaults if one),
                    *([node.returns] if node.returns else []),
                ]
            named = {name.id for head in heads for name in ast.walk(head) if isinstance(name, ast.Name)}
            assert named <= known, f"{getattr(node, 'name', '')} needs {named - known}"
        for part in ast.walk(tree):
            if isinstance(part, (ast.Import, ast.ImportFrom)):
                known |= {alias.asname or alias.name.split(".")[0] for alias in part.names}
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                known.add(part.id)
            elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                known.add(part.name)
