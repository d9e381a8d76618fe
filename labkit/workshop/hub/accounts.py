"""Who the learners are for the operating system: a number each, which is kept, and a home folder that is theirs alone.

A learner never becomes an account of this machine. A name that is typed at a login page where the first password counts would
otherwise open the files of whoever has that name here. So numbers are taken from a range that nobody else uses: above
Debian's reserved 65535, below 100000, where /etc/subuid begins. Linux needs no line in /etc/passwd for them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.course import files
from labkit.errors import LabkitError
from labkit.importable import python_path
from labkit.learn.records import file as records

UIDS = range(70000, 100000, 1000)
"""Where blocks of user ids begin: one block for each hub of this machine."""
MOST = 1000
BLOCKS = Path("/var/lib/labkit/hub-uids.json")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
NAMES = "up to 32 of a-z, 0-9, _ and -, beginning with a letter"
PASSWORD_LENGTH = 8  # characters at least, in a new configuration


def is_name(name: str) -> bool:
    """May somebody be called so at the hub?"""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Raises LabkitError where ``is_name`` is not so."""
    if not is_name(name):
        raise LabkitError(f"'{name}' is no name for the hub.", f"{NAMES}.")


@dataclass(frozen=True)
class Account:
    """One learner. ``number`` counts from 0; ``uid`` is None where all run as whoever started the hub."""

    name: str
    number: int
    home: Path
    runtime: Path
    uid: int | None

    @property
    def notebooks(self) -> Path:
        return self.home / "notebooks"

    @property
    def temporary(self) -> Path:
        return self.home / "tmp"

    @property
    def progress(self) -> Path:
        return self.home / "progress.jsonl"


@dataclass(frozen=True)
class Folder:
    """The hub's folder. ``private`` is for whoever runs the hub; below ``homes`` and ``run`` each learner has one of their own."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "jupyterhub_config.py"

    @property
    def private(self) -> Path:
        return self.path / "private"

    @property
    def shared(self) -> Path:
        return self.path / "shared"

    @property
    def leases(self) -> Path:
        return self.private / "leases.json"

    @property
    def passwords(self) -> Path:
        return self.private / "passwords"

    @property
    def consent(self) -> Path:
        return self.private / "consent.json"

    def make(self) -> None:
        """Makes what is missing. Learners may pass through, and list nothing. Raises LabkitError."""
        try:
            for folder, mode in (
                (self.path, 0o711),
                (self.private, 0o700),
                (self.shared, 0o755),
                (self.path / "homes", 0o711),
                (self.path / "run", 0o711),
            ):
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(mode)
        except OSError as error:
            raise LabkitError(
                f"The hub's folder {self.path} cannot be made: {error.strerror or error}.", "choose another with -o."
            ) from None

    def account(self, name: str, first_uid: int | None) -> Account:
        """The learner's account; a new number for a new name, and its folders. ``first_uid`` None: no user id of their own.

        Raises LabkitError.
        """
        check_name(name)
        if first_uid is not None and first_uid < 1000:  # a number that was forgotten would be root's own
            raise LabkitError("The learners' user ids are not set.", f"set c.LeaseSpawner.first_uid in {self.config}.")
        number = self._number(name)
        uid = None if first_uid is None else first_uid + number
        account = Account(name, number, self.path / "homes" / name, self.path / "run" / str(number), uid)
        for folder in (account.home, account.runtime):
            if not folder.exists():
                folder.mkdir(mode=0o700)
                if uid is not None:
                    os.chown(folder, uid, uid)
        return account

    def names(self) -> Mapping[str, int]:
        """Everyone who ever started a server here, with their numbers."""
        try:
            return {str(name): int(number) for name, number in json.loads(self._accounts.read_text("utf-8")).items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as error:
            raise LabkitError(f"{self._accounts} cannot be read: {error}.", "take it back from your backup.") from None

    @property
    def _accounts(self) -> Path:
        return self.private / "accounts.json"

    def _number(self, name: str) -> int:
        with records.locked(self._accounts):
            known = dict(self.names())
            if name not in known:
                known[name] = max(known.values(), default=-1) + 1
                if known[name] >= MOST:
                    raise LabkitError(f"There are {MOST} learners already.", "begin a new folder for the hub.")
                files.write_text(self._accounts, json.dumps(known, indent=1) + "\n")
            return known[name]


def claim_uids(folder: Path, blocks: Path = BLOCKS) -> int:
    """The first of a thousand user ids for the hub in ``folder``; no other hub of this machine gets them while that exists.

    Raises LabkitError where all blocks are taken, or the list of them cannot be written.
    """
    import pwd

    try:
        blocks.parent.mkdir(parents=True, exist_ok=True)
        with records.locked(blocks):
            known = json.loads(blocks.read_text(encoding="utf-8")) if blocks.exists() else {}
            known = {where: int(first) for where, first in known.items() if Path(where).is_dir()}
            if str(folder) not in known:
                people = [account.pw_uid for account in pwd.getpwall()]
                free = (
                    first
                    for first in UIDS
                    if first not in known.values() and not any(first <= uid < first + MOST for uid in people)
                )
                known[str(folder)] = next(free)
                files.write_text(blocks, json.dumps(known, indent=1) + "\n")
            return known[str(folder)]
    except StopIteration:
        raise LabkitError(
            "All user ids for hubs are taken.", f"delete old hubs' folders; {blocks} lists them."
        ) from None
    except (OSError, ValueError, AttributeError, records.CannotSave) as error:
        raise LabkitError(f"{blocks} cannot be used: {error}.", "look at it, or delete it if no hub runs.") from None


def device_groups() -> list[int]:
    """The groups to which the GPUs' device files belong on this machine (usually render and video)."""
    nodes = [Path("/dev/kfd"), *Path("/dev/dri").glob("renderD*")]
    return sorted({node.stat().st_gid for node in nodes if node.exists()} - {0})


def as_learner(account: Account, arguments: Sequence[str], *, root: Path, timeout_s: float = 60) -> str:
    """Runs ``python -m`` with ``arguments`` as the learner, so that nothing in their folders can lead the hub astray.

    Returns what it printed. Raises LabkitError where it fails.
    """
    environ = {"PATH": os.defpath, "HOME": str(account.home), "PYTHONPATH": python_path({}, root), "PYTHONUTF8": "1"}
    who: dict[str, object] = {}
    if account.uid is not None:
        who = {"user": account.uid, "group": account.uid, "extra_groups": []}
    try:
        done = subprocess.run(
            [sys.executable, "-s", "-m", *arguments], cwd="/", env=environ, capture_output=True, text=True,
            encoding="utf-8", errors="replace", timeout=timeout_s, check=False, umask=0o077, **who,  # type: ignore[call-overload]
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabkitError(f"Nothing can be done as {account.name}: {error}.", "is the folder readable?") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabkitError(f"In the folder of {account.name}: {last}", "look there.")
    return str(done.stdout)


def reachable(path: Path) -> Path | None:
    """The first folder on the way to ``path`` that others may not pass (or ``path`` itself); None where all may."""
    real = path.resolve()
    for folder in [*reversed(real.parents), real]:
        mode = folder.stat().st_mode
        if not mode & (0o001 if folder.is_dir() else 0o004):
            return folder
    return None
