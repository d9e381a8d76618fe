"""JSON of a profiler inside a text: pasted into Markdown, or behind the lines that a program printed. Standard library only."""

from __future__ import annotations

import json
import re

_KEY = re.compile(r"\"(?:traceEvents|rocprofiler-sdk-tool)\"\s*:")
_OPENING = re.compile(r"^[ \t>]*(\{)", re.M)
_TRIES = 20  # opening braces before the key that are tried, the nearest first


def find(text: str) -> tuple[int, int] | None:
    """Where the whole object that has a profiler's key begins and ends; None where there is none, or it was cut."""
    key = _KEY.search(text)
    if key is None:
        return None
    starts = [m.start(1) for m in _OPENING.finditer(text, 0, key.start())]
    for start in reversed(starts[-_TRIES:]):
        try:
            found, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and end > key.start():
            return start, end
    return None
