"""The repository as learners need it: what git tracks, without the tests and what only its authors use."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from labkit.errors import LabkitError

# tests need packages that a pack does not bring; the others concern a host of repositories
_NOT_FOR_LEARNERS = {"tests", ".ci", ".github", ".devcontainer", ".gitignore", ".gitattributes"}
_HIDDEN = {".git", ".venv", ".labkit", "build", "__pycache__", ".ipynb_checkpoints", "data"}


def copy(root: Path, target: Path) -> int:
    """Copies the course into ``target``, which is replaced but for ``data/``; gives the number of files.

    Files are copied as they lie there, so that what a teacher changed is taught. Raises LabkitError where the repository
    has no lessons.
    """
    names = tracked(root)
    if not any(name.startswith("notebooks/") for name in names):
        raise LabkitError(f"{root} holds no notebooks.", "Call labkit inside a whole clone of the course.")
    if target.is_dir():
        for entry in target.iterdir():
            if entry.name != "data":
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name in names:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, place)
    return len(names)


def publish(copied: Path, target: Path) -> None:
    """The lessons once more, untouched: what JupyterLab's reset puts back where there is no git."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in sorted((copied / "notebooks").glob("*.ipynb")):
        shutil.copyfile(path, target / path.name)


def tracked(root: Path) -> list[str]:
    """The files for learners, as paths with forward slashes: those that git knows, or all of a download without git."""
    answer = _git(root, "ls-files", "-z")
    if answer is not None:
        names = [name for name in answer.split("\0") if name]
    else:
        paths = [path for path in root.rglob("*") if not _HIDDEN & set(path.relative_to(root).parts[:-1])]
        names = [path.relative_to(root).as_posix() for path in paths]
    return sorted(name for name in names if name.split("/")[0] not in _NOT_FOR_LEARNERS and (root / name).is_file())


def commit(root: Path) -> str:
    """The course's version as git names it, with a word where files were changed since; "" without git."""
    number = _git(root, "rev-parse", "--short=12", "HEAD")
    if number is None:
        return ""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return number.strip() + (" and changes" if changed else "")


def _git(root: Path, *arguments: str) -> str | None:
    """What git says about this very repository; None where it is none, or git is missing. This code comes from there, so it is
    trusted whoever owns it (safe.directory)."""
    if not (root / ".git").exists():  # a copy inside somebody else's repository
        return None
    try:
        answer = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout if answer.returncode == 0 else None
