"""Slides: which cells, what they show, and in a browser: keys, size, no request, nothing for axe to find."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from labkit import cli
from labkit.course import form, table
from labkit.workshop import slide_text, slides
from tests.browser.chromium import with_page

PIXEL = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()


def markdown(text: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": text, "metadata": {"tags": list(tags)}}


def code(text: str, *tags: str, outputs: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"cell_type": "code", "source": text, "metadata": {"tags": list(tags)}, "outputs": list(outputs)}


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def made(*cells: dict[str, Any]) -> list[slides.Slide]:
    return slides.of_notebook({"cells": list(cells)})


def kinds(*cells: dict[str, Any]) -> list[str]:
    return [slide.kind for slide in made(*cells)]


HEAD = markdown("# 01 · A\n\nLevel.\n\nAfterwards you can\n\n- one,\n- two.")


def test_the_rule() -> None:
    found = made(
        HEAD,
        code("x = 1  # a parameter", "parameters"),
        markdown("## 1 · Part\n\nFirst paragraph.\n\nSecond, for reading."),
        code("y = 2"),
        code("def f():\n    return 1"),
        code("print(3)", "golden", "nbval-check-output", outputs=(printed("3\n"),)),
        markdown("**Guess first.** How many?"),
        code('labkit.predict("How many are there?", unit="x")'),
        markdown("Just text."),
        markdown("> **Folklore: it flies.**"),
        markdown("## Exercise 1 · Do it\n\nWrite it."),
        code("def g():\n    return NotImplemented", "exercise", "exercise:g"),
        code('check("g", g)', outputs=(printed("TODO g: no\n"),)),
        markdown("## Your progress"),
    )
    assert [(slide.kind, slide.heading, slide.cell) for slide in found] == [
        ("title", "01 · A", 1),
        ("part", "1 · Part", 3),
        ("code", "1 · Part", 5),
        ("code", "1 · Part", 6),
        ("ask", "1 · Part", 7),
        ("claim", "1 · Part", 10),
        ("exercise", "Exercise 1 · Do it", 11),
        ("exercise", "Exercise 1 · Do it", 12),
    ]
    assert "<li>one,</li>" in found[0].body and "Level" not in found[0].body
    assert "First paragraph." in found[1].body and "for reading" not in found[1].body
    assert '<pre class="out">3</pre>' in found[3].body
    assert "How many?" in found[4].body and "How many are there?" in found[4].body


def test_a_lead_is_whole_sentences_and_takes_the_command_that_it_announces() -> None:
    announced = markdown("## 2 · Run\n\nIt is run like this:\n\n```\nlabkit run 01\n```\n\nMore.")
    (part,) = made(announced)
    assert "<pre><code>labkit run 01" in part.body and "More." not in part.body
    long = markdown("## 3 · Long\n\n" + "One: two three four five. " * 30)
    (part,) = made(long)
    assert part.body.count("One: two") == 12 and part.body.rstrip("</div>\np").endswith("five.")
    assert kinds(markdown("## 4 · Only a heading\n\n> **Saying.**")) == ["claim"], "no slide with a heading alone"


def test_tags_force_a_slide_and_leave_one_out() -> None:
    text = markdown("Just text.", "slide")
    assert kinds(HEAD, text) == ["title", "part"] and kinds(HEAD, markdown("Just text.")) == ["title"]
    long = "\n".join(f"x{n} = {n}" for n in range(30))
    assert kinds(HEAD, code("x = 1", "slide")) == ["title", "code"]
    assert kinds(HEAD, code(long, "slide")) == ["title"], "too long to be read from the back"
    assert kinds(HEAD, code("def f(): ...", "no-slide"), markdown("> no", "no-slide")) == ["title"]


def test_a_figure_has_its_words_and_a_quiz_no_answer() -> None:
    picture = {
        "output_type": "display_data",
        "data": {"image/png": PIXEL},
        "metadata": {"image/png": {"alt": 'a "dot"'}},
    }
    found = made(HEAD, code("draw()", outputs=(picture,)), code('quiz("who_waits")'))
    assert [slide.kind for slide in found] == ["title", "figure", "quiz"]
    assert 'alt="a &quot;dot&quot;"' in found[1].body and PIXEL in found[1].body
    assert "1." in found[2].body and "PASS" not in found[2].body and "QUIZ" not in found[2].body


def test_what_a_lesson_writes_cannot_become_html() -> None:
    page = slides.page(
        "t",
        made(
            markdown("# <b>x</b>\n\n- <script>1</script>"), code("a = '</pre><i>'", "golden"), code("a b '", "golden")
        ),
    )
    assert "<script>1" not in page and "<b>x" not in page and "</pre><i>" not in page
    assert "a b '" in page, "code that is no Python stands as it is"


def test_links_into_the_course_are_words_and_outside_ones_stay() -> None:
    page = slides.page(
        "t", made(markdown("# x\n\n- [next](03_mixed_precision.ipynb) and [AMD](https://rocm.docs.amd.com)"))
    )
    assert "03_mixed_precision.ipynb" not in page and 'href="https://rocm.docs.amd.com"' in page


@pytest.mark.parametrize("lesson", table.load().lessons, ids=lambda one: one.label)
def test_each_lesson_has_slides_of_its_parts_and_exercises(lesson: table.Lesson) -> None:
    notebook = form.parse(form.read(lesson.path))
    found = slides.of_notebook(notebook)
    assert found[0].kind == "title" and "<li>" in found[0].body and 20 <= len(found) <= 120
    stubs = [
        number for number, cell in enumerate(notebook["cells"], 1) if "exercise" in cell["metadata"].get("tags", [])
    ]
    assert set(stubs) <= {slide.cell for slide in found if slide.kind == "exercise"}
    assert all(slide.heading for slide in found)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["workshop", "slides", "mnist", "-o", str(tmp_path / "a" / "s.html")]) == 0
    out = capsys.readouterr().out
    assert "slides, 0 of them figures" in out and "labkit run 01 -o DIR" in out
    page = (tmp_path / "a" / "s.html").read_text(encoding="utf-8")
    assert page.count("<section") == int(out.split()[0])
    assert not re.search(r"""(src|href)=["'](?!data:|https?://)""", page) and "{{" not in page
    assert cli.main(["workshop", "slides", "01", "--from", str(tmp_path)]) == 1
    assert "holds no executed 01_mnist.ipynb" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ in a browser


