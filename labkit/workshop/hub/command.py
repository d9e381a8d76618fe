"""``labkit workshop hub``: writes JupyterHub's configuration, starts it, and what a teacher does beside it."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.course import files, lab
from labkit.errors import LabkitError
from labkit.importable import ROOT, become
from labkit.setup import words
from labkit.setup.words import labkit, say
from labkit.workshop.hub.accounts import PASSWORD_LENGTH, Folder, check_name, reachable

_LONGEST_PATH = 46  # a kernel's socket below FOLDER/run/NUMBER must fit into the 107 bytes that Linux allows
_SHAPING = ("bind", "port", "teacher", "learners", "gpus", "pretend_gpus", "share", "memory", "trust_learners")


def main(options: argparse.Namespace) -> int:
    """Does what the options say; returns the exit status. Raises LabkitError."""
    if sys.platform != "linux":
        raise LabkitError(
            "The hub works on Linux only (in WSL too): it relies on Linux' user ids and limits.",
            f"on this computer {labkit('start')} opens the lessons for one person.",
        )
    folder = Path(options.output).expanduser().absolute() if options.output else default_folder(os.environ)
    if options.progress:
        return _progress(folder, Path(options.progress))
    if options.password:
        return _password(folder, options.password)
    if options.forget:
        return _forget(folder, options.forget)
    if options.status:
        return _status(folder)
    return _write_and_start(folder, options)


def is_root() -> bool:
    """Only root can give learners user ids of their own."""
    return sys.platform == "linux" and os.geteuid() == 0


def default_folder(environ: Mapping[str, str], uid: int | None = None) -> Path:
    """Where the hub is kept: /var/lib for root (learners must be able to pass through), else the user's own state folder."""
    if is_root() if uid is None else uid == 0:
        return Path("/var/lib/labkit/hub")
    home = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "labkit" / "hub"


# ------------------------------------------------------------------------------------------------------ write and start


def _write_and_start(folder: Path, options: argparse.Namespace) -> int:
    place = Folder(folder)
    given = [name for name in _SHAPING if getattr(options, name) not in (None, False)]
    if place.config.exists():
        if options.write or given:
            raise LabkitError(
                f"{place.config} is there already, and is never overwritten.",
                f"start it with {labkit('workshop hub -o', str(place.path))}; change settings in that file, or move it away.",
            )
    else:
        _write(place, options)
    if options.write:
        say(f"Written: {place.config}")
        say(f"Read it, change what you like, then start the hub: {labkit('workshop hub -o', str(folder))}")
        return 0
    return _start(place)


def _write(place: Folder, options: argparse.Namespace) -> None:
    from labkit.workshop.hub import accounts, configuration, gpus, leases, limits, proxy

    root = is_root()
    if not root and not options.trust_learners:
        raise LabkitError(
            "Without root all learners run as you: each can read and change the others' files, and yours.",
            "start it as root (sudo), or say --trust-learners if everybody in the room may do that.",
        )
    if len(os.fsencode(place.path)) > _LONGEST_PATH:
        raise LabkitError(
            f"The path {place.path} is too long for the kernels' sockets.", "choose a shorter one with -o."
        )
    teacher = options.teacher or "teacher"
    learners = _names(options.learners)
    for name in (teacher, *learners):
        check_name(name)
    limits.size(options.memory or "4G")
    lent, pretended = _gpus(options, gpus.found)
    leases.check_gpus(lent, options.share or 1)
    port = options.port or 8000
    if not 0 < port < 65536:
        raise LabkitError(f"{port} is no port number.", "give one from 1024 to 65535.")
    if root:  # before anything is written: the configuration names this clone, and would have to be made anew
        check_reachable(place.path)
    place.make()
    inner = _free_ports(2, {port})
    choices = configuration.Choices(
        folder=place.path, bind=options.bind or "0.0.0.0", port=port, hub_port=inner[0], proxy_port=inner[1],
        proxy=proxy.ensure(place.path / "proxy"), teacher=teacher, learners=learners, gpus=lent, pretended=pretended,
        share=options.share or 1, memory=options.memory or "4G",
        first_uid=accounts.claim_uids(place.path) if root else None, trust_learners=bool(options.trust_learners),
    )  # fmt: skip
    files.write_text(place.config, configuration.text(choices))
    place.config.chmod(0o600)


