"""The course and the ledger agree: each box of folklore names its claims, each claim has its lesson, and a wrong command is found.

A cell's tag ``claim:1.21`` says that the cell treats that claim; ``claim:none`` that the box's saying is not of the two guides.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.catalog.claims import claims
from labkit.course import table
from tests.folklore import course_text
from tests.folklore.course_text import ROOT, Cell, wrong_commands

pytestmark = pytest.mark.light

# one line for each pattern of the scan, for claims whose command does not hold it
SAMPLES = {
    "1.16": "--index-url https://download.pytorch.org/whl/rocm6.1",
    "1.18": "export HSA_OVERRIDE_GFX_VERSION=11.0.0",
    "1.47": "python -m torch.utils.bottleneck train.py",
    "2.15": "pip install torch --extra-index-url https://download.pytorch.org/whl/rocm7.2",
    "2.22": "model.to('hip')",
    "2.30": "it says: No compatible GFX target found",
}
# where labkit itself has to write a wrong command: it plants it, offers it as a wrong choice, or says what to do instead
ON_PURPOSE = {
    ("labkit/catalog/neighbours.py", "2.11"),
    ("labkit/catalog/neighbours.py", "2.18"),
    ("labkit/learn/exercises/troubleshooting_lab/machines.py", "1.18"),
    ("labkit/learn/exercises/troubleshooting_lab/machines.py", "2.15"),
    ("labkit/machine/rules/install.py", "2.15"),
    ("labkit/machine/simulate/faults.py", "1.18"),
    ("labkit/machine/simulate/faults.py", "2.22"),
}
ABOUT_CLAIMS = ("labkit/folklore/", "labkit/learn/exercises/folklore/", "labkit/show/folklore")
# what a box says of itself, at the beginning of a sentence -> the verdicts that this fits
SAYS = {
    r"outdated|out of date": {"OUTDATED"},
    r"wrong|false|not so": {"WRONG"},
    r"true|right|it is so": {"TRUE"},
    r"misleading|half true": {"MISLEADING"},
    r"unverifiable|it cannot be checked|(?:we found|there is) no published": {"UNVERIFIABLE"},
}


CELLS = [cell for notebook in course_text.notebooks() for cell in course_text.cells(notebook)]
BOXES = [cell for cell in CELLS if cell.box]


def test_the_cells_are_those_of_the_lessons_and_a_tag_belongs_to_the_words() -> None:
    assert {lesson.path for lesson in table.load().lessons} == set(course_text.notebooks())
    assert not [f"lesson {cell.lesson} cell {cell.number}" for cell in CELLS if cell.kind == "code" and cell.ids]


def test_every_box_names_its_claims_and_they_exist() -> None:
    assert len(BOXES) >= 30
    assert not [f"lesson {box.lesson} cell {box.number}: {box.text[:80]}" for box in BOXES if not box.ids]
    known = {*claims(), "none"}
    assert not [f"lesson {cell.lesson}: {cell.ids}" for cell in CELLS if not known.issuperset(cell.ids)]


def test_a_claim_lists_the_lessons_that_treat_it_and_no_other() -> None:
    told = {(number, cell.lesson) for cell in CELLS for number in cell.ids if number != "none"}
    listed = {(claim.id, lesson) for claim in claims().values() for lesson in claim.lessons if lesson != "11"}
    assert told == listed


def test_every_claim_is_treated_and_all_of_them_in_lesson_11() -> None:
    assert all("11" in claim.lessons for claim in claims().values())


def against_the_verdict(box: Cell) -> list[str]:
    """What a box says of itself that is the verdict of none of its claims."""
    fitting = {claims()[number].verdict for number in box.ids if number != "none"}
    behind = box.text.split("Folklore:", 1)[1]
    said = [verdicts for words, verdicts in SAYS.items() if re.search(rf"(?:^|[.:] |> |\n)(?:{words})\b", behind, re.I)]
    return [
        f"lesson {box.lesson} cell {box.number}: {v}, and the ledger says {fitting}" for v in said if not v & fitting
    ]


def test_no_box_contradicts_the_ledger() -> None:
    assert not [wrong for box in BOXES if set(box.ids) != {"none"} for wrong in against_the_verdict(box)]


def test_a_box_that_contradicts_is_found() -> None:
    right = Cell("06_x.ipynb", 1, "markdown", '> **Folklore: "x"**\n>\n> Outdated. It was so.', ("1.23",))
    assert right.box and not against_the_verdict(right)
    assert against_the_verdict(replace(right, text=right.text.replace("Outdated", "True")))
    assert not replace(right, text="As the folklore has it.", ids=()).box


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A course of one lesson and its pages, in which nothing is wrong."""
    shutil.copytree(ROOT / "notebooks" / "pages", tmp_path / "notebooks" / "pages")
    shutil.copy(ROOT / "notebooks" / "01_mnist.ipynb", tmp_path / "notebooks")
    shutil.copy(ROOT / "README.md", tmp_path)
    assert not wrong_commands(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ["code", "markdown"])
@pytest.mark.parametrize("number", sorted(course_text.WRONG))
def test_a_wrong_command_planted_in_a_lesson_is_found(copied: Path, number: str, kind: str) -> None:
    lesson = copied / "notebooks" / "01_mnist.ipynb"
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    planted = {
        "cell_type": kind,
        "id": "planted",
        "metadata": {},
        "source": [SAMPLES.get(number, claims()[number].command)],
    }
    notebook["cells"].insert(5, planted)
    lesson.write_text(json.dumps(notebook), encoding="utf-8")
    assert any(f"01_mnist.ipynb cell 6: claim {number}: " in found for found in wrong_commands(copied))


@pytest.mark.parametrize("place", ["README.md", "notebooks/pages/glossary.md", "notebooks/pages/guides.md"])
@pytest.mark.parametrize("number", sorted(course_text.WRONG))
def test_a_wrong_command_planted_on_a_page_is_found(copied: Path, number: str, place: str) -> None:
    page = copied / place
    line = SAMPLES.get(number, claims()[number].command)
    page.write_text(page.read_text(encoding="utf-8") + f"\nRun this: {line}\n", encoding="utf-8")
    if place.endswith("guides.md") and course_text.NUMBER.search(line):
        pytest.skip("the command holds a number like a claim's")
    assert any(f"claim {number}: " in found for found in wrong_commands(copied))


def test_labkit_and_contributing_say_nothing_wrong_either() -> None:
    paths = [*(ROOT / "labkit").rglob("*.py"), ROOT / "CONTRIBUTING.md"]
    found = [
        (line.file, number, line.place)
        for path in paths
        for line in course_text.of_file(path)
        for number in course_text.against(line.text)
        if not line.file.startswith(ABOUT_CLAIMS)
    ]
    assert {(name, number) for name, number, _ in found} == ON_PURPOSE, found
