"""``labkit site``: from the clone to a folder of static pages that a browser opens without network or server."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from labkit.course import execute, report, table
from labkit.course.table import Course
from labkit.errors import LabkitError
from labkit.importable import ROOT
from labkit.site import documents, links, observed, pages, sphinx_build
from labkit.site.executed import Executed, taken, up_to_date
from labkit.site.lesson import DOWNLOADS

OUTPUT = execute.BUILD / "site"
Seen = tuple[Mapping[str, Mapping[str, Any]], str]  # by a claim's id what its probe saw; when and with what, in words
SITE = "rocm-labs"
MARK = "site.json"  # says that a folder is a site of ours, which a new one may replace


def main(options: argparse.Namespace) -> int:
    """Builds the site and says where it is. Raises LabkitError, as ``build``."""
    output = Path(options.output) if options.output else OUTPUT
    built = build(output, Path(options.executed) if options.executed else None)
    print(f"The site is in {built}. Open {built / 'index.html'} in a browser; it needs no network.")
    return 0


def build(
    output: Path,
    executed: Path | None = None,
    *,
    course: Course | None = None,
    root: Path = ROOT,
    lessons: Callable[[Course], Sequence[Executed]] | None = None,
) -> Path:
    """Builds the whole site beside ``output``, then puts it in its place; returns ``output``.

    Args:
        output: the folder of the site. An older site there is replaced at the end, and stays whole until then.
        executed: a folder that ``labkit run -o`` filled; None executes what changed since the last time, and the probes of claims.
        course: the lessons (default: notebooks/course.toml).
        root: the clone.
        lessons: where the executed lessons come from instead, for tests.

    Raises:
        LabkitError: a lesson failed or does not belong to this clone, a page or link is wrong, or ``output`` cannot be used.
    """
    output = output.expanduser().resolve()  # '.' has no name, and a link is to stay one
    _refuse_other_folder(output)
    course = table.load() if course is None else course
    seen: Seen = ({}, "")
    if lessons is not None:
        ready = lessons(course)
    elif executed is not None:
        ready = taken(executed, course.lessons)
    else:
        ready = up_to_date(course.lessons)
        seen = observed.up_to_date()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}."))
    except OSError as error:
        raise LabkitError(f"{output} cannot be made: {error.strerror or error}.", "choose another with -o.") from None
    try:
        new = _pages(work, course, ready, root, seen)
        wrong = links.check(new)
        if wrong:
            raise LabkitError(
                "Links of the site lead nowhere:\n  " + "\n  ".join(wrong[:20]), "mend the pages that hold them."
            )
        _mark(new, ready)
        _refuse_other_folder(output)  # building took minutes
        _swap(new, output, work)
    except OSError as error:
        raise LabkitError(
            f"The site cannot be written: {error.strerror or error}.",
            f"check that the disk of {output.parent} has room and is yours to write to. An older site there is as it was.",
        ) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return output


def _pages(work: Path, course: Course, ready: Sequence[Executed], root: Path, seen: Seen) -> Path:
    """All pages, in a folder under ``work``."""
    source, new, extra = work / "source", work / "html", work / "extra"
    (source / "pages").mkdir(parents=True)
    facts = _facts(source / "pages", root, {one.lesson.label for one in ready}, seen)
    written = documents.write(source, course, ready, root, facts)
    (extra / DOWNLOADS).mkdir(parents=True)
    for one in ready:
        shutil.copyfile(one.lesson.path, extra / DOWNLOADS / one.lesson.path.name)
    sphinx_build.run(
        written,
        new,
        work / "doctrees",
        sphinx_build.settings(course.title, written, [sphinx_build.STATIC, pages.STATIC], extra),
    )
    for left in (new / ".buildinfo", *(new / "_static").glob("*webpack-macros.html")):  # templates of the themes
        left.unlink(missing_ok=True)
    return new


def _facts(folder: Path, root: Path, labels: Set[str], seen: Seen) -> Sequence[str]:
    """The tables of what is known, written as documents; their names.

    labels: of the lessons that have a page. seen: what probes of claims saw, and when.
    """
    return pages.write(
        folder,
        reports=root / "reports",
        lesson_address=lambda label: f"../{label}.html" if label in labels else "",
        observed=seen[0],
        observed_when=seen[1],
    )


def _refuse_other_folder(output: Path) -> None:
    """A folder that is not a site of ours is never replaced, nor one into which somebody put files of their own."""
    if output.is_dir():
        try:
            there = _names(output)
            marked = json.loads((output / MARK).read_text(encoding="utf-8")) if MARK in there else None
        except (OSError, ValueError, RecursionError):
            marked = None
        if there and not (isinstance(marked, dict) and marked.get("site") == SITE):
            raise LabkitError(f"{output} holds something else than a site of labkit.", "choose another folder with -o.")
        known = marked.get("files") if marked else None
        own = sorted(there - {MARK, *map(str, known)}) if isinstance(known, list) else []
        if own:
            more = f" and {len(own) - 1} more" if len(own) > 1 else ""
            raise LabkitError(
                f"{output} holds {own[0]}{more} beside the site, which a new site would delete.",
                "move that away first, or choose another folder with -o.",
            )
    elif output.exists():
        raise LabkitError(f"{output} is a file.", "choose another folder with -o.")


def _names(folder: Path) -> set[str]:
    """Every file and link below a folder, as paths with forward slashes."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def _mark(new: Path, ready: Sequence[Executed]) -> None:
    lessons = {one.lesson.id: one.row.get("executed") for one in ready}
    built = report.utc(datetime.now(timezone.utc))
    told = {"site": SITE, "built": built, "executed": lessons, "files": sorted(_names(new))}
    (new / MARK).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _swap(new: Path, output: Path, work: Path) -> None:
    """The new site takes the old one's place; where that fails, the old one comes back."""
    old = work / "old"
    try:
        if output.exists():
            output.rename(old)
        try:
            new.rename(output)
        except BaseException:  # Ctrl-C, too
            with contextlib.suppress(OSError):
                old.rename(output)
            raise
    except OSError as error:
        raise LabkitError(
            f"{output} cannot be replaced: {error.strerror or error}.",
            "close what uses the folder, or choose another with -o.",
        ) from None
