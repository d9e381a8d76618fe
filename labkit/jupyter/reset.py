"""A lesson from its beginning again: the learner's notebook is moved aside, the published one takes its place. No byte is lost.

The order is what makes it safe. (1) The published copy is written whole under a temporary name: a full disk ends it here, with nothing
changed. (2) A free name for the learner's copy is taken by creating an empty file, which no second reset can take too. (3) The learner's
notebook, whatever it holds at that moment, is renamed onto it. (4) The published copy gets the lesson's name, unless somebody saved a
notebook there in between: then that one is moved aside as well. At any point the learner's notebook is whole under one of two names.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from pathlib import Path

from labkit.course import files
from labkit.errors import LabkitError

_MOST_ASIDE = 1000  # copies of one lesson within one minute
_TRIES = 20  # times that somebody may save the notebook while it is put back


def reset(notebook: Path, published: bytes, now: datetime.datetime) -> Path | None:
    """Puts ``published`` in the place of ``notebook``; returns where the learner's copy is now, None where there was none.

    Raises LabkitError where it cannot be done; then the learner's notebook stands where it stood, or the error says where it is.
    """
    if notebook.is_dir():
        raise LabkitError(f"{notebook.name} is a folder, not a notebook.", "rename that folder, then reset again.")
    try:
        with files.beside(notebook, published, sync=True) as fresh:
            return _put_back(fresh, notebook, now)
    except OSError as error:
        raise LabkitError(
            f"The published {notebook.name} cannot be written: {error.strerror or type(error).__name__}. Your notebook is as it was.",
            "check that the disk has room and that the folder is yours to write to.",
        ) from None


def _put_back(fresh: Path, notebook: Path, now: datetime.datetime) -> Path | None:
    """Steps 2 to 4 with the published copy ``fresh``; returns and raises as ``reset``."""
    kept: Path | None = None
    try:
        fresh.chmod(fresh.stat().st_mode | 0o600)  # also where the learner's own was read-only
        for _ in range(_TRIES):
            if os.path.lexists(notebook):
                kept = _moved_aside(notebook, now)
            try:
                _placed(fresh, notebook)
                return kept
            except FileExistsError:
                continue  # saved by somebody between the two steps: that copy is kept as well
        raise LabkitError(
            f"{notebook.name} is saved again and again while it is reset.", "close it everywhere, then reset again."
        )
    except OSError as error:
        if kept is not None and not os.path.lexists(notebook):
            with contextlib.suppress(OSError):
                _placed(kept, notebook)
                kept = None
        where = f" Your copy is {kept.name}." if kept else " Your notebook is as it was."
        raise LabkitError(
            f"{notebook.name} could not be reset: {error.strerror or type(error).__name__}.{where}",
            "check that the disk has room, that the folder is yours to write to, and that no other program holds the notebook open.",
        ) from None


def _moved_aside(notebook: Path, now: datetime.datetime) -> Path:
    """Renames the notebook to the first free name of this minute."""
    name = f"{notebook.stem}.mine-{now:%Y-%m-%d-%H%M}"
    for number in range(1, _MOST_ASIDE + 1):
        target = notebook.with_name(f"{name}{f'-{number}' if number > 1 else ''}{notebook.suffix}")
        try:
            target.touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            notebook.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                if target.stat().st_size == 0:  # still the empty file that was made here
                    target.unlink()
            raise
        return target
    raise FileExistsError(0, "there are too many copies of this minute already", str(notebook))


def _placed(source: Path, target: Path) -> None:
    """Gives a file a name that is free. Raises FileExistsError where it is not; nothing is overwritten."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: look first, then rename
        if os.path.lexists(target):
            raise FileExistsError(0, "is there", str(target)) from None
        source.rename(target)
    else:
        source.unlink()
