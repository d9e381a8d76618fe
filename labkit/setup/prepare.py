"""The work of set-up: look at what is there, decide what is lacking, say so, install it, prove it, remember it.

Every step finds out for itself what an earlier, broken attempt left behind. The record of torch is written when torch
and torchvision are complete, the stamp when everything is proved. Nobody is left with less than there was: an index is
asked before anything is changed for it, and an environment that works is set aside until its successor has proved itself.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labkit.catalog import gfx as targets
from labkit.catalog import wheels
from labkit.errors import LabkitError
from labkit.machine import facts, snapshot
from labkit.machine.facts import Gpu, Machine
from labkit.machine.probes.places import existing
from labkit.setup import SCHEMA, environment, install, requirements, sources, words
from labkit.setup.environment import Environment
from labkit.setup.plan import TorchPlan, plan
from labkit.setup.requirements import TORCH_FAMILY
from labkit.setup.verify import Verdict, as_chosen, verify

OLDEST, NEWEST = (3, 10), (3, 14)
RECORD = "labkit-torch.json"
_INVENTORY = Path(__file__).parent / "probes" / "inventory.py"
_TARGETS = "import json, rocm_bootstrap; print(json.dumps([gpu.target.name for gpu in rocm_bootstrap.detect_gpus()]))"
say = words.say


@dataclass(frozen=True)
class Wish:
    """What the command line and the environment variables ask for. ``choice`` None: what was chosen before, or auto."""

    needs: str
    choice: str | None = None
    index: str | None = None
    wheelhouse: Path | None = None
    recreate: bool = False


@dataclass(frozen=True)
class Inventory:
    """What an environment holds (see probes/inventory.py)."""

    python: tuple[int, int, int]
    site: Path
    pip: bool
    versions: Mapping[str, str]
    half: tuple[Path, ...]
    missing: tuple[str, ...] | None

    def has(self, package: str) -> bool:
        return package in self.versions and package not in self.broken

    @property
    def broken(self) -> set[str]:
        return {requirements.name(folder.name.split("-")[0]) for folder in self.half}


@dataclass(frozen=True)
class Work:
    """What is to be done. ``torch`` None: torch stays as it is. ``remake`` says why an environment is made anew."""

    choice: str
    index: str | None
    machine: Machine
    torch: TorchPlan | None
    family: tuple[str, ...]  # which of torch and torchvision to install
    rest: bool  # is anything else missing?
    remake: str = ""
    notes: tuple[str, ...] = ()
    wanted: TorchPlan | None = None  # the plan that the torch that is there fulfils, or would repair it

    @property
    def installs(self) -> bool:
        return bool(self.family) or self.rest


def prepare(place: Environment, wish: Wish, *, disk_usage: install.DiskUsage = shutil.disk_usage) -> None:
    """Makes the environment ready, whatever state it is in. Raises LabkitError with what is wrong."""
    _check_folder(place)
    if place.is_new:
        check_python(_running())
        check_venv(importlib.util.find_spec)
    with environment.locked(place, say) as lock:
        _prepare(place, wish, lock, disk_usage)


def _prepare(place: Environment, wish: Wish, lock: int | None, disk_usage: install.DiskUsage) -> None:
    needed = requirements.read(place.root / "pyproject.toml")
    dependencies = needed.of(wish.needs)
    if place.made_by_labkit:
        _recover(place)
    stamp = environment.read_stamp(place)
    inventory = _there(place, wish, dependencies)
    work = decide(place, wish, inventory, dependencies, read_record(place), collect())
    log = place.notes / environment.LOG
    new = inventory is None or bool(work.remake)
    works = new and place.made_by_labkit and not place.is_new and _starts(place.python)
    if new or work.installs:
        announce(place, work, wish, dependencies, new)
        if wish.wheelhouse:
            _check_wheelhouse(wish.wheelhouse, work, inventory, dependencies, new)
        if works:
            work = _obtainable(place, wish, work, dependencies, log, lock)
            if (
                inventory is not None
                and work.torch is not None
                and read_record(place).get("used") == _essence(work.torch)
            ):
                say("  That is where the torch that is there came from: it stays.")
                rest = inventory.missing is None or bool(inventory.missing or inventory.half)
                work = replace(work, torch=None, family=(), rest=rest, remake="", wanted=None)
                new = works = False
        room_for = (
            install.bytes_needed(work.torch if "torch" in work.family else None, wish.needs)
            if new or work.family
            else 0
        )
        free, works = _room_beside(place, wish, work, room_for, works, disk_usage)
        if room_for:
            assumed = " (assumed)" if install.is_assumed(work.torch) and "torch" in work.family else ""
            say(f"  Disk: about {words.size(room_for)}{assumed} needed while installing, {words.size(free)} free.")
    if works:
        environment.set_aside(place)
    try:
        if new:
            environment.mark(place)
            _create(place, log)
            inventory = look(place, dependencies)
            if inventory is None:
                raise LabkitError(
                    f"{place.path} was made, but its Python does not run.",
                    f"look into {place.path / environment.LOG}, and try another Python (3.10 to 3.14).",
                )
        assert inventory is not None
        before = _torch_written(inventory)
        if work.installs:
            inventory, work = _install(place, wish, work, inventory, dependencies, lock, log, disk_usage)
        if place.made_by_labkit:
            environment.make_importable(inventory.site, place.root)
        fresh = "torch" in work.family and _torch_written(inventory) != before
        verdict = _verdict(
            place,
            work,
            inventory,
            stamp,
            read_record(place),
            log,
            None if fresh else lambda: _install_torch_again(place, wish, work, dependencies, lock, log),
        )
        inventory = _looked(place, dependencies)
    except BaseException:
        if works:
            environment.put_back(place)
            say("  The environment that was there before is back in its place.")
        raise
    if works:
        environment.let_go(place)
    _remember(place, wish, work, inventory, needed, verdict, stamp)


def _recover(place: Environment) -> None:
    """After a set-up that was killed while it built a successor: the environment before it takes its place again."""
    if place.before.exists():
        environment.put_back(place)
        say(
            words.because(
                [f"A set-up was ended while it built another environment in {place.path}: the one before is back."], ""
            )
        )
    environment.let_go(place)


def _there(place: Environment, wish: Wish, dependencies: Sequence[str]) -> Inventory | None:
    """What can be built on; None where an environment is to be made. Raises LabkitError where labkit should not."""
    if wish.recreate:
        if not place.is_new and not place.made_by_labkit:
            environment.clear(place)  # says why it does not
        return None
    inventory = look(place, dependencies)
    if inventory is None and not place.is_new and environment.read_stamp(place):
        other = environment.made_elsewhere(place)
        if other:
            raise LabkitError(
                f"The environment {place.path} was made on {other}, and its Python does not run on this one. One "
                "environment cannot serve both, so labkit does not replace it unasked.",
                "give this system its own: set LABKIT_ENV to another folder, for example in your ~/.profile there. "
                "Or use --recreate, which makes it anew here and takes it from the other.",
            )
    return inventory


def _room_beside(
    place: Environment, wish: Wish, work: Work, needed: int, works: bool, disk_usage: install.DiskUsage
) -> tuple[int, bool]:
    """Free bytes, and whether there is room to keep what is there until its successor works."""
    smaller = install.could_be_smaller(work.torch if "torch" in work.family else None)
    if not works:
        return _check_room(place, needed, disk_usage, smaller), False
    try:
        return install.check_room(place.path, needed, disk_usage, smaller=smaller), True
    except LabkitError as error:
        free = _check_room(place, needed, disk_usage, smaller)  # without what is there, is there room?
        if not wish.recreate:
            raise LabkitError(
                f"{error.problem} The environment that is there was not changed.",
                "free some space, or use --recreate, which deletes what is there first.",
            ) from error
        say("  There is no room for two environments: the one that is there is deleted first.")
        return free, False


def _obtainable(
    place: Environment, wish: Wish, work: Work, dependencies: Sequence[str], log: Path, lock: int | None
) -> Work:
    """Asks the index for the torch of the plan, or of its fallbacks, before anything is touched for it."""
    if wish.wheelhouse or work.torch is None or "torch" not in work.family:
        return work
    settings = sources.pip_settings(place.python, os.environ)
    pip = _caller(place, settings, log, lock)
    current, later = work.torch, work.torch.fallback
    while True:
        problem = _asked(current, settings, pip)
        if not problem:
            return replace(work, torch=current, wanted=current)
        if later is None:
            raise LabkitError(
                f"{problem} Nothing was changed: the environment {place.path} stays as it is.",
                install.remedy_unreachable(current),
            )
        say(f"  {problem}")
        say(words.because(later.reasons))
        current, later = later, later.fallback


Pip = Callable[[Sequence[str], bool], install.Outcome]


def _asked(chosen: TorchPlan, settings: sources.PipSettings, pip: Pip) -> str:
    """What keeps this plan's torch from being had, in a sentence; empty where nothing is known to."""
    url = chosen.index_url
    name = install.source_name(chosen)
    if url is not None and (
        (settings.no_index and sources.local_folder(url) is None)
        or not sources.reachable(url, settings, ask_pip=lambda _: True)
    ):
        return f"{name} could not be reached."
    arguments = sources.place_arguments(url)
    outcome = pip(["index", "versions", "torch", *arguments, "--retries", "1", "--timeout", "15"], bool(arguments))
    if outcome.status == 0:
        pinned = re.search(r"==(\S+\+\S+)$", chosen.requirements[0])
        if pinned and pinned.group(1) not in re.split(r"[\s,()]+", outcome.text):
            return f"{name} has no torch {pinned.group(1)} for this system and Python."
        return ""
    if install.is_offline(outcome):
        return f"{name} could not be reached."
    return f"{name} has no torch for this system and Python." if install.is_unavailable(outcome) else ""


