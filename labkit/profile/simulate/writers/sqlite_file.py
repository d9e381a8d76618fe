"""A new SQLite file in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from labkit.profile.simulate.writers import files


@contextlib.contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a new file that takes its place when the block ends well."""
    with files.replacing(path) as temporary:
        temporary.unlink(missing_ok=True)
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()


def insert(connection: sqlite3.Connection, table: str, columns: str, values: Iterable[tuple[Any, ...]]) -> None:
    """Many rows; columns: names with commas."""
    names = [name.strip() for name in columns.split(",")]
    marks = ",".join("?" * len(names))
    quoted = ",".join(f'"{name}"' for name in names)
    connection.executemany(f'INSERT INTO "{table}" ({quoted}) VALUES ({marks})', values)
