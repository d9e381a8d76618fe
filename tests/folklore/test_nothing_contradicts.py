"""Nothing in the course contradicts the ledger: a command that it calls wrong or outdated stands only where it is talked about."""

from __future__ import annotations

import ast

import pytest

from labkit.catalog.claims import claims
from tests.folklore import course_text
from tests.folklore.course_text import Cell

pytestmark = pytest.mark.light


def test_wrong_commands_stand_in_boxes_of_folklore_only() -> None:
    found = course_text.wrong_commands()
    assert not found, "\n".join(found)


def test_checkpoints_name_the_flag() -> None:
    """Claim 2.26, in the code of lessons, scripts and solutions."""
    found = []
    for place, text in course_text.code():
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue  # a cell with a magic; the notebooks' form has tests of its own
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "checkpoint":
                keywords = {keyword.arg for keyword in node.keywords}
                if "use_reentrant" not in keywords and None not in keywords:
                    found.append(f"{place}: {ast.unparse(node)[:100]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("number", sorted(course_text.WRONG))
def test_a_pattern_finds_what_its_claim_says(number: str) -> None:
    claim = claims()[number]
    assert claim.verdict in {"WRONG", "OUTDATED"}
    if claim.command:
        assert number in course_text.against(claim.command), claim.command


def test_a_box_hides_itself_and_its_cell_and_nothing_more() -> None:
    cells = [
        Cell("x", 1, "markdown", '# torch.backends.hip is not there\nfirst\n> **Folklore: "x"** torch.backends.hip'),
        Cell("x", 2, "code", "torch.backends.hip"),
        Cell("x", 3, "markdown", "after"),
        Cell("x", 4, "code", "torch.backends.hip"),
    ]
    left = [(cell.number, cell.text) for cell in course_text.told(cells)]
    assert left == [(1, "first\n> **"), (3, "after"), (4, "torch.backends.hip")]


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("model.to('hip')", "2.22"),
        ('torch.device("rocm:0")', "2.22"),
        ("x = torch.zeros(3, device='hip')", "2.22"),
        ('os.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"', "1.18"),
        ("export HSA_OVERRIDE_GFX_VERSION=11.0.0", "1.18"),
        ("pip install torch --extra-index-url https://x", "2.15"),
    ],
)
def test_other_spellings(line: str, number: str) -> None:
    assert course_text.against(line) == [number]
