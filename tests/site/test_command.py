"""The whole way from lessons to a folder of pages, with a small clone and the real Sphinx; and what never happens on it."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import pytest

from labkit.course.table import Course
from labkit.errors import LabkitError
from labkit.site import command, links
from tests.site import made

OURS = '{"site": "rocm-labs"}'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the small clone."""
    base = tmp_path_factory.mktemp("small")
    course = made.clone(base / "clone", "https://github.com/you/labs")
    return command.build(base / "site", course=course, root=base / "clone", lessons=made.all_executed)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_page_is_there_and_its_links_lead_somewhere(built: Path) -> None:
    for name in (
        "index",
        "00_first",
        "01_second",
        "02_third",
        "pages/glossary",
        "commands",
        "contributing",
        "benchmarks",
        "search",
    ):
        assert (built / f"{name}.html").is_file(), name
    assert links.check(built) == []
    assert json.loads(text(built / command.MARK))["executed"]["00"] == made.WHEN
    assert not list(built.parent.glob(".site.*")), "nothing is left over beside it"


def test_a_lesson_s_page_holds_its_outputs_its_facts_and_its_copies(built: Path) -> None:
    first, second = text(built / "00_first.html"), text(built / "01_second.html")
    assert "hello" in first and "Executed on 2026-11-30 16:28 UTC with torch 2.14.1+cpu" in first
    assert 'href="https://mybinder.org/v2/gh/you/labs/HEAD?urlpath=lab%2Ftree%2Fnotebooks%2F00_first.ipynb"' in first
    assert "injected" not in text(built / "download" / "00_first.ipynb") and "stand-in" in second
    assert re.search(r'<img alt="A line that rises from left to right\."[^>]*width: 320px', second)
    assert "The same in words" in second and 'lang="en"' in first


def test_each_page_has_one_title(built: Path) -> None:
    """The theme's own part that only a printer shows repeats it."""
    for path in built.rglob("*.html"):
        shown = re.sub(r'<div id="jb-print-docs-body".*?</h1>', "", text(path), flags=re.DOTALL)
        assert len(re.findall("<h1", shown)) == 1, path.name


def test_mathjax_and_the_widget_manager_are_loaded_from_here_and_only_where_they_are_needed(built: Path) -> None:
    first, third = text(built / "00_first.html"), text(built / "02_third.html")
    for file in ("mathjax/tex-chtml.js", "requirejs/require.js", "htmlmanager/embed-amd.js"):
        assert f'src="_static/{file}' in third and file not in first
    assert "application/vnd.jupyter.widget-state+json" in third


def clone(tmp_path: Path) -> Course:
    return made.clone(tmp_path / "clone")


def test_a_folder_with_something_else_in_it_is_refused_and_stays(tmp_path: Path) -> None:
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(LabkitError, match="holds something else"):
        command.build(other, course=clone(tmp_path), root=tmp_path / "clone", lessons=made.all_executed)
    assert text(other / "thesis.txt") == "years"
    with pytest.raises(LabkitError, match="is a file"):
        command.build(
            other / "thesis.txt", course=made.clone(tmp_path / "b"), root=tmp_path / "b", lessons=made.all_executed
        )