def _names(given: str | None) -> tuple[str, ...]:
    """Names from the command line (ada,ben) or from a file, one a line."""
    if not given:
        return ()
    path = Path(given)
    if path.is_file():
        try:
            given = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LabkitError(f"{path} cannot be read: {error}.", "give a text file, one name a line.") from None
    return tuple(dict.fromkeys(given.replace(",", " ").lower().split()))


def _gpus(options: argparse.Namespace, found: Any) -> tuple[tuple[str, ...], bool]:
    if options.pretend_gpus is not None:
        if options.gpus:
            raise LabkitError("--gpus and --pretend-gpus exclude each other.", "give one of them.")
        if not 0 < options.pretend_gpus <= 64:
            raise LabkitError(f"{options.pretend_gpus} pretended GPUs make no sense.", "give 1 to 64.")
        return tuple(map(str, range(options.pretend_gpus))), True
    if options.gpus in (None, "auto"):
        return tuple(found()), False
    if options.gpus == "none":
        return (), False
    return tuple(part.strip() for part in options.gpus.split(",") if part.strip()), False


def _free_ports(count: int, taken: set[int]) -> list[int]:
    """Ports that are free on 127.0.0.1 now, from 8081 upwards."""
    ports = []
    for port in range(8081, 8981):
        if port not in taken and lab.is_free(port):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise LabkitError("No port from 8081 to 8980 is free on 127.0.0.1.", "what runs on this machine?")


def _start(place: Folder) -> int:
    from labkit.workshop.hub import auth, gpus, ports, servers

    place.make()
    settings = read(place.config)
    authenticator, spawner = settings.get("WorkshopAuthenticator", {}), settings.get("LeaseSpawner", {})
    separate = is_root()
    if not separate and not spawner.get("trust_learners", False):
        raise LabkitError(
            "This hub was made for root: without it learners are not protected from each other.",
            f"sudo {labkit('workshop hub -o', str(place.path))}, or set trust_learners in {place.config}.",
        )
    if separate and int(spawner.get("first_uid", 0)) < 1000:
        raise LabkitError(
            "This hub was made without root: there are no user ids for its learners.",
            "begin a new folder as root, or start this one as the user who made it.",
        )
    if separate:
        check_reachable(place.path)
    _check_settings(place, settings)
    ports.check(place, settings)
    for teacher in sorted(authenticator.get("admin_users", ())):
        if not auth.has_password(place.passwords, teacher):
            _ask_password(place, teacher)
    lent, share = list(spawner.get("gpus", [])), spawner.get("share", 1)
    servers.reclaim(place, lent, share)  # here, where no hub runs: reading the configuration beside one changes nothing
    pretended = gpus.PRETENDED if spawner.get("pretended") else ""
    say(f"JupyterHub starts at {settings.get('JupyterHub', {}).get('bind_url')}. Ctrl-C here ends it and all servers.")
    say(f"GPUs to lend: {', '.join(lent) or 'none'}{pretended}, each to {share}.")
    if not separate:
        say("Not root: learners are NOT protected from each other.")
    if authenticator.get("allow_all"):
        say("Anybody who reaches the page can take a name that is free. Names of your own: allowed_users.")
    os.umask(0o022)
    environ = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    }
    command = [sys.executable, "-m", "jupyterhub", "-f", str(place.config)]
    os.chdir(place.private)
    return become(command, environ)


def read(config: Path) -> dict[str, Any]:
    """What the configuration sets, by class. It is the teacher's own file, and is run. Raises LabkitError."""
    from traitlets.config import PyFileConfigLoader

    try:
        loaded: dict[str, Any] = PyFileConfigLoader(config.name, str(config.parent)).load_config()
    except LabkitError:
        raise
    except FileNotFoundError:
        raise LabkitError(f"There is no hub in {config.parent}.", "which folder was given with -o?") from None
    except ImportError as error:  # the course was updated, and this file names parts of it
        raise LabkitError(
            f"{config} does not fit this version of the course: {error}.",
            f"move it away and write a new one ({labkit('workshop hub --write -o', str(config.parent))} and your options). "
            "Passwords and learners' folders stay.",
        ) from None
    except Exception as error:  # whatever the teacher wrote
        raise LabkitError(f"{config} cannot be used: {type(error).__name__}: {error}", "correct it there.") from None
    return loaded


