"""Which files of the repository a pack has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from labkit.workshop.pack import course


def repository(folder: Path) -> Path:
    folder.mkdir()
    for name in ("README.md", "labkit/a.py", "tests/test_a.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(folder), "init", "-q"], check=True)
    subprocess.run(["git", "-C", str(folder), "add", "."], check=True)
    (folder / "mine.txt").write_text("a learner's list\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("owner", ["mine", "another's"])
def test_what_git_does_not_know_stays_out_whoever_owns_the_clone(
    tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "clone")
    if owner == "another's":
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own way to test this
        refused = subprocess.run(["git", "-C", str(folder), "ls-files"], capture_output=True, text=True, check=False)
        assert "dubious ownership" in refused.stderr
    assert sorted(course.tracked(folder)) == ["README.md", "labkit/a.py"]
