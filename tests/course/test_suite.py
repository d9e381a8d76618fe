"""``labkit test``: what it hands to pytest, and that pytest's status and last line come back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from labkit.course import suite


def test_light_leaves_out_notebooks_and_browser() -> None:
    assert suite.LIGHT in suite.command(True, []) and suite.LIGHT not in suite.command(False, [])
    assert suite.command(False, ["-k", "word"])[-2:] == ["-k", "word"]
    assert "-ra" in suite.command(True, []), "a skipped test must be named"


def test_it_runs_in_the_repository_and_gives_the_status_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        seen.update(options, command=command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(suite.subprocess, "run", run)
    assert suite.run(True, ["tests/x"]) == 3
    assert (
        (seen["cwd"] / "pyproject.toml").is_file()
        and seen["command"][0] == sys.executable
        and seen["command"][-1] == "tests/x"
    )


@pytest.mark.parametrize(("body", "status", "last"), [("assert True", 0, "1 passed"), ("assert False", 1, "1 failed")])
def test_the_closing_line_of_pytest_is_the_last_one(tmp_path: Path, body: str, status: int, last: str) -> None:
    (tmp_path / "test_one.py").write_text(f"def test_one():\n    {body}\n", encoding="utf-8")
    code = f"import sys; from labkit.course import suite; sys.exit(suite.run(True, [{str(tmp_path)!r}]))"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=suite.ROOT, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert answer.returncode == status, answer.stdout + answer.stderr
    assert last in answer.stdout.strip().splitlines()[-1]