def _check_wheelhouse(
    folder: Path, work: Work, inventory: Inventory | None, dependencies: Sequence[str], new: bool
) -> None:
    if new or inventory is None:
        wanted: Sequence[str] = requirements.without_torch(tuple(dependencies))
    else:
        wanted = requirements.without_torch(inventory.missing or ()) if work.rest else ()
    family = work.torch.requirements if work.torch is not None and work.family else ()
    names = [item for item in family if requirements.name(item) in work.family]
    install.check_wheelhouse(folder, work.torch, [*names, *wanted], dependencies)


# -- looking -----------------------------------------------------------------------------------------------------------


def _running() -> tuple[int, int]:
    return sys.version_info[0], sys.version_info[1]


def check_python(version: tuple[int, int], which: Callable[[str], str | None] = shutil.which) -> None:
    """Raises LabkitError for a Python that the course does not run on, naming another one that is there."""
    if OLDEST <= tuple(version) <= NEWEST:
        return
    other = next(
        (name for name in (f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)) if which(name)), None
    )
    age = "newer than what PyTorch's packages are made for" if tuple(version) > NEWEST else "too old"
    raise LabkitError(
        f"This is Python {version[0]}.{version[1]}, {age}: the course needs Python 3.10 to 3.14.",
        f"use the other Python that is on this machine: {other} -m labkit start"
        if other
        else "install one of these and call labkit with it, for example: "
        + ("py -3.12 -m labkit start" if os.name == "nt" else "python3.12 -m labkit start"),
    )


