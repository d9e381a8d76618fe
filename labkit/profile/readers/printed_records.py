"""What rocprofv2 prints on the terminal: one line per dispatch, each field as Name(value). Standard library only."""

from __future__ import annotations

import re

_RECORD = re.compile(r"\bDispatch_ID\(\d+\),.*\bKernel_Name\(")
_FIELD = re.compile(r"(\w[\w\[\]]*)\((?:\"([^\"]*)\"|([^(),\"]*))\)")


def as_table(line: str) -> tuple[list[str], list[str]] | None:
    """Names and values of such a line, None for any other."""
    if "Dispatch_ID(" not in line or not _RECORD.search(line):
        return None
    fields = [(name, quoted or plain) for name, quoted, plain in _FIELD.findall(line)]
    return [name for name, _ in fields], [value for _, value in fields]
