"""Takes folders of whoever executed the lessons out of what their cells printed: tools name their Python with its whole path."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.importable import ROOT

# Somebody else's home, in a run that was made on another machine.
_HOME = re.compile(r"(?<![\w.~-])(?:/home/|/Users/|[A-Za-z]:(\\{1,2})Users\1)[\w.-]+(?=[/\\])")
_WITHOUT = ("image/png", "image/jpeg")  # base64: what looks like a path there is none


def folders(root: Path = ROOT, prefix: str = "", home: Path | None = None) -> dict[str, str]:
    """What to write for a folder of this machine: folder -> words.

    Args:
        root: the clone; its files are named as seen from it.
        prefix: the environment's folder, written as ``.venv``; "" is this one's, unless Python belongs to the system.
        home: the home folder, written as ``~``; None is this user's.
    """
    prefix = prefix or (sys.prefix if sys.prefix != sys.base_prefix else "")
    named = ((str(root), ""), (prefix, ".venv"), (str(home or Path.home()), "~"))
    return {folder: words for folder, words in named if len(Path(folder).parts) > 1}


def hide(value: Any, known: Mapping[str, str]) -> Any:
    """Outputs of a cell, or any part of them, without these folders and without the home of anybody else.

    Args:
        known: what ``folders`` gave.
    """
    if isinstance(value, str):
        return _hide(value, known)
    if isinstance(value, Mapping):
        return {name: part if name in _WITHOUT else hide(part, known) for name, part in value.items()}
    if isinstance(value, list):
        return [hide(part, known) for part in value]
    return value


def _hide(text: str, known: Mapping[str, str]) -> str:
    for folder in sorted(known, key=len, reverse=True):  # an environment may lie in the clone, and both at home
        for name in {folder, folder.replace("\\", "\\\\")}:
            if name in text:
                text = _pattern(name, known[folder]).sub(lambda found, words=known[folder]: words, text)  # type: ignore[misc]
    return _HOME.sub("~", text)


def _pattern(folder: str, words: str) -> re.Pattern[str]:
    """The folder as a whole name, at the beginning of a path; where nothing is written for it, its separator goes with it."""
    separator = "" if words else r"[/\\]{1,2}"
    return re.compile(rf"(?<![\w.~-]){re.escape(folder)}(?=[/\\]){separator}")
