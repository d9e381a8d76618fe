"""Whole files or none: written to a temporary name, then moved into place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

NOTE = (
    "SIMULATED: no GPU made these files.\n"
    "labkit placed the kernels of a model on the roofline of a GPU of its catalog.\n"
    "A recording of your own, made with rocprofv3, has the same form.\n"
)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``, which takes its place when the block ends well, and goes away when not."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """A text file with Unix line ends."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))
    return path


def note(folder: Path, about: dict[str, Any]) -> Path:
    """SIMULATED.txt: the mark, with what was simulated."""
    lines = "".join(f"{key}: {value}\n" for key, value in about.items() if key != "note")
    return write_text(folder / "SIMULATED.txt", NOTE + lines)


def csv_text(frame: pl.DataFrame, *, quoted: bool = True, header: bool = True) -> bytes:
    """A table as CSV. quoted: strings and the header in quotes, as rocprofv3 writes; else only where needed."""
    first = ""
    if header:
        first = ",".join(f'"{name}"' if quoted else name for name in frame.columns) + "\n"
    body = frame.write_csv(include_header=False, quote_style="non_numeric" if quoted else "necessary")
    return (first + body).encode("utf-8")


def write_csv(path: Path, frame: pl.DataFrame, *, quoted: bool = True) -> Path:
    """A CSV file with a header."""
    with replacing(path) as temporary:
        temporary.write_bytes(csv_text(frame, quoted=quoted))
    return path
