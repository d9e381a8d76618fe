"""Downloads the wheels of each kind of machine: torch from its own index alone, the rest under a constraint that keeps it.

The plan, the requirement strings, the check of an index and the way to its fallback are set-up's own. A set of wheels is
collected in a folder of its own, proved complete by pip without a network, and only then moved to the others, where a wheel
that several machines share stands once.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.catalog import wheels as catalog
from labkit.errors import LabkitError
from labkit.setup import install, requirements, sources, words
from labkit.setup.plan import TorchPlan
from labkit.workshop.pack import contents
from labkit.workshop.pack.contents import WheelSet
from labkit.workshop.pack.wanted import Wanted, markers, pip_platform

_FOREIGN = Path(__file__).with_name("foreign.py")


@dataclass(frozen=True)
class Workplace:
    """Where wheels are collected. ``making`` is removed when the pack is finished, ``wheels`` stays."""

    making: Path
    wheels: Path
    environ: Mapping[str, str]
    dependencies: tuple[str, ...]
    disk_usage: install.DiskUsage = shutil.disk_usage

    @property
    def log(self) -> Path:
        return self.making / "pip.log"


def sizes(wanted: Sequence[Wanted]) -> tuple[int, list[str]]:
    """Bytes to download, at most as far as they are known, and a line for each kind of machine.

    Two kinds that share wheels are counted twice: which they share is known afterwards.
    """
    total, lines = 0, []
    for item in wanted:
        known = item.plan.download_bytes is not None
        torch = install.sizes(item.plan)[0]
        total += torch + install.COURSE_BYTES
        size = f"about {words.size(torch)}" if known else "of a size that is not established"
        lines.append(
            f"{item.words}: PyTorch from {install.source_name(item.plan)}, {size}; everything else, up to "
            f"{words.size(install.COURSE_BYTES)}"
        )
    return total, lines


def room(wanted: Sequence[Wanted]) -> int:
    """Bytes that must be free: the downloads, and once more the largest, which pip copies when it is complete."""
    each = [install.sizes(item.plan)[0] + install.COURSE_BYTES for item in wanted]
    return sum(each) + max(each, default=0)


def asked(item: Wanted, dependencies: Sequence[str]) -> str:
    """A key for what a set of wheels is to hold: the same key, the same wish."""
    chain, plan = [], item.plan
    while True:
        chain.append([plan.index_url, list(plan.requirements)])
        if plan.fallback is None:
            break
        plan = plan.fallback
    text = json.dumps(
        [item.machine.system, item.machine.wsl, item.machine.architecture, item.python, chain, list(dependencies)]
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_there(done: WheelSet, folder: Path) -> bool:
    """Are all files of a set in the folder, each of its size?"""
    return bool(done.files) and not contents.missing(done, folder)


def collect(item: Wanted, place: Workplace, number: str = "") -> WheelSet:
    """Downloads the wheels of one kind of machine into ``place.wheels``. Raises LabkitError with what pip said."""
    part = place.making / asked(item, place.dependencies)
    part.mkdir(parents=True, exist_ok=True)
    job = _Job(item, place, sources.pip_settings(sys.executable, place.environ), part, number)
    used = job.torch()
    rest = requirements.without_torch(place.dependencies)
    pinned = ("--find-links", str(part), "--constraint", str(job.pin()))
    job.run("everything else, from the default index of pip", (*pinned, *rest))
    job.prove([*(f"{name}=={version}" for name, version in versions(part).items()), *rest])
    torch = versions(part)["torch"]
    return WheelSet(
        system=item.machine.system,
        wsl=item.machine.wsl,
        architecture=item.machine.architecture,
        python=item.python,
        build=_build(torch, used),
        index=catalog.kind_of(used.index_url or "") or ("default" if used.index_url is None else "own"),
        gfx=used.gfx,
        torch=torch,
        files=_move(part, place.wheels),
        asked=asked(item, place.dependencies),
    )


@dataclass(frozen=True)
class _Job:
    """The calls of pip for one kind of machine."""

    item: Wanted
    place: Workplace
    settings: sources.PipSettings
    part: Path
    number: str

    def pip(self, arguments: Sequence[str], only: bool) -> install.Outcome:
        """This Python's pip, told about the other system where it is one. ``only``: no place but those named counts."""
        other = (str(_FOREIGN), json.dumps(markers(self.item.machine))) if self.item.foreign else ("-m", "pip")
        return install.run_pip(
            sys.executable,
            arguments,
            environ=sources.pip_environment(self.place.environ, self.settings, only=only, own=True),
            log=self.place.log,
            temporary=self.place.making / "tmp",
            pip=other,
        )

    def attempt(self, title: str, arguments: Sequence[str], only: bool = False) -> tuple[install.Step, install.Outcome]:
        step = install.Step(title, ("download", "--dest", str(self.part), *self._fit(), *arguments), only)
        words.say(f"  {self.number}{title}")
        outcome = self.pip(step.arguments, only)
        if outcome.status == 0:
            words.say(f"        done ({outcome.seconds:.0f} s)")
        return step, outcome

    def run(self, title: str, arguments: Sequence[str], only: bool = False) -> None:
        step, outcome = self.attempt(title, arguments, only)
        if outcome.status != 0:
            raise self._explained(step, outcome)

    def torch(self) -> TorchPlan:
        """Downloads torch and torchvision, which fits one torch only, by the plan, or by its fallbacks as set-up does.

        Gives the plan that was carried out.
        """
        current = self.item.plan
        while True:
            url, later = current.index_url, current.fallback
            where = sources.place_arguments(url)
            wanted = install.family_requirements(current, self.place.dependencies)
            step, outcome = None, None
            if self._is_worth_asking(url):
                title = f"torch and torchvision, alone, from {install.source_name(current)}"
                step, outcome = self.attempt(title, (*where, *wanted), only=bool(where))
                if outcome.status == 0:
                    _keep_only(self.part, outcome.text)
                    return current
                if later is None or not install.is_unavailable(outcome):
                    raise self._explained(step, outcome)
            elif later is None:
                raise LabkitError(f"{url} could not be reached.", install.remedy_unreachable(current))
            words.say(f"  {url} {'has no fitting torch or broke off' if outcome else 'cannot be reached'}:")
            words.say(words.because(later.reasons))
            needed = 2 * install.sizes(later)[0] + install.COURSE_BYTES
            install.check_room(self.place.making, needed, self.place.disk_usage)
            current = later

    def pin(self) -> Path:
        """The constraint file, with the very versions that lie in the folder."""
        path = self.part / "constraints.txt"
        path.write_text(install.pins(versions(self.part)), encoding="utf-8")
        return path

    def prove(self, wanted: Sequence[str]) -> None:
        """Lets pip choose everything once more from the folder alone, as it will in the room. Installs nothing."""
        # pip's install compares Requires-Python with the Python that runs it, even with --python-version; download did not
        fit = (*self._fit(), "--ignore-requires-python") if self.item.foreign else ()
        arguments = (
            "install", "--dry-run", "--ignore-installed", "--no-index", "--find-links", str(self.part),
            "--target", str(self.place.making / "nothing"), *fit, *wanted,
        )  # fmt: skip
        words.say(f"  {self.number}proof without a network: pip chooses everything from these wheels alone")
        outcome = self.pip(arguments, True)
        if "no such option: --dry-run" in outcome.text:
            words.say("        not proved complete: this pip is too old for --dry-run (22.2 has it)")
        elif outcome.status != 0:
            raise self._explained(
                install.Step("the proof that nothing is missing, without a network", arguments), outcome
            )

    def _fit(self) -> Sequence[str]:
        return pip_platform(self.item.machine) if self.item.foreign else ("--only-binary", ":all:")

    def _is_worth_asking(self, url: str | None) -> bool:
        if url is None or sources.local_folder(url) is not None:
            return True

        def answers(address: str) -> bool:
            asking = ["index", "versions", "torch", "--index-url", address, "--retries", "1", "--timeout", "15"]
            outcome = self.pip(asking, True)
            return outcome.status == 0 or not install.is_offline(outcome)

        return not self.settings.no_index and sources.reachable(url, self.settings, ask_pip=answers)

    def _explained(self, step: install.Step, outcome: install.Outcome) -> LabkitError:
        return explain(
            self.item, install.explain(outcome, step, self.place.wheels, self.place.log, self.place.disk_usage)
        )


