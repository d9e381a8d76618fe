"""The results table of rccl-tests: one row a message size, the out-of-place half first, the in-place half behind it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from labkit.machine.readers.text import finite

_TYPES = (
    "int8|uint8|char|int32|uint32|int|uint|int64|uint64|half|float16|fp16|float32|float64|float|double|bfloat16|bf16|"
    r"(?:fp8|f8|float8)\w*|bf8\w*"
)
_OPS = ("sum", "prod", "min", "max", "avg", "mulsum", "none", "all")
ROW = re.compile(rf"(?:^|(?<=\s))(\d+[KMG]?B?)[ \t]+(\d+)[ \t]+(?:{_TYPES})(?=\s|$)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)\*?|N/A|-nan")
_SCALE = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_OLDER = {"bytes": "size", "N": "count", "op": "redop", "res": "error"}  # the first releases' names of columns
# a log that writes into the same stream may break a row: its lines are passed over
_LOG = re.compile(r"[A-Za-z][\w.-]*:\d+:\d+ \[\d*\]|[NR]CCL (?:INFO|WARN|TRACE)")


@dataclass
class Columns:
    """What a header said of the columns behind 'type'. None: no header was seen, or it was cut."""

    root: bool | None = None
    error: str | None = None  # 'wrong': a count; 'error': a deviation, as older releases print
    values: int | None = None  # columns behind root
    plain: tuple[str, ...] = ()  # the names, where a table has no type column: rows are numbers only
    second_error: int | None = None  # where the in-place half says it, counted from the first time column


@dataclass
class Table:
    """The rows as read, and what they say of correctness."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    in_place_wrong: int = 0  # most wrong values of an in-place half
    starred: bool = False  # a deviation over its limit
    deviations: bool = False  # the table prints deviations, not counts
    unchecked: bool = False  # a row says N/A


def header(line: str) -> Columns | None:
    """The columns that a header line names, None for any other line."""
    if "busbw" not in line:  # asked of every line of any text
        return None
    names = [re.sub(r"\(.*?\)", "", name) for name in line.replace("|", " ").strip().lstrip("#").split()]
    names = [_OLDER.get(name, name) for name in names if name]
    if not names or names[0] != "size" or "algbw" not in names or "busbw" not in names:
        return None
    if "type" not in names:
        return Columns(plain=tuple(names)) if "time" in names else None
    first = next((i for i, name in enumerate(names) if name in ("time", "cputime")), None)
    if first is None:
        return None
    values = names[first:]
    errors = [i for i, name in enumerate(values) if name.lstrip("#") in ("wrong", "error", "errors")]
    return Columns(
        root="root" in names[:first],
        error=(values[errors[0]].lstrip("#").rstrip("s") if errors else None),
        values=len([name for name in values if name != "timestamp"]) if len(values) > 3 else None,
        second_error=errors[1] if len(errors) > 1 else None,
    )


def read(lines: Iterable[str], *, ends_open: bool) -> Table:
    """The table of a text's lines (without launchers' labels). ``ends_open``: the text ends in the middle of a line."""
    table = Table()
    for row, is_last, columns in _records(lines):
        _add(table, row, columns, cut=is_last and ends_open)
    return table


def _records(lines: Iterable[str]) -> Iterator[tuple[str, bool, Columns]]:
    """(text of one row, is it the last thing in the file, columns). A row that was wrapped is put together again."""
    columns = Columns()
    pending: str | None = None
    pair = ""  # size and count, alone on a line
    for raw in lines:
        named = header(raw)
        if named is not None:
            if pending is not None:
                yield pending, False, columns
            columns, pending = named, None
            continue
        if columns.plain:
            if len(raw.split()) == len(columns.plain) and all(_NUMBER.fullmatch(word) for word in raw.split()):
                yield raw, False, columns
            continue
        log = _LOG.search(raw)
        line = (raw[: log.start()] if log else raw).replace("|", " ")  # a page's table
        if pair and re.match(rf"\s*(?:{_TYPES})\s", line):
            line = f"{pair} {line.strip()}"
        pair = line.strip() if re.fullmatch(r"\s*\d+\s+\d+\s*", line) else ""
        starts = [found.start() for found in ROW.finditer(line)]
        if starts and not line[: starts[0]].strip():
            if pending is not None:
                yield pending, False, columns
            for start, end in itertools.pairwise(starts):
                yield line[start:end], False, columns
            pending = line[starts[-1] :]
        elif pending is not None:
            if line.strip() and _continues(line):
                pending = f"{pending} {line.strip()}"
            elif line.strip() or not log:
                yield pending, False, columns
                pending = None
    if pending is not None:
        yield pending, True, columns


