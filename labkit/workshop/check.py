"""``labkit workshop check``: is this machine ready for the workshop? Standard library only; changes nothing, sends nothing.

Ends with one line for the teacher (``labkit.workshop.lines``). In a pack it also asks whether the wheels for this machine are
there.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from labkit import setup
from labkit.catalog import wheels as catalog
from labkit.course import lab
from labkit.errors import LabkitError
from labkit.importable import ROOT
from labkit.machine import doctor, evidence, intake, snapshot
from labkit.machine.doctor import Finding
from labkit.machine.facts import Machine
from labkit.machine.probes import places
from labkit.setup import environment, install, prepare, words
from labkit.setup.environment import Environment
from labkit.workshop import lines
from labkit.workshop.lines import Line
from labkit.workshop.pack import contents, sums
from labkit.workshop.pack.contents import Contents, WheelSet

READY_ROOM_BYTES = 2_000_000_000  # what lessons write, and air
MEMORY_BYTES = 2_000_000_000  # JupyterLab, a browser's tab and one lesson; training peaks near 0.6 GB
_LARGEST_FILE = 16 << 20
_BROWSERS = (
    "firefox", "firefox-esr", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge",
    "brave-browser", "vivaldi", "opera", "epiphany", "konqueror", "falkon", "wslview",
)  # fmt: skip
_NOT_ABOUT_THE_MACHINE = ("no-amd-gpu", "torch-missing")  # a CPU will do; set-up brings torch


@dataclass(frozen=True)
class Point:
    """One thing that was looked at. ``remedy`` replaces the general one of ``lines.REMEDIES``."""

    name: str
    good: bool
    words: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{'ok ' if self.good else 'NO '} {self.name:<12} {self.words}"
        return text if self.good else f"{text}\n    {'':12} What to do: {self.remedy or lines.REMEDIES[self.name]}."


@dataclass(frozen=True)
class Here:
    """What is known of this machine before it is judged."""

    root: Path
    environ: Mapping[str, str]
    machine: Machine
    place: Environment
    ready: bool  # set-up was completed, and nothing changed since
    stamp: Mapping[str, object]
    pack: Path | None
    table: Contents | None
    chosen: WheelSet | None
    note: str


def main(options: argparse.Namespace) -> int:
    """Prints every point and the line, or with ``collect`` the table of many; 1 where something is not in order."""
    if options.collect:
        return collect(options.collect)
    seat = lines.check_seat(options.seat) if options.seat is not None else ""
    points, line = judge(look(ROOT, os.environ), seat)
    if options.pack is not None:
        folder = Path(options.pack) if options.pack else contents.here(ROOT)
        if folder is None:
            raise LabkitError("This copy of the course lies in no pack.", "Name the pack's folder: --pack DIR.")
        found = sums.problems(folder, words.say)
        text = f"all checksums of {folder} agree" if not found else " ".join(found[:20])
        points.append(Point("files", not found, text))
        if found:
            line = Line(False, (*line.failed, "files"), line.values)
    words.say("\n".join(map(str, points)))
    words.say(f"\nFor the teacher, this line{'' if seat else ' (with --seat NAME it says where you sit)'}:")
    words.say(str(line))
    return 0 if line.ready else 1


def collect(files: Sequence[str]) -> int:
    """Prints the table of all lines in the files; 0 where all machines are ready and each line could be read."""
    text = "\n".join(_text(name) for name in files)
    read, unread = lines.parse(text), lines.unread(text)
    found = lines.latest(read)
    if not found and not unread:
        raise LabkitError(
            f"There is no line of `workshop check` in {', '.join(files)}.",
            "Each begins with READY or NOT READY and ends with check=1; paste them as they are, with or without names before.",
        )
    words.say(lines.table(found))
    for seat in lines.shared(read):
        words.say(
            f"Seat {seat} was named by two different computers, and only the last one counts: give one another seat."
        )
    if unread:
        words.say("These could not be read (cut off, or changed); ask for them again:")
        words.say("\n".join(f"  {line[:200]}" for line in unread))
    return 0 if not unread and all(line.ready for line in found) else 1


def _text(name: str) -> str:
    text = intake.decode(intake.read(name, _LARGEST_FILE))
    if text is None:
        raise LabkitError(f"{name} holds no text.", "Give a text file with the pasted lines.")
    return text


# -- looking -----------------------------------------------------------------------------------------------------------


def look(root: Path, environ: Mapping[str, str]) -> Here:
    """Collects what is judged; raises LabkitError only for an environment that cannot be one."""
    place = environment.locate(root, environ)
    machine = prepare.collect()
    pack = contents.here(root)
    table = contents.read(pack) if pack is not None else None
    chosen, note = contents.fitting(table.wheels, machine) if table is not None else (None, "")
    ready = setup.is_ready(place, "course", None, environ, inside=environment.is_inside(place))
    return Here(root, environ, machine, place, ready, environment.read_stamp(place), pack, table, chosen, note)


def findings(here: Here) -> list[Finding]:
    """What the doctor finds; torch is asked where there is one."""
    python = str(here.place.python) if here.place.has_python else None
    known = evidence.from_snapshot(snapshot.collect(python=python, torch=python is not None))
    return list(doctor.diagnose(known).findings)


# -- judging -----------------------------------------------------------------------------------------------------------


def judge(here: Here, seat: str = "", found: list[Finding] | None = None) -> tuple[list[Point], Line]:
    """All points, and the line that sums them up."""
    points = [python(here), environment_point(here)]
    if here.table is not None and here.table.wheels:
        points.append(wheels(here))
    port, port_point = free_port()
    free, disk_point = disk(here)
    memory_bytes, memory_point = memory()
    gpu_name, code, gpu_point = gpu(here, findings(here) if found is None else found)
    points += [disk_point, memory_point, gpu_point, port_point, browser(here.machine, here.environ), clock(here.table)]
    failed = tuple(point.name for point in points if not point.good)
    values = {
        "seat": seat,
        "gpu": gpu_name,
        "doctor": code,
        "torch": str(here.stamp.get("torch", "")) if here.ready else "none",
        "env": "yes" if here.ready else "no",
        "python": ".".join(map(str, here.machine.python)),
        "system": "wsl" if here.machine.wsl else here.machine.system,
        "disk": f"{free // 10**9}GB",
        "ram": f"{memory_bytes // 10**9}GB" if memory_bytes else "unknown",
        "port": str(port or "none"),
    }
    return points, Line(not failed, failed, values)


def python(here: Here) -> Point:
    """Is this Python one that the course runs on, and can it make an environment?"""
    version = here.machine.python
    text = f"Python {'.'.join(map(str, version))}"
    if here.ready:
        return Point("python", True, f"{text}; the environment is there")
    try:
        prepare.check_python(version)
        prepare.check_venv(importlib.util.find_spec)
    except LabkitError as error:
        return Point("python", False, error.problem, error.remedy.rstrip("."))
    return Point("python", True, f"{text}, with venv")


def environment_point(here: Here) -> Point:
    """Set up, or at least ready to be: a pack's wheels are a point of their own."""
    if here.ready:
        return Point("environment", True, f"set up, torch {here.stamp.get('torch', '')}, proved with real kernels")
    if here.table is not None and here.table.wheels:
        return Point("environment", True, "not set up yet; the first start does it from the pack")
    started = "half made, or changed since" if here.place.has_python else "not set up yet"
    return Point("environment", False, f"{started}; set-up needs a network here")


