"""The steps of an installation as a plain list of pip commands, and their execution with signs of life.

``--dry-run`` prints exactly the list that would be executed. The order is the point: torch first and alone from its own
index, torchvision from the same place with torch pinned, then everything else from pip's default index with both
pinned to the very build that is there (``torch==2.14.1+rocm7.2``), so that no higher version elsewhere can replace it.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from labkit.catalog import wheels
from labkit.errors import LabkitError
from labkit.machine.probes import places
from labkit.setup import requirements as reading
from labkit.setup import sources, words
from labkit.setup.plan import TorchPlan

# Measured on Linux with Python 3.11 on 2026-11-30: all that the course and the test extra need beside the torch family.
COURSE_BYTES = 400_000_000
EXTRA_BYTES = {"site": 150_000_000, "hub": 120_000_000, "test": 500_000_000}
HEARTBEAT_SECONDS = 15.0


@dataclass(frozen=True)
class Step:
    """One call of pip. ``arguments`` follow ``python -m pip``; ``only`` means: from the place named there and no other."""

    title: str
    arguments: tuple[str, ...]
    only: bool = False


def steps(
    plan: TorchPlan | None,
    dependencies: Sequence[str],
    constraints: Path,
    *,
    wheelhouse: Path | None = None,
    family: Sequence[str] = reading.TORCH_FAMILY,
) -> list[Step]:
    """The calls of pip, in order.

    ``plan`` None keeps the torch that is there. ``family`` names which of torch and torchvision are to be installed.
    ``dependencies`` are requirement strings of pyproject.toml; their bounds hold where the plan names none.
    """
    result: list[Step] = []
    pinned = ("--constraint", str(constraints))
    place = ("--no-index", "--find-links", str(wheelhouse)) if wheelhouse else ()
    if plan is not None:
        torch_place = place or sources.place_arguments(plan.index_url)
        for wanted in family_requirements(plan, dependencies):
            name = reading.name(wanted)
            if name in family:
                first = name == "torch"
                result.append(
                    Step(
                        f"{name}, alone, from {source_name(plan, wheelhouse)}"
                        if first
                        else f"{name}, from the same place",
                        ("install", *torch_place, *(() if first else pinned), wanted),
                        only=bool(torch_place),
                    )
                )
    rest = reading.without_torch(tuple(dependencies))
    result.append(
        Step(
            f"everything else, from {'the same folder' if wheelhouse else 'the default index of pip'}, with torch kept where it is",
            ("install", *place, *pinned, *rest),
            only=bool(wheelhouse),
        )
    )
    return result


def family_requirements(plan: TorchPlan, dependencies: Sequence[str]) -> list[str]:
    """The plan's requirements for torch and torchvision, with the course's bounds where the plan has no version."""
    bounds = {reading.name(item): item for item in dependencies}
    result = []
    for wanted in plan.requirements:
        own = bounds.get(reading.name(wanted), "")
        specifier = own[re.match(r"[A-Za-z0-9._-]+", own).end() :] if own else ""  # type: ignore[union-attr]
        result.append(wanted if re.search(r"[<>=!~@]", wanted) else wanted + specifier)
    return result


def source_name(plan: TorchPlan, wheelhouse: Path | None = None) -> str:
    """Where torch comes from, for people."""
    return str(wheelhouse) if wheelhouse else plan.index_url or "the default index of pip"


def from_wheelhouse(plan: TorchPlan, folder: Path) -> TorchPlan:
    """The plan with the torch that the folder holds: the build that was planned if it is there.

    Several builds of one version may lie there; pip would take the one whose name sorts last.
    """
    found = {
        name: sorted(wheel.name.split("-")[1] for wheel in folder.glob(f"{name}-*.whl"))
        for name in reading.TORCH_FAMILY
    }
    if not found["torch"]:
        return replace(plan, download_bytes=0, fallback=None)  # check_wheelhouse says what the folder lacks
    result = []
    for wanted in plan.requirements:
        name = reading.name(wanted)
        fitting = [version for version in found.get(name, ()) if fits(plan, version)]
        bare = re.split(r"[<>=!~ ]", wanted)[0]
        builds = {version.partition("+")[2] for version in found.get(name, ())}
        # with one build in the folder pip chooses the version; with several it must be told which build
        result.append(f"{bare}=={fitting[-1]}" if fitting and len(builds) > 1 else bare)
    other = not any(fits(plan, version) for version in found["torch"])
    note = (
        (f"The folder holds torch {found['torch'][-1]} and no {plan.build} build: it is taken as it is.",)
        if other
        else ()
    )
    return replace(
        plan,
        build="default" if other else plan.build,
        requirements=tuple(result),
        reasons=(*plan.reasons, *note),
        download_bytes=0,
        installed_bytes=None if other else plan.installed_bytes,  # that of another build is not known
        fallback=None,
    )


def check_wheelhouse(folder: Path, plan: TorchPlan | None, wanted: Sequence[str], dependencies: Sequence[str]) -> None:
    """Raises LabkitError that names at once all of ``wanted`` that the folder lacks, and the commands that fill it.

    Only names are compared, and requirements with a marker are left to pip.
    """
    files = {reading.name(path.name.split("-")[0]) for path in folder.glob("*.whl")}
    files |= {reading.name(path.name.rpartition("-")[0]) for path in folder.glob("*.tar.gz")}
    lacking = [reading.name(item) for item in wanted if ";" not in item and reading.name(item) not in files]
    if not lacking:
        return
    fill = [[sys.executable if os.name == "nt" else "python3", "-m", "pip", "download", "-d", str(folder)]] * 2
    family = family_requirements(plan, dependencies) if plan is not None else []
    family = [item for item in family if reading.name(item) in lacking] and family
    rest = list(reading.without_torch(tuple(dependencies)))
    lines = [words.command([*fill[0], *sources.place_arguments(plan.index_url), *family])] if plan and family else []
    if set(lacking) - set(reading.TORCH_FAMILY):
        lines.append(words.command([*fill[1], *rest]))
    raise LabkitError(
        f"The folder of wheels {folder} holds no {', '.join(lacking)}.",
        "fill it on a machine of the same kind, with the same Python:\n    " + "\n    ".join(lines),
    )


def fits(plan: TorchPlan, version: str) -> bool:
    """Is this version's build (``2.14.1+cpu``) the one that was planned?"""
    local = version.partition("+")[2]
    if plan.build == "rocm":
        return local.startswith("rocm")
    if plan.build == "cpu":
        return local == "cpu"
    if plan.build == "cuda":
        return local == "" or local.startswith("cu")
    return True