def _continues(line: str) -> bool:
    words = line.split()
    if words and words[0] in _OPS:
        words = words[1:]
    return bool(words) and all(_NUMBER.fullmatch(word) for word in words)


def _add(table: Table, text: str, columns: Columns, *, cut: bool) -> None:
    if columns.plain:
        _add_plain(table, dict(zip(columns.plain, text.split(), strict=True)))
        return
    found = ROW.match(text)
    if found is None:
        return
    rest = text[found.end() :]
    words = rest.split()
    if words and words[0] in _OPS:
        words = words[1:]
    numbers: list[str] = []
    for word in words:
        if not _NUMBER.fullmatch(word):
            break
        numbers.append(word)
    size = _bytes(found.group(1))
    root = columns.root if columns.root is not None else _has_root(numbers, size)
    if root:
        numbers = numbers[1:]
    if re.match(r"\s+\S+(?:\s+-?\d+)?\s{30,}\S", rest) and len(numbers) <= 4:
        return  # the out-of-place half is blank: the run measured in place only
    whole = columns.values if columns.values is not None else 8
    if cut and len(numbers) < whole:
        numbers = numbers[:-1]  # the last number may have lost its end
    values = [finite(word) for word in numbers[:3]]
    if len(values) < 3 or None in values or size is None:
        return
    row = {"bytes": size, "time_us": values[0], "algbw_gbps": values[1], "busbw_gbps": values[2], "wrong": None}
    if len(numbers) > 3 and columns.error != "":
        row["wrong"] = _wrong(table, numbers[3], columns)
    second = columns.second_error if columns.second_error is not None else 7
    if second < len(numbers):
        table.in_place_wrong = max(table.in_place_wrong, _wrong(table, numbers[second], columns) or 0)
    table.rows.append(row)


def _add_plain(table: Table, cells: dict[str, str]) -> None:
    size = _bytes(cells["size"])
    values = [finite(cells[name]) for name in ("time", "algbw", "busbw")]
    if size is not None and None not in values:
        row = dict(zip(("time_us", "algbw_gbps", "busbw_gbps"), values, strict=True))
        table.rows.append({"bytes": size, **row, "wrong": None})


def _wrong(table: Table, word: str, columns: Columns) -> int | None:
    if word == "N/A":
        table.unchecked = True
        return None
    if word.endswith("*"):
        table.starred = True
    value = finite(word.rstrip("*"))
    if value is None:
        return None
    if columns.error == "error" or ("e" in word.lower() and value < 1):
        table.deviations = True
        return 0 if value == 0 else None  # a deviation is no count of wrong values
    return round(value)


def _has_root(numbers: list[str], size: int | None) -> bool:
    """Whether the first number is the root: it is negative, or the bandwidth fits to the time only behind it."""
    if not numbers:
        return False
    if numbers[0].startswith("-"):
        return True
    here, behind = _fits(numbers, size), _fits(numbers[1:], size)
    if here != behind:
        return behind
    return "." not in numbers[0] and len(numbers) % 2 == 1


def _fits(numbers: list[str], size: int | None) -> bool:
    """Whether time and algorithm bandwidth belong together: bytes over time, up to the digits that are printed."""
    if len(numbers) < 2 or size is None:
        return False
    time, rate = finite(numbers[0]), finite(numbers[1])
    if not time or rate is None:
        return False
    return abs(rate - size / time / 1e3) <= 0.006 + 0.02 * rate


def _bytes(word: str) -> int | None:
    word = word.rstrip("B")
    scale = _SCALE.get(word[-1:], 1)
    digits = word.rstrip("KMG")
    return int(digits) * scale if digits.isdigit() else None