def check_venv(find_spec: Callable[[str], Any], os_release: str | None = None) -> None:
    """Raises LabkitError where this Python cannot make environments, naming the package that brings the module."""
    if find_spec("venv") is not None and find_spec("ensurepip") is not None:
        return
    if os_release is None:
        try:
            os_release = Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")
        except OSError:
            os_release = ""
    raise LabkitError(
        "This Python has no venv module (or lacks ensurepip), which makes environments.",
        venv_package(os_release, _running()),
    )


def venv_package(os_release: str, version: tuple[int, int]) -> str:
    """The command that brings venv, by distribution."""
    values = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    kind = {word.strip("\"'") for key in ("ID", "ID_LIKE") for word in values.get(key, "").split()}
    kind = {word for item in kind for word in item.strip('"').split()}
    number = f"{version[0]}.{version[1]}"
    if kind & {"debian", "ubuntu"}:
        return f"sudo apt install python3-venv   (for this Python: sudo apt install python{number}-venv)"
    if kind & {"fedora", "rhel", "centos"}:
        return f"sudo dnf install python{number} python3-pip"
    if kind & {"suse", "opensuse", "sles"}:
        return f"sudo zypper install python{version[0]}{version[1]} python{version[0]}{version[1]}-pip"
    if kind & {"arch"}:
        return "sudo pacman -S python python-pip"
    return "install your distribution's package for it (often python3-venv), or the Python from python.org."


def _check_folder(place: Environment) -> None:
    """Raises LabkitError where a new environment cannot be written, before anything is announced."""
    folder = existing(place.path)
    if (place.is_new or place.made_by_labkit) and not os.access(folder, os.W_OK | os.X_OK):
        raise LabkitError(
            f"labkit may not write into {folder}, where the environment is to be.",
            "clone the repository into a folder of your own, or set LABKIT_ENV to a folder that you can write to.",
        )


def look(place: Environment, dependencies: Sequence[str]) -> Inventory | None:
    """Takes the inventory; None where there is no environment, or one of labkit's whose Python does not run (any more).

    Raises LabkitError where that Python starts and yet does not answer: an environment is not lost for that.
    """
    if place.is_new:
        return None
    if not place.has_python or not _starts(place.python):
        if place.made_by_labkit:
            return None
        raise LabkitError(
            f"The Python of {place.path} does not run, and labkit did not make that environment.",
            "repair or delete it yourself, or name another folder in LABKIT_ENV.",
        )
    source = _INVENTORY.read_text(encoding="utf-8")
    command = [str(place.python), "-X", "utf8", "-c", source, json.dumps(list(dependencies)), "files"]
    answer = _ask(command, cwd=place.path)
    try:
        told = json.loads(answer.stdout.splitlines()[-1]) if answer is not None and answer.returncode == 0 else None
    except (ValueError, IndexError):
        told = None
    if not isinstance(told, dict):
        raise _unreadable(place, answer)
    site, prefix = Path(environment.native(told["site"])), Path(environment.native(told["prefix"])).resolve()
    inside = place.path.resolve() in [prefix, *prefix.parents]
    if place.made_by_labkit and (not inside or not site.is_dir()):
        return None  # the link leads to another Python than the one that it was made with
    return Inventory(
        tuple(told["python"]),
        site,
        told["pip"],
        told["versions"],
        tuple(Path(environment.native(item)) for item in told["half"]),
        None if told["missing"] is None else tuple(told["missing"]),
    )


def collect() -> Machine:
    """This machine, as far as it can be known before anything is installed."""
    return facts.machine(snapshot.collect(quick=True))


