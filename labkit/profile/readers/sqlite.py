"""Profiles that are SQLite databases: which one is it? Opened read-only and immutable, so that nothing in the folder changes.

rocpd (rocprofv3), RPD, rocprof v1's results.db, and the analysis database of rocprof-compute.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from labkit.errors import LabkitError
from labkit.profile.readers.sqlite_pages import whole_columns
from labkit.profile.table import Profile

STEPS = 1_000_000  # of SQLite's machine between two looks at how long a question takes
LARGE = 1 << 20  # bytes from which on a file's pages are read without SQLite
TAKEN = 1 << 16  # rows that are taken at once


class Database:
    """A database opened for reading, with the names of its tables and their columns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        self.connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        # views may be written so that they never end; no honest table needs as many steps for its size
        self._left = 2000 + path.stat().st_size // 2000
        self.connection.set_progress_handler(self._tick, STEPS)
        try:
            found = self.connection.execute("SELECT name, type FROM sqlite_master").fetchall()
        except BaseException:
            self.connection.close()
            raise
        self.tables: dict[str, str] = {name: kind for name, kind in found if kind in ("table", "view")}
        self.odd: list[str] = []
        beside = path.with_name(path.name + "-wal")
        if beside.is_file() and beside.stat().st_size:
            self.odd.append(f"{beside.name} lies beside it: the newest rows are there and were not read.")

    def _tick(self) -> int:
        self._left -= 1
        return self._left < 0

    def columns(self, table: str) -> list[str]:
        """Names of the columns, as written."""
        return [row[1] for row in self.connection.execute(f"PRAGMA table_info({quoted(table)})")]

    def rows(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of an answer that is short."""
        return self.connection.execute(question, values).fetchall()

    def take(self, table: str, wanted: dict[str, str], tail: str = "") -> pl.DataFrame:
        """Columns of a table by their name there (``wanted``: ours -> theirs); what it does not have is left out.

        Whole numbers become Int64, what is none becomes null; other values text.
        """
        there = {name.lower(): name for name in self.columns(table)}
        chosen = {ours: there[theirs.lower()] for ours, theirs in wanted.items() if theirs.lower() in there}
        if not chosen:
            return pl.DataFrame()
        plain = self._from_pages(table, chosen) if not tail else None
        if plain is not None:
            return plain
        cursor = self.connection.execute(
            f"SELECT {', '.join(map(quoted, chosen.values()))} FROM {quoted(table)} {tail}"
        )
        parts = []
        while part := cursor.fetchmany(TAKEN):
            parts.append(
                pl.DataFrame(
                    [column(ours, values) for ours, values in zip(chosen, zip(*part, strict=True), strict=True)]
                )
            )
        if not parts:
            return pl.DataFrame(schema=dict.fromkeys(chosen, pl.Int64))
        return pl.concat(parts, how="vertical_relaxed")

    def _from_pages(self, table: str, chosen: dict[str, str]) -> pl.DataFrame | None:
        """The same columns straight from the file, where it is large and the table plain; else None."""
        if self.tables.get(table) != "table" or self.path.stat().st_size < LARGE:
            return None
        information = self.rows(f"PRAGMA table_xinfo({quoted(table)})")
        if any(row[6] for row in information):
            return None
        number = {row[1]: row[0] for row in information}
        keys = [row for row in information if row[5]]
        own = keys[0][0] if len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER" else -1
        ((root,),) = self.rows("SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = whole_columns(content, root, [number[name] for name in chosen.values()], own)
        if found is None:
            return None
        columns = []
        for ours, (values, there) in zip(chosen, found, strict=True):
            series = pl.Series(ours, values, dtype=pl.Int64)
            columns.append(series if there.all() else series.set(pl.Series(~there), None))
        return pl.DataFrame(columns)

    def named(self, table: str, key: str, text: str) -> dict[Any, str]:
        """Number -> text of a table of names; empty where there is no such table."""
        if table not in self.tables:
            return {}
        return {
            number: "" if value is None else str(value)
            for number, value in self.connection.execute(f"SELECT {quoted(key)}, {quoted(text)} FROM {quoted(table)}")
        }


def quoted(name: str) -> str:
    """A name for use in a question."""
    return '"' + name.replace('"', '""') + '"'


def column(name: str, values: Sequence[Any]) -> pl.Series:
    """A column of whole numbers where it holds some, else of text."""
    try:
        return pl.Series(name, values, dtype=pl.Int64)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        pass
    text = any(isinstance(v, (str, bytes)) for v in values)
    numbers = sum(isinstance(v, int) for v in values)
    if text and not numbers:
        return pl.Series(name, [v if isinstance(v, str) else None for v in values], dtype=pl.String)
    return pl.Series(name, [_number(v) for v in values], dtype=pl.Int64)


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return None
    if isinstance(value, float):
        return int(value) if abs(value) < 2**62 else None
    return value if isinstance(value, int) and abs(value) < 1 << 63 else None


@contextmanager
def opened(content: Path | bytes) -> Iterator[Database]:
    """The database of this file, or of these bytes (then in a temporary file). Raises LabkitError where it is damaged."""
    temporary: Path | None = None
    try:
        if isinstance(content, bytes):
            handle, name = tempfile.mkstemp(suffix=".db")
            temporary = Path(name)
            with os.fdopen(handle, "wb") as out:
                out.write(content)
            content = temporary
        database = None
        try:
            database = Database(content)
            yield database
        except (sqlite3.Error, OSError) as error:
            raise damaged(error) from None
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
            # SQLite lets anything stand in any column: a text where a number belongs, a number that is none
            reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
            raise damaged(f"a table holds values that do not belong there: {reason}") from None
        finally:
            if database is not None:
                database.connection.close()
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def damaged(error: Exception | str) -> LabkitError:
    """The error for a database that SQLite cannot read."""
    return LabkitError(
        f"SQLite cannot read this database ({error}).",
        "Copy it again when the profiler has ended; a run that was stopped leaves half a database.",
    )


def read(content: Path | str | bytes, name: str = "") -> Profile:
    """The profile in this database (a path, or its bytes). Raises LabkitError where it is damaged or of another program."""
    from labkit.profile.readers import compute_db, rocpd, rpd, v1_db

    if isinstance(content, str):
        content = Path(content)
    with opened(content) as database:
        for reader in (rocpd, rpd, compute_db, v1_db):
            if reader.is_there(database):
                return reader.read(database, name)
        names = ", ".join(sorted(database.tables)[:6]) or "none"
        raise LabkitError(
            f"This database is no profile that labkit reads (tables: {names}).",
            "Name a rocpd database of rocprofv3, an .rpd file, rocprof's results.db, or rocprof-compute's analysis database.",
        )