def pins(versions: Mapping[str, str], family: Sequence[str] = reading.TORCH_FAMILY) -> str:
    """The constraint file: exactly what is installed, with its local part."""
    return "".join(f"{name}=={versions[name]}\n" for name in family if name in versions)


# -- disk ----------------------------------------------------------------------------------------------------------


class Usage(NamedTuple):
    total: int
    used: int
    free: int


DiskUsage = Callable[[Path], "Usage | shutil._ntuple_diskusage"]


def bytes_needed(plan: TorchPlan | None, needs: str) -> int:
    """Room on the environment's disk: what is installed plus, for a while, what is downloaded."""
    torch = 0 if plan is None else sum(sizes(plan))
    return torch + rest_bytes(needs)


def rest_bytes(needs: str) -> int:
    """What everything beside the torch family needs: the course's packages, and those of an extra."""
    return COURSE_BYTES + EXTRA_BYTES.get(needs, 0)


def sizes(plan: TorchPlan) -> tuple[int, int]:
    """Bytes to download and installed. Where that is not established it is assumed: a CPU build as the one for Linux,
    anything else as large as what AMD's wheels take for one target."""
    small = plan.build == "cpu" or (plan.build == "default" and plan.index_url is None)
    like = wheels.SIZES["pytorch-cpu" if small else "amd"]
    download = like.download_bytes if plan.download_bytes is None else plan.download_bytes
    installed = like.installed_bytes if plan.installed_bytes is None else plan.installed_bytes
    return download or 0, installed or 0