def read_record(place: Environment) -> dict[str, Any]:
    """What was installed as torch, from where, and what had been planned; empty where labkit did not install it."""
    try:
        value = json.loads((place.notes / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _starts(python: Path) -> bool:
    """Does this interpreter start at all, without looking at any package?"""
    answer = _ask([str(python), "-I", "-S", "-c", "print('yes')"], seconds=60)
    return answer is not None and answer.returncode == 0 and "yes" in answer.stdout


def _unreadable(place: Environment, answer: subprocess.CompletedProcess[str] | None) -> LabkitError:
    """A Python that starts but does not tell what it holds: says what is known of it."""
    damaged = [path for path in place.path.glob("**/site-packages/*.pth") if not _is_text(path)]
    remedy = f"nothing was changed. {'Use --recreate to make it anew' if place.made_by_labkit else 'Repair it'}"
    if damaged:
        return LabkitError(
            f"The Python of {place.path} does not start, because {damaged[0]} is not readable text.",
            f"remove or rename that file and call again. {remedy.capitalize()}, if that does not help.",
        )
    if answer is None:
        return LabkitError(
            f"The Python of {place.path} did not tell within 2 minutes what it holds.", f"call again; {remedy}."
        )
    last = [line.strip() for line in answer.stderr.splitlines() if line.strip()][-1:] or ["no words"]
    return LabkitError(
        f"The Python of {place.path} starts, but could not tell what it holds: {last[0][:200]}", f"{remedy}."
    )


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    except OSError:
        pass
    return True


def _run(command: Sequence[str], *, cwd: Path | None = None, seconds: float = 120) -> str | None:
    """Standard output of a short program; None where it fails."""
    answer = _ask(command, cwd=cwd, seconds=seconds)
    return answer.stdout if answer is not None and answer.returncode == 0 else None


def _ask(
    command: Sequence[str], *, cwd: Path | None = None, seconds: float = 120
) -> subprocess.CompletedProcess[str] | None:
    """How a short program ended; None where it does not start or does not end."""
    try:
        return subprocess.run(
            list(command),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            cwd=cwd,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "utf-8:surrogateescape"},
        )
    except (OSError, subprocess.SubprocessError):
        return None


# -- deciding ----------------------------------------------------------------------------------------------------------


def decide(
    place: Environment,
    wish: Wish,
    inventory: Inventory | None,
    dependencies: Sequence[str],
    record: Mapping[str, Any],
    machine: Machine,
) -> Work:
    """What is to be done, from what is there and what is wanted. Changes nothing, asks no network.

    A choice made once (``--torch``, LABKIT_TORCH_INDEX) holds until another one is made.
    """
    choice = wish.choice or (record.get("choice") if not wish.recreate else None) or "auto"
    index = wish.index or (record.get("index") if wish.choice is None and not wish.recreate else None)
    version = inventory.python[:2] if inventory is not None else _running()
    if not place.made_by_labkit and not place.is_new and not OLDEST <= version <= NEWEST:
        raise LabkitError(
            f"The environment {place.path}, which LABKIT_ENV names, has Python {version[0]}.{version[1]}: the course needs "
            "Python 3.10 to 3.14.",
            "unset LABKIT_ENV, or name another folder in it: while it is set, every call goes to that environment.",
        )
    check_python(version)
    machine = replace(machine, python=version)

    def planned() -> TorchPlan:
        chosen = plan(machine, choice, index)
        return install.from_wheelhouse(chosen, wish.wheelhouse) if wish.wheelhouse else chosen

    if inventory is None:
        remake = "" if place.is_new or wish.recreate else "it is only half made, or its Python is gone"
        return Work(choice, index, machine, planned(), TORCH_FAMILY, True, remake)
    missing = inventory.missing
    names = {requirements.name(item) for item in missing} if missing is not None else None
    rest = names is None or bool(names - set(TORCH_FAMILY)) or bool(inventory.half and place.made_by_labkit)
    if not place.made_by_labkit:
        lacking = tuple(name for name in TORCH_FAMILY if name not in inventory.versions)
        if "torch" in lacking:
            return Work(choice, index, machine, planned(), lacking, rest)
        notes = _kept(place, inventory, dependencies)
        return Work(
            choice,
            index,
            machine,
            _like(inventory.versions["torch"], index, wish, machine) if lacking else None,
            lacking,
            rest,
            notes=notes,
        )
    chosen = planned()
    if not inventory.has("torch") or not record:
        return Work(choice, index, machine, chosen, TORCH_FAMILY, True)
    there = f"torch {inventory.versions['torch']}"
    if not _same(record.get("planned", {}), chosen) and not _equivalent(record, chosen, inventory.versions["torch"]):
        if choice == "auto" and index == record.get("index"):
            note = ""
            if not (machine.gpus or machine.nvidia):
                note = f"No GPU is here now; {there}, installed for one, stays. '--torch cpu' would change it."
            elif wish.choice is None and record.get("here") not in (None, environment.here()[0]):
                note = (
                    f"{there} was chosen on {record.get('made_on') or 'another system'} and stays. Here the "
                    f"{kind(chosen)} from {install.source_name(chosen)} would fit: give this system an environment of its own "
                    "(LABKIT_ENV=folder), or say '--torch auto' to change this one."
                )
            if note:
                return Work(choice, index, machine, None, (), rest, notes=(note,))
        reason = (
            f"it has {there}, and now the {kind(chosen)} from {install.source_name(chosen)} is wanted. What is there is "
            "kept until the new one works"
        )
        return Work(choice, index, machine, chosen, TORCH_FAMILY, True, remake=reason)
    lacking = tuple(name for name in TORCH_FAMILY if not inventory.has(name) or (names is not None and name in names))
    if lacking and record.get("used", {}).get("index_url") != chosen.index_url and chosen.fallback is not None:
        chosen = chosen.fallback
    family = TORCH_FAMILY if "torch" in lacking else lacking
    return Work(choice, index, machine, chosen if lacking else None, family, rest, wanted=chosen)


def _same(recorded: Mapping[str, Any], chosen: TorchPlan) -> bool:
    """The same build from the same place for the same targets? (Bounds of versions are another question.)"""
    return recorded == _essence(chosen)


def _equivalent(record: Mapping[str, Any], chosen: TorchPlan, version: str) -> bool:
    """Is what is there (carried out by a fallback, or from another address of the same wheels) what is wanted now?"""
    used, wanted = record.get("used", {}), _essence(chosen)
    if used == wanted:
        return True
    here, there = chosen.index_url or "", used.get("index_url") or ""
    sort = wheels.kind_of(here)
    if sort is None or used.get("packages") != wanted["packages"] or wheels.kind_of(there) != sort:
        return False
    tag = here.rstrip("/").split("/")[-1] if sort == "cuda" else sort
    return sort in ("amd", "amd-multi-arch") or version.partition("+")[2] == tag


def kind(chosen: TorchPlan) -> str:
    """The build in words."""
    return {"rocm": "ROCm build", "cuda": "CUDA build", "cpu": "CPU build"}.get(chosen.build, "build for this system")


def _essence(chosen: TorchPlan) -> dict[str, Any]:
    extras = [re.split(r"[<>=!~]", item)[0] for item in chosen.requirements]
    return {"index_url": chosen.index_url, "packages": extras}


def _kept(place: Environment, inventory: Inventory, dependencies: Sequence[str]) -> tuple[str, ...]:
    version = inventory.versions["torch"]
    old = [item for item in inventory.missing or () if requirements.name(item) == "torch"]
    return (
        f"torch {version} of {place.path} stays as it is."
        + (f" The lessons were made for {old[0]}; most will run." if old else ""),
    )


def _like(version: str, index: str | None, wish: Wish, machine: Machine) -> TorchPlan:
    """Where to get the torchvision that belongs to a torch that somebody else installed: from its build's index."""
    local = version.partition("+")[2]
    chosen = plan(machine, "auto", index)
    if (
        index is None
        and re.fullmatch(r"cpu|cu\d+|rocm\d+\.\d+(\.\d+)?", local)
        and not chosen.requirements[0].startswith("torch[")
    ):
        chosen = plan(machine, "auto", f"https://download.pytorch.org/whl/{local}")
    return install.from_wheelhouse(chosen, wish.wheelhouse) if wish.wheelhouse else chosen


# -- saying ------------------------------------------------------------------------------------------------------------


def announce(place: Environment, work: Work, wish: Wish, dependencies: Sequence[str], new: bool) -> None:
    """What is going to be installed, from where, how large and why, in a few lines."""
    if work.remake:
        say(f"labkit makes {place.path} anew: {work.remake}.")
    elif new:
        say(f"labkit makes an environment for the course: {place.path}")
    else:
        say(f"labkit completes the environment {place.path}")
    for note in work.notes:
        say(words.because([note]))
    chosen = work.torch
    if new and chosen is not None and not wish.wheelhouse:
        say(words.because([install.how_long(chosen, wish.needs)], "  "))
    if chosen is not None and work.family and "torch" not in work.family:
        say(f"  {work.family[0]} for the torch that is there, from {install.source_name(chosen, wish.wheelhouse)}")
    elif chosen is not None and work.family:
        say(f"  PyTorch: the {kind(chosen)} from {install.source_name(chosen, wish.wheelhouse)}")
        say(words.because(chosen.reasons))
        say(f"  Size of it: {install.size_in_words(chosen)}")
    rest = requirements.without_torch(tuple(dependencies))
    more = install.rest_bytes(wish.needs)
    say(
        f"  Everything else ({', '.join(requirements.name(item) for item in rest[:4])} and {len(rest) - 4} more, about "
        f"{words.size(more)}) comes from {wish.wheelhouse or 'the default index of pip'}, under a constraint that keeps torch."
        if work.rest and len(rest) > 4
        else f"  Everything else comes from {wish.wheelhouse or 'the default index of pip'}, under a constraint that keeps torch."
    )


def show(place: Environment, wish: Wish) -> None:
    """The dry run: what would be done and the exact pip commands. Changes nothing."""
    dependencies = requirements.read(place.root / "pyproject.toml").of(wish.needs)
    if place.is_new:
        check_python(_running())
        check_venv(importlib.util.find_spec)
    inventory = _there(place, wish, dependencies)
    work = decide(place, wish, inventory, dependencies, read_record(place), collect())
    new = inventory is None or bool(work.remake)
    say("Dry run: nothing is changed.")
    if not new and not work.installs:
        say(f"The environment {place.path} has everything; nothing would be installed.")
        for note in work.notes:
            say(words.because([note]))
        return
    announce(place, work, wish, dependencies, new)
    if wish.wheelhouse:
        _check_wheelhouse(wish.wheelhouse, work, inventory, dependencies, new)
    say(f"  Free on that disk: {words.size(install.check_room(place.path, 0))}")
    say("\nCommands:")
    if new:
        say(f"  {words.command([environment.base_python(), '-m', 'venv', str(place.path)])}")
    settings = sources.pip_settings(place.python if place.has_python else sys.executable, os.environ)
    constraints = place.notes / environment.CONSTRAINTS
    _show_steps(place, work, wish, dependencies, constraints, settings, work.torch)
    say(f"\n{constraints} is written after the first command: it pins the torch that was installed, to the letter.")
    later = work.torch.fallback if work.torch is not None else None
    while later is not None and "torch" in work.family:
        say(f"\nIf {install.source_name(work.torch) if work.torch else ''} cannot be reached, instead:")
        say(words.because(later.reasons))
        _show_steps(place, replace(work, rest=False), wish, dependencies, constraints, settings, later)
        later = later.fallback


def _show_steps(
    place: Environment,
    work: Work,
    wish: Wish,
    dependencies: Sequence[str],
    constraints: Path,
    settings: sources.PipSettings,
    chosen: TorchPlan | None,
) -> None:
    for step in install.steps(
        chosen if work.family else None, dependencies, constraints, wheelhouse=wish.wheelhouse, family=work.family
    ):
        if step.title.startswith("everything") and not work.rest:
            continue
        if step.only and settings.adds_places:
            say(f"  # without pip's settings {' and '.join(settings.adds_places)}: torch must come from there only")
        say(f"  {words.command([str(place.python), '-m', 'pip', *step.arguments])}")


# -- doing -------------------------------------------------------------------------------------------------------------


def _check_room(place: Environment, needed: int, disk_usage: install.DiskUsage, smaller: bool = False) -> int:
    """Free bytes; raises LabkitError where they do not suffice."""
    try:
        return install.check_room(place.path, needed, disk_usage)
    except LabkitError:  # only then is it worth counting what an earlier attempt left there
        there = install.folder_bytes(place.path) if place.made_by_labkit else 0
        return install.check_room(place.path, needed, disk_usage, there=there, smaller=smaller)


def _create(place: Environment, log: Path) -> None:
    """Makes the environment with this Python; what an earlier attempt left is cleared first."""
    check_python(_running())
    check_venv(importlib.util.find_spec)
    environment.clear(place)
    began = time.monotonic()
    command = [environment.base_python(), "-m", "venv", str(place.path)]
    environ = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")
    }
    answer = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
        env=environ,
    )
    with log.open("w", encoding="utf-8", errors="replace") as file:
        file.write(f"$ {words.command(command)}\n{answer.stdout}{answer.stderr}")
    if answer.returncode != 0:
        text = answer.stdout + answer.stderr
        if "ensurepip" in text:
            raise LabkitError(
                "This Python could not put pip into a new environment.", venv_package(_os_release(), _running())
            )
        last = [line for line in text.splitlines() if line.strip()][-1:] or ["no words"]
        raise LabkitError(f"The environment {place.path} could not be made: {last[0]}", f"what Python said: {log}")
    say(f"  environment made with Python {'.'.join(map(str, sys.version_info[:3]))} ({time.monotonic() - began:.0f} s)")