def wheels(here: Here) -> Point:
    """Are the pack's wheels for this machine there?"""
    if here.ready:
        return Point("wheels", True, "no longer needed")
    if here.chosen is None or here.pack is None:
        versions = here.table.pythons if here.table else ()
        remedy = f"install Python {' or '.join(versions)}" if "Python" in here.note else ""
        return Point("wheels", False, here.note, remedy)
    lacking = contents.missing(here.chosen, here.pack / contents.WHEELS)
    if lacking:
        text = f"{len(lacking)} of {len(here.chosen.files)} are missing or have another size: {', '.join(lacking[:3])}"
        return Point("wheels", False, text)
    note = f". {here.note}" if here.note else ""
    return Point("wheels", True, f"all {len(here.chosen.files)} for {here.chosen.words}{note}")


def disk(here: Here, disk_usage: install.DiskUsage = shutil.disk_usage) -> tuple[int, Point]:
    """Free bytes, and whether they suffice for set-up (or, after it, for work)."""
    needed = READY_ROOM_BYTES
    if not here.ready:
        build = here.chosen.build if here.chosen is not None else ""
        size = {
            "cpu": catalog.SIZES["pytorch-cpu"],
            "default": catalog.SIZES["default-linux" if here.machine.system == "linux" else "pytorch-cpu"],
            "cuda": catalog.SIZES["default-linux"],
        }.get(build, catalog.SIZES["amd" if here.machine.gpus else "default-linux"])
        needed = (size.installed_bytes or 0) + install.COURSE_BYTES + READY_ROOM_BYTES
    free = disk_usage(places.existing(here.place.path)).free
    text = f"{words.size(free)} free, {words.size(needed)} needed"
    return free, Point("disk", free >= needed, text)


