"""The teacher's table holds those who agreed, and of them nothing but what the export has."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest

from labkit.learn.records import file
from labkit.learn.records.entry import Event
from labkit.workshop.hub import progress
from labkit.workshop.hub.accounts import Folder
from labkit.workshop.hub.consent import answers, store
from labkit.workshop.progress import as_csv


@pytest.fixture
def place(tmp_path: Path) -> Folder:
    """Ada passed one quiz, Ben two, Cleo one; Dora has no file."""
    folder = Folder(tmp_path / "hub")
    folder.make()
    for name, passed in (
        ("ada", ["transfer_rate"]),
        ("ben", ["transfer_rate", "first_fault"]),
        ("cleo", ["transfer_rate"]),
    ):
        account = folder.account(name, None)
        file.save(account.progress, [Event(one, "00", "quiz", True, "2027-03-01") for one in passed])
    folder.account("dora", None)
    return folder


def test_whoever_did_not_agree_is_not_in_it(place: Folder) -> None:
    assert progress.collect(place, {}, None) == ([], [])
    rows, problems = progress.collect(place, {"ada": "named", "ben": "no", "cleo": "nonsense"}, None)
    assert [row["learner"] for row in rows] == ["ada"] and problems == []
    assert "ben" not in as_csv(rows)


def test_without_a_name_there_is_none(place: Folder) -> None:
    rows, _ = progress.collect(place, {"ada": "unnamed", "ben": "unnamed", "dora": "named"}, None)
    assert [row["learner"] for row in rows] == ["dora", "learner 1", "learner 2"]
    text = as_csv(rows)
    assert "ada" not in text and "ben" not in text
    table = list(csv.DictReader(io.StringIO(text)))
    assert table[0]["passed"] == "0" and all(" of " in table[0][name] for name in table[0] if name.startswith("lesson"))


def test_a_file_that_is_not_the_learner_s_own_is_not_read(place: Folder) -> None:
    ada, ben = place.account("ada", None), place.account("ben", None)
    ada.progress.unlink()
    ada.progress.symlink_to(ben.progress)
    ben.progress.rename(ben.progress.with_name("away"))
    os.mkfifo(ben.progress)
    rows, problems = progress.collect(place, {"ada": "named", "ben": "unnamed"}, None)
    assert rows == [] and len(problems) == 2
    assert problems[0].startswith("ada") and "ben" not in problems[1]
    with pytest.raises(OSError, match="own file"):
        progress.of_file(place.account("cleo", None).progress, os.geteuid() + 1)


def test_the_answer_is_kept_and_only_a_yes_is_a_yes(place: Folder) -> None:
    assert answers(place) == {}
    store(place, "ada", "named")
    store(place, "ben", "<script>")
    store(place, "cleo", "unnamed")
    store(place, "cleo", "no")
    assert answers(place) == {"ada": "named", "cleo": "no"}
    place.consent.write_text("[")
    assert answers(place) == {}, "what cannot be read is no agreement"