def _os_release() -> str:
    try:
        return Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _install(
    place: Environment,
    wish: Wish,
    work: Work,
    inventory: Inventory,
    dependencies: Sequence[str],
    lock: int | None,
    log: Path,
    disk_usage: install.DiskUsage,
) -> tuple[Inventory, Work]:
    """Runs the steps; goes to the plan's fallback where an index does not answer. Gives the inventory afterwards."""
    place.notes.mkdir(parents=True, exist_ok=True)
    own = place.made_by_labkit
    if own:
        _sweep(inventory)
    if not inventory.pip:
        _run([str(place.python), "-m", "ensurepip", "--default-pip"], seconds=300)
        again = look(place, dependencies)
        if again is None or not again.pip:
            raise LabkitError(
                f"{place.path} has no pip, and it could not be added.",
                "use --recreate." if own else "install pip there, or name another folder in LABKIT_ENV.",
            )
    settings = sources.pip_settings(place.python, os.environ)
    constraints = place.notes / environment.CONSTRAINTS

    pip = _caller(place, settings, log, lock)

    def index_answers(url: str) -> bool:
        """False only where it is not there: pip then says itself what an index that is there lacks."""
        outcome = pip(["index", "versions", "torch", "--index-url", url, "--retries", "1", "--timeout", "15"], True)
        return outcome.status == 0 or not install.is_offline(outcome)

    planned = work.torch
    if own and "torch" in work.family and work.choice == "auto" and work.machine.system in ("linux", "windows"):
        work = _ask_authority(place, wish, work, dependencies, pip)
    chosen = work.torch
    total = 1 + len(work.family)
    used = chosen
    if "torch" in work.family:
        assert chosen is not None
        used = _torch(
            chosen, place, wish, work, dependencies, settings, constraints, pip, index_answers, log, total, disk_usage
        )
        inventory = _looked(place, dependencies)
        if used is not None and planned is not None:
            _write_record(place, work, planned, used, inventory)
    if "torchvision" in work.family and used is not None:
        environment.write_text(constraints, install.pins(inventory.versions, ("torch",)))
        step = install.steps(used, dependencies, constraints, wheelhouse=wish.wheelhouse, family=("torchvision",))[0]
        _step(step, pip, f"[{len(work.family)}/{total}]", place, log, disk_usage)
        inventory = _looked(place, dependencies)
    environment.write_text(constraints, install.pins(inventory.versions))
    if work.rest:
        step = install.steps(None, dependencies, constraints, wheelhouse=wish.wheelhouse)[-1]
        _step(step, pip, f"[{total}/{total}]", place, log, disk_usage)
    return _looked(place, dependencies), replace(work, torch=used)


