"""A fresh clone becomes a working environment. Standard library only.

``enter`` is called at the start of every command that needs installed packages. It makes sure that the environment is
ready and runs the same command line again inside it. When nothing changed it looks at a handful of files and goes
straight on; the work itself is in ``labkit.setup.prepare``.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.importable import ROOT, become, python_path
from labkit.setup import environment, homes, requirements
from labkit.setup.environment import Environment

SCHEMA = 2  # of the stamp; an older one is looked at anew
_DONE = "LABKIT_SETUP_DONE"  # tells the command that is run again inside that set-up has just been done


def enter(needs: str, options: Any, argv: Sequence[str]) -> int | None:
    """Makes the environment ready for ``needs`` ('course' or 'test') and runs ``argv`` inside it.

    ``options`` may carry torch, wheelhouse, dry_run and recreate. Returns None where this process already runs in the
    ready environment: go on. Returns an exit status where everything was done (a dry run, or Windows, which cannot
    replace a process). Raises LabkitError for a foreseeable problem.
    """
    try:
        return _enter(needs, options, argv)
    except KeyboardInterrupt:
        print("\nlabkit: stopped by you; the same command goes on where this one stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        raise  # the command line deals with a reader that went away
    except OSError as error:
        raise _as_sentence(error) from error


def _enter(needs: str, options: Any, argv: Sequence[str]) -> int | None:
    place = environment.locate(ROOT, os.environ)
    inside = environment.is_inside(place)
    os.environ["PYTHONPATH"] = python_path(os.environ, ROOT)  # for everything that is started from here
    if os.environ.pop(_DONE, "") == str(place.path) and inside:
        return None
    os.environ.update(homes.private(os.environ, ROOT))
    if os.name != "nt" and sys.getfilesystemencoding().lower() not in ("utf-8", "utf8"):
        os.environ["PYTHONUTF8"] = (
            "1"  # a bare C locale: names of files are UTF-8 for everything that is started from here
        )
    dry_run = bool(getattr(options, "dry_run", False))
    recreate = bool(getattr(options, "recreate", False))
    choice: str | None = getattr(options, "torch", None)
    if not dry_run and not recreate and is_ready(place, needs, choice, os.environ, inside=inside):
        return None if inside else run_inside(place, argv)

    from labkit.setup import prepare, sources

    wheelhouse: str | None = getattr(options, "wheelhouse", None)
    index = os.environ.get("LABKIT_TORCH_INDEX", "").strip() or None
    sources.check_wishes(choice, index, wheelhouse)
    wish = prepare.Wish(
        needs, choice, index, Path(wheelhouse).expanduser().absolute() if wheelhouse else None, recreate
    )
    if dry_run:
        prepare.show(place, wish)
        return 0
    prepare.prepare(place, wish)
    return run_inside(place, argv)


def is_ready(place: Environment, needs: str, choice: str | None, environ: Mapping[str, str], *, inside: bool) -> bool:
    """Does the stamp of the last complete set-up still fit? Reads a few small files and starts nothing."""
    stamp = environment.read_stamp(place)
    if stamp.get("schema") != SCHEMA or not place.has_python:
        return False
    if inside and list(sys.version_info[:2]) != stamp.get("python", [])[:2]:
        return False  # the Python under the environment was replaced by another version
    index = environ.get("LABKIT_TORCH_INDEX", "").strip()
    wanted = list(requirements.read(place.root / "pyproject.toml").of(needs))
    return (
        stamp.get("path") == environment.portable(place.path)  # a copied or moved environment is looked at once
        and stamp.get("requirements", {}).get(needs) == wanted
        and choice in (None, stamp.get("choice"))
        and index in ("", stamp.get("index"))
        and environment.hardware_fingerprint() in stamp.get("hardware", ())
        and bool(stamp.get("watched"))
        and all(environment.changed_ns(environment.native(item)) == then for item, then in stamp["watched"].items())
    )


def run_inside(place: Environment, argv: Sequence[str]) -> int:
    """Runs this command line again with the environment's Python: the process is replaced, or waited for on Windows."""
    command = [str(place.python), "-m", "labkit", *argv]
    environ = {**os.environ, _DONE: str(place.path)}
    return become(command, environ)


def _as_sentence(error: OSError) -> LabkitError:
    where = error.filename or "the environment"
    elsewhere = "set LABKIT_ENV to a folder that you can write to, with room on its disk."
    if error.errno == errno.ENOSPC:
        return LabkitError(
            f"The disk became full while {where} was written.", f"free some space and call again, or {elsewhere}"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return LabkitError(f"labkit may not write or open {where} ({error.strerror}).", elsewhere)
    return LabkitError(
        f"The system refused something during set-up: {error}.", "call the same command again; --recreate starts anew."
    )
