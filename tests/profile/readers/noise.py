"""What pages, terminals, mail programs and people do to a text. Each takes a clean text and returns what somebody pasted."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def _join(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def rows(text: str) -> list[list[str]]:
    """The cells of a CSV text."""
    return list(csv.reader(io.StringIO(text)))


def written(cells: list[list[str]], delimiter: str = ",", quoting: int = csv.QUOTE_NONNUMERIC) -> str:
    """Cells as CSV text."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(cells)
    return out.getvalue()


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def ansi(text: str) -> str:
    return _join([f"\x1b[1;32m{line}\x1b[0m" for line in _lines(text)])


def mail(text: str) -> str:
    return "On Monday somebody wrote:\n" + _join([f"> {line}" for line in _lines(text)]) + "\nThanks!\n"


def indented(text: str) -> str:
    return "The output is::\n\n" + _join([f"    {line}" for line in _lines(text)]) + "\nAnd that is all.\n"


def fenced(text: str) -> str:
    return f"# What I measured\n\nSome words, with commas, and more.\n\n```csv\n{text}```\n\nIs this normal, or not?\n"


def prompt(text: str) -> str:
    return f"user@host:~/run$ cat out/host/4711_table.csv\n{text}user@host:~/run$ \n"


def trailing_blanks(text: str) -> str:
    return _join([line + "   " for line in _lines(text)])


def double_spaced(text: str) -> str:
    return "\n\n".join(_lines(text)) + "\n"


def dots_at_the_end(text: str) -> str:
    return text + "...\n"


def dots_between(text: str) -> str:
    lines = _lines(text)
    middle = 1 + len(lines) // 2
    return _join([*lines[:middle], "...", *lines[middle:], "…"])


def dots_as_a_row(text: str) -> str:
    lines = _lines(text)
    return _join([*lines, '"...",...,...,...'])


def no_last_newline(text: str) -> str:
    return text.rstrip("\n")


def blank_lines_around(text: str) -> str:
    return "\n\n\n" + text + "\n\n"


def header_twice(text: str) -> str:
    lines = _lines(text)
    middle = 1 + len(lines) // 2
    return _join([*lines[:middle], lines[0], *lines[middle:]])


def numbered(text: str) -> str:
    return _join([f"{i:6}\t{line}" for i, line in enumerate(_lines(text), 1)])


def log_lines_between(text: str) -> str:
    lines = _lines(text)
    middle = 1 + len(lines) // 2
    log = "W20250101 12:00:00.000000 4711 tool.cpp:1234] a warning of the tool"
    return _join([log, *lines[:middle], log, *lines[middle:], log])


def upper_header(text: str) -> str:
    lines = _lines(text)
    return _join([lines[0].upper(), *lines[1:]])


def lower_header(text: str) -> str:
    lines = _lines(text)
    return _join([lines[0].lower(), *lines[1:]])


def semicolons(text: str) -> str:
    return written(rows(text), ";", csv.QUOTE_MINIMAL)


def tabs(text: str) -> str:
    return written(rows(text), "\t", csv.QUOTE_MINIMAL)


def all_quoted(text: str) -> str:
    return written(rows(text), ",", csv.QUOTE_ALL)


def few_quotes(text: str) -> str:
    return written(rows(text), ",", csv.QUOTE_MINIMAL)


def bare_names(text: str) -> str:
    """No quotes at all: a name's commas look like columns."""
    return _join([",".join(row) for row in rows(text)])


def other_order(text: str) -> str:
    return written([row[::-1] for row in rows(text)], ",", csv.QUOTE_ALL)


def blanks_after_commas(text: str) -> str:
    return _join([", ".join(f'"{c}"' if "," in c else c for c in row) for row in rows(text)])


def markdown_table(text: str) -> str:
    head, *body = rows(text)
    return _join(["| " + " | ".join(r) + " |" for r in (head, ["---"] * len(head), *body)])


def typographic_quotes(text: str) -> str:
    return _join(
        [
            "".join("“" if c == '"' and i % 2 == 0 else "”" if c == '"' else c for i, c in _counted(line))
            for line in _lines(text)
        ]
    )


def _counted(line: str) -> list[tuple[int, str]]:
    seen = 0
    result = []
    for c in line:
        result.append((seen, c))
        seen += c == '"'
    return result


def terminal(width: int) -> Callable[[str], str]:
    """A terminal of fixed width, copied line by line."""

    def wrapped(text: str) -> str:
        return _join([line[i : i + width] for line in _lines(text) for i in range(0, max(len(line), 1), width)])

    return wrapped


def page(text: str) -> str:
    """An editor that breaks at blanks and behind commas, with a blank line between the records."""
    return "\n\n".join("\n".join(_broken(line)) for line in _lines(text)) + "\n"


def _broken(line: str) -> list[str]:
    marked = line.replace('",', '",\u241f').replace("0,", "0,\u241f").replace("1,", "1,\u241f")
    parts = textwrap.wrap(marked.replace("\u241f", " \u241f"), 90, break_long_words=False, break_on_hyphens=False)
    return [part.replace(" \u241f", "").replace("\u241f", "") for part in parts]


SIMPLE: tuple[Callable[[str], str], ...] = (
    crlf, ansi, mail, indented, fenced, prompt, trailing_blanks, double_spaced, dots_at_the_end, dots_between,
    dots_as_a_row, no_last_newline,
    blank_lines_around, header_twice, numbered, log_lines_between, typographic_quotes,
)  # fmt: skip
TABLES: tuple[Callable[[str], str], ...] = (
    upper_header, lower_header, semicolons, tabs, few_quotes, other_order, blanks_after_commas, markdown_table, bare_names,
)  # fmt: skip
