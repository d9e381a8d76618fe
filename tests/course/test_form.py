"""The canonical form of notebooks: what is kept, what is dropped, what is named, and that fixing twice is fixing once."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.course import form
from labkit.course.table import Lesson
from labkit.errors import LabkitError

GOLDEN = ["golden", "nbval-check-output"]
TITLE = "# Made lesson\n\n*beginner, about 5 minutes*"
LESSON = Lesson(
    id="90",
    name="made",
    title="Made lesson",
    minutes=5,
    level="beginner",
    needs=(),
    summary="",
    path=Path("90_made.ipynb"),
    full={"epochs": 9},
)


def code(source: str, *tags: str, outputs: Any = (), count: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": more.pop("id", None),
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source,
        "outputs": list(outputs),
        "execution_count": count,
        **more,
    }


def words(source: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": more.pop("id", None), "metadata": {}, "source": source, **more}


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    return {"cells": copy.deepcopy(list(cells)), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def good(*extra: dict[str, Any]) -> dict[str, Any]:
    """A lesson that has nothing to complain about, in canonical form."""
    golden = [
        code(f"print({number})", *GOLDEN, outputs=[printed(f"{number}\n")], count=number + 2) for number in range(3)
    ]
    start = [words(TITLE), code('profile = "quick"  # or full\nepochs = 2', "parameters")]
    return form.canonical(notebook(*start, *golden, *extra, words("The end.")))


def complaints(made: dict[str, Any], lesson: Lesson | None = LESSON) -> list[str]:
    return [str(complaint) for complaint in form.check(form.as_text(made), "made.ipynb", lesson)]


# ---------------------------------------------------------------- form


def test_a_canonical_lesson_has_no_complaint() -> None:
    assert complaints(good()) == []


def test_the_canonical_text_is_a_valid_notebook_and_what_nbformat_would_write() -> None:
    nbformat = pytest.importorskip("nbformat")
    text = form.as_text(good())
    read = nbformat.reads(text, as_version=4)
    nbformat.validate(read)
    assert nbformat.writes(read) + "\n" == text


def test_text_tags_and_valid_ids_are_kept() -> None:
    made = form.canonical(
        notebook(words("a\n\nb", id="my-id"), code("x = 1\n\ny = 2", "b", "a", id="other_1"), words("c"))
    )
    assert [cell["id"] for cell in made["cells"][:2]] == ["my-id", "other_1"]
    assert "".join(made["cells"][1]["source"]) == "x = 1\n\ny = 2"
    assert made["cells"][1]["metadata"] == {"tags": ["b", "a"]}


def test_missing_invalid_and_repeated_ids_are_made_from_the_text() -> None:
    cells = [
        words("a", id="same"),
        words("b", id="same"),
        words("b"),
        words("c", id="not valid!"),
        words("d", id=7),
        words("e", id="x" * 65),
    ]
    once, again = form.canonical(notebook(*cells)), form.canonical(notebook(*cells))
    ids = [cell["id"] for cell in once["cells"]]
    assert ids[0] == "same" and len(set(ids)) == 6
    assert once == again, "the same notebook gives the same ids every time"


def test_outputs_counts_and_metadata_are_dropped_except_of_golden_cells() -> None:
    noise = {"papermill": {"duration": 1}, "collapsed": True, "tags": ["a", "a", " ", 3]}
    cells = [
        code("1", outputs=[printed("x")], count=4) | {"metadata": noise},
        code(
            "2",
            *GOLDEN,
            outputs=[
                printed("a"),
                printed("b\nc"),
                {"output_type": "display_data", "metadata": {"x": 1}, "data": {"text/plain": "t", "image/png": "AAAA"}},
            ],
            count=9,
        ),
    ]
    made = form.canonical(notebook(*cells) | {"metadata": {"papermill": {}, "kernelspec": {"name": "mine"}}})
    assert made["metadata"]["kernelspec"]["name"] == "python3" and set(made["metadata"]) == {
        "kernelspec",
        "language_info",
    }
    plain, golden = made["cells"]
    assert (plain["outputs"], plain["execution_count"], plain["metadata"]) == ([], None, {"tags": ["a"]})
    assert golden["execution_count"] == 9
    assert golden["outputs"] == [
        {"output_type": "stream", "name": "stdout", "text": ["ab\n", "c"]},
        {"output_type": "display_data", "data": {"text/plain": ["t"]}, "metadata": {}},
    ]


def test_a_golden_output_gets_the_count_without_which_nbval_compares_nothing() -> None:
    made = form.canonical(notebook(code("1"), code("2", *GOLDEN, outputs=[printed("x")], count=None)))
    assert made["cells"][1]["execution_count"] == 2


def test_one_golden_tag_alone_keeps_nothing() -> None:
    made = form.canonical(notebook(code("2", "golden", outputs=[printed("x")], count=1)))
    assert made["cells"][0]["outputs"] == []


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("code", "\n\nx = 1  \n\t\ny = 2\t\n\n", "x = 1\n\ny = 2"),
        ("code", 'x = """a  \nb  \n"""  ', 'x = """a  \nb  \n"""'),
        ("code", 'x = f"""a  \n{1}  \n"""  ', 'x = f"""a  \n{1}  \n"""'),
        ("code", "x = 1\r\ny = 2\r", "x = 1\ny = 2"),
        ("markdown", "a \nb  \nc  \n\nd  ", "a\nb  \nc\n\nd"),
        ("markdown", "a    \nb", "a  \nb"),
    ],
)
def test_trailing_blanks(kind: str, before: str, after: str) -> None:
    cell = code(before) if kind == "code" else words(before)
    assert "".join(form.canonical(notebook(cell))["cells"][0]["source"]) == after


def test_empty_cells_go() -> None:
    assert len(form.canonical(notebook(words(" \n"), code("\t"), words("a")))["cells"]) == 1


def test_an_older_minor_format_is_raised() -> None:
    old = notebook(words("a")) | {"nbformat_minor": 2}
    del old["cells"][0]["id"]
    assert form.canonical(old)["nbformat_minor"] == 5
    assert any("format 4.2" in text for text in complaints(old, None))


def test_every_deviation_is_named_with_its_cell() -> None:
    made = good()
    made["metadata"] = {"kernelspec": {"name": "python3"}}
    made["cells"][0]["source"] = [*made["cells"][0]["source"], "\n\n"]
    made["cells"][1]["metadata"]["collapsed"] = True
    made["cells"][1]["outputs"] = [printed("x")]
    made["cells"][1]["execution_count"] = 1
    made["cells"][5]["id"] = made["cells"][0]["id"]
    text = "\n".join(complaints(made))
    for part in (
        "metadata hold",
        "cell 1: has blanks",
        "cell 2: has metadata besides tags: collapsed",
        "cell 2: has stored outputs",
        "cell 2: has an execution count",
        "cell 6: has an id",
    ):
        assert part in text
    assert text.count("labkit format --fix") == 6


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n",
        lambda text: json.dumps(json.loads(text)),
        lambda text: text.replace("\n", "\r\n"),
    ],
)
def test_the_layout_of_the_file_counts_too(spoil: Callable[[str], str]) -> None:
    found = form.check(spoil(form.as_text(good())), "made.ipynb", LESSON)
    assert len(found) == 1 and "layout" in found[0].what


# ---------------------------------------------------------------- content


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("!pip install torch", "shell command"),
        ("%%bash\nls", "shell command"),
        ("x = 1\n%pip list", "shell command"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', 'x'])", "installs a package"),
        ("open('/home/me/data.csv')", "absolute path"),
        ("p = 'C:\\\\data'", "absolute path"),
        ("p = '~/data'", "absolute path"),
        ("import torchvision", "torchvision"),
        ("from torchvision import datasets", "torchvision"),
        ("import torchvision.transforms as T", "torchvision"),
        ("from urllib.request import urlopen", "network"),
        ("import requests", "network"),
        ("from urllib import request", "network"),
        ("load('https://example.org/x')", "address of the network"),
        ("load(url='http://example.org/x')", "address of the network"),
        ("def f(:", "not valid Python"),
    ],
)
def test_what_code_may_not_do(source: str, part: str) -> None:
    found = complaints(good(code(source)))
    assert len(found) == 1 and part in found[0] and "cell 6" in found[0]


def test_torchvision_s_models_may_be_imported() -> None:
    assert complaints(good(code("from torchvision.models import resnet50"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nx = 1",
        "print('see https://example.org')",
        "display(Markdown('[source](https://example.org)'))",
        "p = '/dev/kfd'",
        "p = '/sys/class/kfd'",
        "p = '/opt/rocm'",
        "unit = 'img/s'",
        "from urllib.parse import urlparse",
        "pip = 3\ninstall = pip",
    ],
)
def test_what_code_may_do(source: str) -> None:
    assert complaints(good(code(source))) == []


@pytest.mark.parametrize(
    ("extra", "part"),
    [
        (code("1", "golden"), "golden without its partner"),
        (code("1", "nbval-check-output"), "without its partner"),
        (code("1", *GOLDEN), "no stored output"),
        (code("1", *GOLDEN, outputs=[{"output_type": "stream", "name": "stderr", "text": "w"}], count=1), "warning"),
        (
            code(
                "1",
                *GOLDEN,
                outputs=[
                    {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "a", "text/html": "b"}}
                ],
                count=1,
            ),
            "more than plain text",
        ),
        (code("1", "raises-exception"), "raises-exception"),
        (code("1", "exercise"), "not as a pair"),
        (code("1", "exercise:a"), "not as a pair"),
        (code("1", "exercise", "exercise:a", "exercise:b"), "not as a pair"),
        (code("1", "exercise", "exercise:A b"), "no name of a Python function"),
        (words("```{note}\nx\n```"), "directive"),
        (words(":::{tip}\nx\n:::"), "directive"),
        (words("x", attachments={"a.png": {"image/png": "AA"}}), "attached file"),
        ({"cell_type": "raw", "metadata": {}, "source": "x", "id": "r"}, "raw cell"),
        (code("epochs = 3", "parameters"), "one code cell tagged 'parameters'"),
    ],
)
def test_what_a_cell_may_not_be(extra: dict[str, Any], part: str) -> None:
    found = complaints(good(extra))
    assert part in "\n".join(found)
    assert "labkit format --fix" not in "\n".join(found)


def test_an_exercise_with_both_tags_is_right_and_a_second_cell_of_it_is_not() -> None:
    one = code("x = None", "exercise", "exercise:normalise")
    assert complaints(good(one)) == []
    assert "second cell of exercise 'normalise'" in "\n".join(complaints(good(one, one)))


@pytest.mark.parametrize(
    ("cell", "source", "part"),
    [
        (0, "# Another title\n\nbeginner, 5 minutes", "title of course.toml"),
        (0, "Made lesson\n\nbeginner, 5 minutes", "title of course.toml"),
        (0, "# Made lesson\n\nadvanced, 5 minutes", "level of course.toml"),
        (0, "# Made lesson\n\nbeginner, 15 minutes", "minutes of course.toml"),
        (1, 'profile = "full"\nepochs = 1', 'profile = "quick"'),
        (1, 'profile = "quick"', "does not declare epochs"),
        (1, 'profile = "quick"\nepochs = int(3)', "more than parameters"),
        (1, 'import os\nprofile = "quick"\nepochs = 3', "more than parameters"),
    ],
)
def test_first_and_second_cell_agree_with_the_table(cell: int, source: str, part: str) -> None:
    made = good()
    made["cells"][cell]["source"] = source.splitlines(keepends=True)
    found = complaints(made)
    assert len(found) == 1 and part in found[0]


def test_the_ends_of_a_lesson() -> None:
    made = good()
    made["cells"].pop()
    assert "is the last cell" in "\n".join(complaints(made))
    made["cells"].pop()
    assert "has 2 golden cells" in "\n".join(complaints(made))
    assert "fewer than three cells" in "\n".join(complaints(form.canonical(notebook(words("x")))))


# ---------------------------------------------------------------- files


def test_check_fix_and_check_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.ipynb"
    path.write_text(
        json.dumps(notebook(words("a  "), code("x = 1  ", outputs=[printed("1")], count=1))), encoding="utf-8"
    )
    assert form.main([path]) == 1
    assert "cell 2: has stored outputs" in capsys.readouterr().out
    assert form.main([path], fix=True) == 0
    fixed = path.read_bytes()
    assert form.main([path]) == 0 and form.main([path], fix=True) == 0
    assert path.read_bytes() == fixed
    assert "0 rewritten: canonical" in capsys.readouterr().out
    assert [entry.name for entry in tmp_path.iterdir()] == ["made.ipynb"]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is empty"),
        (b'{"cells": [', "JSON is damaged at line 1"),
        (b"[]", "no list of cells"),
        (b'{"cells": 3}', "no list of cells"),
        (b'{"worksheets": [], "nbformat": 3}', "before 2015"),
        (b'{"cells": [], "nbformat": 5}', "format 5"),
        (b'{"cells": [3]}', "cell 1 is no cell"),
        (b'{"cells": [{"cell_type": "heading"}]}', "cell 1 is no cell"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "no text"),
        (b'{"cells": [{"cell_type": "code", "outputs": 3}]}', "no list"),
        (b'{\n<<<<<<< HEAD\n "cells": []\n=======\n}\n>>>>>>> other\n', "merge conflict"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "half a character"),
        (b"[" * 100_000, "damaged"),
    ],
)
def test_a_damaged_notebook_is_one_sentence_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, part: str
) -> None:
    path = tmp_path / "made.ipynb"
    path.write_bytes(content)
    assert form.main([path], fix=True) == 1
    out = capsys.readouterr().out
    assert part in out and "What to do" in out and "Traceback" not in out
    assert path.read_bytes() == content
    with pytest.raises(LabkitError):
        form.parse(form.read(path))


def test_a_missing_notebook_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert form.main([tmp_path / "none.ipynb"]) == 1
    printed = capsys.readouterr().out
    assert "does not exist" in printed and "git checkout -- notebooks" in printed
    assert printed.rstrip().endswith("1 notebook looked at: 1 complaint.")


def test_golden_outputs_are_stored_from_a_run(tmp_path: Path) -> None:
    path = tmp_path / "made.ipynb"
    path.write_text(
        form.as_text(
            notebook(
                words("a"),
                code("x = 20"),
                code("print(x + 1)", *GOLDEN),
                code("print('unseen')"),
                code("x * 2", *GOLDEN, outputs=[printed("old")], count=1),
            )
        ),
        encoding="utf-8",
    )
    assert form.main([path], golden=True) == 0
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert (
        cells[2]["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["21\n"]}]
        and cells[2]["execution_count"] == 2
    )
    assert cells[3]["outputs"] == []
    assert cells[4]["outputs"][0]["data"] == {"text/plain": ["40"]} and cells[4]["outputs"][0]["execution_count"] == 4


def test_no_golden_output_is_stored_from_a_broken_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.ipynb"
    before = form.as_text(form.canonical(notebook(code("print(1)", *GOLDEN), code("1 / 0"))))
    path.write_text(before, encoding="utf-8")
    assert form.main([path], golden=True) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == before


# ---------------------------------------------------------------- whatever comes

text = st.text(
    st.one_of(st.sampled_from(" \t\n\r\\\"'#{}fx=1!%`"), st.characters(exclude_categories=["Cs"])), max_size=60
)
source = st.one_of(text, st.lists(text, max_size=4))
tags = st.lists(st.sampled_from([*GOLDEN, "parameters", "exercise", "exercise:a", "exercise:b", " ", "x"]), max_size=4)
metadata = st.one_of(
    st.just({}),
    st.none(),
    st.builds(lambda value: {"tags": value, "noise": 1}, tags),
    st.builds(lambda value: {"tags": value}, tags),
)
output = st.one_of(
    st.builds(
        lambda t, n: {"output_type": "stream", "name": n, "text": t}, source, st.sampled_from(["stdout", "stderr"])
    ),
    st.builds(
        lambda t, m: {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {m: t}},
        source,
        st.sampled_from(["text/plain", "text/html", "image/png"]),
    ),
    st.just({"output_type": "error", "ename": "E", "evalue": "", "traceback": []}),
    st.just({}),
)
cell = st.builds(
    lambda kind, s, m, o, c, i: {
        "cell_type": kind,
        "source": s,
        "metadata": m,
        "outputs": o,
        "execution_count": c,
        "id": i,
    },
    st.sampled_from(["code", "markdown", "raw"]),
    source,
    metadata,
    st.lists(output, max_size=3),
    st.sampled_from([None, 1, 7, True, "1", -1]),
    st.sampled_from([None, "a", "b", "not valid", 3, ""]),
)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(cell, max_size=6), st.sampled_from([0, 2, 4, 5]))
def test_fixing_twice_is_fixing_once_and_leaves_only_content(cells: list[dict[str, Any]], minor: int) -> None:
    given_text = json.dumps({"cells": cells, "metadata": {"x": 1}, "nbformat": 4, "nbformat_minor": minor})
    once = form.as_text(form.canonical(form.parse(given_text)))
    again = form.parse(once)
    assert form.as_text(form.canonical(again)) == once
    assert form.form_complaints(once, again, "made.ipynb") == []
    form.content_complaints(again, "made.ipynb", LESSON)  # must not raise


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.one_of(st.none(), st.integers(), st.text(max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["cells", "cell_type", "source", "outputs", "nbformat", "metadata"]), inner, max_size=4
            ),
        ),
        max_leaves=12,
    )
)
def test_any_json_gives_a_notebook_or_a_sentence(value: Any) -> None:
    try:
        made = form.parse(json.dumps(value))
    except LabkitError as error:
        assert error.problem and error.remedy
        return
    form.check(json.dumps(value), "made.ipynb", LESSON)
    form.canonical(made)
