"""What the learners who agreed have passed, in one table for the teacher.

Each agreement is the learner's own choice on the page where their server starts; without one, their file is not even opened.
It is read as the learner (``python -m labkit.workshop.hub.progress FILE``), and only what ``labkit progress --export`` gives.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.importable import ROOT
from labkit.workshop.hub.accounts import Folder, as_learner


def of_file(path: Path) -> dict[str, Any]:
    """The export of one progress file. Raises records' CannotSave where it cannot be read."""
    from labkit.learn import overview
    from labkit.learn.records import file

    return overview.export(file.load(path).entries)


def collect(place: Folder, answers: Mapping[str, str], first_uid: int | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Exports of those who said yes, with ``learner``: their name, or 'learner 1' where they did not want it; and problems.

    The unnamed come last and in the order of what they passed, so that their place does not tell who they are.
    """
    named: list[dict[str, Any]] = []
    unnamed: list[dict[str, Any]] = []
    problems: list[str] = []
    for name in sorted(place.names()):
        answer = answers.get(name, "no")
        if answer not in ("named", "unnamed"):
            continue
        account = place.account(name, first_uid)
        try:
            text = as_learner(account, ["labkit.workshop.hub.progress", str(account.progress)], root=ROOT)
            export = json.loads(text)
        except (LabkitError, ValueError) as error:
            problems.append(str(error) if answer == "named" else "one unnamed learner's progress cannot be read")
            continue
        (named if answer == "named" else unnamed).append({"learner": name, **export})
    unnamed.sort(key=lambda row: (-row["passed"], json.dumps(row["lessons"], sort_keys=True)))
    return [*named, *({**row, "learner": f"learner {n}"} for n, row in enumerate(unnamed, 1))], problems


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line per learner: passed and of, of the course and of each lesson that has exercises."""
    lessons = [lesson["lesson"] for lesson in rows[0]["lessons"]] if rows else []
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["learner", "passed", "of", *(f"lesson {lesson}" for lesson in lessons)])
    for row in rows:
        each = [f"{lesson['passed']} of {lesson['of']}" for lesson in row["lessons"]]
        table.writerow([row["learner"], row["passed"], row["of"], *each])
    return text.getvalue()


if __name__ == "__main__":
    print(json.dumps(of_file(Path(sys.argv[1]))))