def is_assumed(plan: TorchPlan | None) -> bool:
    """Is the room for this plan assumed, because its size is not established?"""
    return plan is not None and plan.installed_bytes is None


def could_be_smaller(plan: TorchPlan | None) -> bool:
    """Would --torch cpu be a way out? Not where that was planned, or where this plan is its fallback already."""
    return plan is not None and plan.build in ("rocm", "cuda")


def size_in_words(plan: TorchPlan) -> str:
    """The size of torch with all that it brings, for people."""
    download, installed = sizes(plan)
    parts = [
        f"about {words.size(download)} to download" if download and plan.download_bytes else "",
        f"about {words.size(installed)} on the disk" if plan.installed_bytes else "",
    ]
    if is_assumed(plan):
        parts.append(f"not established for this build; about {words.size(installed)} on the disk are assumed")
    return ", ".join(part for part in parts if part)


def how_long(plan: TorchPlan, needs: str) -> str:
    """What the first call is likely to take, in one sentence; the time is plain arithmetic."""
    rest = rest_bytes(needs)
    if plan.download_bytes:
        total = plan.download_bytes + rest
        return (
            f"This takes a while, once: at most about {words.size(total)} to download (at 50 Mbit/s {total * 8 / 50e6 / 60:.0f} "
            "minutes), then unpacking. Later calls start at once."
        )
    return (
        f"This takes a while, once: torch (how much is to download for it is not established) and up to {words.size(rest)} "
        "besides. Later calls start at once."
    )


def check_room(
    path: Path, needed: int, disk_usage: DiskUsage = shutil.disk_usage, *, there: int = 0, smaller: bool = False
) -> int:
    """Free bytes on the disk of ``path``; raises LabkitError where ``needed`` less what is ``there`` is more.

    ``smaller``: a smaller build of torch can be proposed.
    """
    free = disk_usage(places.existing(path)).free
    if free < needed - there:
        raise LabkitError(
            f"Not enough room on the disk of {path}: {words.size(needed - there)} are needed, {words.size(free)} are free.",
            "free some space, or name a folder on another disk: set LABKIT_ENV=/path/on/a/larger/disk."
            + (" Or use --torch cpu, the smallest build." if smaller else ""),
        )
    return free


def folder_bytes(path: Path) -> int:
    """Size of all files under ``path``; 0 where there is none."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += (Path(folder) / name).lstat().st_size
            except OSError:
                continue
    return total


# -- running pip ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a call of pip ended. ``status`` is negative where a signal ended it. ``lines`` are its last lines."""

    status: int
    lines: tuple[str, ...]
    seconds: float

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def run_pip(
    python: Path | str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    log: Path,
    temporary: Path,
    lock: int | None = None,
    say: Callable[[str], None] = words.say,
    heartbeat_s: float = HEARTBEAT_SECONDS,
    pip: Sequence[str] = ("-m", "pip"),
) -> Outcome:
    """Runs ``python -m pip ...``: everything into the log, a line for people every ``heartbeat_s`` seconds.

    pip's temporary files go to ``temporary`` (one disk for everything; /tmp is small memory on many systems), which is
    emptied before and after.
    """
    command = [str(python), *pip, *arguments]
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True, exist_ok=True)
    environ = {**environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    kept: list[str] = []
    began = time.monotonic()
    with log.open("a", encoding="utf-8", errors="replace") as file:
        file.write(f"\n$ {words.command(command)}\n")
        file.flush()
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environ,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=temporary.parent,
            pass_fds=() if lock is None or os.name == "nt" else (lock,),
        )
        try:
            doing = "starting"
            for line in _lines(process, heartbeat_s):
                if line is None:
                    say(f"        {time.monotonic() - began:.0f} s, still {doing}")
                    continue
                kept = [*kept[-199:], line]
                doing = activity(line) or doing
                try:
                    file.write(line + "\n")
                    file.flush()
                except OSError:
                    pass  # a full disk: pip will say so
            status = process.wait()
        except BaseException:  # Ctrl-C: pip got it too; nothing may go on writing after labkit has gone
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
    shutil.rmtree(temporary, ignore_errors=True)
    return Outcome(status, tuple(kept), time.monotonic() - began)


