"""Tables in text as people paste it: Markdown, mail quotes, prompts, dots, wrapped records. Standard library only.

``tables`` walks over the lines once. A line that fits no table is passed over; a record that was wrapped over
several lines is put together again by
the number of its fields and its quotes; a record that was cut is handed on as far as it goes.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from labkit.profile.readers import columns, printed_records

LONGEST = 1 << 20  # characters of a record; what is longer is no record
WIDEST = 20_000  # columns; rocprof-compute has two thousand
HEADING = 64  # lines that a header may be broken into where no fixed width tells that it goes on
DELIMITERS = ",;\t|"
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\u200b]")
_SIGNS = {
    ord(sign): plain
    for sign, plain in zip("│┃║─━═\u00a0“”„″", ["|", "|", "|", "-", "-", "-", " ", '"', '"', '"', '"'], strict=True)
}
_DOTS = re.compile(
    r"[\s|,;\[\](<>){}#/*]*(?:\.\s*){2,}[\s|,;\[\](<>){}#/*]*|\s*\W*(?:…|⋮|snip|omitted|truncated)\W*\s*", re.I
)
_RULE = re.compile(r"[\s|+:=~*`'\"-]*")
_PREFIX = re.compile(r"\s*\d+(?:\t|[:|] ?)\s*|[^\w\"'|]+")
_ELIDED = re.compile(r"\[?(?:\.{2,}|…)\]?")
_HEADERISH = re.compile(r"[\w\[\]\- \"./()%|,;\t]*")
_NUMBER = re.compile(r"\s*\"?[-+]?(?:0x[0-9a-f]+|\d+(?:\.\d*)?(?:e[-+]?\d+)?)\"?\s*", re.I)
_PAGE = re.compile(r"(?<!\w)</?(?:pre|code)>\s*")
_FRESH = re.compile(r'\s*"[^",\s]')  # the first field of a record; behind an open quote it would close that
_TAIL = re.compile(r"[\w.+\-\"')\]>*&]+(?:,[\w.+\-\"]*)*")


@dataclass
class Raw:
    """One table of a text: ``header`` are plain names, each once; a row has one text per column, None where it has none."""

    table: str
    header: list[str]
    rows: list[list[str | None]] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    delimiter: str = ","
    cut: int = 0  # records of which something is missing
    quoted_numbers: int = 0  # rows that have every field in quotes
    prefix: str = ""
    ended: bool = True  # whether the last record ended with its line


def clean(line: str) -> str:
    """A line without ANSI codes, control characters, frames drawn by other signs and typographic quotes."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if not line.isprintable():
        line = _CONTROL.sub("", line)
    if not line.isascii():
        line = line.translate(_SIGNS)
    if "pre>" in line or "code>" in line:
        line = _PAGE.sub("", line)
    return line.rstrip("\r\n\\`")


