"""One table of many progress files, whatever is among them."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import cli
from labkit.errors import LabkitError
from labkit.learn import overview
from labkit.learn.records.entry import Event, merged
from labkit.workshop import progress


def exported(path: Path, *passed: str, failed: tuple[str, ...] = ()) -> Path:
    """What ``labkit progress --export`` writes for somebody with these exercises."""
    events = [Event(name, "01", "exercise", False, "2027-03-01") for name in failed]
    events += [Event(name, "01", "exercise", True, "2027-03-01") for name in passed]
    entries = merged({}, events)
    path.write_text(json.dumps(overview.export(entries)), encoding="utf-8")
    return path


@pytest.fixture
def two() -> tuple[str, str]:
    """Two real exercises."""
    items = [item["name"] for lesson in overview.export({})["lessons"] for item in lesson["items"]]
    return items[0], items[1]


def test_the_room_and_each_file(tmp_path: Path, two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "handed in"
    folder.mkdir()
    first, second = two
    exported(folder / "ada.json", first, second, failed=(first,))
    exported(folder / "ben.json", failed=(first,))
    exported(folder / "cleo.json")
    table = tmp_path / "room.csv"
    assert cli.main(["workshop", "progress", str(folder), "-o", str(table)]) == 0
    said = capsys.readouterr().out
    assert "3 files." in said and "cleo" not in said
    row = next(line.split() for line in said.splitlines() if f" {first} " in line)
    assert row[1:] == [first, "2", "1", "2"], "two began, one passed, at the second try"
    row = next(line.split() for line in said.splitlines() if f" {second} " in line)
    assert row[1:] == [second, "1", "1", "1"]
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert [(one["learner"], one["passed"]) for one in rows] == [("ada", "2"), ("ben", "0"), ("cleo", "0")]


def test_a_file_that_is_none_is_named_and_the_others_count(
    tmp_path: Path, two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    exported(tmp_path / "ada.json", two[0])
    (tmp_path / "holiday.json").write_text("[1, 2]", encoding="utf-8")
    (tmp_path / "older.json").write_text('{"labkit_progress_export": 0, "lessons": []}', encoding="utf-8")
    assert cli.main(["workshop", "progress", str(tmp_path), str(tmp_path / "gone.json")]) == 1
    said = capsys.readouterr().out
    assert "1 file." in said
    for wrong in ("holiday.json is no progress file", "older.json is of another version", "gone.json cannot be read"):
        assert f"left out: {wrong}" in said or wrong in said


def test_nothing_to_read_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["workshop", "progress", str(tmp_path)]) == 1
    assert "has no .json file" in capsys.readouterr().err
    (tmp_path / "a.json").write_bytes(b"\xff\xfe")
    assert cli.main(["workshop", "progress", str(tmp_path / "a.json")]) == 1
    assert "is no progress file" in capsys.readouterr().err
    assert cli.main(["workshop", "progress", os.devnull]) == 1, "as /dev/zero, which has no end"
    assert "is a device" in capsys.readouterr().err


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


@given(lessons=JSON, item=JSON)
def test_any_content_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, lessons: Any, item: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    for content in (lessons, {"lesson": "01", "items": item}, {"lesson": "01", "items": [item]}):
        path.write_text(json.dumps({"labkit_progress_export": 1, "lessons": [content]}), encoding="utf-8")
        try:
            found = overview.read(path)
        except LabkitError:
            continue
        assert found["passed"] <= found["of"]
        assert progress.as_text([{"learner": "x", **found}]) and progress.as_csv([{"learner": "x", **found}])
