"""Where the progress file is, and whether this process may write to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "LABKIT_PROGRESS"
OFF = "off"


@dataclass(frozen=True)
class Place:
    """path: the file, or None where nothing is written. why: the reason for that, as part of a sentence."""

    path: Path | None
    why: str = ""


def default_path(
    environment: Mapping[str, str] | None = None, system: str = sys.platform, home: Path | None = None
) -> Path:
    """The file in the folder where this system keeps a user's data: not a cache, which people empty."""
    environment = os.environ if environment is None else environment
    home = Path.home() if home is None else home
    if system == "win32":
        base = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif system == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "labkit" / "progress.jsonl"


def chosen(environment: Mapping[str, str] | None = None) -> Place:
    """The file that LABKIT_PROGRESS names, or the default one; no file where it says ``off``."""
    environment = os.environ if environment is None else environment
    named = environment.get(VARIABLE, "").strip()
    if named.lower() in (OFF, "0", "no", "none", "false"):
        return Place(None, f"{VARIABLE} is off")
    try:
        return Place(Path(named).expanduser() if named else default_path(environment))
    except RuntimeError:  # no home folder to begin from
        return Place(None, "there is no home folder to keep it in")


def writable(environment: Mapping[str, str] | None = None, *, headless: bool = False) -> Place:
    """Like ``chosen``, but nothing is written unasked where no learner is at work.

    headless: a kernel that no person looks at (papermill, nbval). Also in CI and in a test run. A file that
    LABKIT_PROGRESS names is written to all the same.
    """
    environment = os.environ if environment is None else environment
    place = chosen(environment)
    if place.path is None or environment.get(VARIABLE, "").strip():
        return place
    if headless:
        return Place(None, "nobody is watching this notebook")
    if environment.get("CI", "").lower() not in ("", "0", "false") or "PYTEST_CURRENT_TEST" in environment:
        return Place(None, "this is an automatic run")
    return place