def _caller(place: Environment, settings: sources.PipSettings, log: Path, lock: int | None) -> Pip:
    """Runs the environment's pip with the given arguments; the second says whether no other place counts than theirs."""
    own = place.made_by_labkit

    def pip(arguments: Sequence[str], only: bool) -> install.Outcome:
        return install.run_pip(
            place.python,
            arguments,
            log=log,
            temporary=place.notes / environment.TEMPORARY,
            lock=lock,
            environ=sources.pip_environment(os.environ, settings, only=only, own=own),
        )

    return pip


def _install_torch_again(
    place: Environment, wish: Wish, work: Work, dependencies: Sequence[str], lock: int | None, log: Path
) -> None:
    """The very torch that is there, fetched and written once more; raises LabkitError where pip cannot."""
    inventory = _looked(place, dependencies)
    chosen = work.torch or work.wanted or _like(inventory.versions["torch"], work.index, wish, work.machine)
    constraints = place.notes / environment.CONSTRAINTS
    environment.write_text(constraints, install.pins(inventory.versions))
    step = install.steps(chosen, dependencies, constraints, wheelhouse=wish.wheelhouse, family=("torch",))[0]
    arguments = (*step.arguments[:-1], "--force-reinstall", "--no-deps", "-c", str(constraints), step.arguments[-1])
    step = replace(step, title=step.title.replace("torch, alone", "torch, again"), arguments=arguments)
    pip = _caller(place, sources.pip_settings(place.python, os.environ), log, lock)
    _step(step, pip, "[repair]", place, log, shutil.disk_usage)