@pytest.mark.parametrize("mark", ['{"name": "my own"}', "{}", "[]", "[" * 100_000, "\x00"], ids=len)
def test_another_site_json_does_not_make_a_folder_ours(tmp_path: Path, mark: str) -> None:
    (tmp_path / "blog").mkdir()
    (tmp_path / "blog" / command.MARK).write_text(mark, encoding="utf-8")
    (tmp_path / "blog" / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(LabkitError, match="holds something else"):
        command.build(tmp_path / "blog", course=clone(tmp_path), root=tmp_path / "clone", lessons=made.all_executed)
    assert text(tmp_path / "blog" / "thesis.txt") == "years"


@pytest.mark.parametrize("name", ["mine.txt", "_static/mine.txt", ".git/HEAD"])
def test_somebody_s_own_files_in_a_site_of_ours_are_not_deleted(tmp_path: Path, name: str) -> None:
    site = tmp_path / "site"
    (site / name).parent.mkdir(parents=True)
    (site / "index.html").write_text("old", encoding="utf-8")
    command._mark(site, [])
    command._refuse_other_folder(site)  # as it was built
    (site / name).write_text("years", encoding="utf-8")
    with pytest.raises(LabkitError, match=f"holds {name} beside the site"):
        command.build(site, course=clone(tmp_path), root=tmp_path / "clone", lessons=made.all_executed)
    assert text(site / name) == "years"


def test_a_link_stays_and_its_target_gets_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pages(work: Path, *_: object) -> Path:
        (work / "html").mkdir()
        (work / "html" / "index.html").write_text("new", encoding="utf-8")
        return work / "html"

    monkeypatch.setattr(command, "_pages", pages)
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to("place")
    course = clone(tmp_path)
    command.build(tmp_path / "link", course=course, root=tmp_path / "clone", lessons=made.all_executed)
    assert (tmp_path / "link").is_symlink() and text(tmp_path / "place" / "index.html") == "new"
    monkeypatch.chdir(tmp_path / "place")
    command.build(Path(), course=course, root=tmp_path / "clone", lessons=made.all_executed)
    assert text(tmp_path / "place" / "index.html") == "new"


def test_a_disk_that_fills_up_is_a_sentence_and_leaves_the_old_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(work: Path, *_: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device", str(work / "source"))

    monkeypatch.setattr(command, "_pages", full)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / command.MARK).write_text(OURS, encoding="utf-8")
    with pytest.raises(LabkitError, match="cannot be written: No space left on device"):
        command.build(tmp_path / "site", course=clone(tmp_path), root=tmp_path / "clone", lessons=made.all_executed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clone", "site"]
    assert text(tmp_path / "site" / command.MARK) == OURS


def test_ctrl_c_between_the_two_renames_brings_the_old_site_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, rename = tmp_path / "site", tmp_path / "work" / "html", Path.rename
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / folder.name).write_text("", encoding="utf-8")

    def stopped(self: Path, target: Path) -> Path:
        if self == new:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt):
        command._swap(new, old, tmp_path / "work")
    assert [path.name for path in old.iterdir()] == ["site"]


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("notebooks/pages/glossary.md", "# Glossary\n\n[gone](gone.md)\n", r"pages/glossary\.md:3: WARNING.*gone\.md"),
        ("notebooks/pages/glossary.md", '# Glossary\n\n<a href="gone.html">x</a>\n', r"gone\.html is not there"),
        ("README.md", "# Made\n", "has no part '## The lessons'"),
    ],
)
def test_a_site_that_cannot_be_built_leaves_the_old_one_whole(
    tmp_path: Path, file: str, content: str, problem: str
) -> None:
    course = clone(tmp_path)
    (tmp_path / "clone" / file).write_text(content, encoding="utf-8")
    old = tmp_path / "site"
    old.mkdir()
    (old / command.MARK).write_text(OURS, encoding="utf-8")
    (old / "index.html").write_text("old", encoding="utf-8")
    with pytest.raises(LabkitError, match=problem):
        command.build(old, course=course, root=tmp_path / "clone", lessons=made.all_executed)
    assert text(old / "index.html") == "old" and sorted(path.name for path in tmp_path.iterdir()) == ["clone", "site"]


def test_a_failed_lesson_leaves_the_old_one_whole(tmp_path: Path) -> None:
    def fail(course: Course) -> list:
        raise LabkitError("Lesson 00 First failed.")

    old = tmp_path / "site"
    old.mkdir()
    (old / command.MARK).write_text(OURS, encoding="utf-8")
    with pytest.raises(LabkitError, match="failed"):
        command.build(old, course=clone(tmp_path), root=tmp_path / "clone", lessons=fail)
    assert [path.name for path in old.iterdir()] == [command.MARK]


def test_an_older_site_is_replaced_whole(tmp_path: Path) -> None:
    old, new = tmp_path / "site", tmp_path / "work" / "html"
    for folder, name in ((old, "gone.html"), (new, "index.html")):
        folder.mkdir(parents=True)
        (folder / name).write_text("", encoding="utf-8")
    command._swap(new, old, tmp_path / "work")
    assert [path.name for path in old.iterdir()] == ["index.html"]