def _lines(process: subprocess.Popen[str], heartbeat_s: float) -> Iterator[str | None]:
    """pip's lines as they come; None whenever ``heartbeat_s`` went by since the last sign of life."""
    arrived: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            arrived.put(line.rstrip())
        arrived.put(None)

    threading.Thread(target=read, daemon=True).start()
    due = time.monotonic() + heartbeat_s
    while True:
        try:
            line = arrived.get(timeout=max(0.01, due - time.monotonic()))
        except queue.Empty:
            line = ""
            due = time.monotonic() + heartbeat_s
            yield None
            continue
        if line is None:
            return
        yield line
        if time.monotonic() >= due:
            due = time.monotonic() + heartbeat_s
            yield None


def activity(line: str) -> str:
    """What pip is at, in a few words; empty where the line does not say."""
    line = line.strip()
    match = re.match(
        r"(Downloading|Using cached|Processing|Collecting|Building wheel for)\s+(\S+)(?:\s+\(([^)]*)\))?", line
    )
    if match:
        verb = {
            "Downloading": "downloading",
            "Using cached": "taking from the cache",
            "Processing": "reading",
            "Collecting": "looking for",
            "Building wheel for": "building",
        }[match.group(1)]
        what = match.group(2).rsplit("/", 1)[-1]
        extra = match.group(3)
        return f"{verb} {what}" + (f" ({extra})" if extra and extra[0].isdigit() else "")
    match = re.match(r"Installing collected packages: (.*)", line)
    if match:
        names = [name.strip() for name in match.group(1).split(",")]
        return f"unpacking {len(names)} package{'s' if len(names) > 1 else ''} ({', '.join(names[-3:])})"
    return ""


_NO_NETWORK = re.compile(
    r"Failed to establish a new connection|NameResolutionError|Name or service not known|nodename nor servname|getaddrinfo failed|"
    r"Temporary failure in name resolution|Network is unreachable|No route to host|Connection refused|ConnectTimeout|ReadTimeout|"
    r"timed out|ProxyError|Connection reset|RemoteDisconnected|Connection aborted|Connection broken|IncompleteRead|"
    r"SSLError|SSLCertVerificationError",
    re.IGNORECASE,
)
_ABSENT = re.compile(r"(?:No matching distribution found for|satisfies the requirement) ([^\s(;]+)")
_AGAIN = "call the same command again: it goes on where this one stopped."


def is_unavailable(outcome: Outcome) -> bool:
    """pip found no fitting package there: the index has none, or did not answer."""
    return (
        outcome.status > 0
        and bool(_ABSENT.search(outcome.text) or _NO_NETWORK.search(outcome.text))
        and not _full(outcome.text)
    )


def is_offline(outcome: Outcome) -> bool:
    """pip says that it could not connect."""
    return outcome.status > 0 and bool(_NO_NETWORK.search(outcome.text))


def remedy_unreachable(plan: TorchPlan | None, url: str | None = None) -> str:
    """What to do where an index does not answer: torch's own (``plan`` or ``url``), or pip's default index."""
    own = plan.index_url if plan is not None else url
    mirror = "name a mirror in LABKIT_TORCH_INDEX" if own else "name a mirror in PIP_INDEX_URL"
    cpu = plan.build == "cpu" if plan is not None else wheels.kind_of(own or "") == "cpu"
    meanwhile = "" if not own or cpu else f" Meanwhile the course runs on the CPU: {words.labkit('start --torch cpu')}."
    return (
        f"check the address and the network (behind a proxy set HTTPS_PROXY; or {mirror}), then {_AGAIN} "
        f"Without a network: --wheelhouse DIR.{meanwhile}"
    )


