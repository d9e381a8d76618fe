"""What the learners who agreed have passed, in one table for the teacher.

Each agreement is the learner's own choice on the page where their server starts; without one, their file is not even opened.
Of it only that is taken which ``labkit progress --export`` gives.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.learn import overview
from labkit.learn.records import entry
from labkit.learn.records.file import MOST_BYTES
from labkit.workshop.hub.accounts import Folder


def of_file(path: Path, owner: int) -> dict[str, Any]:
    """The export of one progress file, which must be ``owner``'s own: no link, no pipe, nobody else's file under this name.

    Raises OSError where it cannot be read. A missing file is somebody who passed nothing.
    """
    try:
        stream = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return overview.export({})
    with os.fdopen(stream, "rb") as file:
        facts = os.fstat(stream)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != owner:
            raise OSError(errno.EPERM, "it is not the learner's own file", str(path))
        return overview.export(entry.parse(file.read(MOST_BYTES)).entries)


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
            export = of_file(account.progress, os.geteuid() if account.uid is None else account.uid)
        except OSError as error:
            who = name if answer == "named" else "somebody without a name"
            problems.append(f"{who}, whose progress cannot be read ({error.strerror or error})")
            continue
        (named if answer == "named" else unnamed).append({"learner": name, **export})
    unnamed.sort(key=lambda row: (-row["passed"], json.dumps(row["lessons"], sort_keys=True)))
    return [*named, *({**row, "learner": f"learner {n}"} for n, row in enumerate(unnamed, 1))], problems
