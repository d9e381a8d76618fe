"""What is installed here? Run with an environment's own Python; prints one line of JSON.

Argument 1: JSON list of requirement strings. Argument 2: "files" to look for files that are listed but not there.
Kept to what Python 3.8 understands, so that an environment of an old Python can be named instead of failing.

    python, prefix, site      version, sys.prefix, the folder of packages
    pip                       is pip there?
    versions                  normalised name -> version
    half                      folders *.dist-info of packages that were only half installed, or whose metadata is damaged
    missing                   requirements that are not met, with all they require; null where nothing here can judge

Paths are told as the bytes that the system has, read as UTF-8: the process that asks may take another encoding for the
system's.
"""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def half_installed(site: Path, look_at_files: bool) -> list[Path]:
    """Folders *.dist-info without the RECORD that pip writes last, or whose files are gone."""
    found: list[Path] = []
    for folder in sorted(site.glob("*.dist-info")):
        record = folder / "RECORD"
        complete = record.is_file() and is_readable(folder / "METADATA")
        if complete and look_at_files:
            complete = not any(is_gone(site, line) for line in record.read_text("utf-8", "replace").splitlines())
        if not complete:
            found.append(folder)
    return found


def is_readable(path: Path) -> bool:
    """Is this the metadata of a package?"""
    try:
        return re.search("^Name: .", path.read_text("utf-8"), re.MULTILINE) is not None
    except (OSError, ValueError):
        return False


def portable(path: Any) -> str:
    return os.fsencode(str(path)).decode("utf-8", "surrogateescape")


def is_gone(site: Path, line: str) -> bool:
    """Is a file of a RECORD missing? Scripts outside the folder of packages and compiled files do not count."""
    path = line.rsplit(",", 2)[0].strip('"')
    return bool(path) and not path.startswith(("..", "/")) and not path.endswith(".pyc") and not (site / path).exists()


def requirement_class() -> Any:
    for module in ("packaging.requirements", "pip._vendor.packaging.requirements"):
        try:
            return __import__(module, fromlist=["Requirement"]).Requirement
        except Exception:
            continue
    return None


def missing(requirements: list[str], versions: dict[str, str], broken: set[str]) -> list[str] | None:
    """The requirements that are not met, each with the chain of what it requires."""
    Requirement = requirement_class()
    if Requirement is None:
        return None
    lacking: list[str] = []
    seen: set[tuple[str, str]] = set()
    todo = [(text, "", text) for text in requirements]
    while todo:
        text, extra, top = todo.pop()
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = normalised(requirement.name)
        version = versions.get(name)
        if version is None or name in broken or not requirement.specifier.contains(version, prereleases=True):
            if top not in lacking:
                lacking.append(top)
            continue
        for wanted in ["", *sorted(requirement.extras)]:
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            try:
                todo.extend((child, wanted, top) for child in metadata.distribution(requirement.name).requires or ())
            except Exception:  # damaged metadata: pip is to look after it
                if top not in lacking:
                    lacking.append(top)
    return lacking


def main() -> None:
    requirements = json.loads(sys.argv[1]) if len(sys.argv) > 1 else []
    site = Path(sysconfig.get_paths()["purelib"])
    half = half_installed(site, "files" in sys.argv[2:])
    broken = {normalised(folder.name.split("-")[0]) for folder in half}
    versions: dict[str, str] = {}
    for distribution in metadata.distributions():
        try:
            name, version = distribution.metadata["Name"], distribution.version
        except Exception:  # damaged metadata: its folder is among the half installed ones
            continue
        if name and version:
            versions.setdefault(normalised(name), version)
    print(
        json.dumps(
            {
                "python": list(sys.version_info[:3]),
                "prefix": portable(sys.prefix),
                "site": portable(site),
                "pip": find_spec("pip") is not None,
                "versions": versions,
                "half": [portable(folder) for folder in half],
                "missing": missing(requirements, versions, broken),
            }
        )
    )


if __name__ == "__main__":
    main()