def _torch_written(inventory: Inventory) -> int:
    """When pip wrote the torch that is there (ns); 0 for none."""
    records = [folder / "RECORD" for folder in inventory.site.glob("torch-*.dist-info")]
    return max((environment.changed_ns(path) for path in records), default=0)


def _write_record(place: Environment, work: Work, planned: TorchPlan, used: TorchPlan, inventory: Inventory) -> None:
    """Remembers what was carried out, and the plan before rocm-bootstrap and fallbacks, to see when a plan changes."""
    environment.write_json(
        place.notes / RECORD,
        {
            "choice": work.choice,
            "index": work.index,
            "planned": _essence(planned),
            "used": _essence(used),
            "gfx": list(used.gfx),
            "here": environment.here()[0],
            "made_on": environment.here()[1],
            "version": inventory.versions.get("torch", ""),
        },
    )


def _torch(
    chosen: TorchPlan,
    place: Environment,
    wish: Wish,
    work: Work,
    dependencies: Sequence[str],
    settings: sources.PipSettings,
    constraints: Path,
    pip: Callable[[Sequence[str], bool], install.Outcome],
    index_answers: Callable[[str], bool],
    log: Path,
    total: int,
    disk_usage: install.DiskUsage,
) -> TorchPlan:
    """Installs torch by the plan, or by its fallbacks; gives the plan that was carried out."""
    current = chosen
    while True:
        step = install.steps(current, dependencies, constraints, wheelhouse=wish.wheelhouse, family=("torch",))[0]
        url, later = current.index_url, current.fallback
        if (
            url is not None
            and not wish.wheelhouse
            and (
                (settings.no_index and sources.local_folder(url) is None)
                or not sources.reachable(url, settings, ask_pip=index_answers)
            )
        ):
            outcome = None  # known without waiting for pip to give up
            if later is None:
                raise LabkitError(f"{url} could not be reached.", install.remedy_unreachable(current))
        else:
            outcome = _attempt(step, pip, f"[1/{total}]")
            if outcome.status == 0:
                return current
        if later is None or (outcome is not None and not install.is_unavailable(outcome)):
            assert outcome is not None
            raise install.explain(outcome, step, place.path, log, disk_usage)
        say(f"  {url} {'has no fitting torch or broke off' if outcome is not None else 'cannot be reached'}:")
        say(words.because(later.reasons))
        _check_room(place, install.bytes_needed(later, wish.needs), disk_usage)  # the smaller build is out of reach
        current = later


def _attempt(step: install.Step, pip: Callable[[Sequence[str], bool], install.Outcome], number: str) -> install.Outcome:
    say(f"  {number} {step.title}")
    outcome = pip(step.arguments, step.only)
    if outcome.status == 0:
        say(f"        done ({outcome.seconds:.0f} s)")
    return outcome


def _step(
    step: install.Step,
    pip: Callable[[Sequence[str], bool], install.Outcome],
    number: str,
    place: Environment,
    log: Path,
    disk_usage: install.DiskUsage,
) -> None:
    outcome = _attempt(step, pip, number)
    if outcome.status != 0:
        raise install.explain(outcome, step, place.path, log, disk_usage)


def _looked(place: Environment, dependencies: Sequence[str]) -> Inventory:
    inventory = look(place, dependencies)
    if inventory is None:
        raise LabkitError(
            f"The Python of {place.path} does not run any more.",
            "call the same command again: it makes the environment anew.",
        )
    return inventory


def _sweep(inventory: Inventory) -> None:
    """Removes what a broken attempt left: half-written metadata, and packages set aside by an unfinished upgrade."""
    for folder in inventory.half:
        shutil.rmtree(folder, ignore_errors=True)  # pip then installs the package again, over its files
    for entry in inventory.site.glob("~*"):
        shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)