def memory(bytes_: tuple[int | None, int | None] | None = None) -> tuple[int | None, Point]:
    """The machine's memory, and whether enough of it is free; ``bytes_``: total and available, each may be unknown."""
    total, available = bytes_ if bytes_ is not None else (places.ram_bytes(), places.ram_available_bytes())
    if available is None and total is None:
        return None, Point("memory", True, "this system does not say")
    there = available if available is not None else total or 0
    text = f"{words.size(total)}" if total else "size unknown"
    text += f", {words.size(available)} available" if available is not None else ""
    return total, Point("memory", there >= MEMORY_BYTES, f"{text}; {words.size(MEMORY_BYTES)} needed")


def gpu(here: Here, found: Sequence[Finding]) -> tuple[str, str, Point]:
    """The GPU's target, the doctor's code, and whether anything blocks it. Without a GPU the lessons run on the CPU."""
    names = [item.gfx or "unknown" for item in here.machine.gpus]
    name = "+".join(dict.fromkeys(names)) or ("nvidia" if here.machine.nvidia else "none")
    blocking = [item for item in found if item.severity == "blocks" and item.code not in _NOT_ABOUT_THE_MACHINE]
    if blocking:
        first = blocking[0]
        text = f"{', '.join(item.label for item in here.machine.gpus) or 'no AMD GPU'}; {first.code}: {first.meaning}"
        return name, first.code, Point("gpu", False, text.rstrip("."))
    if here.machine.gpus:
        text = f"{', '.join(item.label for item in here.machine.gpus)}; the doctor finds nothing that blocks it"
        return name, "ok", Point("gpu", True, text)
    return name, "ok", Point("gpu", True, "no AMD GPU: the lessons run on the CPU")


def free_port() -> tuple[int | None, Point]:
    """The port that JupyterLab would take; None where all are in use."""
    try:
        port = lab.choose_port(None)
    except LabkitError as error:
        return None, Point("port", False, error.problem.rstrip("."))
    return port, Point("port", True, f"{port} is free")


def browser(machine: Machine, environ: Mapping[str, str]) -> Point:
    """Windows and macOS bring a browser; elsewhere one must be found."""
    if machine.system in ("windows", "macos"):
        return Point("browser", True, "this system brings one")
    found = next((name for name in _BROWSERS if shutil.which(name)), None)
    if found is None and environ.get("BROWSER"):
        found = environ["BROWSER"].split(os.pathsep)[0]
    if found is None and machine.wsl:
        return Point("browser", True, "Windows' own: open the address that is printed")
    if found is None:
        try:
            found = str(getattr(webbrowser.get(), "name", "")) or None
        except webbrowser.Error:
            found = None
    return Point("browser", found is not None, Path(found).name if found else "none was found")


def clock(table: Contents | None, now: datetime | None = None) -> Point:
    """A clock before the day of the pack (or of the catalog) is wrong, and so is one many years later."""
    now = now or datetime.now(timezone.utc)
    day = table.made if table is not None else catalog.CHECKED
    made = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc)
    sane = made - timedelta(days=2) <= now <= made + timedelta(days=3653)
    text = now.strftime("%Y-%m-%d %H:%M UTC")
    return Point("clock", sane, text if sane else f"{text}, but this copy of the course is of {day}")
