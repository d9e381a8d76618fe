"""nbval on small made notebooks: it must see what it is there to see."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.course import form, judge
from labkit.course.table import Lesson
from labkit.errors import LabkitError

Make = Callable[..., Lesson]


def golden(lesson: Lesson, number: int) -> Path:
    """Makes cell ``number`` golden, with the output of a run."""
    made = json.loads(lesson.path.read_text(encoding="utf-8"))
    made["cells"][number]["metadata"]["tags"] = list(form.GOLDEN_TAGS)
    lesson.path.write_text(form.as_text(made), encoding="utf-8")
    form.main([lesson.path], golden=True)
    return lesson.path


def test_a_golden_cell_that_prints_the_same_passes_and_one_that_does_not_fails(make_lesson: Make) -> None:
    path = golden(make_lesson("import random", "print('four is', 2 + 2)", "print(random.random())"), 3)
    verdict = judge.judge([path])
    assert verdict.good and verdict.passed == 4, verdict.text
    path.write_text(path.read_text(encoding="utf-8").replace("four is 4", "four is 5"), encoding="utf-8")
    verdict = judge.judge([path])
    assert not verdict.good and verdict.failed == 1 and "four is 5" in verdict.text, verdict.text


def test_addresses_and_times_are_not_compared(make_lesson: Make) -> None:
    path = golden(make_lesson("import time", "print(object(), f'{time.perf_counter():.3f} ms')"), 3)
    assert judge.judge([path]).good


def test_a_cell_that_fails_is_seen(make_lesson: Make) -> None:
    verdict = judge.judge([make_lesson("1 / 0").path])
    assert not verdict.good and verdict.failed == 1 and "ZeroDivisionError" in verdict.text


def test_a_kernel_that_hangs_ends_at_its_limit(make_lesson: Make) -> None:
    verdict = judge.judge([make_lesson("import time; time.sleep(600)").path], cell_limit_s=3)
    assert not verdict.good and verdict.failed >= 1 and "Timeout" in verdict.text


def test_a_judge_that_hangs_is_ended_with_its_kernel(make_lesson: Make) -> None:
    with pytest.raises(LabkitError, match="did not end within"):
        judge.judge([make_lesson("import time; time.sleep(600)").path], limit_s=6)


def test_a_missing_notebook_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match=r"none\.ipynb"):
        judge.judge([tmp_path / "none.ipynb"])
    with pytest.raises(LabkitError):
        judge.judge([])
