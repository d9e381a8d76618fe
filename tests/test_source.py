"""The text of the repository: lint, types, the notebooks' form, and what must not stand in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.course import form

ROOT = Path(__file__).resolve().parent.parent
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".ipynb", ".cfg", ".json", ".txt", ""}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=280,
        check=False,
    )


def files() -> list[Path]:
    """Every text file of the repository (as git knows it, else as it lies there)."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if answer.returncode == 0 and answer.stdout:
        paths = [ROOT / name for name in answer.stdout.decode("utf-8").split("\0") if name]
    else:
        hidden = {".git", ".venv", "build", "__pycache__", ".mypy_cache", ".ruff_cache", ".hypothesis", ".labkit"}
        paths = [path for path in ROOT.rglob("*") if not hidden & set(path.relative_to(ROOT).parts)]
    return sorted(path for path in paths if path.is_file() and path.suffix in TEXT)


def test_ruff_finds_nothing() -> None:
    answer = run("ruff", "check", "--no-cache", ".")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_everything_is_in_the_form_of_the_formatter() -> None:
    answer = run("ruff", "format", "--check", "--no-cache", ".")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_mypy_finds_nothing() -> None:
    answer = run("mypy")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_committed_notebook_is_canonical(capsys: pytest.CaptureFixture[str]) -> None:
    status = form.main([])
    assert status == 0, capsys.readouterr().out


def test_every_file_is_plain_utf8_text_that_ends_with_a_line() -> None:
    wrong = []
    for path in files():
        content = path.read_bytes()
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            wrong.append(f"{path.relative_to(ROOT)}: not UTF-8")
        if content and not content.endswith(b"\n"):
            wrong.append(f"{path.relative_to(ROOT)}: no newline at its end")
        if sys.platform != "win32" and b"\r\n" in content:
            wrong.append(f"{path.relative_to(ROOT)}: Windows line ends")
        if (
            re.search(rb"^(<<<<<<< |>>>>>>> )", content, re.MULTILINE)
            and path != Path(__file__)
            and path.name != "test_form.py"
        ):
            wrong.append(f"{path.relative_to(ROOT)}: an unresolved merge conflict")
    assert not wrong, "\n".join(wrong)


def test_no_registry_and_nobody_s_folder_is_named() -> None:
    """pip, apt and npm know where their packages are; a folder of the author's computer means nothing elsewhere."""
    parts = (("py", "pi.org"), ("python", "hosted.org"), ("deb.", "debian.org"), ("registry.", "npmjs.org"))
    hosts = "|".join(re.escape("".join(name)) for name in parts)
    forbidden = re.compile(rf"({hosts}|/root/\.|/home/(?!me\b|user\b|you\b|learner\b|runner\b)[a-z]+/)")
    wrong = []
    for path in files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = forbidden.search(line)
            if found and path != Path(__file__):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {found.group()}")
    assert not wrong, "\n".join(wrong)


def sources() -> list[tuple[str, str]]:
    """Python text to look at: the package, the scripts, and the code cells of the lessons."""
    found = [
        (path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("labkit", "notebooks")
    ]
    for path in files():
        if path.suffix == ".ipynb":
            for number, cell in enumerate(form.parse(form.read(path))["cells"], 1):
                if cell["cell_type"] == "code":
                    found.append((f"{path.name} cell {number}", "".join(cell["source"])))
    return found


def test_nothing_unpickles_what_it_did_not_write_itself() -> None:
    wrong = []
    for name, text in sources():
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue  # the notebooks' form has a test of its own
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in (
                "pickle.load",
                "pickle.loads",
                "dill.load",
                "dill.loads",
                "joblib.load",
                "cloudpickle.load",
                "cloudpickle.loads",
            ):
                wrong.append(f"{name}: {called}")
            if called == "torch.load":
                safe = [
                    keyword
                    for keyword in node.keywords
                    if keyword.arg == "weights_only" and ast.unparse(keyword.value) == "True"
                ]
                if not safe:
                    wrong.append(f"{name}: torch.load without weights_only=True")
            allowed = [
                keyword
                for keyword in node.keywords
                if keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False"
            ]
            if allowed:
                wrong.append(f"{name}: allow_pickle")
    assert not wrong, "\n".join(wrong)