@pytest.mark.browser
def test_in_a_browser_keys_work_it_is_large_and_axe_finds_nothing(tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    lesson = table.find("01")
    path = tmp_path / "slides.html"
    path.write_text(slides.page("01", slides.of_notebook(form.parse(form.read(lesson.path)))), encoding="utf-8")

    def look(page: Any) -> None:
        asked: list[str] = []
        errors: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        shown = "document.getElementById('place').textContent"
        count = page.locator("section").count()
        assert page.evaluate(shown) == f"1 of {count}"
        for key, place in (
            ("ArrowRight", 2),
            ("PageDown", 3),
            (" ", 4),
            ("ArrowLeft", 3),
            ("End", count),
            ("Home", 1),
        ):
            page.keyboard.press(key)
            assert page.evaluate(shown) == f"{place} of {count}", key
        page.get_by_role("button", name="Next").focus()
        page.keyboard.press("Enter")
        assert page.evaluate(shown) == f"2 of {count}" and page.url.endswith("#2")
        assert page.locator("section:visible").count() == 1
        page.keyboard.press("Home")
        for number in range(1, count + 1):
            small = page.evaluate(
                """() => { const s = document.querySelector('section:not([hidden])');
                return [...s.querySelectorAll('pre, p:not(.above), li, h1')].map(e => parseFloat(getComputedStyle(e).fontSize)) }"""
            )
            assert min(small) >= 14, f"slide {number} has letters of {min(small)} px on a page of 720"
            assert not page.evaluate("document.querySelector('section:not([hidden])').classList.contains('tall')"), (
                number
            )
            if number <= 12:
                results = Axe().run(page)
                assert results.violations_count == 0, f"slide {number}: {results.generate_report()}"
            page.keyboard.press("ArrowRight")
        page.emulate_media(media="print")
        assert page.locator("section:visible").count() == count, "printed, each slide has its page"
        assert asked == [path.as_uri()] and not errors

    with_page(look, viewport={"width": 1280, "height": 720})


def test_signs_between_the_words_of_code_are_escaped() -> None:
    made = slide_text.code("if a < b & c:\n    d = '<b>'\n")
    assert "a &lt; b &amp; c" in made and "&lt;b&gt;" in made and "<b>" not in made
