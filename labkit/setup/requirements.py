"""The dependency lists of pyproject.toml, read without a TOML reader (Python 3.10 has none).

Only what labkit's own file uses is understood: plain lists of double-quoted strings with comments. A test compares the
result with ``tomllib``.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabkitError

# What comes from torch's own index and is pinned for everything that is installed after it.
TORCH_FAMILY = ("torch", "torchvision")


@dataclass(frozen=True)
class Requirements:
    """``dependencies`` are needed for the course; ``extras`` are named additions, for example ``test``."""

    dependencies: tuple[str, ...]
    extras: dict[str, tuple[str, ...]]
    requires_python: str
    project: str = ""

    def of(self, needs: str) -> tuple[str, ...]:
        """All requirement strings for ``course``, or for an extra together with the course's.

        An extra that names others, as ``rocm-labs[site]``, stands for their requirements: pip would look for that name in
        its index.
        """
        return self.dependencies if needs == "course" else tuple(dict.fromkeys(self.dependencies + self._extra(needs)))

    def _extra(self, which: str) -> tuple[str, ...]:
        found: list[str] = []
        for requirement in self.extras.get(which, ()):
            inner = re.fullmatch(rf"{re.escape(self.project)}\[([\w, -]+)\]", requirement) if self.project else None
            for other in inner.group(1).split(",") if inner else ():
                found += self._extra(other.strip())
            if not inner:
                found.append(requirement)
        return tuple(found)


def read(pyproject: Path) -> Requirements:
    """Reads the lists; raises LabkitError where the file is missing or has none."""
    try:
        text = pyproject.read_text(encoding="utf-8")
    except OSError as error:
        raise LabkitError(
            f"{pyproject} cannot be read ({error.strerror}).",
            "clone the repository again, or run labkit from inside the clone.",
        ) from error
    project = _section(text, "project")
    dependencies = _list_of_strings(project, "dependencies")
    if not dependencies:
        raise LabkitError(f"{pyproject} names no dependencies.", "restore the file: git checkout pyproject.toml")
    optional = _section(text, "project.optional-dependencies")
    extras = {key: _list_of_strings(optional, key) for key in re.findall(r"^([\w-]+)\s*=\s*\[", optional, re.MULTILINE)}
    python = re.search(r'^requires-python\s*=\s*"([^"]*)"', project, re.MULTILINE)
    called = re.search(r'^name\s*=\s*"([^"]*)"', project, re.MULTILINE)
    return Requirements(dependencies, extras, python.group(1) if python else "", called.group(1) if called else "")


def name(requirement: str) -> str:
    """The package's normalised name: ``Torch[device-gfx1100]>=2`` gives ``torch``."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return re.sub(r"[-_.]+", "-", match.group(1)).lower() if match else ""


def without_torch(requirements: tuple[str, ...]) -> tuple[str, ...]:
    """What pip's own index gives: everything but torch and torchvision."""
    return tuple(requirement for requirement in requirements if name(requirement) not in TORCH_FAMILY)


def _section(text: str, title: str) -> str:
    """The lines between ``[title]`` and the next table header."""
    match = re.search(rf"^\[{re.escape(title)}\][^\n]*\n(.*?)(?=^\[[^\n]*\]\s*$|\Z)", text, re.MULTILINE | re.DOTALL)
    return match.group(1) if match else ""


def _list_of_strings(section: str, key: str) -> tuple[str, ...]:
    match = re.search(rf"^{re.escape(key)}\s*=\s*(\[.*?^\]|\[[^\n]*\])", section, re.MULTILINE | re.DOTALL)
    if not match:
        return ()
    value = ast.literal_eval(match.group(1))  # comments and quotes are read the same way in Python and TOML
    return tuple(str(item) for item in value)
