"""What one learner may use: limits that Linux enforces by itself, and a watch over what it does not.

Everywhere: RLIMIT_DATA (memory of one process), RLIMIT_FSIZE (one file) and the watch (memory of all processes of a learner
together, size of their folder). RLIMIT_AS would count address space that ROCm only reserves (all of a GPU's and more), so no
program could open a GPU under it. Only with root: RLIMIT_NPROC, since it counts all processes of a user id, which learners do
not share then; and a control group for each learner where cgroup v2 has the controllers memory, cpu and pids.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabkitError

CGROUPS = Path("/sys/fs/cgroup")
_CONTROLLERS = ("cpu", "memory", "pids")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Limits:
    """Of one learner. memory, file and folder in bytes; processes counts threads too; cpus: cores, 0: no limit."""

    memory: int
    file: int
    folder: int
    processes: int
    cpus: float = 0.0


def size(text: str) -> int:
    """'4G' in bytes (powers of 1024, as JupyterHub has it). Raises LabkitError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip().upper())
    if not found or float(found[1]) <= 0:
        raise LabkitError(f"'{text}' is no size.", "write it like 512M or 4G.")
    return int(float(found[1]) * _UNITS[found[2]])


def apply(limits: Limits, *, own_uid: bool) -> None:
    """Sets the limits of this process and of all that it starts. Called in a learner's server just before it begins."""
    _lower(resource.RLIMIT_DATA, limits.memory)
    _lower(resource.RLIMIT_FSIZE, limits.file)
    _lower(resource.RLIMIT_CORE, 0)
    if own_uid:
        _lower(resource.RLIMIT_NPROC, limits.processes)


def _lower(which: int, to: int) -> None:
    hard = resource.getrlimit(which)[1]
    to = to if hard == resource.RLIM_INFINITY else min(to, hard)
    resource.setrlimit(which, (to, to))


# ------------------------------------------------------------------------------------------------------ control groups


def delegated(root: Path = CGROUPS, own: str | None = None) -> Path | None:
    """The control group under which the hub may make one for each learner, or None.

    That is the group in which the hub was started, where systemd delegated it (``Delegate=yes``): cgroup v2, and the
    controllers are there. ``own``: the text of /proc/self/cgroup.
    """
    if own is None:
        try:
            own = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        except OSError:
            return None
    found = re.search(r"^0::/(.+)$", own, re.MULTILINE)  # not the root group itself, which is the system's
    if found is None:
        return None
    group = root / found[1]
    try:
        controllers = (group / "cgroup.controllers").read_text(encoding="utf-8").split()
    except OSError:
        return None
    return group if set(_CONTROLLERS) <= set(controllers) and _is_ours(group) else None


def _is_ours(group: Path) -> bool:
    """systemd marks what it delegates; root could write to any group, and would disturb systemd there."""
    for mark in ("trusted.delegate", "user.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(group, mark) == b"1":
                return True
    return False


def open_groups(group: Path) -> bool:
    """Moves the hub into a group beside the learners' (a group with processes may not hand on controllers) and hands them on."""
    try:
        hub = group / "hub"
        hub.mkdir(exist_ok=True)
        for pid in (group / "cgroup.procs").read_text(encoding="utf-8").split():
            (hub / "cgroup.procs").write_text(pid, encoding="utf-8")
        wanted = " ".join(f"+{name}" for name in _CONTROLLERS)
        (group / "cgroup.subtree_control").write_text(wanted, encoding="utf-8")
    except OSError:
        return False
    return True


def learner_group(group: Path, name: str, limits: Limits) -> Path:
    """Makes or changes the learner's group. Raises OSError."""
    mine = group / f"learner-{name}"
    mine.mkdir(exist_ok=True)
    (mine / "memory.max").write_text(str(limits.memory), encoding="utf-8")
    (mine / "pids.max").write_text(str(limits.processes), encoding="utf-8")
    quota = f"{round(limits.cpus * 100_000)} 100000" if limits.cpus else "max 100000"
    (mine / "cpu.max").write_text(quota, encoding="utf-8")
    return mine


# ----------------------------------------------------------------------------------------------------------- the watch


@dataclass(frozen=True)
class Process:
    """A process as the watch sees it. memory: bytes that are its own (resident without what is shared)."""

    pid: int
    parent: int
    uid: int
    memory: int
    started: float


def processes() -> list[Process]:
    """All processes of this machine that can be seen."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error), process.oneshot():
            memory = process.memory_info()
            own = memory.rss - getattr(memory, "shared", 0)
            found.append(Process(process.pid, process.ppid(), process.uids().real, own, process.create_time()))
    return found


def belonging(all_: Iterable[Process], server: int, uid: int | None) -> list[Process]:
    """A learner's processes: those of their user id, else the server and what descends from it."""
    everything = list(all_)
    if uid is not None:
        return [process for process in everything if process.uid == uid]
    children: dict[int, list[Process]] = {}
    for process in everything:
        children.setdefault(process.parent, []).append(process)
    family = [process for process in everything if process.pid == server]
    for process in family:  # grows while it is walked
        family += [child for child in children.get(process.pid, []) if child not in family]
    return family


def to_end(own: Iterable[Process], server: int, memory: int) -> Process | None:
    """Whom to end where a learner's processes together are above the limit: the largest that is not their server itself."""
    own = list(own)
    others = [process for process in own if process.pid != server]
    if sum(process.memory for process in own) <= memory or not others:
        return None
    return max(others, key=lambda process: process.memory)


def folder_bytes(folder: Path) -> int:
    """What a folder takes on its disk. Links are not followed, what vanishes meanwhile is not counted."""
    total, open_ = 0, [str(folder)]
    seen: set[int] = set()
    while open_:
        try:
            entries = list(os.scandir(open_.pop()))
        except OSError:
            continue
        for entry in entries:
            with contextlib.suppress(OSError):
                facts = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(facts.st_mode):
                    open_.append(entry.path)
                if facts.st_nlink == 1 or facts.st_ino not in seen:
                    total += facts.st_blocks * 512
                seen.add(facts.st_ino)
    return total


def words(limits: Limits, *, separate: bool, groups: bool) -> Mapping[str, str]:
    """Who sees to which limit, for the log and for people."""
    watch = "the hub's watch, every few seconds"
    return {
        "memory of one process": "Linux (RLIMIT_DATA)",
        "memory of a learner": "Linux (cgroup v2)" if groups else watch,
        "processes": "Linux (cgroup v2)" if groups else "Linux (RLIMIT_NPROC)" if separate else "nobody",
        "cores": ("Linux (cgroup v2)" if groups else "nobody: a request in OMP_NUM_THREADS")
        if limits.cpus
        else "nobody",
        "one file": "Linux (RLIMIT_FSIZE)",
        "a learner's folder": "the hub's watch, every minute; ends their server above the limit",
    }
