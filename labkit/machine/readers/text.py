"""What every reader does first: undo what terminals, mail programs and web pages did to the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

LARGEST_JSON = 16 << 20  # characters; what a tool says of its GPUs is far smaller
LONGEST_LINE = 4000  # characters; a tool's line is shorter, and noise must not slow a pattern down

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_QUOTE = re.compile(r"^(?:[ \t]?>)+[ \t]?", re.M)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# rich and box-drawing frames that newer tools print around a table
_FRAME = {"│": "|", "┃": "|", "║": "|", "─": "-", "━": "-", "═": "=", "\u00a0": " ", "\u200b": "", "\ufeff": ""}


def clean(text: str) -> str:
    """Text without ANSI codes, carriage returns, control characters and mail quotes; lines keep their indentation.

    >>> clean("\\x1b[37mROCk module is loaded\\x1b[0m\\r\\n")
    'ROCk module is loaded\\n'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        for sign, plain in _FRAME.items():
            text = text.replace(sign, plain)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = _CONTROL.sub("", text)
    # a paste counts as quoted when most of its lines are; a lone '>' is part of some tool's output
    full = [line for line in text[:200_000].split("\n") if line.strip()]
    if full and sum(line.lstrip().startswith(">") for line in full) * 2 > len(full):
        text = _QUOTE.sub("", text)
    return text


def holds_any(text: str, words: tuple[str, ...]) -> bool:
    """Whether any of the words occurs: the cheap question before the dear ones."""
    return any(word in text for word in words)


def lines(text: str) -> Iterator[str]:
    """The lines, without trailing blanks and stray backslashes at their ends, none longer than LONGEST_LINE."""
    for line in text.split("\n"):
        yield line[:LONGEST_LINE].rstrip().rstrip("\\").rstrip()


_NOTHING = re.compile(r"^(?:n/?a|none|null|unknown|could not collect|-|)$", re.I)


def value(text: str | None) -> str | None:
    """A tool's value, or None for its ways to say that there is none ('N/A', 'N/A (Secondary die)', 'N/A mV')."""
    if text is None:
        return None
    text = text.strip()
    if _NOTHING.match(text) or re.match(r"N/A\b", text, re.I):
        return None
    return text


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def number(text: object) -> float | None:
    """The first number of a value ('141.0W' → 141.0), None when there is none."""
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, (int, float)):
        return float(text)
    found = value(str(text))
    match = _NUMBER.match(found.lstrip("(")) if found else None
    return float(match.group()) if match else None


def finite(content: object) -> float | None:
    """A finite number under 1e300, also where it is written as text; None for 'N/A', 'nan' and all else."""
    if isinstance(content, bool) or not isinstance(content, (int, float, str)):
        return None
    try:
        found = float(content)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < 1e300 else None


_UNITS = {
    "B": 1,
    "KB": 1 << 10,
    "KIB": 1 << 10,
    "MB": 1 << 20,
    "MIB": 1 << 20,
    "GB": 1 << 30,
    "GIB": 1 << 30,
    "TB": 1 << 40,
}


def size(text: object, unit: str | None = None) -> int | None:
    """Bytes of '65520 MB' (the tools' KB, MB and GB are powers of 1024); ``unit`` where the text carries none."""
    amount = number(text)
    if amount is None:
        return None
    found = re.search(r"[\d.]\s*([KMGT]?i?B)\b", str(text), re.I)
    name = (found.group(1) if found else unit or "").upper()
    return round(amount * _UNITS[name]) if name in _UNITS else None


def embedded_json(text: str) -> Any:
    """The first JSON object or list that begins a line of the text (a prompt or warnings may come first); None without one."""
    decoder = json.JSONDecoder()
    budget = 2 * LARGEST_JSON  # characters that may be parsed in vain
    for match in re.finditer(r"^[ \t]*(?=[\[{])", text, re.M):
        start = match.end()
        # '[drm] ...' and the like are no JSON: what follows the bracket tells, before anything is parsed
        if not re.match(r"[\[{]\s*(?:[\"\[{\]}\d-]|$)", text[start : start + 200]):
            continue
        try:
            return decoder.raw_decode(text[start : start + LARGEST_JSON])[0]
        except (ValueError, RecursionError) as error:
            budget -= getattr(error, "pos", LARGEST_JSON // 4) + 200_000
            if budget < 0 or start > 1 << 20:
                return None
    return None