def split(line: str, delimiter: str) -> tuple[list[str], bool]:
    """The fields of a line, and whether a quotation is still open at its end."""
    if delimiter == "|":
        line = line.strip()
        line = line[1:] if line.startswith("|") else line
        line = line[:-1] if line.endswith("|") else line
        return [part.strip() for part in line.split("|")], False
    if '"' not in line:
        return [part.strip() for part in line.split(delimiter)], False
    is_open = line.count('"') % 2 == 1
    try:
        rows = list(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        return [line], is_open
    return [part.strip() for part in rows[0]] if rows else [""], is_open


def header_of(line: str) -> tuple[str, list[str], str] | None:
    """Delimiter, printed names and prefix (mail quote, indentation, line number) of a line that has known column names."""
    best: tuple[int, str, list[str], str] | None = None
    found = _PREFIX.match(line)
    for start in (found.end(), 0) if found else (0,):
        for delimiter in DELIMITERS:
            if delimiter not in line:
                continue
            fields, _ = split(line[start:], delimiter)
            known = sum(columns.plain(name) in columns.KNOWN for name in fields)
            if known >= 2 and (best is None or known > best[0]):
                best = (known, delimiter, fields, line[:start])
    return None if best is None else best[1:]


def _unique(names: list[str]) -> list[str]:
    """Plain names, each once: a second 'pid' becomes 'pid2'."""
    taken: Counter[str] = Counter()
    unique = []
    for position, name in enumerate(names):
        base = columns.plain(name) or f"column{position}"
        taken[base] += 1
        unique.append(base if taken[base] == 1 else f"{base}~{taken[base]}")
    return unique


def _without(prefix: str, line: str) -> str:
    """The line without the prefix that its header had."""
    if not prefix:
        return line
    if prefix.strip(" \t")[:1].isdigit():
        return re.sub(r"^\s*\d+(?:\t|[:|] ?)\s*", "", line)
    bare = prefix.strip()
    stripped = line.lstrip()
    if bare and stripped.startswith(bare):
        return stripped[len(bare) :].lstrip()
    return stripped


def _is_hard_wrapped(lines: list[str]) -> bool:
    """Whether a terminal of fixed width broke the lines: many lines are exactly as wide as the widest."""
    lengths = Counter(len(line) for line in lines)
    if not lengths:
        return False
    widest = max(lengths)
    if lengths[widest] < 2:
        return False
    near = sum(count for length, count in lengths.items() if widest - 15 <= length < widest)
    return lengths[widest] > near or any(len(line) == widest and columns.WORDS.search(line) for line in lines)


def _is_double_spaced(lines: list[str]) -> bool:
    """Whether a blank line follows nearly every line."""
    full = [i for i, line in enumerate(lines[:-1]) if line.strip()]
    return len(full) >= 3 and sum(not lines[i + 1].strip() for i in full) > 0.8 * len(full)


def _has_blanks_behind(lines: list[str]) -> bool:
    """Whether nearly every line ends with blanks that mean nothing."""
    full = [line for line in lines if line.strip()]
    return len(full) >= 2 and sum(line.endswith((" ", "\t")) for line in full) > 0.8 * len(full)


class _Walk:
    """The state while walking over lines: at most one table is being read, and one record of it."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.raw: Raw | None = None
        self.pending: str | None = None
        self.heading: str | None = None  # a header of which more lines may follow
        self.heading_lines = 0
        self.heading_form = (",", "")  # its delimiter and prefix
        self.hard = False
        self.widest = 0
        self.before = self.now = 0  # the width of the line before, and of this one, as they stood there

    def walk(self, lines: Iterable[str]) -> Iterator[Raw]:
        window: list[str] = []
        source = iter(lines)
        for line in source:  # the first lines tell how the text was wrapped
            window.append(clean(line))
            if len(window) >= 400:
                break
        if _has_blanks_behind(window):
            window = [line.rstrip() for line in window]
            source = map(str.rstrip, source)
        self.hard = _is_hard_wrapped([line for line in window if line.strip()])
        self.widest = max((len(line) for line in window), default=0)
        spaced = _is_double_spaced(window)
        for line in itertools.chain(window, map(clean, source)):
            if spaced and not line.strip():
                continue
            self.now = len(line)
            yield from self._take(line)
            self.before = self.now
        yield from self._close(at_end=True)

    @property
    def goes_on(self) -> bool:
        """Whether a terminal's width broke the line before, so that this one continues it."""
        return self.hard and self.before == self.widest

    def _printed(self, names: list[str], values: list[str]) -> Iterator[Raw]:
        """A record whose line tells the names of its fields as well."""
        header = _unique(names)
        if self.raw is None or self.raw.header != header or self.raw.table != "rocprofv2":
            yield from self._close(at_end=True)
            self.raw = Raw("rocprofv2", header, printed=names)
        self.raw.rows.append(list(values))
        if len(self.raw.rows) >= self.batch:
            yield self._hand_over()

    def _take(self, line: str) -> Iterator[Raw]:
        printed = printed_records.as_table(line)
        if printed is not None:
            yield from self._printed(*printed)
            return
        if self.heading is not None:
            more = self._more_heading(line)
            if more is not None:
                self.heading = more
                return
            yield from self._begin()
        if len(line) > LONGEST:
            self._flush()
            return
        if columns.WORDS.search(line):
            header = header_of(line)
            if header is not None:
                table = columns.table_of([columns.plain(n) for n in header[1]])
                if table is not None or self.raw is None:
                    self._flush()
                    self.heading, self.heading_lines = line, 1
                    self.heading_form = (header[0], header[2])
                    return
        if self.raw is None:
            self._without_header(line)
            return
        self._record(_without(self.raw.prefix, line))
        if len(self.raw.rows) >= self.batch:
            yield self._hand_over()

    # header ------------------------------------------------------------------------------------------------
    def _more_heading(self, line: str) -> str | None:
        """The heading with this line, None where the line is not part of it."""
        head = self.heading or ""
        delimiter, prefix = self.heading_form
        self.heading_lines += 1
        if len(head) > LONGEST or (self.heading_lines > HEADING and not self.goes_on):
            return None
        line = _without(prefix, line).strip("\t" if self.hard else " \t")
        if not line.strip():
            wanting = head.count('"') % 2 == 1 or (delimiter != "|" and head.rstrip().endswith(delimiter))
            return head if wanting else None
        parts = split(line, delimiter)[0]
        if not _HEADERISH.fullmatch(line) or _RULE.fullmatch(line):
            return None
        if any(_NUMBER.fullmatch(part) for part in (parts[1:] if self.goes_on else parts)):
            return None
        if self.goes_on:
            return head + line
        names, _ = split(head[len(prefix) :], delimiter)
        both, _ = split(head[len(prefix) :] + line, delimiter)
        own = header_of(line)
        table = columns.table_of([columns.plain(n) for n in names])
        if own and columns.table_of([columns.plain(n) for n in own[1]]) is not None and table is not None:
            return None
        if (
            head.count('"') % 2
            or (head.rstrip().endswith(delimiter) and delimiter != "|")
            or line.startswith(delimiter)
        ):
            return head.rstrip() + line
        before = sum(columns.plain(n) in columns.KNOWN for n in names)
        after = sum(columns.plain(n) in columns.KNOWN for n in both)
        joint = columns.plain(both[len(names) - 1]) if len(both) >= len(names) else ""
        if joint in columns.KNOWN and columns.plain(names[-1]) != joint and after >= before:
            return head + line
        return None

    def _begin(self) -> Iterator[Raw]:
        head, self.heading = self.heading or "", None
        found = header_of(head)
        if found is None:
            return
        delimiter, names, prefix = found
        while names and not names[-1]:
            names.pop()
        if len(names) > WIDEST:
            return
        header = _unique(names)
        table = columns.table_of(header)
        if table is None:
            return
        if self.raw is not None and self.raw.header == header and table != "statistics":
            self._flush()  # the same table goes on: a page's head, or the next file of a kind
            return
        yield from self._close()
        self.raw = Raw(table, header, printed=names, delimiter=delimiter, prefix=prefix)

    def _without_header(self, line: str) -> None:
        """The start may be missing: some tables are known by their rows."""
        from labkit.profile.readers import headless

        found = headless.header(line)
        if found is not None:
            table, header, delimiter, prefix = found
            self.raw = Raw(table, header, printed=list(header), delimiter=delimiter, prefix=prefix)
            self._record(_without(prefix, line))

    # records -----------------------------------------------------------------------------------------------
    def _record(self, line: str) -> None:
        raw = self.raw
        assert raw is not None
        wanted = len(raw.header)
        if not line.strip() or _RULE.fullmatch(line) or _DOTS.fullmatch(line):
            self._flush()
            return
        inside = self.pending is not None and raw.delimiter != "|" and self.pending.count('"') % 2 == 1
        if inside and _FRESH.match(line):
            self._flush()  # the line before was cut inside its name
        fields, is_open = split(line, raw.delimiter)
        if self.goes_on and self.pending is not None:
            both = self.pending + line
            joined, _ = split(both, raw.delimiter)
            if len(joined) <= wanted and len(both) <= LONGEST:
                self.pending = both
                if self.now < self.widest:  # a line that the width did not break is a record's last
                    self._flush()
                return
            self._flush()
        if len(fields) == wanted and not is_open:
            self._flush()
            if (self.hard and self.now == self.widest) or (not fields[-1] and raw.delimiter != "|"):
                self.pending = line  # its last field may follow in the next line
            else:
                self._add(fields, line)
            return
        if len(fields) == wanted + 1 and not fields[-1] and not is_open:  # a delimiter at the end
            self._flush()
            self._add(fields[:-1], line)
            return
        if self.pending is None:
            if raw.delimiter not in line:
                if line.lstrip().startswith('"') and (is_open or (self.hard and self.now == self.widest)):
                    self.pending = line  # a long name alone in its line
                elif raw.rows and self.before == self.widest and line.strip().isdigit():
                    last = raw.rows[-1][-1]
                    if last is not None and last.isdigit():  # one record alone was too wide for the page
                        raw.rows[-1][-1] = last + line.strip()
                return
            if len(fields) > wanted and not is_open:
                self._add(self._surplus(fields), line)
            else:
                self.pending = line
            return
        was_open = self.pending.count('"') % 2 == 1 and raw.delimiter != "|"
        if not was_open and raw.delimiter not in line and not _TAIL.fullmatch(line.strip()):
            self._flush()
            return
        both = self.pending + (" " if was_open and not self.hard else "") + line
        joined, still_open = split(both, raw.delimiter)
        if len(both) > LONGEST or (len(joined) > wanted and not still_open):
            if len(joined) > wanted and len(both) <= LONGEST:
                merged = self._surplus(joined)
                if self._fits(merged):
                    self.pending = None
                    self._add(merged, both)
                    return
            self._flush()
            self.pending = line if raw.delimiter in line else None
            return
        if len(joined) == wanted and not still_open:
            self.pending = None
            self._add(joined, both)
        else:
            self.pending = both

    def _surplus(self, fields: list[str]) -> list[str | None]:
        """A record whose name holds unquoted delimiters: what is too much belongs to the name."""
        raw = self.raw
        assert raw is not None
        place = columns.name_column(raw.table, raw.header)
        surplus = len(fields) - len(raw.header)
        if place is None or surplus <= 0:
            return list(fields[: len(raw.header)])
        joint = (raw.delimiter + (" " if raw.delimiter == "," else "")).join(fields[place : place + surplus + 1])
        return [*fields[:place], joint, *fields[place + surplus + 1 :]]

    def _fits(self, fields: list[str | None]) -> bool:
        """Whether the columns that hold numbers do."""
        raw = self.raw
        assert raw is not None
        for name, text in zip(raw.header, fields, strict=False):
            whole = name in ("starttimestamp", "endtimestamp", "beginns", "endns", "calls", "totaldurationns")
            if whole and text and not _NUMBER.fullmatch(text):
                return False
        return True

    def _flush(self, at_end: bool = False) -> None:
        """Ends a record that is not complete; what was cut off of its last field is not used."""
        if self.pending is None or self.raw is None:
            self.pending = None
            return
        text, self.pending = self.pending, None
        fields, is_open = split(text, self.raw.delimiter)
        wanted = len(self.raw.header)
        if len(fields) == wanted and not is_open:
            self._add(fields, text)
            return
        places = [i for i, part in enumerate(fields) if _ELIDED.fullmatch(part.strip())]
        row: list[str | None]
        if places and len(fields) - 1 <= wanted:  # parts left out: the rest counts from the end
            left, right = fields[: places[0]], fields[places[-1] + 1 :]
            row = [*left, *[None] * (wanted - len(left) - len(right)), *right]
        else:
            self.raw.cut += 1
            kept = fields[:-1] if at_end or is_open or len(fields) < wanted else fields[:wanted]
            row = [*kept, *[None] * (wanted - len(kept))]
        self._add(row[:wanted], "")

    def _add(self, fields: list[str | None] | list[str], line: str) -> None:
        raw = self.raw
        assert raw is not None
        row = [None if f is None or _ELIDED.fullmatch(f) else f for f in fields]
        if row == raw.printed:
            return
        if line.count('"') >= 2 * len(raw.header):
            raw.quoted_numbers += 1
        raw.rows.append(row)

    def _hand_over(self) -> Raw:
        raw = self.raw
        assert raw is not None
        self.raw = Raw(raw.table, raw.header, printed=raw.printed, delimiter=raw.delimiter, prefix=raw.prefix)
        return raw

    def _close(self, at_end: bool = False) -> Iterator[Raw]:
        if self.heading is not None and at_end:
            yield from self._begin()
        self._flush(at_end)
        if self.raw is not None:
            raw, self.raw = self.raw, None
            yield raw


def tables(lines: Iterable[str], batch: int = 50_000) -> Iterator[Raw]:
    """The tables of a text, in order; a long one comes in several parts of at most ``batch`` rows."""
    return _Walk(batch).walk(lines)