def explain(
    outcome: Outcome, step: Step, environment_path: Path, log: Path, disk_usage: DiskUsage = shutil.disk_usage
) -> LabkitError:
    """One sentence and a remedy for a pip that failed, with its last meaningful lines."""
    text = outcome.text
    what = step.title.split(",")[0]
    details = "\n" + "\n".join(f"    pip: {line}" for line in meaningful(outcome.lines)) + f"\n    (everything: {log})"
    if outcome.status < 0:
        number = -outcome.status
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        reason = " The system does that where memory runs out." if name == "SIGKILL" else ""
        return LabkitError(f"pip was ended from outside ({name}) while it installed {what}.{reason}", _AGAIN)
    if _full(text):
        try:
            free = f"; {words.size(disk_usage(environment_path).free)} are free"
        except OSError:
            free = ""
        return LabkitError(
            f"The disk of {environment_path} became full while pip installed {what}{free}.",
            f"free some space and {_AGAIN} Or set LABKIT_ENV to a folder on a larger disk.",
        )
    if "externally-managed-environment" in text:
        return LabkitError(
            f"{environment_path} belongs to the system's package manager, and pip may not install there.",
            "set LABKIT_ENV to another folder, or unset it to get an environment in the repository.",
        )
    if re.search(
        r"Permission denied|Read-only file system|Access is denied|\[Errno 13\]|\[Errno 30\]|\[WinError 5\]", text
    ):
        return LabkitError(
            f"pip may not write into {environment_path} while it installs {what}.{details}",
            "make the folder writable, or set LABKIT_ENV to a folder of your own.",
        )
    if "DO NOT MATCH THE HASHES" in text:
        return LabkitError(f"A package arrived damaged while pip installed {what}.{details}", _AGAIN)
    absent = _ABSENT.search(text)
    if _NO_NETWORK.search(text):
        url = _argument(step.arguments, "--index-url")
        cause = [line.strip() for line in outcome.lines if _NO_NETWORK.search(line)][-1:]  # its later lines mislead
        told = "".join(f"\n    pip: {line if len(line) < 220 else line[:217] + '...'}" for line in cause)
        return LabkitError(
            f"{url or 'The package index of pip'} could not be reached, or the connection broke, while pip installed "
            f"{what}.{told}\n    (everything: {log})",
            remedy_unreachable(None, url or None),
        )
    if absent:
        source = (
            _argument(step.arguments, "--index-url")
            or _argument(step.arguments, "--find-links")
            or "pip's package index"
        )
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        unsure = ", or did not answer" if "from versions: none" in text and "--no-index" not in step.arguments else ""
        return LabkitError(
            f"{source} has no {absent.group(1)} for this system and Python {version}{unsure}.{details}",
            "add the package to the folder of wheels."
            if "--no-index" in step.arguments
            else "check PIP_INDEX_URL, pip.conf and --torch; another Python between 3.10 and 3.14 may have it.",
        )
    return LabkitError(
        f"pip could not install {what} (exit status {outcome.status}).{details}", f"see the lines above, then {_AGAIN}"
    )


def meaningful(lines: Sequence[str], count: int = 5) -> list[str]:
    """The lines that say what went wrong: pip's errors, else simply the last ones."""
    errors = [
        line.strip()
        for line in lines
        if re.match(r"\s*(ERROR|error|OSError|WARNING: Retrying|[A-Za-z.]*Error\b)", line)
    ]
    errors = list(dict.fromkeys(errors))
    chosen = errors[-count:] or [line.strip() for line in lines if line.strip()][-count:]
    return [line if len(line) < 220 else line[:217] + "..." for line in chosen]


def _full(text: str) -> bool:
    return bool(
        re.search(r"No space left on device|\[Errno 28\]|\[WinError 112\]|Disk quota exceeded|\[Errno 122\]", text)
    )


def _argument(arguments: Sequence[str], option: str) -> str:
    return arguments[arguments.index(option) + 1] if option in arguments else ""
