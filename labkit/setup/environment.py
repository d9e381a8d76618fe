"""Where the environment is, whose it is, and what set-up remembers of it.

The environment is ``.venv`` in the repository, or the folder that LABKIT_ENV names. One that labkit makes carries a
marker, written before anything else; only such a one is ever repaired or deleted. What was found out when it was last
complete is in a *stamp*, written last: while the stamp still fits, nothing is looked at again.

An environment that works is never deleted before another one works in its place: it is *set aside* within its folder,
and put back when the new one fails or is never finished.

In an environment that somebody else made (a container image, a class, CI) labkit writes nothing of its own: its stamp
then lies in the repository's ``.labkit`` folder, or in the user's cache where that is not writable.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from labkit.errors import LabkitError

MARKER = "labkit-environment.json"
LOG = "labkit-setup.log"
LOCK = "labkit-setup.lock"
TEMPORARY = "labkit-tmp"
CONSTRAINTS = "labkit-constraints.txt"
STAMP = "labkit-stamp.json"
BEFORE = "labkit-before"  # holds the environment that was there while another one is built in its place
_GONE = "labkit-before-gone"
_PTH = "labkit_course.pth"
_OURS = (MARKER, LOG, LOCK, BEFORE)


@dataclass(frozen=True)
class Environment:
    """A folder that holds, or will hold, a Python with the course's packages. ``root`` is the repository."""

    path: Path
    root: Path
    chosen: bool = False  # named by LABKIT_ENV

    @property
    def made_by_labkit(self) -> bool:
        return (self.path / MARKER).is_file()

    @property
    def python(self) -> Path:
        """The interpreter: the one that is there, or where a new one will be."""
        return interpreter(self.path, os.name)

    @property
    def has_python(self) -> bool:
        return _is_there(self.python)  # False for a link into a Python that was removed

    @property
    def is_new(self) -> bool:
        """Nothing is there yet (a folder with nothing but labkit's lock counts as nothing)."""
        try:
            return all(entry.name in (LOCK, LOG) for entry in self.path.iterdir())
        except FileNotFoundError:
            return True

    @property
    def before(self) -> Path:
        """Where an environment lies that was set aside."""
        return self.path / BEFORE

    @property
    def notes(self) -> Path:
        """The folder for labkit's own files: in the environment if it is labkit's, else beside the course."""
        if self.made_by_labkit or self.is_new:
            return self.path
        key = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
        place = self.root / ".labkit"
        if not os.access(place if place.is_dir() else self.root, os.W_OK):
            place = _user_cache()
        return place / f"setup-{key}"


def locate(root: Path, environ: Mapping[str, str]) -> Environment:
    """``.venv`` in the repository, or what LABKIT_ENV names; raises LabkitError where that cannot be one."""
    named = environ.get("LABKIT_ENV", "").strip()
    path = Path(named).expanduser().absolute() if named else root / ".venv"
    environment = Environment(path, root, chosen=bool(named))
    try:
        return _located(environment)
    except PermissionError as error:
        raise _closed(environment, Path(error.filename or path)) from error


def _located(environment: Environment) -> Environment:
    path, which = environment.path, f"LABKIT_ENV names {environment.path}, which"
    if path == path.parent:
        raise LabkitError(f"{which} is the whole file system.", "name the folder of an environment, or a new folder.")
    if path.is_symlink() and not path.exists():
        gone = f"is a link to {path.readlink()}, and nothing is there."
        raise (
            LabkitError(f"{which} {gone}", "mend or remove the link, or name another folder.")
            if environment.chosen
            else LabkitError(
                f"{path}, where the environment belongs, {gone}", f"remove or rename the link {path}, then call again."
            )
        )
    if path.exists() and not path.is_dir():
        raise (
            LabkitError(f"{which} is a file.", "name the folder of an environment, or a new folder.")
            if environment.chosen
            else LabkitError(
                f"{path}, where the environment belongs, is a file.",
                f"remove or rename the file {path}, then call again.",
            )
        )
    has_python = environment.has_python  # looked at in any case: its folder may be closed to this user
    if environment.chosen and not environment.is_new and not environment.made_by_labkit and not has_python:
        raise LabkitError(
            f"LABKIT_ENV names {path}, which has files in it but no Python.",
            "name the folder of an environment, or a folder that does not exist yet.",
        )
    return environment


def interpreter(prefix: Path, os_name: str) -> Path:
    """The Python of a virtual environment or a conda prefix, on POSIX or on Windows (``os_name`` 'nt')."""
    candidates = (
        [prefix / "Scripts" / "python.exe", prefix / "python.exe"]
        if os_name == "nt"
        else [prefix / "bin" / "python", prefix / "bin" / "python3"]
    )
    return next((path for path in candidates if _is_there(path)), candidates[0])


