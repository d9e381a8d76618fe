"""Which machines a pack is for: ``linux``, ``windows:gfx1201``, ``macos``; each with each Python. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from labkit.catalog.gfx import target
from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine
from labkit.setup.plan import TorchPlan, plan
from labkit.setup.prepare import NEWEST, OLDEST

# What --for begins with -> system, WSL, processor
PLATFORMS = {
    "linux": ("linux", False, "x86_64"),
    "linux-arm64": ("linux", False, "arm64"),
    "wsl": ("linux", True, "x86_64"),
    "windows": ("windows", False, "x86_64"),
    "macos": ("macos", False, "arm64"),
}
# glibc 2.28 is what PyTorch's wheels ask for: RHEL 8, Debian 10, Ubuntu 20.04 and everything newer have it.
_GLIBC = (28, 27, 26, 24, 17, 12, 5)
_MACOS = "macosx_14_0_arm64"


@dataclass(frozen=True)
class Wanted:
    """One kind of machine, with one Python, and the build of PyTorch that set-up would choose for it."""

    machine: Machine
    plan: TorchPlan
    foreign: bool  # not this system, or not the Python that runs this

    @property
    def python(self) -> str:
        return ".".join(map(str, self.machine.python))

    @property
    def words(self) -> str:
        gpus = ", ".join(gpu.gfx or gpu.label for gpu in self.machine.gpus)
        system = "wsl" if self.machine.wsl else self.machine.system
        return f"{system} {self.machine.architecture}, Python {self.python}" + (f", {gpus}" if gpus else "")


def wanted(
    platforms: Sequence[str], pythons: Sequence[str], here: Machine, torch: str = "auto", index: str | None = None
) -> list[Wanted]:
    """All kinds of machines that were asked for; those that get the same wheels are one, with the targets of all.

    ``platforms`` are ``here``, or a key of PLATFORMS, if need be with ``:gfx1100`` (several GPUs of one machine joined with
    ``+``) or ``:nvidia``. ``here`` is this machine; ``torch`` and ``index`` as for set-up. Raises LabkitError for a name
    that is none, and where PyTorch has no build.
    """
    versions = [_python(item) for group in pythons for item in group.split(",") if item.strip()] or [here.python]
    found: dict[tuple[object, ...], Wanted] = {}
    for name in platforms or ["here"]:
        for version in dict.fromkeys(versions):
            machine = replace(_machine(name, here), python=version)
            chosen = plan(machine, torch, index)
            key = (machine.system, machine.wsl, machine.architecture, version, chosen.index_url, chosen.requirements)
            foreign = (machine.system, machine.architecture, version) != (here.system, here.architecture, here.python)
            earlier = found.get(key)
            gpus = (*(earlier.machine.gpus if earlier else ()), *machine.gpus)
            chosen = replace(chosen, gfx=tuple(dict.fromkeys((*(earlier.plan.gfx if earlier else ()), *chosen.gfx))))
            found[key] = Wanted(replace(machine, gpus=tuple(dict.fromkeys(gpus))), chosen, foreign)
    return list(found.values())


def _python(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"3\.(\d{1,2})", text.strip())
    version = (3, int(match.group(1))) if match else (0, 0)
    if not OLDEST <= version <= NEWEST:
        raise LabkitError(
            f"--python {text.strip()} is no Python that the course runs on.",
            f"Give versions from 3.{OLDEST[1]} to 3.{NEWEST[1]}, for example --python 3.11,3.12.",
        )
    return version


def _machine(name: str, here: Machine) -> Machine:
    platform, _, gpu = name.strip().lower().partition(":")
    if platform == "here" and not gpu:
        return here
    if platform not in PLATFORMS:
        raise LabkitError(
            f"--for {name} is no platform that labkit knows.",
            f"Use here, {', '.join(PLATFORMS)}; with a GPU for example linux:gfx1100, windows:gfx1201 or linux:nvidia.",
        )
    system, wsl, architecture = PLATFORMS[platform]
    bare = Machine(system, wsl, architecture, here.python, (), False, system == "macos")
    if not gpu:
        return bare
    if gpu == "nvidia":
        return replace(bare, nvidia=True)
    gpus = []
    for item in gpu.split("+"):
        row = target(item)
        if row is None:
            raise LabkitError(
                f"--for {name}: {item} is no target in labkit's table.",
                "`python3 -m labkit describe` on such a machine names its target, for example gfx1100.",
            )
        gpus.append(Gpu(row.gfx, None, row.integrated, "--for"))
    return replace(bare, gpus=tuple(gpus))


def pip_platform(machine: Machine) -> list[str]:
    """pip's options for another system or Python: which wheels fit there."""
    arm = machine.architecture == "arm64"
    if machine.system == "windows":
        names = ["win_arm64" if arm else "win_amd64"]
    elif machine.system == "macos":
        names = [_MACOS if arm else _MACOS.replace("arm64", "x86_64")]
    else:
        processor = "aarch64" if arm else "x86_64"
        # pip derives no older tags from a newer one
        names = [f"manylinux_2_{minor}_{processor}" for minor in _GLIBC if not (arm and minor < 17)]
        names += [f"manylinux{year}_{processor}" for year in (("2014",) if arm else ("2014", "2010", "1"))]
        names += [f"linux_{processor}"]
    tags = [word for name in names for word in ("--platform", name)]
    version = ".".join(map(str, machine.python))
    return [*tags, "--python-version", version, "--implementation", "cp", "--only-binary", ":all:"]


def markers(machine: Machine) -> dict[str, str]:
    """The environment markers of that machine's Python (PEP 508)."""
    system = {"windows": "Windows", "macos": "Darwin"}.get(machine.system, "Linux")
    arm = machine.architecture == "arm64"
    processor = {"windows": "ARM64" if arm else "AMD64", "macos": "arm64" if arm else "x86_64"}.get(
        machine.system, "aarch64" if arm else "x86_64"
    )
    version = ".".join(map(str, machine.python))
    return {
        "sys_platform": {"windows": "win32", "macos": "darwin"}.get(machine.system, "linux"),
        "platform_system": system,
        "os_name": "nt" if machine.system == "windows" else "posix",
        "platform_machine": processor,
        "python_version": version,
        "python_full_version": f"{version}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "implementation_version": f"{version}.0",
        "platform_release": "",
        "platform_version": "",
    }
