"""The progress that learners handed in, as one table: who passed what, and which exercises the room found hard.

Learners make the files themselves, with ``labkit progress --export FILE``; there are no names in them. Standard library only.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.course import files
from labkit.errors import LabkitError
from labkit.learn import overview


def main(options: argparse.Namespace) -> int:
    """Prints the room's table; with ``options.output`` also writes one line for each file. 1 where a file could not be read."""
    paths = named(options.files)
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for path in paths:
        try:
            rows.append({"learner": path.stem, **overview.read(path)})
        except LabkitError as error:
            problems.append(f"left out: {error.problem}")
    if not rows:
        raise LabkitError("\n".join(problems) or "There is no file here.", overview.NO_EXPORT)
    print(as_text(rows))
    if options.output:
        files.write_text(Path(options.output), as_csv(rows))
        print(f"\nWritten: {options.output}, one line for each file.")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def named(texts: Sequence[str]) -> list[Path]:
    """The files that are meant: each one named, and all .json files of a folder. Raises LabkitError where there is none."""
    found: list[Path] = []
    for text in texts:
        path = Path(text)
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise LabkitError(f"The folder {text} has no .json file.", overview.NO_EXPORT)
        found += [one for one in inside if one not in found]
    return found


def as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Each exercise and quiz that somebody began: how many passed it, and the most tries that a first right answer took."""
    items: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        for lesson in row["lessons"]:
            for item in lesson["items"]:
                items.setdefault((lesson["lesson"], item["name"]), []).append(item)
    begun = {key: [one for one in all_ if one["passed"] or one["tries"]] for key, all_ in items.items()}
    lines = [f"{len(rows)} {'file' if len(rows) == 1 else 'files'}."]
    if not any(begun.values()):
        return f"{lines[0]} Nobody has begun an exercise."
    width = max(len(name) for (_, name), some in begun.items() if some)
    lines += ["", f"lesson  {'exercise or quiz':{width}}  begun  passed  most tries", "-" * (34 + width)]
    for (lesson, name), some in sorted(begun.items()):
        if some:
            passed = [one["tries"] for one in some if one["passed"]]
            most = str(max(passed)) if passed else "-"
            lines.append(f"{lesson:6}  {name:{width}}  {len(some):5}  {len(passed):6}  {most:>10}")
    return "\n".join([*lines, "", "Tries are counted up to the first right answer. What nobody began is not listed."])


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line per learner: passed and of, of the course and of each lesson that any of them has exercises for."""
    lessons = sorted({lesson["lesson"] for row in rows for lesson in row["lessons"]})
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["learner", "passed", "of", *(f"lesson {lesson}" for lesson in lessons)])
    for row in rows:
        each = {lesson["lesson"]: f"{lesson['passed']} of {lesson['of']}" for lesson in row["lessons"]}
        table.writerow([row["learner"], row["passed"], row["of"], *(each.get(lesson, "") for lesson in lessons)])
    return text.getvalue()