def _is_there(path: Path) -> bool:
    """As Path.exists, but a folder that this user may not enter raises PermissionError on every version of Python."""
    try:
        path.stat()
    except PermissionError:
        raise
    except OSError:
        return False
    return True


def _closed(environment: Environment, path: Path) -> LabkitError:
    """What to say where the environment, or the Python that it was made with, lies in a folder closed to this user."""
    target = Path(os.path.realpath(path))
    folder = next((one for one in reversed(target.parents) if not os.access(one, os.X_OK)), target.parent)
    where = f" ({target})" if target != path else ""
    return LabkitError(
        f"The Python of the environment {environment.path}{where} lies under {folder}, which this user may not enter.",
        "ask its owner to open that folder, or take an environment of your own: set LABKIT_ENV to a new folder that "
        "you can write to.",
    )


def is_inside(environment: Environment) -> bool:
    """Does this very process run in the environment?"""
    return Path(sys.prefix).resolve() == environment.path.resolve()


def base_python() -> str:
    """The Python to make an environment with: the one under the current environment, if this is one."""
    return getattr(sys, "_base_executable", None) or sys.executable


def mark(environment: Environment) -> None:
    """Makes the folder labkit's own, before anything is put into it."""
    environment.path.mkdir(parents=True, exist_ok=True)
    key, words = here()
    write_json(
        environment.path / MARKER,
        {"made_by": "labkit", "python": list(sys.version_info[:3]), "here": key, "made_on": words},
    )


def made_elsewhere(environment: Environment) -> str:
    """In words, the other system that made this environment; empty where it was this one, or is not known."""
    value = _read_json(environment.path / MARKER)
    return str(value.get("made_on", "")) if value.get("here") not in (None, here()[0]) else ""


def here(etc: Path = Path("/etc")) -> tuple[str, str]:
    """A key for this installed system (not for its hardware), and the system in words.

    Two systems that share a home folder have different keys; an upgrade or a restarted container does not change it.
    """
    release = dict(line.split("=", 1) for line in _read(etc / "os-release").splitlines() if "=" in line)
    name = release.get("PRETTY_NAME", "").strip("\"'") or f"{platform.system()} {platform.release()}"
    identity = _read(etc / "machine-id").strip()
    if not identity:  # a container, whose host name changes with every start
        identity = f"{release.get('ID', '')} {release.get('VERSION_ID', '')}" if release else platform.node()
    key = hashlib.sha256(f"{identity} {platform.machine()}".encode(errors="replace")).hexdigest()[:16]
    return key, f"{platform.node() or 'another machine'} ({name}, {platform.machine()})"


def set_aside(environment: Environment) -> None:
    """Moves what is in an environment of labkit's into a folder within it, to be put back if its successor fails."""
    aside = environment.before
    aside.mkdir()
    try:
        shutil.copy2(environment.path / MARKER, aside / MARKER)
        for entry in sorted(environment.path.iterdir(), key=lambda entry: entry.name != STAMP):  # the stamp goes first
            if entry.name not in _OURS:
                entry.rename(aside / entry.name)
    except OSError:
        put_back(environment)
        raise


def put_back(environment: Environment) -> None:
    """The environment that was set aside takes its place again; what was built meanwhile is deleted.

    May be broken off at any point and called again: what has been moved back already is not deleted.
    """
    for entry in sorted(environment.before.iterdir(), key=lambda entry: entry.name == STAMP):  # the stamp comes last
        target = environment.path / entry.name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        elif entry.is_dir():
            target.unlink(missing_ok=True)
        entry.replace(target)
    environment.before.rmdir()


def let_go(environment: Environment) -> None:
    """Deletes the environment that was set aside: its successor works. From the renaming on it is not put back."""
    gone = environment.path / _GONE
    if environment.before.exists():
        environment.before.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def clear(environment: Environment) -> None:
    """Deletes what is in an environment that labkit made; keeps its marker, log and lock, and what was set aside."""
    if not environment.made_by_labkit:
        raise LabkitError(
            f"{environment.path} was not made by labkit, so labkit does not delete it.",
            "delete it yourself if you want that, or name another folder in LABKIT_ENV.",
        )
    for entry in sorted(environment.path.iterdir(), key=lambda entry: entry.name != STAMP):  # the stamp goes first
        if entry.name not in _OURS:
            _delete(entry)


def make_importable(site: Path, root: Path) -> None:
    """Lets the environment's Python import labkit from the repository, by one line in a .pth file.

    Not ``pip install -e``: that would build the package, which fetches a build backend from the index (a folder of
    wheels without a network has none), takes seconds, and writes into the repository. The path is written as an
    escaped literal because a .pth file is read in the system's own encoding before Python 3.13.
    """
    line = f"import sys; sys.path.append({str(root)!a})\n"
    path = site / _PTH
    if not path.exists() or path.read_text(encoding="ascii", errors="replace") != line:
        write_text(path, line)


