"""The course as the ledger's tests read it: the cells of its notebooks, the boxes of folklore among them, and the lines that a
learner reads or copies.

A command that the ledger calls wrong or outdated may stand only where it is talked about: in a box of folklore and the cell
that runs it, in lesson 11, and in the page that maps the guides, in a line that names the claim by its number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALL_CLAIMS = "11_folklore.ipynb"  # the lesson about the ledger itself
BY_NUMBER = "guides.md"  # the map of both guides
NUMBER = re.compile(r"\b[12]\.\d{1,2}\b")
_BOX = re.compile(r"^(> )?\*\*(?=Folklore:)", re.MULTILINE)

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
# where a mistake is made on purpose, to read what comes of it; and where a section of a lesson is named: "… is gone"
ON_PURPOSE = {("notebooks/10_troubleshooting_lab.ipynb", "2.22"), ("notebooks/pages/syllabi.md", "1.47")}
PATTERNS = {number: re.compile(pattern) for number, pattern in WRONG.items()}


@dataclass(frozen=True)
class Cell:
    """A cell; ``number`` counts from 1, ``ids`` are the claims that its tags name."""

    notebook: str
    number: int
    kind: str
    text: str
    ids: tuple[str, ...] = ()

    @property
    def lesson(self) -> str:
        """'05' of '05_memory.ipynb'."""
        return self.notebook.split("_")[0]

    @property
    def box(self) -> re.Match[str] | None:
        """Where a box of folklore begins in it, if it holds one."""
        return _BOX.search(self.text) if self.kind == "markdown" else None


@dataclass(frozen=True)
class Line:
    """A line of the course; ``file`` is relative to the root, ``place`` names the cell or the number of the line besides."""

    file: str
    place: str
    text: str


def notebooks(root: Path = ROOT) -> list[Path]:
    return [path for path in sorted((root / "notebooks").rglob("*.ipynb")) if "checkpoints" not in path.as_posix()]


def cells(notebook: Path) -> Iterator[Cell]:
    for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"], 1):
        tags = cell["metadata"].get("tags", [])
        ids = tuple(tag.removeprefix("claim:") for tag in tags if tag.startswith("claim:"))
        yield Cell(notebook.name, number, cell["cell_type"], "".join(cell["source"]), ids)


def told(every: Iterable[Cell]) -> Iterator[Cell]:
    """The cells without what belongs to a box of folklore: the heading over it, the box, the code behind it."""
    in_box = False
    for cell in every:
        if cell.kind == "markdown":
            box = cell.box
            in_box = box is not None
            if box:
                cell = replace(cell, text=re.sub(r"^#.*\n?", "", cell.text[: box.end()], flags=re.MULTILINE))
            yield cell
        elif not in_box:
            yield cell


def of_file(path: Path, root: Path = ROOT) -> Iterator[Line]:
    name = path.relative_to(root).as_posix()
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield Line(name, f"{name}:{number}", text)


def lines(root: Path = ROOT) -> Iterator[Line]:
    """Everything that a learner reads or copies: lessons, pages, scripts, solutions, the README."""
    for path in notebooks(root):
        if path.name != ALL_CLAIMS:
            name = path.relative_to(root).as_posix()
            for cell in told(cells(path)):
                for text in cell.text.splitlines():
                    yield Line(name, f"{name} cell {cell.number}", text)
    for path in sorted((root / "notebooks").rglob("*")):
        if path.is_file() and path.suffix in {".md", ".py", ".sh", ".sbatch", ".yaml", ".toml"}:
            yield from (line for line in of_file(path, root) if path.name != BY_NUMBER or not NUMBER.search(line.text))
    yield from of_file(root / "README.md", root)


def code() -> Iterator[tuple[str, str]]:
    """(place, text) of the code of lessons, scripts and solutions."""
    for path in notebooks():
        if path.name != ALL_CLAIMS:
            yield from ((f"{path.name} cell {c.number}", c.text) for c in told(cells(path)) if c.kind == "code")
    for path in sorted((ROOT / "notebooks").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def against(text: str) -> list[str]:
    """The claims whose wrong command stands in this text."""
    return [number for number, pattern in PATTERNS.items() if pattern.search(text)]


def wrong_commands(root: Path = ROOT) -> list[str]:
    """What a learner would take for advice, and the ledger calls wrong; one sentence for each."""
    return [
        f"{line.place}: claim {number}: {line.text.strip()}"
        for line in lines(root)
        for number in against(line.text)
        if (line.file, number) not in ON_PURPOSE
    ]