def explain(item: Wanted, error: LabkitError) -> LabkitError:
    """Set-up's sentence about a pip that failed, with the kind of machine: pip speaks of this one."""
    return LabkitError(f"For {item.words}: {error.problem}", error.remedy)


def versions(folder: Path) -> dict[str, str]:
    """torch and torchvision in a folder of wheels that holds one build."""
    found = {}
    for name in requirements.TORCH_FAMILY:
        wheels = sorted(folder.glob(f"{name}-*.whl"), key=lambda path: path.stat().st_mtime_ns)
        if wheels:
            found[name] = wheels[-1].name.split("-")[1]
    return found


def _keep_only(part: Path, said: str) -> None:
    """Removes a torch that an interrupted call left there from another index: pip says which one it took now."""
    taken = re.findall(r"(?:Saved|already downloaded) .*?((?:torch|torchvision)-[^\s/\\]+\.whl)", said)
    for name in requirements.TORCH_FAMILY:
        for path in part.glob(f"{name}-*.whl"):
            if taken and path.name not in taken:
                path.unlink()


def _build(version: str, used: TorchPlan) -> str:
    """Which build a version is, as far as its name says."""
    local = version.partition("+")[2]
    if local.startswith("rocm"):
        return "rocm"
    if local.startswith("cu"):
        return "cuda"
    return "cpu" if local == "cpu" else ("cuda" if used.build == "cuda" else "default")


def _move(part: Path, wheels: Path) -> tuple[tuple[str, int], ...]:
    """Moves a complete set to the others; a wheel that is there already stays. Gives names and bytes."""
    wheels.mkdir(parents=True, exist_ok=True)
    files = []
    for path in sorted(part.glob("*.whl")):
        size = path.stat().st_size
        target = wheels / path.name
        if target.is_file() and target.stat().st_size == size:
            path.unlink()
        else:
            path.replace(target)
        files.append((path.name, size))
    shutil.rmtree(part)
    return tuple(files)
