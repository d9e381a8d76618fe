"""Reading a bandwidth matrix: which cells are links at all, and between which limits they lie."""

from __future__ import annotations

from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import pair

_MATRIX: list[list[float | None]] = [
    [1900.0, 96.0, 41.0],
    [95.0, 2100.0, 94.0],
    [40.0, 93.0, 2000.0],
]


def _asked(answer: Any, matrix: list[list[float | None]]) -> tuple[float, float]:
    return pair(call(answer, [list(row) for row in matrix]), "not_a_pair")


def _probe_link_range(answer: Any) -> None:
    low, high = _asked(answer, _MATRIX)
    known = {"expected": "(40, 96)", "got": f"({low:g}, {high:g})"}
    if (low, high) == (96, 40):
        raise Wrong("exchanged", **known)
    if high > 1000:
        raise Wrong("local", **known)
    if (low, high) in ((41, 96), (40, 95)):
        raise Wrong("one_half", **known)
    if (low, high) in ((41, 94), (40, 94), (94, 96), (93, 95)):
        raise Wrong("some_rows", **known)
    if abs(low - 76.5) < 1:
        raise Wrong("mean", **known)
    if (low, high) != (40, 96):
        raise Wrong("other", **known)
    holes: list[list[float | None]] = [[None, 30.0, None], [31.0, 60.0, 20.0], [None, 19.0, None]]
    low, high = _asked(answer, holes)
    known = {"expected": "(19, 31)", "got": f"({low:g}, {high:g})"}
    if low == 0:
        raise Wrong("none_as_zero", **known)
    if high == 60:
        raise Wrong("local_by_size", **known)
    if (low, high) != (19, 31):
        raise Wrong("other", **known)


link_range = Exercise(
    name="link_range",
    lesson="07",
    probe=_probe_link_range,
    hints={
        "not_a_pair": Hint(
            "give back two numbers, (slowest, fastest); this was: {kind}.",
            "end with `return slowest, fastest`: two numbers (this was: {kind}).",
        ),
        "exchanged": Hint("both are right and in the wrong order.", "slowest first: {expected}, not {got}."),
        "local": Hint(
            "the diagonal is a device that copies to itself. No link is involved.",
            "leave out the cells where row and column are the same device: {expected}, not {got}.",
        ),
        "local_by_size": Hint(
            "a cell of the diagonal slipped in. On another machine local memory may be slower than you think.",
            "leave the diagonal out by its place (`i != j`), not by its size: {expected}, not {got}.",
        ),
        "one_half": Hint(
            "that is one half of the matrix. There and back may differ.",
            "both halves count: every cell with `i != j` ({expected}, not {got}).",
        ),
        "some_rows": Hint(
            "not every row or column was looked at.",
            "every cell with `i != j`, from the first row to the last ({expected}, not {got}).",
        ),
        "mean": Hint(
            "a mean hides the slow link, and a program waits for the slowest.",
            "the smallest and the largest cell: {expected}, not {got}.",
        ),
        "none_measured": Hint(
            "some cells are None: `N/A` in the tool's table, nothing was measured. Leave them out.",
            "`if value is not None`, before you compare{where}.",
        ),
        "none_as_zero": Hint(
            "None is not 0 GB/s: nothing was measured there.",
            "leave cells that are None out: {expected}, not {got}.",
        ),
        "other": Hint(
            "expected {expected}, got {got}.",
            "the smallest and the largest cell with `i != j` that is not None: {expected}, not {got}.",
        ),
    },
    push=(
        "Which cells of the matrix are a way from one device to *another* one?",
        "Collect `matrix[i][j]` for all i and j with i != j and a value that is not None; then min and max.",
    ),
    errors={"NoneType": "none_measured"},
    mistakes=(
        KnownMistake(
            "the largest of all cells",
            """
def link_range(matrix):
    cells = [value for row in matrix for value in row if value is not None]
    return min(cells), max(cells)
""",
            "local",
        ),
        KnownMistake(
            "upper half",
            """
def link_range(matrix):
    n = len(matrix)
    cells = [matrix[i][j] for i in range(n) for j in range(i + 1, n)]
    return min(cells), max(cells)
""",
            "one_half",
        ),
        KnownMistake(
            "None compared",
            """
def link_range(matrix):
    cells = [value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j]
    return min(cells), max(cells)
""",
            "none_measured",
        ),
        KnownMistake(
            "None as zero",
            """
def link_range(matrix):
    cells = [value or 0 for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j]
    return min(cells), max(cells)
""",
            "none_as_zero",
        ),
        KnownMistake(
            "the diagonal by its size",
            """
def link_range(matrix):
    cells = [value for row in matrix for value in row if value is not None and value < 500]
    return min(cells), max(cells)
""",
            "local_by_size",
        ),
        KnownMistake(
            "exchanged",
            """
def link_range(matrix):
    cells = [value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j and value is not None]
    return max(cells), min(cells)
""",
            "exchanged",
        ),
        KnownMistake(
            "means of the rows",
            """
def link_range(matrix):
    cells = [value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j and value is not None]
    return sum(cells) / len(cells), max(cells)
""",
            "mean",
        ),
    ),
    variants=(
        """
def link_range(matrix):
    found = torch.tensor([[float("nan") if value is None else value for value in row] for row in matrix])
    found.fill_diagonal_(float("nan"))
    found = found[~found.isnan()]
    return found.min(), found.max()
""",
        """
def link_range(matrix):
    slowest, fastest = math.inf, 0.0
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            if i == j or value is None:
                continue
            slowest, fastest = min(slowest, value), max(fastest, value)
    return [slowest, fastest]
""",
    ),
)
