"""Judges lessons with nbval: every cell must run, and a golden cell must print what is committed.

A thin layer, because nbval itself is barely maintained. What it knows: a cell without an execution count is never compared
(``labkit.course.form`` keeps the counts of golden cells), and a dead kernel is noticed only at the cell's time limit.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.course import kernel
from labkit.errors import LabkitError
from labkit.importable import ROOT

SANITIZE = Path(__file__).with_name("sanitize.cfg")
_COUNT = re.compile(r"(\d+) (passed|failed|error|xfailed|skipped)")


@dataclass(frozen=True)
class Verdict:
    """What nbval said: how many code cells passed and failed, and all that it printed."""

    passed: int
    failed: int
    status: int
    text: str

    @property
    def good(self) -> bool:
        """Whether some cell ran and none failed."""
        return self.status == 0 and self.passed > 0 and self.failed == 0


def judge(notebooks: Sequence[Path], cell_limit_s: float = 120, limit_s: float = 900) -> Verdict:
    """Runs nbval on notebooks in a process of its own, with the kernel of this interpreter.

    Args:
        notebooks: files; each runs in its own folder with its own defaults.
        cell_limit_s, limit_s: seconds for one cell, and for everything.

    Raises:
        LabkitError: nbval did not end in time, or a notebook does not exist.
    """
    missing = [path.name for path in notebooks if not path.is_file()]
    if missing or not notebooks:
        raise LabkitError(
            f"There is no notebook to judge: {', '.join(missing) or 'none was named'}.",
            "name notebooks that exist, or restore the lessons: git checkout -- notebooks",
        )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval-lax",
        "--nbval-current-env",
        f"--nbval-cell-timeout={cell_limit_s:g}",
        f"--nbval-kernel-startup-timeout={cell_limit_s:g}",
        f"--nbval-sanitize-with={SANITIZE}",
        "--color=no",
        "-q",
        "-p",
        "no:cacheprovider",
        "--override-ini=addopts=",
        *(str(path.resolve()) for path in notebooks),
    ]
    with tempfile.TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True) as folder:
        variables = kernel.environment(Path(folder))
        for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_CURRENT_TEST"):
            variables.pop(name, None)
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        try:
            text, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise LabkitError(
                f"nbval did not end within {limit_s:g} s.",
                "run the lesson alone with 'python3 -m labkit run' to see where it hangs.",
            ) from None
        finally:
            _end(process)
    counts: dict[str, int] = {}
    for number, what in _COUNT.findall(text.strip().splitlines()[-1] if text.strip() else ""):
        counts[what] = int(number)
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("xfailed", 0)
    return Verdict(counts.get("passed", 0), failed, process.returncode, text)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the judge and every kernel that it started, where it is still there."""
    if process.poll() is not None:
        return
    import psutil

    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.Error:
        family = []
    process.kill()
    for child in family:
        try:
            child.kill()
        except psutil.Error:
            pass
    process.wait()


def main(arguments: Sequence[str]) -> int:
    """``python -m labkit.course.judge [LESSON...]``: judges lessons of the table (all when none is named)."""
    from labkit.course import table

    verdict = judge([lesson.path for lesson in table.choose(arguments)])
    print(verdict.text.rstrip(), flush=True)
    return 0 if verdict.good else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUTF8", "1")
    try:
        sys.exit(main(sys.argv[1:]))
    except LabkitError as error:
        sys.exit(f"labkit: {error}")
