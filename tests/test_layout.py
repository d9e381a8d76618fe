"""The house: imports run downward only, and what must work on a bare Python imports nothing that has to be installed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import bare

ROOT = Path(__file__).resolve().parent.parent
LABKIT = ROOT / "labkit"
# A room may import from its own floor and from the floors beneath it.
FLOORS = (
    ("errors", "importable"),
    ("catalog",),
    ("machine",),
    ("setup", "devices", "timing", "threads", "data"),
    ("profile", "memory", "comm", "folklore"),
    ("learn", "show"),
    ("course",),
    ("site", "jupyter"),
    ("workshop",),
    ("cli", "__main__"),
)
# The doctor says what the set-up would install: it asks the set-up's pure choice, inside a function.
ALLOWED = {("labkit/machine/rules/install.py", "labkit.setup.plan")}
BARE = ("errors", "importable", "catalog", "machine", "setup", "folklore", "cli", "__main__", "__init__")
ROOMS = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}


def modules() -> list[Path]:
    return sorted(path for path in LABKIT.rglob("*.py"))


def room_of(path: Path) -> str:
    part = path.relative_to(LABKIT).parts[0]
    return part.removesuffix(".py")


def imports(path: Path, *, top_only: bool = False) -> Iterator[tuple[int, str]]:
    """(line, module) of each import; ``top_only``: those that run when the module is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only or (top_only and id(node) in inside):
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: write imports in full"
            yield node.lineno, node.module or ""
            if node.module == "labkit":
                yield from ((node.lineno, f"labkit.{alias.name}") for alias in node.names)


def test_every_room_has_its_floor() -> None:
    unknown = {room_of(path) for path in modules()} - set(ROOMS) - {"__init__"}
    assert not unknown, "add it to the table in this test, and to CONTRIBUTING.md"


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_run_downward_only(path: Path) -> None:
    room = room_of(path)
    for line, module in imports(path):
        parts = module.split(".")
        other = parts[1] if parts[0] == "labkit" and len(parts) > 1 else ""
        if (path.relative_to(ROOT).as_posix(), module) in ALLOWED:
            continue
        if other in ROOMS and room != "__init__":
            assert ROOMS[other] <= ROOMS[room], f"{path.name}:{line}: {room} is beneath {other} and must not import it"


@pytest.mark.parametrize(
    "path", [path for path in modules() if room_of(path) in BARE], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_what_runs_on_a_bare_python_imports_only_the_standard_library(path: Path) -> None:
    for line, module in imports(path, top_only=True):
        top = module.split(".")[0]
        assert top == "labkit" or top in sys.stdlib_module_names, f"{path.name}:{line}: {module} has to be installed"


def test_no_module_of_vague_name() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert not [path for path in modules() if path.stem in vague]


def test_importing_labkit_costs_little_and_brings_no_torch() -> None:
    code = "import sys; before = set(sys.modules); import labkit; print(*(set(sys.modules) - before))"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True, timeout=60
    )
    brought = answer.stdout.split()
    assert not [name for name in brought if name.split(".")[0] not in {"labkit", *sys.stdlib_module_names}]
    assert [name for name in brought if name.startswith("labkit")] == ["labkit"], (
        "a room is opened when it is first used"
    )
    assert len(brought) < 60, "labkit itself should import next to nothing"


def test_help_works_without_anything_installed() -> None:
    answer = bare.labkit("--help")
    assert answer.returncode == 0 and "start" in answer.stdout, answer.stderr


def test_the_tests_mirror_the_rooms() -> None:
    rooms = {path.name for path in LABKIT.iterdir() if path.is_dir() and (path / "__init__.py").is_file()}
    assert rooms <= {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