def _check_settings(place: Folder, settings: Any) -> None:
    """Does the spawner take its settings? JupyterHub asks it only when a learner comes, who then reads 'error 500'."""
    from traitlets import TraitError

    from labkit.workshop.hub.spawner import LeaseSpawner

    try:
        LeaseSpawner(config=settings)
    except TraitError as error:
        raise LabkitError(f"{place.config} cannot be used: {error}", "correct it there.") from None


def check_reachable(folder: Path) -> None:
    """Learners have user ids of their own: Python, the course and their homes must be open to them. Raises LabkitError."""
    python = Path(os.path.realpath(sys.executable))
    for path, what in (
        (ROOT, "the course"),
        (Path(sys.prefix), "the environment"),
        (python, "Python"),
        (next(path for path in (folder, *folder.parents) if path.exists()), "the hub"),
    ):
        closed = reachable(path)
        if closed is not None:
            raise LabkitError(
                f"Learners cannot reach {what} ({path}): {closed} is closed to other users.",
                "put the clone and its environment where all may read, for example /opt/rocm-labs with LABKIT_ENV=/opt/rocm-labs/.venv, "
                "made with the system's python3.",
            )
    for path in (ROOT, ROOT / "labkit", Path(sys.prefix)):
        if path.stat().st_mode & 0o002:
            raise LabkitError(
                f"Everybody can write to {path}, so learners could change the course.", f"chmod -R o-w {path}"
            )


# ---------------------------------------------------------------------------------------------------- beside a running hub


def _ask_password(place: Folder, name: str) -> None:
    from labkit.workshop.hub import auth

    least = int(read(place.config).get("WorkshopAuthenticator", {}).get("min_password_length", PASSWORD_LENGTH))
    if sys.stdin.isatty():
        first = getpass.getpass(f"A password for {name} ({least} characters or more): ")
        if first != getpass.getpass("Once more: "):
            raise LabkitError("These were two different passwords.", "try again.")
    else:
        first = sys.stdin.readline().rstrip("\n")
        if not first:
            raise LabkitError(
                f"{name} has no password yet, and there is no terminal to ask for it.",
                f"{labkit('workshop hub --password', name)} reads one from standard input.",
            )
    auth.set_password(place.passwords, name, first, least)


def _there(folder: Path) -> Folder:
    place = Folder(folder)
    if not place.config.exists():
        raise LabkitError(f"There is no hub in {folder}.", f"{labkit('workshop hub')} makes one; -o names its folder.")
    return place


def _password(folder: Path, name: str) -> int:
    place = _there(folder)
    _ask_password(place, name)
    say(f"The password of {name} is set. The hub need not be started anew.")
    return 0


def _forget(folder: Path, name: str) -> int:
    from labkit.workshop.hub import auth

    if not auth.forget_password(_there(folder).passwords, name):
        raise LabkitError(f"{name} has no password here.", "is the name right?")
    say(f"Forgotten. The first one who now logs in as {name} chooses the password: let {name} do it at once.")
    return 0


def _status(folder: Path) -> int:
    from labkit.workshop.hub.leases import Book

    place = _there(folder)
    table = Book(place.leases).read()
    say(f"{table.free()} of {len(table.gpus) * table.share} places on GPUs are free.")
    for lease in table.leases:
        say(f"GPU {lease.gpu}: {lease.learner}, since {lease.since} UTC")
    say(
        f"{len(place.names())} learners have a folder; {words.size(shutil.disk_usage(folder).free)} of the disk are free."
    )
    return 0


def _progress(folder: Path, output: Path) -> int:
    from labkit.workshop.hub import consent, progress
    from labkit.workshop.progress import as_csv

    place = _there(folder)
    first_uid = read(place.config).get("LeaseSpawner", {}).get("first_uid") if is_root() else None
    rows, problems = progress.collect(place, consent.answers(place), first_uid)
    for problem in problems:
        say(f"Left out: {problem}")
    table = as_csv(rows) if output.suffix != ".json" else json.dumps(rows, indent=1) + "\n"
    files.write_text(output, table)
    say(
        f"Written: {output}, {len(rows)} of {len(place.names())} learners. The others did not agree, or cannot be read."
    )
    return 0
