"""From an executed notebook to the notebook of its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.course.table import Lesson
from labkit.site import lesson as lesson_page
from tests.site import made

MI300X = {
    **made.MACHINE,
    "torch": {"version": "2.14.1+rocm7.2", "build": "rocm", "hip": "7.2", "device": "cuda:0", "product": "AMD Instinct MI300X",
              "gfx": "gfx942:sramecc+:xnack-"},
}  # fmt: skip


@pytest.fixture
def lesson(tmp_path: Path) -> Lesson:
    return made.write_lesson(tmp_path, "00", "first", made.code("x"), made.code("y"))


def test_the_page_says_when_and_where_it_was_executed(lesson: Lesson) -> None:
    said = lesson_page.when_and_where(made.executed(lesson))
    assert said == (
        "Executed on 2026-11-30 16:28 UTC with torch 2.14.1+cpu on the CPU of a Linux x86_64 machine, quick profile. "
        "Not yet verified on ROCm."
    )


def test_a_run_on_rocm_is_told_with_its_product(lesson: Lesson) -> None:
    said = lesson_page.when_and_where(made.executed(lesson, machine=MI300X))
    assert "on AMD Instinct MI300X (gfx942) of a Linux x86_64 machine" in said and "Not yet verified" not in said
    without_a_gpu = {**MI300X, "torch": {**MI300X["torch"], "product": None, "gfx": None, "device": "cpu"}}  # type: ignore[dict-item]
    assert "Not yet verified on ROCm" in lesson_page.when_and_where(made.executed(lesson, machine=without_a_gpu))


def test_a_stand_in_and_other_parameters_are_told(lesson: Lesson) -> None:
    said = lesson_page.when_and_where(
        made.executed(lesson, stand_in=True, parameters={"profile": "quick", "epochs": 7})
    )
    assert "quick profile and epochs = 7." in said and "stand-in" in said
    assert "stand-in" not in lesson_page.when_and_where(made.executed(lesson, stand_in=False))


def test_facts_and_copies_stand_under_the_title(lesson: Lesson) -> None:
    text = lesson_page.page(made.executed(lesson), "https://mybinder.org/x?a=1&b=2")["cells"][0]["source"]
    assert text.startswith("# 00 · first\n\n<div") and text.endswith("See [the words](pages/glossary.md).")
    assert 'href="download/00_first.ipynb" download' in text and "https://mybinder.org/x?a=1&amp;b=2" in text
    assert "Binder" not in lesson_page.page(made.executed(lesson))["cells"][0]["source"]


def test_what_papermill_added_is_gone_and_the_given_notebook_stays_as_it_is(lesson: Lesson) -> None:
    given = made.executed(lesson)
    page = lesson_page.page(given)
    assert len(page["cells"]) == len(given.notebook["cells"]) - 1 and "papermill" not in page["metadata"]
    assert not any("injected" in str(cell["metadata"]) for cell in page["cells"])
    assert "papermill" in given.notebook["metadata"] and "Executed" not in given.notebook["cells"][0]["source"]


def test_figures_have_words_and_alternative_texts(lesson: Lesson) -> None:
    described = made.figure("first <b>\nsecond", alt="Two words.", width=300)
    bare = made.figure("<Figure size 640x480 with 1 Axes>")
    page = lesson_page.page(made.executed(lesson, outputs={3: [described], 4: [bare]}))
    outputs = [output for cell in page["cells"] for output in cell.get("outputs", [])]
    assert len(outputs) == 3, "the second figure has no words of its own"
    words = outputs[1]["data"]["text/html"]
    assert "<details" in words and "first &lt;b&gt;\nsecond" in words
    assert lesson_page.figures(page) == [
        lesson_page.Figure("Two words.", 300),
        lesson_page.Figure("Figure of the section 1 · Look.", None),
    ]


def test_a_widget_with_a_still_form_is_shown_as_that_and_another_says_that_it_is_still(lesson: Lesson) -> None:
    view = {made.WIDGET: {"model_id": "a1"}, "text/html": "<p>still</p>"}
    page = lesson_page.page(made.executed(lesson, widgets=True, outputs={3: [made.shown(view)]}))
    assert page["cells"][3]["outputs"][0]["data"] == {"text/html": "<p>still</p>"}
    assert "widgets" not in page["metadata"], "no page loads the widget manager for nothing"
    page = lesson_page.page(made.executed(lesson, widgets=True, outputs={3: [made.slider()]}))
    assert "widgets" in page["metadata"] and len(page["cells"][3]["outputs"]) == 2
    assert "not on this page" in page["cells"][3]["outputs"][1]["data"]["text/html"]


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ("", ""),
        ("https://github.com/you/labs/", "https://mybinder.org/v2/gh/you/labs/HEAD?urlpath=lab%2Ftree%2Fnotebooks%2F00.ipynb"),
        ("https://github.com/you/labs.git", "https://mybinder.org/v2/gh/you/labs/HEAD?urlpath=lab%2Ftree%2Fnotebooks%2F00.ipynb"),
        ("https://example.org/you/labs",
         "https://mybinder.org/v2/git/https%3A%2F%2Fexample.org%2Fyou%2Flabs/HEAD?urlpath=lab%2Ftree%2Fnotebooks%2F00.ipynb"),
    ],
)  # fmt: skip
def test_binder_only_where_the_repository_is_known(repository: str, address: str) -> None:
    assert lesson_page.binder_address(repository, "00.ipynb") == address


def test_folders_of_this_machine_stand_in_no_output_and_in_no_fact(lesson: Lesson) -> None:
    printed = made.printed("of binary: /srv/me/env/bin/python\n")
    given = made.executed(lesson, outputs={3: [printed]}, parameters={"profile": "quick", "epochs": "/srv/me/env/x"})
    cells = lesson_page.page(given, folders={"/srv/me/env": ".venv"})["cells"]
    assert cells[3]["outputs"][0]["text"] == "of binary: .venv/bin/python\n"
    assert "epochs = '.venv/x'" in cells[0]["source"].replace("&#x27;", "'")
    assert "/srv/me" in str(given.notebook), "the given notebook stays as it is"