def read_stamp(environment: Environment) -> dict[str, Any]:
    """What is remembered; empty where there is nothing or it cannot be read."""
    return _read_json(environment.notes / STAMP)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def forget(environment: Environment) -> None:
    """Removes the stamp: the next call looks at everything again."""
    try:
        (environment.notes / STAMP).unlink(missing_ok=True)
    except OSError:
        if environment.made_by_labkit:
            raise


def portable(path: Path | str) -> str:
    """A path as it is written down: the same text whatever this process takes for the system's encoding."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def native(text: str) -> str:
    """The path that ``portable`` wrote down, as this process needs it."""
    return os.fsdecode(text.encode("utf-8", "surrogateescape"))


def write_stamp(environment: Environment, stamp: Mapping[str, Any]) -> None:
    """Remembers; where nothing can be written (a read-only machine), the next call looks again."""
    path = environment.notes / STAMP
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, stamp)
    except OSError:
        if environment.made_by_labkit:
            raise


def watched(site: Path) -> dict[str, int]:
    """Folders and files, and when they last changed (ns): one of these changes when anyone installs or removes a
    package, or deletes or damages what torch loads first. 0 for what is gone."""
    found = [site, *torch_parts(site)]
    return {portable(path): changed_ns(path) for path in found}


def torch_parts(site: Path) -> list[Path]:
    """What of torch is watched: its folders, and the files without which nothing of it works."""
    package, lib = site / "torch", site / "torch" / "lib"
    names = ("libtorch*", "libc10*", "torch*.dll", "c10*.dll")
    libraries = sorted(path for name in names for path in lib.glob(name))
    files = [package / "__init__.py", package / "version.py", *libraries]
    return [package, lib, *sorted(site.glob("torch-*.dist-info")), *files]


def changed_ns(folder: str | Path) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=1, ensure_ascii=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Whole or not at all: to a temporary name, then renamed."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(environment: Environment, say: Callable[[str], None]) -> Iterator[int | None]:
    """One set-up at a time: waits for another one, and says so once. Gives the lock's file descriptor.

    The lock is the operating system's, on an open file, so it cannot go stale: it ends with the process that holds it.
    pip is started with the descriptor, so a pip that outlives a killed set-up still counts. The file holds the process
    number for the sentence. Where the folder cannot be written there is nothing to protect: gives None.
    """
    path = environment.notes / LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError:
        if environment.is_new or environment.made_by_labkit:
            raise
        yield None
        return
    with file:
        told = False
        while not try_lock(file):
            if not told:
                file.seek(0)
                say(f"{_holder(file.read().strip())} in {environment.path}; waiting for it. Ctrl-C stops waiting.")
                told = True
            time.sleep(0.3)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield file.fileno()


def _holder(number: str) -> str:
    """Who holds the lock: the set-up whose number is in it, or the pip that it left when it was ended."""
    if os.name != "nt" and number.isdigit():
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return f"A set-up (process {number}) was ended, and the pip that it started is still at work"
        except OSError:
            pass  # it is somebody else's, and alive
    return f"Another set-up (process {number or 'unknown'}) is at work"


def try_lock(file: IO[str]) -> bool:
    """Takes a file for this process, as long as it is open; says whether that went."""
    if os.name == "nt":
        import msvcrt

        file.seek(1 << 20)  # a byte beyond the text: the number stays readable for the one that waits
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # some network file systems have no locks; going on is better than never starting
    return True


def _user_cache() -> Path:
    base = os.environ.get("LABKIT_CACHE") or os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base) / "labkit" if base else Path.home() / ".cache" / "labkit"


def hardware_fingerprint(system: str = sys.platform, sys_root: Path = Path("/sys"), dev: Path = Path("/dev")) -> str:
    """A few cheap facts that change when a GPU comes or goes (milliseconds: no command is run)."""
    facts = [os.environ.get("ROCM_BOOTSTRAP_FORCE_GFX_ARCH", "")]
    if system.startswith("linux"):
        for properties in sorted(sys_root.glob("class/kfd/kfd/topology/nodes/*/properties")):
            facts += [line for line in _read(properties).splitlines() if line.startswith("gfx_target_version ")]
        facts += [
            f"{_read(card / 'vendor').strip()}:{_read(card / 'device').strip()}"
            for card in sorted(sys_root.glob("class/drm/card[0-9]/device"))
        ]
        facts += [name for name in ("kfd", "dxg", "nvidiactl") if (dev / name).exists()]
    elif system == "win32":
        facts += _windows_adapters()
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _windows_adapters() -> list[str]:
    """Names of the display adapters, from the registry's display class."""
    if sys.platform != "win32":
        return []
    import winreg

    names = []
    display = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
    for index in range(16):
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, rf"{display}\{index:04d}") as key:
                names.append(str(winreg.QueryValueEx(key, "DriverDesc")[0]))
        except OSError:
            continue
    return names
