"""The learner's copies: brought, updated while untouched, never overwritten once they are changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.importable import ROOT
from labkit.workshop.hub import copies

LESSON = "01_first.ipynb"
NEW = "01_first.new.ipynb"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    (folder / "pages").mkdir(parents=True)
    (folder / LESSON).write_text("one")
    (folder / "pages" / "glossary.md").write_text("words")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01.py").write_text("secret")
    return folder


def test_everything_is_brought_but_the_solutions(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    assert copies.bring(source, mine) == [f"brought {LESSON}", "brought pages/glossary.md"]
    assert (mine / LESSON).read_text() == "one" and not (mine / "solutions").exists()
    assert copies.bring(source, mine) == []


def test_an_untouched_lesson_follows_the_course(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    copies.bring(source, mine)
    (source / LESSON).write_text("two")
    assert copies.bring(source, mine) == [f"updated {LESSON}"]
    assert (mine / LESSON).read_text() == "two" and not (mine / NEW).exists()


def test_a_changed_lesson_stays_and_the_new_one_comes_beside_it_once(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    copies.bring(source, mine)
    (mine / LESSON).write_text("my work")
    assert copies.bring(source, mine) == [], "the course did not change"
    (source / LESSON).write_text("two")
    assert copies.bring(source, mine) == [f"kept {LESSON}; the course's new one is {NEW}"]
    assert (mine / LESSON).read_text() == "my work" and (mine / NEW).read_text() == "two"
    assert copies.bring(source, mine) == []
    (mine / NEW).unlink()
    assert copies.bring(source, mine) == [], "what they deleted does not come back again and again"
    (source / LESSON).write_text("three")
    copies.bring(source, mine)
    assert (mine / LESSON).read_text() == "my work" and (mine / NEW).read_text() == "three"


def test_work_in_the_new_one_is_kept_too(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    copies.bring(source, mine)
    (mine / LESSON).write_text("my work")
    (source / LESSON).write_text("two")
    copies.bring(source, mine)
    (mine / NEW).write_text("more work")
    (source / LESSON).write_text("three")
    copies.bring(source, mine)
    assert (mine / NEW).read_text() == "more work"
    assert (mine / "01_first.new-2.ipynb").read_text() == "three"


def test_a_deleted_lesson_comes_back(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    copies.bring(source, mine)
    (mine / LESSON).unlink()
    assert copies.bring(source, mine) == [f"brought {LESSON}"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["course", "learner", "bring", "forget"]), st.text("ab", max_size=2)), max_size=12
    )
)
def test_whatever_happens_the_learner_s_text_is_never_lost(steps: list[tuple[str, str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source, mine = Path(folder, "course"), Path(folder, "mine")
        source.mkdir()
        (source / LESSON).write_text("0")
        written = None  # what the learner wrote last
        for number, (step, text) in enumerate(steps):
            if step == "course":
                (source / LESSON).write_text(text)
            elif step == "learner" and mine.exists():
                written = f"mine {number} {text}"
                (mine / LESSON).write_text(written)
            elif step == "forget":
                (mine / copies._RECORD).unlink(missing_ok=True)
            else:
                copies.bring(source, mine)
            if written is not None:
                assert (mine / LESSON).read_text() == written


def test_the_real_course_is_brought(tmp_path: Path) -> None:
    said = copies.bring(ROOT / "notebooks", tmp_path / "mine")
    assert "brought 00_environment_check.ipynb" in said and "brought scripts/ddp_train.py" in said
