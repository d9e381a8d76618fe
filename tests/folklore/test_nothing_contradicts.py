"""Nothing in the course contradicts the ledger: a command that it calls wrong or outdated stands only where it is talked about.

That is: in a box of folklore and the cell that runs it, in lesson 11, and in the page that maps the guides, in a line that
names the claim by its number.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.catalog.claims import claims

pytestmark = pytest.mark.light

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
ALL_CLAIMS = "11_folklore.ipynb"  # the lesson about the ledger itself
BY_NUMBER = "guides.md"  # the map of both guides
NUMBER = re.compile(r"\b[12]\.\d{1,2}\b")

# claim -> what must not be written as advice
WRONG = {
    "1.11": r"gitcode\.com",
    "1.12": r"compile_changelogs\.sh",
    "1.13": r"\bsetx\b",
    "1.16": r"whl/rocm6\.1\b",
    "1.18": r"HSA_OVERRIDE_GFX_VERSION[\"']?\]?\s*=\s*[\"']?\d",
    "1.22": r"-m torch\.utils\.data\.dataloader",
    "1.23": r"pretrained\s*=\s*True",
    "1.31": r"pip install rccl-tests",
    "1.38": r"rocm-bandwidth-test --bidirectional",
    "1.47": r"torch\.utils\.bottleneck",
    "1.50": r"rocm-smi --monitor",
    "2.9": r"apt-key add",
    "2.10": r"rocm/apt/debian",
    "2.11": r"apt(-get)? install (\S+ )*rocm-(hip-sdk|opencl)",
    "2.15": r"--extra-index-url|whl/rocm5\.4\.2",
    "2.16": r"torch\.backends\.hip\b",
    "2.18": r"pip install tensorflow-rocm",
    "2.22": r"(\.to\(|device\(|device\s*=\s*|map_location\s*=\s*)[\"'](hip|rocm)\b",
    "2.27": r"torch\.cuda\.amp\b",
    "2.30": r"No compatible GFX target",
    "2.34": r"apt(-get)? (purge|remove) [\"']?rocm-\*",
}
# where a mistake is made on purpose, to read what comes of it
ON_PURPOSE = {("10_troubleshooting_lab.ipynb", "2.22")}
PATTERNS = {number: re.compile(pattern) for number, pattern in WRONG.items()}


def told(cells: list[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """(number, text) of each cell, without what belongs to a box of folklore: the heading over it, the box, the code behind it."""
    in_box = False
    for number, (kind, text) in enumerate(cells, 1):
        if kind == "markdown":
            before, box, _ = text.partition("Folklore")
            in_box = bool(box)
            yield number, re.sub(r"^#.*\n?", "", before, flags=re.MULTILINE) if in_box else before
        elif not in_box:
            yield number, text


def lines() -> Iterator[tuple[str, str]]:
    """(place, line) of everything that a learner reads or copies: lessons, pages, scripts, solutions, the README."""
    for path in sorted(NOTEBOOKS.rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".ipynb" and path.name != ALL_CLAIMS and "checkpoints" not in name:
            raw = json.loads(path.read_text(encoding="utf-8"))["cells"]
            for number, text in told([(cell["cell_type"], "".join(cell["source"])) for cell in raw]):
                for line in text.splitlines():
                    yield f"{name} cell {number}", line
        elif path.is_file() and path.suffix in {".md", ".py", ".sh", ".sbatch", ".yaml", ".toml"}:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if path.name != BY_NUMBER or not NUMBER.search(line):
                    yield f"{name}:{number}", line
    for number, line in enumerate((ROOT / "README.md").read_text(encoding="utf-8").splitlines(), 1):
        yield f"README.md:{number}", line


def against(line: str) -> list[str]:
    return [number for number, pattern in PATTERNS.items() if pattern.search(line)]


def test_wrong_commands_stand_in_boxes_of_folklore_only() -> None:
    found = [
        f"{place}: claim {number}: {line.strip()}"
        for place, line in lines()
        for number in against(line)
        if (place.split("/")[-1].split(" ")[0], number) not in ON_PURPOSE
    ]
    assert not found, "\n".join(found)


def test_checkpoints_name_the_flag() -> None:
    """Claim 2.26, in the code of lessons, scripts and solutions."""
    found = []
    for place, text in code():
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


def code() -> Iterator[tuple[str, str]]:
    for path in sorted(NOTEBOOKS.rglob("*.ipynb")):
        if path.name != ALL_CLAIMS:
            cells = [
                (cell["cell_type"], "".join(cell["source"]))
                for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
            ]
            kinds = dict(enumerate((kind for kind, _ in cells), 1))
            yield from ((f"{path.name} cell {number}", text) for number, text in told(cells) if kinds[number] == "code")
    for path in sorted(NOTEBOOKS.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", sorted(WRONG))
def test_a_pattern_finds_what_its_claim_says(number: str) -> None:
    claim = claims()[number]
    assert claim.verdict in {"WRONG", "OUTDATED"}
    if claim.command:
        assert number in against(claim.command), claim.command


def test_a_box_hides_itself_and_its_cell_and_nothing_more() -> None:
    cells = [
        ("markdown", '# torch.backends.hip is not there\nfirst\n> **Folklore: "x"** torch.backends.hip'),
        ("code", "torch.backends.hip"),
        ("markdown", "after"),
        ("code", "torch.backends.hip"),
    ]
    assert list(told(cells)) == [(1, "first\n> **"), (3, "after"), (4, "torch.backends.hip")]


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
    assert against(line) == [number]
