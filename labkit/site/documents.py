"""Writes what Sphinx reads: the lessons' pages, the course's other pages, and an index that leads to them."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.course.table import Course
from labkit.errors import LabkitError
from labkit.site import lesson as lesson_page
from labkit.site import private
from labkit.site.executed import Executed
from labkit.site.lesson import Figure

# Pages of notebooks/pages in the order of the contents; others follow by name. Those for teachers have a part of their own.
LOOK_UP = ("glossary", "guides", "clusters")
TEACHING = ("teaching", "syllabi", "hub", "hub_kubernetes", "hub_slurm")
# Files of the root of the repository that are pages, too: file -> (document, title in the contents)
OF_THE_ROOT = {
    "README.md": ("commands", "All commands"),
    "benchmarks/README.md": ("benchmarks", "What was measured"),
    "reports/README.md": ("reports", "Reports of machines"),
    "CONTRIBUTING.md": ("contributing", "Contributing"),
}


@dataclass(frozen=True)
class Documents:
    """The folder that Sphinx reads, and the figures of each lesson's page (document -> figures in order)."""

    folder: Path
    figures: Mapping[str, Sequence[Figure]]


def write(
    folder: Path, course: Course, executed: Sequence[Executed], root: Path, facts: Sequence[str] = ()
) -> Documents:
    """Writes all documents into an empty folder.

    Args:
        root: the clone, for README.md and the folder ``notebooks``.
        facts: names of documents that were written into ``folder/pages`` before: the tables of what is known.
    """
    notebooks = root / "notebooks"
    figures = {}
    folders = private.folders(root)
    for one in executed:
        binder = lesson_page.binder_address(course.repository, one.lesson.path.name)
        page = lesson_page.page(one, binder, folders)
        figures[one.lesson.label] = lesson_page.figures(page)
        (folder / one.lesson.path.name).write_text(json.dumps(page), encoding="utf-8")
    for name in ("pages", "notes", "scripts", "solutions"):
        if (notebooks / name).is_dir():
            shutil.copytree(
                notebooks / name, folder / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
    for file, (document, title) in OF_THE_ROOT.items():
        if not (root / file).is_file():
            continue
        text = (root / file).read_text(encoding="utf-8")
        (folder / f"{document}.md").write_text(_of_the_root(text, file, title), encoding="utf-8")
    (folder / "index.md").write_text(index(folder, course, executed, root, facts), encoding="utf-8")
    return Documents(folder, figures)


def index(folder: Path, course: Course, executed: Sequence[Executed], root: Path, facts: Sequence[str]) -> str:
    """The first page: what this is, the two commands, the lessons, and the contents of the whole site."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    before, found, _ = readme.partition("\n## The lessons\n")
    if not found:
        raise LabkitError(
            "README.md has no part '## The lessons', so the first page cannot be made.", "restore it from git."
        )
    pages = sorted(path.stem for path in (folder / "pages").glob("*.md")) if (folder / "pages").is_dir() else []
    taken = set(facts) | set(TEACHING)
    look_up = [name for name in LOOK_UP if name in pages]
    look_up += [name for name in pages if name not in (*taken, *LOOK_UP)]
    teaching = [f"pages/{name}" for name in TEACHING if name in pages]
    notes = sorted(f"notes/{path.stem}" for path in (folder / "notes").glob("*.md"))
    hours = sum(lesson.minutes for lesson in course.lessons) / 60
    parts = [
        _links(before, "").strip(),
        "## The lessons",
        f"{len(course.lessons)} lessons, about {hours:.0f} hours with reading and exercises. Every page of a lesson says when and on "
        "what it was executed; what its cells print there is what they printed then.",
        _lessons(executed),
        "This site needs no network and no server: copy the folder anywhere and open `index.html`.",
        _contents("Lessons", [one.lesson.label for one in executed]),
        _contents("What is known", [f"pages/{name}" for name in facts]),
        _contents("Look it up", [f"pages/{name}" for name in look_up]),
        _contents("For teachers", [*teaching, *_notes(folder, notes)]),
        _contents(
            "The project", [document for document, _ in OF_THE_ROOT.values() if (folder / f"{document}.md").is_file()]
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _notes(folder: Path, notes: Sequence[str]) -> list[str]:
    """One entry for all notes: a page that lists them."""
    if not notes:
        return []
    text = (
        "# Notes for the teacher\n\nFor each lesson: its aim, usual questions, usual mistakes with what to say, what to cut when late,"
        " and what to discuss.\n\n```{toctree}\n:maxdepth: 1\n\n"
        + "\n".join(name.removeprefix("notes/") for name in notes)
        + "\n```\n"
    )
    (folder / "notes" / "index.md").write_text(text, encoding="utf-8")
    return ["notes/index"]


def _lessons(executed: Sequence[Executed]) -> str:
    rows = ["| lesson | set aside | level | what you do |", "|---|---|---|---|"]
    for one in executed:
        row = one.lesson
        rows.append(f"| [{row.id} {row.title}]({row.path.name}) | {row.minutes} min | {row.level} | {row.summary} |")
    return "\n".join(rows)


def _contents(caption: str, documents: Sequence[str]) -> str:
    if not documents:
        return ""
    return f"```{{toctree}}\n:caption: {caption}\n:hidden:\n\n" + "\n".join(documents) + "\n```"


def _of_the_root(text: str, file: str, title: str) -> str:
    """A file of the repository's root as a page: its title says what it is here, its links lead to the site's pages."""
    folder = file.rpartition("/")[0]
    return _links(re.sub(r"\A# [^\n]+", f"# {title}", text), folder)


def _links(text: str, folder: str) -> str:
    """Links of a file in ``folder`` of the clone ("" is the root), rewritten to where their targets are among the documents.

    Of a link to a file of the clone that is no document only the words stay.
    """

    def moved(match: re.Match[str]) -> str:
        words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, mark, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(folder, path))
        if full in OF_THE_ROOT:
            return f"[{words}]({OF_THE_ROOT[full][0]}.md{mark}{anchor})"
        return f"[{words}]({full.removeprefix('notebooks/')}{mark}{anchor})" if full.startswith("notebooks/") else words

    return re.sub(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)", moved, text)
