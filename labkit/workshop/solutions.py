"""``labkit workshop solutions``: lessons with every exercise solved, for the teacher; and the switch that withholds solutions.

Learners get the committed notebooks, which hold none. Whether ``labkit.solution(...)`` answers them is the switch of
``labkit.learn.release``; this command writes the file that the switch can be.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from labkit.course import files, form, table
from labkit.errors import LabkitError
from labkit.learn import release
from labkit.setup import words


def main(options: argparse.Namespace) -> int:
    """Sets the switch (``let``), writes lessons with their solutions (``output``), or says what the switch says now."""
    if options.let:
        if options.output:
            raise LabkitError("--let and -o are two different things.", "call it twice, once with each.")
        path = let(options.let, options.lessons, Path(options.file) if options.file else None)
        print(f"{path} now says:\n{_indented(path.read_text(encoding='utf-8'))}")
        print(f"It counts wherever {release.VARIABLE}={path} is set, at once, also in kernels that already run.")
        return 0
    if options.output:
        return write(options.lessons, Path(options.output), execute=not options.plain)
    print(as_text(release.switch()))
    return 0


def as_text(now: release.Switch) -> str:
    """What the switch of this machine says, and how a teacher changes it."""
    meaning = {
        "on": "labkit.solution(...) answers everybody",
        "tried": f"it answers after a right answer or {release.ENOUGH} wrong ones",
        "off": "it answers nobody",
    }
    lines = [f"Solutions are '{now.word}': {meaning[now.word]}."]
    if now.problem:
        lines.append(f"  The reason: {now.problem}.")
    lines += [f"  Lesson {lesson}: '{word}'." for lesson, word in sorted((now.lessons or {}).items())]
    call = words.labkit("workshop solutions")
    return "\n".join(
        [
            *lines,
            "",
            f"Withhold them:   set {release.VARIABLE}=off before JupyterLab or the hub starts, or name a file there;",
            f"                 {call} --let off --file FILE    writes that file, --let on releases.",
            f"For yourself:    {call} 01 02 -o DIR    writes these lessons solved and executed.",
            "It is a courtesy and no lock: who can read the folder notebooks/solutions can read them.",
        ]
    )


def let(word: str, lessons: Sequence[str], path: Path | None = None) -> Path:
    """Writes the switch's file: ``word`` for the lessons named, else for all. Gives back the file.

    path: default what LABKIT_SOLUTIONS names.
    Raises LabkitError where no file is named, a lesson is unknown, or the file cannot be written.
    """
    path = path or release.file()
    if path is None:
        raise LabkitError(
            "Which file is the switch? None was named.",
            f"add --file FILE, the path that {release.VARIABLE} has where the learners' notebooks run.",
        )
    path = path.expanduser().absolute()
    chosen = [lesson.id for lesson in table.choose(lessons)] if lessons else []
    old = _there(path)
    single = {**(old.lessons or {}), **dict.fromkeys(chosen, word)} if chosen else {}
    lines = [old.word if chosen else word, *(f"{lesson} {what}" for lesson, what in sorted(single.items()))]
    files.write_text(path, "\n".join(lines) + "\n")
    return path


def _there(path: Path) -> release.Switch:
    """The switch in a file, which may not be there yet. Raises LabkitError for a file that is something else."""
    if not path.exists():
        return release.Switch("off", {})
    remedy = "name another file, or move that one away."
    try:
        old = release.parse(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError):
        old = None
    if old is None or old.problem:
        raise LabkitError(f"{path} is there, and is no file of this switch: it stays as it is.", remedy)
    return old


def write(names: Sequence[str], folder: Path, *, execute: bool = True) -> int:
    """Writes lessons with solutions filled in, by default executed; gives back 0, or 1 where an exercise did not pass.

    Raises LabkitError for an unknown lesson, one without exercises that was named, or a folder that cannot be written.
    """
    each = [(lesson, exercises(lesson)) for lesson in table.choose(names)]
    without = [lesson.id for lesson, to_solve in each if not to_solve]
    if names and without:
        raise LabkitError(
            f"Lesson {', '.join(without)} has no exercises, so there is nothing to solve.", "leave it out."
        )
    if folder.resolve().is_relative_to(table.NOTEBOOKS.resolve()):
        raise LabkitError(f"{folder} belongs to the lessons themselves.", "name another folder with -o.")
    status = 0
    for lesson, to_solve in each:
        if to_solve:
            status |= _write_one(lesson, to_solve, folder, execute)
    print(f"\nLessons with solutions are in {folder}. They are for you: learners have the notebooks without.")
    return status


def exercises(lesson: table.Lesson) -> tuple[str, ...]:
    """The names of a lesson's exercises, in its order."""
    from labkit.learn import lessons

    return tuple(item.name for item in lessons.lesson(lesson.id).items if item.kind == "exercise")


def filled(lesson: table.Lesson) -> str:
    """The lesson's notebook as text, every exercise cell with its solution; nothing is executed."""
    from labkit.learn import proofs
    from labkit.learn.solutions import path_of

    made = proofs.filled(form.parse(form.read(lesson.path)), path_of(lesson.id))
    return form.as_text(form.canonical(made))


def _write_one(lesson: table.Lesson, to_solve: Sequence[str], folder: Path, execute: bool) -> int:
    target = folder / lesson.path.name
    text = filled(lesson)
    if not execute:
        files.write_text(target, text)
        print(f"{lesson.label}: {len(to_solve)} exercises solved, not executed")
        return 0
    import nbformat

    from labkit.course import execute as executing

    limits = {**executing.LIMITS["quick"], **lesson.limits.get("quick", {})}
    with tempfile.TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True) as place:
        path = Path(place) / lesson.path.name
        path.write_text(text, encoding="utf-8")
        done = executing.execute(path, {}, limits["cell_s"], limits["lesson_s"])
    if done.notebook is not None:
        files.write_text(target, nbformat.writes(done.notebook) + "\n")
    said_pass = passed(done.notebook)
    failed = [name for name in to_solve if name not in said_pass]
    if done.error is not None:
        print(f"{lesson.label}: FAILED: {done.error.message}")
    elif failed:
        print(f"{lesson.label}: NOT PASSED: {', '.join(failed)}")
    else:
        print(f"{lesson.label}: {len(to_solve)} exercises solved, each says PASS ({done.seconds:.0f} s)")
    return 1 if done.error or failed else 0


def passed(notebook: object) -> set[str]:
    """The exercises whose check printed PASS in an executed notebook."""
    found: set[str] = set()
    for cell in getattr(notebook, "cells", ()):
        for output in cell.get("outputs", ()):
            if output.get("output_type") == "stream":
                found |= set(re.findall(r"^PASS (\w+)", "".join(output["text"]), re.MULTILINE))
    return found


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
