"""Where the published lessons come from, and how a learner's copy differs from them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from labkit.jupyter import pristine

NAMES = ["00_a.ipynb", "01_b.ipynb"]


def cell(source: str, kind: str = "code", **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source.splitlines(keepends=True), "metadata": {}, **more}


def book(*cells: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"cells": list(cells), "nbformat": 4, **more}).encode()


def git(root: Path, *arguments: str) -> None:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, env={**os.environ, **who})


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone in whose notebooks somebody has worked since."""
    if shutil.which("git") is None:
        pytest.skip("NOT CHECKED: there is no git on this computer")
    root = tmp_path / "clone"
    (root / "notebooks").mkdir(parents=True)
    for name in NAMES:
        (root / "notebooks" / name).write_bytes(b"committed\r\n" + name.encode())
    git(root, "init", "-q")
    git(root, "-c", "core.autocrlf=false", "add", "-A")
    git(root, "commit", "-q", "-m", "x")
    for name in NAMES:
        (root / "notebooks" / name).write_bytes(b"mine")
    return root


def test_in_a_clone_it_is_the_commit(clone: Path) -> None:
    found = pristine.find(NAMES, clone / "notebooks", {"PATH": os.environ["PATH"]}, clone)
    assert found == pristine.Published({name: b"committed\r\n" + name.encode() for name in NAMES})


def test_a_clone_inside_of_another_repository_and_odd_settings_of_git(clone: Path) -> None:
    outer = clone.parent
    shutil.rmtree(clone / ".git")
    git(outer, "init", "-q")
    git(outer, "add", "-A")
    git(outer, "commit", "-q", "-m", "x")
    (clone / "notebooks" / NAMES[0]).write_bytes(b"later")
    odd = {"PATH": os.environ["PATH"], "GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere"}
    assert pristine.find(NAMES, clone / "notebooks", odd, clone).notebooks[NAMES[0]] == b"mine"


def test_a_copy_elsewhere_is_compared_with_the_clones_own_folder(clone: Path, tmp_path: Path) -> None:
    found = pristine.find(NAMES, tmp_path / "home", {}, clone)
    assert found.notebooks[NAMES[0]] == b"mine", "as the teacher left it there"


def test_the_named_folder_counts_alone(clone: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / NAMES[0]).write_bytes(b"shared")
    found = pristine.find(NAMES, clone / "notebooks", {"LABKIT_LESSONS": str(shared)}, clone)
    assert dict(found.notebooks) == {NAMES[0]: b"shared"}
    assert "LABKIT_LESSONS" in found.why and NAMES[1] in found.why
    own = pristine.find(NAMES, shared, {"LABKIT_LESSONS": str(shared)}, clone)
    assert not own.notebooks and "the very folder that you work in" in own.why


@pytest.mark.parametrize("case", ["no git", "no clone", "no commit", "not in the commit"])
def test_where_there_is_none_a_sentence_says_why(clone: Path, case: str) -> None:
    environ, names = {"PATH": os.environ["PATH"]}, list(NAMES)
    if case == "no git":
        environ = {"PATH": str(clone)}
    elif case == "no clone":
        shutil.rmtree(clone / ".git")
        environ["GIT_CEILING_DIRECTORIES"] = str(clone.parent)
    elif case == "no commit":
        shutil.rmtree(clone / ".git")
        git(clone, "init", "-q")
    else:
        names.insert(1, "09_new.ipynb")
    found = pristine.find(names, clone / "notebooks", environ, clone)
    assert found.why.endswith(".")
    assert set(found.notebooks) == (set(NAMES) if case == "not in the commit" else set())


PRINTED = {"output_type": "stream", "text": "1"}
A = book(cell("x = 1\ny = 2", outputs=[], execution_count=None), cell("# words", "markdown"))


@pytest.mark.parametrize(
    ("mine", "word"),
    [
        (A, "as published"),
        (json.dumps(json.loads(A), indent=3).encode(), "as published"),  # another program's form
        (book(cell("x = 1\ny = 2", outputs=[], execution_count=None), cell("# words", "markdown"), metadata={"k": 1}), "as published"),
        (book(cell("x = 1\ny = 2", outputs=[], execution_count=3), cell("# words", "markdown")), "run"),
        (book(cell("x = 1\ny = 2", outputs=[PRINTED], execution_count=None), cell("# words", "markdown")), "run"),
        (book(cell("x = 1\ny = 3", outputs=[], execution_count=None), cell("# words", "markdown")), "edited"),
        (book(cell("x = 1\ny = 2", outputs=[], execution_count=None)), "edited"),
        (book(cell("x = 1\ny = 2", "markdown"), cell("# words", "markdown")), "edited"),
        (A[:-5], "edited"),
        (b"", "edited"),
        (b"[]", "edited"),
        (b'{"cells": [3]}', "edited"),
        (b"\xff\xfe", "edited"),
        (b"[" * 100_000, "edited"),
    ],
)  # fmt: skip
def test_how_a_copy_differs(mine: bytes, word: str) -> None:
    assert pristine.compared(mine, A) == word


def test_golden_outputs_written_line_by_line_or_whole_are_the_same() -> None:
    def golden(text: Any) -> bytes:
        out = {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {}, "execution_count": 1}
        return book(cell("1", outputs=[out], execution_count=1))

    assert pristine.compared(golden(["a\n", "b"]), golden("a\nb")) == "as published"
    assert pristine.compared(golden(["a\n", "c"]), golden("a\nb")) == "run"