def _ask_authority(
    place: Environment,
    wish: Wish,
    work: Work,
    dependencies: Sequence[str],
    pip: Callable[[Sequence[str], bool], install.Outcome],
) -> Work:
    """rocm-bootstrap, AMD's own detection, has the last word on the targets. It is tiny and needs nothing else.

    Where it cannot be had, or finds nothing (a driver that is not loaded), what labkit found itself stands.
    """
    wanted = next((item for item in dependencies if requirements.name(item) == "rocm-bootstrap"), None)
    if wanted is None:
        return work
    places = ["--no-index", "--find-links", str(wish.wheelhouse)] if wish.wheelhouse else []
    pip(["install", "--no-deps", "--retries", "1", "--timeout", "15", *places, wanted], bool(wish.wheelhouse))
    answer = _run([str(place.python), "-c", _TARGETS], cwd=place.path, seconds=30)
    try:
        names = [str(name) for name in json.loads(answer)] if answer else []
    except ValueError:
        names = []
    known = {gpu.gfx: gpu for gpu in work.machine.gpus}
    if not names or set(names) == set(known):
        return work
    gpus = tuple(
        known.get(name) or Gpu(name, None, _integrated(name), "rocm-bootstrap") for name in dict.fromkeys(names)
    )
    machine = replace(work.machine, gpus=tuple(sorted(gpus, key=lambda gpu: bool(gpu.integrated))))
    chosen = plan(machine, work.choice, work.index)
    if wish.wheelhouse:
        chosen = install.from_wheelhouse(chosen, wish.wheelhouse)
    if chosen != work.torch:
        found = ", ".join(dict.fromkeys(names))
        say(
            f"  rocm-bootstrap finds {found}: the {chosen.build} build from {install.source_name(chosen, wish.wheelhouse)}"
        )
        say(words.because(chosen.reasons))
    return replace(work, machine=machine, torch=chosen)


def _integrated(name: str) -> bool | None:
    row = targets.target(name)
    return row.integrated if row is not None else None


# -- proving and remembering -------------------------------------------------------------------------------------------


def _verdict(
    place: Environment,
    work: Work,
    inventory: Inventory,
    stamp: Mapping[str, Any],
    record: Mapping[str, Any],
    log: Path,
    again: Callable[[], None] | None = None,
) -> Verdict:
    """Runs real kernels, unless this very torch was proved on this very hardware before.

    ``again`` installs torch once more: what was damaged in place is mended without being asked. A torch that failed
    leaves no stamp, so the next call says the same.
    """
    remembered = stamp.get("verdict") or {}
    watched = stamp.get("watched") or {}
    parts = {
        environment.portable(path): environment.changed_ns(path) for path in environment.torch_parts(inventory.site)
    }
    if (
        not work.family
        and stamp.get("torch") == inventory.versions.get("torch")
        and remembered.get("works")
        and environment.hardware_fingerprint() in stamp.get("hardware", ())
        and all(watched.get(path) == changed for path, changed in parts.items())
    ):
        return Verdict(**{key: value for key, value in remembered.items() if key in Verdict.__dataclass_fields__})
    say("  checks PyTorch with real kernels in a process of its own")
    gfx = work.torch.gfx if work.torch is not None else tuple(record.get("gfx", ()))
    chosen = work.torch if place.made_by_labkit and "torch" in work.family else None
    environment.forget(place)
    verdict = verify(place.python, gfx, cwd=place.path)
    if not verdict.works and again is not None and place.made_by_labkit:
        say(words.because([f"PyTorch does not work: {verdict.error} It is installed again, once."], "        "))
        try:
            again()
        except LabkitError as error:
            raise LabkitError(
                f"PyTorch does not work: {verdict.error}\n  It could not be installed again: {error.problem}",
                error.remedy,
            ) from error
        verdict = verify(place.python, gfx, cwd=place.path)
    verdict = as_chosen(verdict, chosen, log)
    say(words.because([verdict.sentence()], "        "))
    if chosen is not None and chosen.build == "rocm" and not verdict.warning and verdict.device == "cpu":
        verdict = replace(
            verdict,
            warning="torch is a ROCm build but sees no GPU; lesson 00 looks into it. Until then the CPU is used.",
        )
    if verdict.warning:
        say(words.because([f"Attention: {verdict.warning}"], "        "))
    return verdict


def _remember(
    place: Environment,
    wish: Wish,
    work: Work,
    inventory: Inventory,
    needed: requirements.Requirements,
    verdict: Verdict,
    stamp: Mapping[str, Any],
) -> None:
    record = read_record(place)
    if record:  # another wish, the same torch
        told = {**record, "choice": work.choice, "index": work.index}
        if work.wanted is not None and not work.family:
            told["planned"] = _essence(work.wanted)
        if told != record:
            environment.write_json(place.notes / RECORD, told)
    hardware = environment.hardware_fingerprint()
    same = stamp.get("torch") == inventory.versions.get("torch")
    known = [item for item in stamp.get("hardware", ()) if item != hardware] if same else []
    lists = {"course": list(needed.of("course"))}
    if wish.needs != "course":
        lists[wish.needs] = list(needed.of(wish.needs))
    if not work.installs:  # what was proved before for other needs still stands
        for name, wanted in stamp.get("requirements", {}).items():
            if name not in lists and name in needed.extras and wanted == list(needed.of(name)):
                lists[name] = wanted
    environment.write_stamp(
        place,
        {
            "schema": SCHEMA,
            "path": environment.portable(place.path),
            "python": list(inventory.python),
            "choice": work.choice,
            "index": work.index,
            "requirements": lists,
            "hardware": [*known[-7:], hardware],
            "torch": inventory.versions.get("torch", ""),
            "verdict": verdict.as_json(),
            "watched": environment.watched(inventory.site),
        },
    )
