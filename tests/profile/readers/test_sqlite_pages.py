"""Columns from the pages of a database against what SQLite itself says."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.profile.readers.sqlite_pages import whole_columns


def table(
    path: Path, rows: list[tuple[Any, ...]], columns: str = "id INTEGER PRIMARY KEY, a, t TEXT, b, c", size: int = 4096
) -> int:
    """A table of these rows; the number of its first page."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute(f"CREATE TABLE x ({columns})")
    connection.executemany(f"INSERT INTO x VALUES ({','.join('?' * (columns.count(',') + 1))})", rows)
    connection.commit()
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master").fetchone()
    connection.close()
    return int(root)


def read(path: Path, root: int, wanted: list[int], rowid: int = 0) -> list[list[int | None]] | None:
    found = whole_columns(path.read_bytes(), root, wanted, rowid)
    if found is None:
        return None
    return [
        [v if there else None for v, there in zip(*(part.tolist() for part in column), strict=True)] for column in found
    ]


WHOLE = st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(1, 2**62), WHOLE, st.text(max_size=20), WHOLE, WHOLE),
        max_size=40,
        unique_by=lambda row: row[0],
    ),
    st.sampled_from([512, 1024, 4096, 65536]),
)
def test_as_sqlite_says(tmp_path: Path, rows: list[tuple[Any, ...]], size: int) -> None:
    path = tmp_path / "x.db"
    root = table(path, rows, size=size)
    found = read(path, root, [4, 0, 3, 1])
    if found is not None:
        assert [list(row) for row in zip(*found, strict=True)] == [[r[4], r[0], r[3], r[1]] for r in sorted(rows)]
    assert found is not None or any(len(r[2].encode()) > 57 for r in rows)


@pytest.mark.parametrize("size", [512, 4096])
def test_a_tree_of_several_levels(tmp_path: Path, size: int) -> None:
    draw = random.Random(1)
    rows = [
        (i, draw.choice((0, 1, None, 5, 300, 70_000, -1)), "x" * 40, 10**15 + 1000 * i, i % 2) for i in range(20_000)
    ]
    root = table(tmp_path / "x.db", rows, size=size)
    found = read(tmp_path / "x.db", root, [0, 1, 3, 4])
    assert found is not None
    assert list(zip(*found, strict=True)) == [(r[0], r[1], r[3], r[4]) for r in rows]


@pytest.mark.parametrize(
    "row",
    [(1, 2.5, "", 3, 4), (1, "7", "", 3, 4), (1, b"7", "", 3, 4), (1, 2, "x" * 90, 3, 4), (1, 2, "x" * 9000, 3, 4)],
)
def test_what_is_not_plain_is_left_to_sqlite(tmp_path: Path, row: tuple[Any, ...]) -> None:
    root = table(tmp_path / "x.db", [(5, 1, "", 1, 1), row])
    assert read(tmp_path / "x.db", root, [1, 3]) is None


def test_a_column_that_was_added_later(tmp_path: Path) -> None:
    root = table(tmp_path / "x.db", [(1, 2, "", 3, 4)])
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("ALTER TABLE x ADD COLUMN late INTEGER DEFAULT 9")
    connection.close()
    assert read(tmp_path / "x.db", root, [5]) is None and read(tmp_path / "x.db", root, [4]) == [[4]]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_raises_nothing(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "d.db"
    if not path.exists():
        table(path, [(i, i, "", i, i) for i in range(500)], size=512)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    whole_columns(bytes(content), data.draw(st.integers(0, 30)), [0, 1, 4], 0)
